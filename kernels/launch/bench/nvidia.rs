//! What liboffload does not tell of an NVIDIA GPU: its compute capability, asked of the driver itself.

use std::ffi::{CStr, c_char, c_int, c_void};

type Driver = *mut c_void;

const RTLD_NOW: c_int = 2;
const ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;

unsafe extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> Driver;
    fn dlsym(driver: Driver, symbol: *const c_char) -> *mut c_void;
}

/// The architecture, for example `sm_90`, of the device that the runtime knows under `uid`; none where the driver is not
/// there or knows no such device.
pub fn architecture(uid: &str) -> Option<String> {
    // SAFETY: the driver's functions have these signatures (cuda.h), and each gets pointers to what it writes.
    unsafe {
        let driver = dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW);
        if driver.is_null() {
            return None;
        }
        let init: unsafe extern "C" fn(u32) -> c_int = function(driver, c"cuInit")?;
        let count: unsafe extern "C" fn(*mut c_int) -> c_int = function(driver, c"cuDeviceGetCount")?;
        let get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int = function(driver, c"cuDeviceGet")?;
        let uuid: unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int = function(driver, c"cuDeviceGetUuid_v2")?;
        let attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int =
            function(driver, c"cuDeviceGetAttribute")?;

        let (mut devices, mut device, mut bytes) = (0, 0, [0; 16]);
        succeeded(init(0))?;
        succeeded(count(&raw mut devices))?;
        for number in 0..devices {
            succeeded(get(&raw mut device, number))?;
            succeeded(uuid(&raw mut bytes, device))?;
            if is_same(uid, &bytes) {
                let (mut major, mut minor) = (0, 0);
                succeeded(attribute(&raw mut major, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))?;
                succeeded(attribute(&raw mut minor, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))?;
                return Some(format!("sm_{major}{minor}"));
            }
        }
        None
    }
}

/// # Safety
/// `F` is the type of a pointer to the function of that name.
unsafe fn function<F: Copy>(driver: Driver, name: &CStr) -> Option<F> {
    // SAFETY: the driver was opened; a pointer to a function is as large as one to data on this system.
    unsafe {
        let symbol = dlsym(driver, name.as_ptr());
        (!symbol.is_null()).then(|| std::mem::transmute_copy(&symbol))
    }
}

fn succeeded(code: c_int) -> Option<()> {
    (code == 0).then_some(())
}

/// Whether a text that ends in a UUID, however it is punctuated, ends in this one.
fn is_same(uid: &str, bytes: &[u8; 16]) -> bool {
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    uid.to_lowercase().replace('-', "").ends_with(&hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_of_a_uuid_does_not_matter() {
        let bytes = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
        assert!(is_same("GPU-01234567-89AB-cdef-0123-456789abcdef", &bytes));
        assert!(is_same("CUDA-0123456789abcdef0123456789abcdef", &bytes));
        assert!(!is_same("GPU-11234567-89ab-cdef-0123-456789abcdef", &bytes));
    }
}
