//! The launch layer: all that stands between a kernel's file and a device or a clock.
//!
//! One source, built three ways:
//! * for a GPU (`nvptx64`, `amdgpu`): no standard library, the entry point is a `gpu-kernel`;
//! * for the host device (`--cfg device` on the host's target): a shared object that libomptarget's host plugin
//!   loads, its entry point shares the items out over all cores;
//! * for the bench driver (no `--cfg device`): data set-up, timing, checksums, the worker protocol and the runtimes.
//!
//! A kernel's file sees only the [`prelude`]; it names no vendor, no runtime and no ABI.

#![cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), no_std)]
#![cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), feature(core_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx))]
#![cfg_attr(target_arch = "amdgpu", feature(stdarch_amdgpu))]
#![allow(internal_features)]

pub mod arguments;
pub mod initial;
pub mod kernel;
pub mod launch;
pub mod math;

#[cfg_attr(target_arch = "nvptx64", path = "device/nvptx64.rs")]
#[cfg_attr(target_arch = "amdgpu", path = "device/amdgpu.rs")]
#[cfg_attr(not(any(target_arch = "nvptx64", target_arch = "amdgpu")), path = "device/host.rs")]
pub mod device;

#[cfg(not(device))]
pub mod bench;

/// What a kernel's file needs.
pub mod prelude {
    pub use crate::arguments::{In, Out, Sum};
    pub use crate::initial::{ramp, random_values, scalar, zeros};
    pub use crate::kernel;
    pub use crate::kernel::{Bytes, Kernel};
    pub use crate::launch::{Item, Team};
    pub use crate::math::exp;
}

#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    device::trap()
}
