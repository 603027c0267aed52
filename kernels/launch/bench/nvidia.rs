//! What liboffload neither tells of an NVIDIA GPU nor lets be chosen, asked of the driver itself (cuda.h).

use std::ffi::{c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::null_mut;

use super::library::Library;

type Handle = *mut c_void;

const ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;
const CTX_SCHED_SPIN: c_uint = 1;

/// Waits for the GPU spin from here on, as those of CUDA's own runtime do. To be called before a runtime opens a device.
///
/// LLVM's plugin asks for waits that sleep, unless a device's context exists when it comes: waking up took about 100 us
/// a wait on an H200, and the baselines do not pay it. Does nothing where there is no driver.
pub fn spin_while_waiting() {
    // SAFETY: a function's type is that of cuda.h; a context, once retained, stays until the process ends.
    let _ = unsafe { driver().and_then(|driver| retain_contexts(driver)) };
}

/// # Safety
/// `driver` is the driver's library.
unsafe fn retain_contexts(driver: Library) -> Result<(), String> {
    // SAFETY: as the caller's.
    unsafe {
        let set_flags: unsafe extern "C" fn(c_int, c_uint) -> c_int =
            driver.function(c"cuDevicePrimaryCtxSetFlags_v2")?;
        let retain: unsafe extern "C" fn(*mut Handle, c_int) -> c_int = driver.function(c"cuDevicePrimaryCtxRetain")?;
        for device in devices(driver)? {
            let mut context = null_mut();
            succeeded("cuDevicePrimaryCtxSetFlags", set_flags(device, CTX_SCHED_SPIN))?;
            succeeded("cuDevicePrimaryCtxRetain", retain(&raw mut context, device))?;
        }
        Ok(())
    }
}

/// Architecture (for example `sm_90`) and name (`GPU-…`, as nvidia-smi writes it) of the device that the runtime knows
/// under `uid`; or why the driver does not tell.
pub fn identity(uid: &str) -> Result<(String, String), String> {
    // SAFETY: functions have the types of cuda.h, and each gets pointers to what it writes.
    unsafe {
        let driver = driver()?;
        let uuid: unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int = driver.function(c"cuDeviceGetUuid_v2")?;
        let attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int =
            driver.function(c"cuDeviceGetAttribute")?;
        let known: Vec<(c_int, [u8; 16])> = devices(driver)?
            .into_iter()
            .map(|device| {
                let mut bytes = [0; 16];
                succeeded("cuDeviceGetUuid", uuid(&raw mut bytes, device)).map(|()| (device, bytes))
            })
            .collect::<Result<_, _>>()?;
        // A runtime and the driver see the same devices: where there is one, it is that one.
        let found = known.iter().find(|(_, bytes)| known.len() == 1 || is_same(uid, bytes));
        let Some((device, bytes)) = found else {
            let names: Vec<_> = known.iter().map(|(_, bytes)| name(bytes)).collect();
            return Err(format!("the driver does not know {uid:?}, but {}", names.join(", ")));
        };
        let (mut major, mut minor) = (0, 0);
        succeeded("cuDeviceGetAttribute", attribute(&raw mut major, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, *device))?;
        succeeded("cuDeviceGetAttribute", attribute(&raw mut minor, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, *device))?;
        Ok((format!("sm_{major}{minor}"), name(bytes)))
    }
}

/// The driver's library, if this machine has one.
fn driver() -> Result<Library, String> {
    Library::open(Path::new("libcuda.so.1"))
}

/// # Safety
/// `driver` is the driver's library.
unsafe fn devices(driver: Library) -> Result<Vec<c_int>, String> {
    // SAFETY: as the caller's.
    unsafe {
        let init: unsafe extern "C" fn(c_uint) -> c_int = driver.function(c"cuInit")?;
        let count: unsafe extern "C" fn(*mut c_int) -> c_int = driver.function(c"cuDeviceGetCount")?;
        let get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int = driver.function(c"cuDeviceGet")?;
        let mut number = 0;
        succeeded("cuInit", init(0))?;
        succeeded("cuDeviceGetCount", count(&raw mut number))?;
        (0..number)
            .map(|index| {
                let mut device = 0;
                succeeded("cuDeviceGet", get(&raw mut device, index)).map(|()| device)
            })
            .collect()
    }
}

fn succeeded(function: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{function}: error {code}")) }
}

/// Whether a text that ends in a UUID, however it is punctuated, ends in this one.
fn is_same(uid: &str, bytes: &[u8; 16]) -> bool {
    uid.to_lowercase().replace('-', "").ends_with(&hexadecimal(bytes))
}

fn name(bytes: &[u8; 16]) -> String {
    let parts: Vec<_> = [0..4, 4..6, 6..8, 8..10, 10..16].map(|range| hexadecimal(&bytes[range])).into();
    format!("GPU-{}", parts.join("-"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_of_a_uuid_does_not_matter() {
        let bytes = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
        assert_eq!(name(&bytes), "GPU-01234567-89ab-cdef-0123-456789abcdef");
        assert!(is_same("GPU-01234567-89AB-cdef-0123-456789abcdef", &bytes));
        assert!(is_same("CUDA-0123456789abcdef0123456789abcdef", &bytes));
        assert!(!is_same("GPU-11234567-89ab-cdef-0123-456789abcdef", &bytes));
    }
}
