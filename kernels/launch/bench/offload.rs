//! The runtime `rust_offload`: std::offload, that is the mappings and launches that rustc generates, on libomptarget.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use super::arguments::Values;
use super::library::Library;
use super::nvidia;
use super::ol::{self, Found};
use super::runtime::{Device, Failure, Problem, Region, Runtime};

unsafe extern "C" {
    safe fn omp_get_num_devices() -> c_int;
    safe fn omp_get_initial_device() -> c_int;
    safe fn omp_set_default_device(device: c_int);
    safe fn omp_get_uid_from_device(device: c_int) -> *const c_char;
    fn omp_target_alloc(size: usize, device: c_int) -> *mut c_void;
    fn omp_target_free(pointer: *mut c_void, device: c_int);
    fn omp_target_memcpy(
        to: *mut c_void,
        from: *const c_void,
        size: usize,
        to_offset: usize,
        from_offset: usize,
        to_device: c_int,
        from_device: c_int,
    ) -> c_int;
}

/// How libomptarget's host plugin begins the name of a device.
const HOST_UID: &str = "x86_64-";

/// A launcher's launch (`ironsweep_offload`): its number, whether it maps its arrays, its words, the grid and the block.
type Launch = unsafe extern "C" fn(usize, bool, *const u64, *const u32);

/// std::offload, with the launchers that were loaded.
#[derive(Default)]
pub struct Offload {
    /// Launchers by file.
    launchers: HashMap<PathBuf, Launch>,
    launch: Option<Launch>,
    opened: Option<(Device, c_int)>,
    memory: Vec<Memory>,
    /// Whether launches map their arrays, which are on the host; otherwise these stay on the device.
    mapped: bool,
    launches: Vec<(usize, Vec<u64>, [u32; 6])>,
}

/// One datum.
enum Memory {
    /// On the host.
    Host(Values),
    /// On the device, and a copy there.
    Device { pointer: *mut c_void, size: usize, kept: *mut c_void },
}

impl Memory {
    fn address(&self) -> u64 {
        match self {
            Self::Host(values) => values.bytes().as_ptr() as u64,
            Self::Device { pointer, .. } => *pointer as u64,
        }
    }
}

impl Offload {
    fn number(&self) -> c_int {
        self.opened.as_ref().expect("a point opens the device first").1
    }

    /// Memory on the device, if there is enough.
    fn allocate(&self, size: usize) -> Option<*mut c_void> {
        // SAFETY: any size may be asked for.
        let memory = unsafe { omp_target_alloc(size, self.number()) };
        (!memory.is_null()).then_some(memory)
    }
}

/// libomptarget's number of a device that liboffload found, and its name there.
///
/// Both libraries name a GPU alike. The host has no name in liboffload, and several numbers in libomptarget.
fn number_of(found: &Found) -> Result<(c_int, String), Failure> {
    let known: Vec<(c_int, String)> = (0..omp_get_num_devices())
        .map(|number| (number, omp_get_uid_from_device(number)))
        .filter(|(_, uid)| !uid.is_null())
        // SAFETY: a C string of the library.
        .map(|(number, uid)| (number, unsafe { CStr::from_ptr(uid) }.to_string_lossy().into_owned()))
        .collect();
    let is_it = |uid: &str| match found.device.vendor.as_str() {
        "host" => uid.starts_with(HOST_UID),
        _ => uid == found.uid,
    };
    known.iter().find(|(_, uid)| is_it(uid)).cloned().ok_or_else(|| {
        let names: Vec<_> = known.into_iter().map(|(_, uid)| uid).collect();
        Failure::wrong_device(format!(
            "libomptarget has no device {} for this program's images; it has: {}",
            found.uid,
            names.join(", ")
        ))
    })
}

impl Runtime for Offload {
    fn variant(&self) -> String {
        "rust_offload".into()
    }

    fn version(&self) -> String {
        "libomptarget".into()
    }

