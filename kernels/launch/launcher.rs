//! std::offload's launches, as a library of their own: the bench driver loads the one of a tuning, and with it the device
//! images of that tuning.
//!
//! It is apart from the driver because rustc turns the launches into calls of libomptarget only in link-time
//! optimisation, which takes half a second for this and ten for all of the driver.

use crate::arguments::Element;

/// A launch's arguments, each as 64 bits: an array is pointer and length.
pub struct Words(*const u64);

impl Words {
    /// # Safety
    /// Behind `words` lies all that will be taken.
    pub const unsafe fn new(words: *const u64) -> Self {
        Self(words)
    }

    #[inline(always)]
    unsafe fn next(&mut self) -> u64 {
        // SAFETY: the promise given to `new`.
        unsafe {
            let word = *self.0;
            self.0 = self.0.add(1);
            word
        }
    }

    /// # Safety
    /// The next two words are an array that nobody changes while the slice lives.
    #[inline(always)]
    pub unsafe fn array<'a, T: Element>(&mut self) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts(self.next() as *const T, self.next() as usize) }
    }

    /// # Safety
    /// The next two words are an array that nobody else touches while the slice lives.
    #[inline(always)]
    pub unsafe fn array_mut<'a, T: Element>(&mut self) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.next() as *mut T, self.next() as usize) }
    }

    /// # Safety
    /// The next word is a floating-point number.
    #[inline(always)]
    pub unsafe fn scalar(&mut self) -> f64 {
        // SAFETY: the caller's promise.
        f64::from_bits(unsafe { self.next() })
    }

    /// # Safety
    /// There is a next word.
    #[inline(always)]
    pub unsafe fn number(&mut self) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.next() as usize }
    }
}

/// Workgroups, and threads in a workgroup, along x, y and z.
#[derive(Clone, Copy)]
pub struct LaunchShape {
    /// Workgroups.
    pub grid: [u32; 3],
    /// Threads in a workgroup.
    pub block: [u32; 3],
}

impl LaunchShape {
    /// # Safety
    /// `shape` points to six numbers.
    pub const unsafe fn new(shape: *const u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self { grid: [*shape, *shape.add(1), *shape.add(2)], block: [*shape.add(3), *shape.add(4), *shape.add(5)] }
        }
    }
}
