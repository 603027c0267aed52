//! NVIDIA GPUs: what Rust's intrinsics give, and in `nvptx64.ll` what they do not.

use core::arch::nvptx;

use crate::launch::Dimensions;

#[path = "gpu.rs"]
mod gpu;
pub use gpu::{ITEM_BY_ITEM, LOADS, Own, Place, SUMS, Shared, atomic_add, barrier, run, sum_block, trap};

/// The workgroup's number along an axis.
#[inline(always)]
pub fn block_id(axis: usize) -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe {
        match axis {
            0 => nvptx::_block_idx_x() as u32,
            1 => nvptx::_block_idx_y() as u32,
            _ => nvptx::_block_idx_z() as u32,
        }
    }
}

/// The thread's number in its workgroup along an axis.
#[inline(always)]
pub fn thread_id(axis: usize) -> u32 {
    // SAFETY: as above.
    unsafe {
        match axis {
            0 => nvptx::_thread_idx_x() as u32,
            1 => nvptx::_thread_idx_y() as u32,
            _ => nvptx::_thread_idx_z() as u32,
        }
    }
}

/// Threads in a workgroup along an axis.
#[inline(always)]
pub fn threads(_: Dimensions, axis: usize) -> usize {
    // SAFETY: as above.
    unsafe {
        match axis {
            0 => nvptx::_block_dim_x() as usize,
            1 => nvptx::_block_dim_y() as usize,
            _ => nvptx::_block_dim_z() as usize,
        }
    }
}