    fn open(&mut self, vendor: &str, arch: &str, part: &Path) -> Result<Device, Failure> {
        // libomptarget has only those devices for which an image is loaded, and opens them when it is.
        if !self.launchers.contains_key(part) {
            nvidia::spin_while_waiting();
            let failed = |error| Failure::crashed(format!("{}: {error}", part.display()));
            // SAFETY: the macro `kernel!` declares the function so.
            let launch = Library::open(part)
                .and_then(|library| unsafe { library.function::<Launch>(c"ironsweep_offload") })
                .map_err(failed)?;
            self.launchers.insert(part.to_owned(), launch);
        }
        self.launch = self.launchers.get(part).copied();
        if self.opened.as_ref().is_none_or(|(device, _)| device.vendor != vendor) {
            let found = ol::device_of(vendor)?;
            if !found.device.arch.starts_with(arch) {
                return Err(Failure::wrong_device(format!("asked for {arch}, found {}", found.device.arch)));
            }
            let (number, uid) = number_of(&found)?;
            let mut device = found.device;
            if vendor == "host" {
                device.uid = uid;
            }
            omp_set_default_device(number);
            self.opened = Some((device, number));
        }
        Ok(self.opened.as_ref().expect("just set").0.clone())
    }

    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure> {
        if problem.region == Region::Kernel {
            return Err(Failure::unsupported("std::offload waits for each launch"));
        }
        self.mapped = problem.region == Region::WithTransfers;
        for values in problem.values {
            let size = values.bytes().len();
            let memory = if self.mapped || size == 0 {
                Memory::Host(values.clone())
            } else {
                let pointer =
                    self.allocate(size).ok_or_else(|| Failure::out_of_memory(format!("{size} bytes on the device")))?;
                Memory::Device { pointer, size, kept: std::ptr::null_mut() }
            };
            self.memory.push(memory);
        }
        for step in problem.steps {
            let ([x, y, z], [i, j, k]) = (step.grid, step.block);
            let words = step.at(|datum| self.memory[datum].address())?;
            self.launches.push((step.launch, words, [x, y, z, i, j, k]));
        }
        Ok(())
    }

    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure> {
        let number = self.number();
        match &mut self.memory[position] {
            Memory::Host(values) => {
                values.bytes_mut().copy_from_slice(bytes);
                Ok(())
            }
            Memory::Device { pointer, .. } => {
                copy((*pointer, number), (bytes.as_ptr().cast(), omp_get_initial_device()), bytes.len())
            }
        }
    }

    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        let number = self.number();
        match &self.memory[position] {
            Memory::Host(values) => {
                bytes.copy_from_slice(values.bytes());
                Ok(())
            }
            Memory::Device { pointer, .. } => {
                copy((bytes.as_mut_ptr().cast(), omp_get_initial_device()), (*pointer, number), bytes.len())
            }
        }
    }

    fn keep(&mut self, position: usize) -> Result<bool, Failure> {
        let Memory::Device { pointer, size, .. } = self.memory[position] else {
            return Ok(false);
        };
        let Some(copied) = self.allocate(size) else {
            return Ok(false);
        };
        self.memory[position] = Memory::Device { pointer, size, kept: copied };
        copy((copied, self.number()), (pointer, self.number()), size)?;
        Ok(true)
    }

    fn restore(&mut self, position: usize) -> Result<(), Failure> {
        let Memory::Device { pointer, size, kept } = self.memory[position] else {
            unreachable!("only what stays on the device is kept");
        };
        copy((pointer, self.number()), (kept, self.number()), size)
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        let launch = self.launch.expect("a point loads its launcher first");
        for (number, words, shape) in &self.launches {
            // SAFETY: the words are those of the launch, and the arrays live until `release`.
            unsafe { launch(*number, self.mapped, words.as_ptr(), shape.as_ptr()) };
        }
        Ok(())
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        // Launches and copies have ended when they return.
        Ok(())
    }

    fn release(&mut self) {
        self.launches.clear();
        let Some((_, number)) = self.opened else {
            return;
        };
        for memory in self.memory.drain(..) {
            let Memory::Device { pointer, kept, .. } = memory else {
                continue;
            };
            for pointer in [pointer, kept].into_iter().filter(|pointer| !pointer.is_null()) {
                // SAFETY: allocated by `prepare` or `keep`, freed once.
                unsafe { omp_target_free(pointer, number) };
            }
        }
    }
}

/// Copies between memories, each on a device.
fn copy(to: (*mut c_void, c_int), from: (*const c_void, c_int), size: usize) -> Result<(), Failure> {
    // SAFETY: callers name memory that is as large.
    match unsafe { omp_target_memcpy(to.0, from.0, size, 0, 0, to.1, from.1) } {
        0 => Ok(()),
        code => Err(Failure::crashed(format!("omp_target_memcpy returned {code}"))),
    }
}
