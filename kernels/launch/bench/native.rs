//! The runtimes of the baselines: a kernel and a small runtime written in C++, CUDA or HIP, in a library that this driver
//! loads (`baselines/ironsweep.h`).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use super::arguments::Values;
use super::library::Library;
use super::runtime::{Device, Failure, Problem, Region, Runtime};

/// `struct ironsweep_device`.
#[repr(C)]
struct NativeDevice {
    name: [c_char; 256],
    uid: [c_char; 64],
    vendor: [c_char; 16],
    arch: [c_char; 64],
    driver: [c_char; 64],
    multiprocessors: usize,
    threads: usize,
}

/// `struct ironsweep_problem`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct NativeProblem {
    size: usize,
    block: usize,
    multiprocessors: usize,
}

const OK: c_int = 0;
const OUT_OF_MEMORY: c_int = 1;
const WRONG_DEVICE: c_int = 2;

/// The functions of `baselines/ironsweep.h`.
#[derive(Clone, Copy)]
struct Interface {
    variant: unsafe extern "C" fn() -> *const c_char,
    version: unsafe extern "C" fn() -> *const c_char,
    asynchronous: unsafe extern "C" fn() -> bool,
    error: unsafe extern "C" fn() -> *const c_char,
    open: unsafe extern "C" fn(*const c_char, *mut NativeDevice) -> c_int,
    allocate: unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
    write: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    read: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    copy: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    synchronise: unsafe extern "C" fn() -> c_int,
    repetition: unsafe extern "C" fn(*const c_void, *const NativeProblem) -> c_int,
}

impl Interface {
    fn load(path: &Path) -> Result<Self, String> {
        let library = Library::open(path)?;
        // SAFETY: the header declares the functions so.
        unsafe {
            Ok(Self {
                variant: library.function(c"ironsweep_variant")?,
                version: library.function(c"ironsweep_version")?,
                asynchronous: library.function(c"ironsweep_asynchronous")?,
                error: library.function(c"ironsweep_error")?,
                open: library.function(c"ironsweep_open")?,
                allocate: library.function(c"ironsweep_allocate")?,
                free: library.function(c"ironsweep_free")?,
                write: library.function(c"ironsweep_write")?,
                read: library.function(c"ironsweep_read")?,
                copy: library.function(c"ironsweep_copy")?,
                synchronise: library.function(c"ironsweep_synchronise")?,
                repetition: library.function(c"ironsweep_repetition")?,
            })
        }
    }

    fn check(&self, code: c_int, doing: &str) -> Result<(), Failure> {
        // SAFETY: the function only tells of the last error.
        let message = || format!("{doing}: {}", text(unsafe { (self.error)() }));
        match code {
            OK => Ok(()),
            OUT_OF_MEMORY => Err(Failure::out_of_memory(message())),
            WRONG_DEVICE => Err(Failure::wrong_device(message())),
            _ => Err(Failure::crashed(message())),
        }
    }
}

/// The library of one baseline.
struct Opened {
    part: PathBuf,
    interface: Interface,
    device: Device,
}

/// A native runtime.
#[derive(Default)]
pub struct Native {
    opened: Option<Opened>,
    memory: Vec<Memory>,
    /// The arguments as the baseline's struct lays them out: an array is pointer and length, a scalar 64 bits.
    arguments: Vec<u64>,
    problem: NativeProblem,
}

#[derive(Clone, Copy)]
struct Memory {
    pointer: *mut c_void,
    size: usize,
    kept: *mut c_void,
}

