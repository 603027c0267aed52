//! The runtime `rust_offload`: std::offload, that is the mappings and launches that rustc generates, on libomptarget.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::arguments::{Argument, Role, Slot};
use super::ol::{self, Found};
use super::runtime::{Device, Failure, Region, Runtime};
use crate::launch::Dimensions;

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
    fn omp_target_associate_ptr(
        host: *const c_void,
        device: *const c_void,
        size: usize,
        offset: usize,
        number: c_int,
    ) -> c_int;
    fn omp_target_disassociate_ptr(host: *const c_void, number: c_int) -> c_int;
}

/// How libomptarget's host plugin begins the name of a device.
const HOST_UID: &str = "x86_64-";

/// std::offload with one kernel's launch.
pub struct Offload {
    launch: fn(&mut [Slot], Dimensions),
    opened: Option<(Device, c_int)>,
    /// The host side of the mappings.
    slots: Vec<Slot>,
    /// The device side, for arrays that stay there.
    resident: Vec<Option<*mut c_void>>,
}

impl Offload {
    /// For a kernel whose launch the macro made.
    pub fn new(launch: fn(&mut [Slot], Dimensions)) -> Self {
        Self { launch, opened: None, slots: Vec::new(), resident: Vec::new() }
    }

    fn number(&self) -> c_int {
        self.opened.as_ref().expect("a point opens the device first").1
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

    fn open(&mut self, vendor: &str, arch: &str) -> Result<Device, Failure> {
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

    fn prepare(&mut self, arguments: &[Argument], slots: &[Slot], region: Region) -> Result<(), Failure> {
        if region == Region::Kernel {
            return Err(Failure::unsupported("std::offload waits for each launch"));
        }
        self.slots = slots.to_vec();
        let number = self.number();
        for (argument, slot) in arguments.iter().zip(&self.slots) {
            let mut resident = None;
            // A reduction's result is mapped by each launch: that is its reset and its copy back.
            if region == Region::LaunchSync && matches!(argument.role, Role::In | Role::Out) {
                let (pointer, size) = (slot.array().as_ptr().cast(), size_of_val(slot.array()));
                // SAFETY: the host array lives in `self.slots` until `release` has ended the association.
                unsafe {
                    let memory = omp_target_alloc(size, number);
                    if memory.is_null() {
                        return Err(Failure::out_of_memory(format!("{}: {size} bytes", argument.name)));
                    }
                    resident = Some(memory);
                    if omp_target_associate_ptr(pointer, memory, size, 0, number) != 0 {
                        omp_target_free(memory, number);
                        return Err(Failure::crashed(format!("{}: no association with device memory", argument.name)));
                    }
                }
            }
            self.resident.push(resident);
        }
        Ok(())
    }

    fn write(&mut self, position: usize, values: &[f64]) -> Result<(), Failure> {
        let Some(memory) = self.resident[position] else {
            self.slots[position].array_mut().copy_from_slice(values);
            return Ok(());
        };
        // SAFETY: `prepare` allocated as many elements as the slot has.
        copied(unsafe {
            omp_target_memcpy(
                memory,
                values.as_ptr().cast(),
                size_of_val(values),
                0,
                0,
                self.number(),
                omp_get_initial_device(),
            )
        })
    }

    fn read(&mut self, position: usize, values: &mut [f64]) -> Result<(), Failure> {
        let Some(memory) = self.resident[position] else {
            values.copy_from_slice(self.slots[position].array());
            return Ok(());
        };
        // SAFETY: as above.
        copied(unsafe {
            omp_target_memcpy(
                values.as_mut_ptr().cast(),
                memory,
                size_of_val(values),
                0,
                0,
                omp_get_initial_device(),
                self.number(),
            )
        })
    }

    fn launch(&mut self, dimensions: Dimensions) -> Result<(), Failure> {
        (self.launch)(&mut self.slots, dimensions);
        Ok(())
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        // Launches and copies have ended when they return.
        Ok(())
    }

    fn release(&mut self) {
        let Some((_, number)) = self.opened else {
            return;
        };
        for (slot, memory) in self.slots.iter().zip(self.resident.drain(..)) {
            if let Some(memory) = memory {
                // SAFETY: associated and allocated by `prepare`, ended once.
                unsafe {
                    omp_target_disassociate_ptr(slot.array().as_ptr().cast(), number);
                    omp_target_free(memory, number);
                }
            }
        }
        self.slots.clear();
    }
}

fn copied(code: c_int) -> Result<(), Failure> {
    match code {
        0 => Ok(()),
        code => Err(Failure::crashed(format!("omp_target_memcpy returned {code}"))),
    }
}
