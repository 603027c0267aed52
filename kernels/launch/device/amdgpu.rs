//! AMD GPUs: what Rust's intrinsics give, and in `amdgpu.ll` what they do not.

use core::arch::amdgpu;

use crate::launch::Dimensions;

#[path = "gpu.rs"]
mod gpu;
pub use gpu::{LANES, Place, Shared, atomic_add, reduce_block, trap};

/// This thread's position in the launch.
#[inline(always)]
pub fn place() -> Place {
    Place { block: amdgpu::workgroup_id_x() as usize, thread: amdgpu::workitem_id_x() as usize }
}

/// Runs one thread of a kernel: the hardware has already spread them over the device.
#[inline(always)]
pub fn run(_: Dimensions, thread: impl Fn(Place)) {
    thread(place());
}
