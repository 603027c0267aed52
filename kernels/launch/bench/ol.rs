//! liboffload's C interface (`offload/OffloadAPI.h`, LLVM 22), as much of it as is used here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::nvidia;
use super::runtime::{Device, Failure, host_threads};

/// Handles are pointers to what only the library knows.
pub type Handle = *mut c_void;

#[repr(C)]
struct Error {
    code: c_int,
    details: *const c_char,
}

/// Null, or an error that the library owns.
#[repr(transparent)]
#[must_use]
pub struct Status(*const Error);

const OUT_OF_RESOURCES: c_int = 7;
const DEVICE_INFO_PLATFORM: c_int = 1;
const DEVICE_INFO_NAME: c_int = 2;
const DEVICE_INFO_PRODUCT_NAME: c_int = 3;
const DEVICE_INFO_UID: c_int = 4;
const DEVICE_INFO_DRIVER_VERSION: c_int = 6;
const DEVICE_INFO_NUM_COMPUTE_UNITS: c_int = 12;
const PLATFORM_INFO_VERSION: c_int = 2;
const PLATFORM_INFO_BACKEND: c_int = 3;
const BACKEND_CUDA: c_int = 1;
const BACKEND_AMDGPU: c_int = 2;
const BACKEND_HOST: c_int = 4;

unsafe extern "C" {
    fn olInit() -> Status;
    fn olIterateDevices(callback: extern "C" fn(Handle, *mut c_void) -> bool, data: *mut c_void) -> Status;
    fn olGetDeviceInfoSize(device: Handle, property: c_int, size: *mut usize) -> Status;
    fn olGetDeviceInfo(device: Handle, property: c_int, size: usize, value: *mut c_void) -> Status;
    fn olGetPlatformInfoSize(platform: Handle, property: c_int, size: *mut usize) -> Status;
    fn olGetPlatformInfo(platform: Handle, property: c_int, size: usize, value: *mut c_void) -> Status;
}

impl Status {
    /// The library's error in its own words, after what was tried.
    pub fn check(self, doing: &str) -> Result<(), Failure> {
        // SAFETY: a result is null or points to an error that lives as long as the library.
        let Some(error) = (unsafe { self.0.as_ref() }) else {
            return Ok(());
        };
        let details = match error.details.is_null() {
            true => "no details".into(),
            // SAFETY: details are a C string of the library.
            false => unsafe { CStr::from_ptr(error.details) }.to_string_lossy(),
        };
        let message = format!("{doing}: {details} (liboffload error {})", error.code);
        Err(match error.code {
            OUT_OF_RESOURCES => Failure::out_of_memory(message),
            _ => Failure::crashed(message),
        })
    }
}

/// A device and what the library says of it.
#[derive(Clone)]
pub struct Found {
    #[cfg_attr(std_offload, allow(dead_code, reason = "std::offload only asks what devices there are"))]
    pub handle: Handle,
    /// LLVM's own name of the device, the same in liboffload and libomptarget.
    #[cfg_attr(liboffload, allow(dead_code, reason = "liboffload has handles"))]
    pub uid: String,
    pub device: Device,
}

/// Every device of this machine, the host's own included.
pub fn devices() -> Result<Vec<Found>, Failure> {
    extern "C" fn collect(device: Handle, handles: *mut c_void) -> bool {
        // SAFETY: `devices` passes a pointer to its vector, which outlives the iteration.
        unsafe { &mut *handles.cast::<Vec<Handle>>() }.push(device);
        true
    }
    nvidia::spin_while_waiting();
    let mut handles: Vec<Handle> = Vec::new();
    // SAFETY: the callback's type of data is that of the pointer.
    unsafe {
        olInit().check("olInit")?;
        olIterateDevices(collect, (&raw mut handles).cast()).check("olIterateDevices")?;
    }
    Ok(handles.into_iter().map(describe).collect())
}

fn describe(handle: Handle) -> Found {
    let text = |property| {
        let bytes = bytes(
            // SAFETY: `bytes` gives room for a number.
            |size| unsafe { olGetDeviceInfoSize(handle, property, size) },
            // SAFETY: `bytes` gives as much room as it says.
            |size, value| unsafe { olGetDeviceInfo(handle, property, size, value) },
        );
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.trim_end_matches('\0').to_owned()
    };
    let mut platform: Handle = null_mut();
    let mut units = 0u32;
    // SAFETY: sizes are those of the values.
    unsafe {
        let _ = olGetDeviceInfo(handle, DEVICE_INFO_PLATFORM, size_of::<Handle>(), (&raw mut platform).cast());
        let _ = olGetDeviceInfo(handle, DEVICE_INFO_NUM_COMPUTE_UNITS, size_of::<u32>(), (&raw mut units).cast());
    }
    let mut backend: c_int = 0;
    // SAFETY: as above; a platform is a valid handle once the device named it.
    let version = unsafe {
        let _ = olGetPlatformInfo(platform, PLATFORM_INFO_BACKEND, size_of::<c_int>(), (&raw mut backend).cast());
        bytes(
            |size| olGetPlatformInfoSize(platform, PLATFORM_INFO_VERSION, size),
            |size, value| olGetPlatformInfo(platform, PLATFORM_INFO_VERSION, size, value),
        )
    };
    let uid = text(DEVICE_INFO_UID);
    let (name, product) = (text(DEVICE_INFO_NAME), text(DEVICE_INFO_PRODUCT_NAME));
    let mut device = Device {
        uid: uid.clone(),
        driver: text(DEVICE_INFO_DRIVER_VERSION),
        multiprocessors: units as usize,
        threads: 1,
        ..Device::default()
    };
    match backend {
        BACKEND_CUDA => {
            device.vendor = "nvidia".into();
            device.name = name;
            match nvidia::identity(&uid) {
                Ok((arch, uuid)) => (device.arch, device.uid) = (arch, uuid),
                Err(reason) => device.arch = format!("an unknown architecture ({reason})"),
            }
        }
        BACKEND_AMDGPU => {
            // AMD's device name is the instruction set, its product name what people call it.
            device.vendor = "amd".into();
            device.name = product;
            device.arch = name;
        }
        BACKEND_HOST => {
            device.vendor = "host".into();
            device.name = cpu_model();
            device.arch = "host".into();
            device.driver = String::from_utf8_lossy(&version).trim_end_matches('\0').to_owned();
            device.threads = host_threads();
        }
        _ => device.name = name,
    }
    Found { handle, uid, device }
}

fn bytes(size: impl Fn(*mut usize) -> Status, value: impl Fn(usize, *mut c_void) -> Status) -> Vec<u8> {
    let mut length = 0;
    if size(&raw mut length).check("size").is_err() {
        return Vec::new();
    }
    let mut buffer = vec![0u8; length];
    match value(length, buffer.as_mut_ptr().cast()).check("value") {
        Ok(()) => buffer,
        Err(_) => Vec::new(),
    }
}

/// The processor's name, as the kernel tells it.
fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()))
        .unwrap_or_else(|| "host".to_owned())
}

/// The first device of `vendor`, or what there is instead.
pub fn device_of(vendor: &str) -> Result<Found, Failure> {
    let found = devices()?;
    let first = found.iter().find(|found| found.device.vendor == vendor).cloned();
    first.ok_or_else(|| {
        let names: Vec<_> =
            found.iter().map(|found| format!("{} ({})", found.device.name, found.device.vendor)).collect();
        Failure::wrong_device(format!("no {vendor} device; this machine has: {}", names.join(", ")))
    })
}
