//! AMD GPUs: what Rust's intrinsics give, and in `amdgpu.ll` what they do not.

use core::arch::amdgpu;

use crate::launch::Dimensions;

#[path = "gpu.rs"]
mod gpu;
pub use gpu::{ITEM_BY_ITEM, LOADS, Own, Place, SUMS, Shared, atomic_add, barrier, run, sum_block, trap};

/// The workgroup's number along an axis.
#[inline(always)]
pub fn block_id(axis: usize) -> u32 {
    match axis {
        0 => amdgpu::workgroup_id_x(),
        1 => amdgpu::workgroup_id_y(),
        _ => amdgpu::workgroup_id_z(),
    }
}

/// The thread's number in its workgroup along an axis.
#[inline(always)]
pub fn thread_id(axis: usize) -> u32 {
    match axis {
        0 => amdgpu::workitem_id_x(),
        1 => amdgpu::workitem_id_y(),
        _ => amdgpu::workitem_id_z(),
    }
}

/// Threads in a workgroup along an axis; this target has no register for it.
#[inline(always)]
pub fn threads(dimensions: Dimensions, axis: usize) -> usize {
    dimensions.threads(axis)
}
