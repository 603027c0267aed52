//! Libraries that are found when the program runs.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

const RTLD_NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// A library that stays open until the process ends.
#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

impl Library {
    /// Opens a library by file, or by the name under which the system knows it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "not a path".to_owned())?;
        // SAFETY: the name is a C string; what a library does when it is loaded is its builder's responsibility.
        let library = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        if library.is_null() { Err(last_error()) } else { Ok(Self(library)) }
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is the type of a pointer to the function of that name.
    pub unsafe fn function<F: Copy>(self, name: &CStr) -> Result<F, String> {
        // SAFETY: the library is open; a pointer to a function is as large as one to data on this system.
        unsafe {
            let symbol = dlsym(self.0, name.as_ptr());
            if symbol.is_null() { Err(last_error()) } else { Ok(std::mem::transmute_copy(&symbol)) }
        }
    }
}

fn last_error() -> String {
    // SAFETY: null or a C string that lives until the next call, which this thread makes.
    unsafe {
        let text = dlerror();
        if text.is_null() { "unknown error".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
