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

/// `a * b + c` of `N` numbers that do not depend on each other, each rounded once: an operation where the device has it,
/// else a call of the math library. A GPU's thread does one after another.
#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
#[inline(always)]
pub fn fma_each<const N: usize>(a: [f64; N], b: [f64; N], c: [f64; N]) -> [f64; N] {
    core::array::from_fn(|number| core::intrinsics::fmaf64(a[number], b[number], c[number]))
}

/// `a * b + c` of `N` numbers that do not depend on each other, each rounded once: an operation where the device has it,
/// else a call of the math library. A processor has vectors for several at once.
#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
#[inline(always)]
pub fn fma_each<const N: usize>(a: [f64; N], b: [f64; N], c: [f64; N]) -> [f64; N] {
    /// Of any length; LLVM takes as many of the processor's vectors as it needs.
    #[derive(Clone, Copy)]
    #[repr(simd)]
    struct Vector<const N: usize>([f64; N]);

    // SAFETY: all the intrinsic demands is that these are vectors of floating-point numbers.
    let vector = unsafe { core::intrinsics::simd::simd_fma(Vector(a), Vector(b), Vector(c)) };
    // SAFETY: a vector begins with its numbers.
    unsafe { core::ptr::from_ref(&vector).cast::<[f64; N]>().read() }
}

#[cfg(test)]
mod tests {
    use super::fma_each;

    #[test]
    fn products_are_not_rounded_before_the_addition() {
        let above_one = 1.0 + f64::EPSILON;
        let square_rounded = above_one * above_one;
        let lost = f64::EPSILON * f64::EPSILON;
        assert_eq!(fma_each([above_one], [above_one], [-square_rounded]), [lost]);
        let many = fma_each([2.0, 3.0, above_one], [5.0, 7.0, above_one], [1.0, -1.0, -square_rounded]);
        assert_eq!(many, [11.0, 20.0, lost]);
    }
}