fn text(pointer: *const c_char) -> String {
    // SAFETY: the runtime's texts are C strings that live as long as the program.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Opens the first device of `vendor`.
fn find(interface: &Interface, vendor: &str) -> Result<Device, Failure> {
    let asked = std::ffi::CString::new(vendor).map_err(|_| Failure::unsupported("device: not a name"))?;
    // SAFETY: all fields of the struct may be zero, and the runtime fills it within its bounds.
    let mut found: NativeDevice = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    interface.check(unsafe { (interface.open)(asked.as_ptr(), &raw mut found) }, "opening the device")?;
    Ok(Device {
        name: text(found.name.as_ptr()),
        uid: text(found.uid.as_ptr()),
        vendor: text(found.vendor.as_ptr()),
        arch: text(found.arch.as_ptr()),
        driver: text(found.driver.as_ptr()),
        multiprocessors: found.multiprocessors,
        threads: found.threads,
    })
}

impl Native {
    fn interface(&self) -> Interface {
        self.opened.as_ref().expect("a point opens the device first").interface
    }

    fn allocate(&self, size: usize) -> Result<*mut c_void, Failure> {
        let (interface, mut pointer) = (self.interface(), null_mut());
        // SAFETY: the runtime writes one pointer.
        interface.check(unsafe { (interface.allocate)(&raw mut pointer, size) }, "allocating device memory")?;
        Ok(pointer)
    }
}

impl Runtime for Native {
    fn variant(&self) -> String {
        // SAFETY: the function only tells a name.
        text(unsafe { (self.interface().variant)() })
    }

    fn version(&self) -> String {
        // SAFETY: as above.
        text(unsafe { (self.interface().version)() })
    }

    fn open(&mut self, vendor: &str, arch: &str, part: &Path) -> Result<Device, Failure> {
        if self.opened.as_ref().is_none_or(|opened| opened.part != part) {
            let interface =
                Interface::load(part).map_err(|error| Failure::crashed(format!("{}: {error}", part.display())))?;
            let device = find(&interface, vendor)?;
            self.opened = Some(Opened { part: part.to_owned(), interface, device });
        }
        let device = self.opened.as_ref().expect("just set").device.clone();
        if device.vendor != vendor || !device.arch.starts_with(arch) {
            return Err(Failure::wrong_device(format!(
                "asked for {vendor} {arch}, found {} {}",
                device.vendor, device.arch
            )));
        }
        Ok(device)
    }

    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure> {
        // SAFETY: the function only tells a property.
        let asynchronous = unsafe { (self.interface().asynchronous)() };
        match problem.region {
            Region::WithTransfers => return Err(Failure::unsupported("baselines measure with the data on the device")),
            Region::Kernel if !asynchronous => {
                return Err(Failure::unsupported("on the host each repetition ends before the next begins"));
            }
            Region::Kernel | Region::LaunchSync => {}
        }
        self.problem =
            NativeProblem { size: problem.size, block: problem.block, multiprocessors: problem.multiprocessors };
        for values in problem.values {
            let size = values.bytes().len();
            let pointer = if size == 0 { null_mut() } else { self.allocate(size)? };
            self.memory.push(Memory { pointer, size, kept: null_mut() });
            match values {
                Values::Scalar(value) => self.arguments.push(value.to_bits()),
                array => self.arguments.extend([pointer as u64, array.len() as u64]),
            }
        }
        Ok(())
    }

    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure> {
        let (interface, to) = (self.interface(), self.memory[position].pointer);
        // SAFETY: `prepare` allocated as many bytes; the driver keeps the source until it synchronises.
        interface.check(unsafe { (interface.write)(to, bytes.as_ptr().cast(), bytes.len()) }, "copying to the device")
    }

    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        let (interface, from) = (self.interface(), self.memory[position].pointer);
        // SAFETY: as above.
        let code = unsafe { (interface.read)(bytes.as_mut_ptr().cast(), from, bytes.len()) };
        interface.check(code, "copying from the device")
    }

    fn keep(&mut self, position: usize) -> Result<bool, Failure> {
        let (interface, Memory { pointer, size, .. }) = (self.interface(), self.memory[position]);
        let Ok(kept) = self.allocate(size) else {
            return Ok(false);
        };
        self.memory[position].kept = kept;
        // SAFETY: both have that size.
        interface.check(unsafe { (interface.copy)(kept, pointer, size) }, "copying on the device")?;
        Ok(true)
    }

    fn restore(&mut self, position: usize) -> Result<(), Failure> {
        let (interface, Memory { pointer, size, kept }) = (self.interface(), self.memory[position]);
        // SAFETY: both have that size.
        interface.check(unsafe { (interface.copy)(pointer, kept, size) }, "copying on the device")
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        let interface = self.interface();
        // SAFETY: the baseline's struct has the kernel's data in the same order.
        let code = unsafe { (interface.repetition)(self.arguments.as_ptr().cast(), &raw const self.problem) };
        interface.check(code, "launching")
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        let interface = self.interface();
        // SAFETY: no arguments.
        interface.check(unsafe { (interface.synchronise)() }, "synchronising")
    }

    fn release(&mut self) {
        self.arguments.clear();
        if self.opened.is_none() {
            return;
        }
        let interface = self.interface();
        for memory in self.memory.drain(..) {
            for pointer in [memory.pointer, memory.kept].into_iter().filter(|pointer| !pointer.is_null()) {
                // SAFETY: allocated by `prepare` or `keep`, freed once.
                let _ = interface.check(unsafe { (interface.free)(pointer) }, "freeing device memory");
            }
        }
    }
}
