//! NVIDIA GPUs: what Rust's intrinsics give, and in `nvptx64.ll` what they do not.

use core::arch::nvptx;

use crate::launch::Dimensions;

#[path = "gpu.rs"]
mod gpu;
pub use gpu::{LANES, Place, Shared, atomic_add, reduce_block, trap};

/// This thread's position in the launch.
#[inline(always)]
pub fn place() -> Place {
    // SAFETY: reading a special register has no precondition.
    unsafe { Place { block: nvptx::_block_idx_x() as usize, thread: nvptx::_thread_idx_x() as usize } }
}

/// Runs one thread of a kernel: the hardware has already spread them over the device.
#[inline(always)]
pub fn run(_: Dimensions, thread: impl Fn(Place)) {
    thread(place());
}
