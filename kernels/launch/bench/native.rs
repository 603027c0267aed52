//! The runtimes of the baselines: a kernel and a small runtime written in C++, CUDA or HIP, linked to this driver
//! (`baselines/ironsweep.h`).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::arguments::{Argument, Slot};
use super::runtime::{Device, Failure, Region, Runtime};
use crate::launch::Dimensions;

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

/// `struct ironsweep_dimensions`.
#[repr(C)]
struct NativeDimensions {
    items: usize,
    grid: usize,
    block: usize,
}

const OK: c_int = 0;
const OUT_OF_MEMORY: c_int = 1;
const WRONG_DEVICE: c_int = 2;

unsafe extern "C" {
    safe fn ironsweep_variant() -> *const c_char;
    safe fn ironsweep_version() -> *const c_char;
    safe fn ironsweep_asynchronous() -> bool;
    safe fn ironsweep_error() -> *const c_char;
    fn ironsweep_open(vendor: *const c_char, device: *mut NativeDevice) -> c_int;
    fn ironsweep_allocate(pointer: *mut *mut c_void, size: usize) -> c_int;
    fn ironsweep_free(pointer: *mut c_void) -> c_int;
    fn ironsweep_write(to: *mut c_void, from: *const c_void, size: usize) -> c_int;
    fn ironsweep_read(to: *mut c_void, from: *const c_void, size: usize) -> c_int;
    safe fn ironsweep_synchronise() -> c_int;
    fn ironsweep_launch(arguments: *const c_void, dimensions: *const NativeDimensions) -> c_int;
}

/// A native runtime, with one kernel linked in.
pub struct Native {
    device: Option<Device>,
    memory: Vec<*mut c_void>,
    /// The arguments as the baseline's struct lays them out: an array is pointer and length, a scalar 64 bits.
    arguments: Vec<u64>,
}

impl Native {
    /// The runtime that this worker is linked to.
    #[allow(clippy::new_without_default, reason = "runtimes are made alike")]
    pub fn new() -> Self {
        Self { device: None, memory: Vec::new(), arguments: Vec::new() }
    }
}

fn text(pointer: *const c_char) -> String {
    // SAFETY: the runtime's texts are C strings that live as long as the program.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn check(code: c_int, doing: &str) -> Result<(), Failure> {
    let message = || format!("{doing}: {}", text(ironsweep_error()));
    match code {
        OK => Ok(()),
        OUT_OF_MEMORY => Err(Failure::out_of_memory(message())),
        WRONG_DEVICE => Err(Failure::wrong_device(message())),
        _ => Err(Failure::crashed(message())),
    }
}

/// Opens the first device of `vendor`.
fn find(vendor: &str) -> Result<Device, Failure> {
    let asked = std::ffi::CString::new(vendor).map_err(|_| Failure::unsupported("device: not a name"))?;
    // SAFETY: all fields of the struct may be zero, and the runtime fills it within its bounds.
    let mut found: NativeDevice = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    check(unsafe { ironsweep_open(asked.as_ptr(), &raw mut found) }, "opening the device")?;
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

impl Runtime for Native {
    fn variant(&self) -> String {
        text(ironsweep_variant())
    }

    fn version(&self) -> String {
        text(ironsweep_version())
    }

    fn open(&mut self, vendor: &str, arch: &str) -> Result<Device, Failure> {
        let device = match &self.device {
            Some(device) => device.clone(),
            None => self.device.insert(find(vendor)?).clone(),
        };
        if device.vendor != vendor || !device.arch.starts_with(arch) {
            return Err(Failure::wrong_device(format!(
                "asked for {vendor} {arch}, found {} {}",
                device.vendor, device.arch
            )));
        }
        Ok(device)
    }

    fn prepare(&mut self, _: &[Argument], slots: &[Slot], region: Region) -> Result<(), Failure> {
        match region {
            Region::WithTransfers => return Err(Failure::unsupported("baselines measure with the data on the device")),
            Region::Kernel if !ironsweep_asynchronous() => {
                return Err(Failure::unsupported("on the host each repetition ends before the next begins"));
            }
            Region::Kernel | Region::LaunchSync => {}
        }
        for slot in slots {
            match slot {
                Slot::Scalar(value) => {
                    self.memory.push(null_mut());
                    self.arguments.push(value.to_bits());
                }
                Slot::Array(array) => {
                    let mut pointer = null_mut();
                    // SAFETY: the runtime writes one pointer.
                    check(
                        unsafe { ironsweep_allocate(&raw mut pointer, size_of_val(&**array)) },
                        "allocating device memory",
                    )?;
                    self.memory.push(pointer);
                    self.arguments.extend([pointer as u64, array.len() as u64]);
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, position: usize, values: &[f64]) -> Result<(), Failure> {
        // SAFETY: `prepare` allocated as many elements; the bench driver keeps the source until it synchronises.
        check(
            unsafe { ironsweep_write(self.memory[position], values.as_ptr().cast(), size_of_val(values)) },
            "copying to the device",
        )
    }

    fn read(&mut self, position: usize, values: &mut [f64]) -> Result<(), Failure> {
        // SAFETY: as above.
        check(
            unsafe { ironsweep_read(values.as_mut_ptr().cast(), self.memory[position], size_of_val(values)) },
            "copying from the device",
        )
    }

    fn launch(&mut self, dimensions: Dimensions) -> Result<(), Failure> {
        let dimensions = NativeDimensions { items: dimensions.items, grid: dimensions.grid, block: dimensions.block };
        // SAFETY: the baseline's struct has the kernel's arguments in the same order.
        check(unsafe { ironsweep_launch(self.arguments.as_ptr().cast(), &raw const dimensions) }, "launching")
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        check(ironsweep_synchronise(), "synchronising")
    }

    fn release(&mut self) {
        for pointer in self.memory.drain(..).filter(|pointer| !pointer.is_null()) {
            // SAFETY: allocated by `prepare`, freed once.
            let _ = check(unsafe { ironsweep_free(pointer) }, "freeing device memory");
        }
        self.arguments.clear();
    }
}
