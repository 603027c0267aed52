//! Mathematical functions: those of the hardware, and those that a device's math library computes (libdevice for
//! NVIDIA, ocml for AMD, libm for the host).

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    #[link_name = "__nv_exp"]
    safe fn library_exp(x: f64) -> f64;
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "C" {
    #[link_name = "__ocml_exp_f64"]
    safe fn library_exp(x: f64) -> f64;
}

#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
unsafe extern "C" {
    #[link_name = "exp"]
    safe fn library_exp(x: f64) -> f64;
}

/// e to the power of `x`, within one unit in the last place on each device.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    library_exp(x)
}

/// The square root of `x`, correctly rounded on each device.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    core::intrinsics::sqrtf64(x)
}
