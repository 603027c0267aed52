//! The part of liboffload's C interface that loads, copies and launches.

use std::ffi::{c_char, c_int, c_void};

use super::ol::{Handle, Status};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

#[repr(C)]
pub struct LaunchSize {
    pub dimensions: usize,
    pub groups: Extent,
    pub group: Extent,
    pub dynamic_shared_memory: usize,
}

pub const SYMBOL_KIND_KERNEL: c_int = 0;
pub const ALLOC_TYPE_HOST: c_int = 0;
pub const ALLOC_TYPE_DEVICE: c_int = 1;

unsafe extern "C" {
    pub fn olCreateProgram(device: Handle, data: *const c_void, size: usize, program: *mut Handle) -> Status;
    pub fn olGetSymbol(program: Handle, name: *const c_char, kind: c_int, symbol: *mut Handle) -> Status;
    pub fn olCreateQueue(device: Handle, queue: *mut Handle) -> Status;
    pub fn olSyncQueue(queue: Handle) -> Status;
    pub fn olMemAlloc(device: Handle, kind: c_int, size: usize, pointer: *mut *mut c_void) -> Status;
    pub fn olMemFree(pointer: *mut c_void) -> Status;
    pub fn olMemcpy(
        queue: Handle,
        to: *mut c_void,
        to_device: Handle,
        from: *const c_void,
        from_device: Handle,
        size: usize,
    ) -> Status;
    pub fn olLaunchKernel(
        queue: Handle,
        device: Handle,
        kernel: Handle,
        arguments: *const c_void,
        arguments_size: usize,
        size: *const LaunchSize,
    ) -> Status;
}
