//! The launch layer: all that stands between a kernel's file and a device or a clock.
//!
//! One source, built three ways:
//! * for a device (`--cfg device`): on a GPU (`nvptx64`, `amdgpu`) the entry points are `gpu-kernel`s; for the host device
//!   they share the items out over all cores. With `--cfg unchecked` the bounds checks are left out;
//! * for std::offload's launches (`--cfg launcher`);
//! * for the bench driver: data set-up, timing, checksums, the worker protocol and the runtimes.
//!
//! A kernel's file sees only the [`prelude`]; it names no vendor, no runtime and no ABI.

#![cfg_attr(any(device, launcher), no_std)]
#![feature(auto_traits, core_intrinsics, negative_impls)]
#![cfg_attr(not(any(target_arch = "nvptx64", target_arch = "amdgpu")), feature(repr_simd))]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx))]
#![cfg_attr(target_arch = "amdgpu", feature(stdarch_amdgpu))]
#![allow(internal_features)]

pub mod arguments;
pub mod initial;
pub mod kernel;
pub mod launch;
#[cfg(launcher)]
pub mod launcher;
pub mod math;
pub mod sizes;

#[cfg_attr(target_arch = "nvptx64", path = "device/nvptx64.rs")]
#[cfg_attr(target_arch = "amdgpu", path = "device/amdgpu.rs")]
#[cfg_attr(simulated, path = "device/simulated.rs")]
#[cfg_attr(not(any(target_arch = "nvptx64", target_arch = "amdgpu", simulated)), path = "device/host.rs")]
mod device;

#[cfg(not(any(device, launcher)))]
pub mod bench;

/// What a kernel's file needs.
pub mod prelude {
    pub use crate::arguments::{
        Distinct, Gather, In, In2, InGroup, InPairs, Out, Out2, OutGroup, OutPairs, Rows, Scatter, Sum, Table,
    };
    pub use crate::initial::{computed, constant, indices_32, indices_64, ramp, random_values, scalar, zeros};
    pub use crate::kernel;
    pub use crate::kernel::{Bytes, Kernel, Launch, Launcher, counted, part, whole};
    pub use crate::launch::{Group, Item, Item2, Item3, Seat, Strip, Team};
    pub use crate::math::{exp, fma_each, sqrt};
    pub use crate::sizes::{Mesh, cube_edge, square_edge};
}

#[cfg(any(device, launcher))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    device::trap()
}
