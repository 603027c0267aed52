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

    /// The next argument.
    ///
    /// # Safety
    /// The next words are an argument of this type; what they point to is there, and while a slice lives, nobody changes
    /// it, or if it can be changed, nobody else touches it.
    #[inline(always)]
    pub unsafe fn take<A: Argument>(&mut self) -> A {
        // SAFETY: the caller's promise.
        unsafe { A::take(self) }
    }
}

/// What a launch takes.
pub trait Argument {
    /// # Safety
    /// That of [`Words::take`].
    unsafe fn take(words: &mut Words) -> Self;
}

impl<T: Element> Argument for &[T] {
    #[inline(always)]
    unsafe fn take(words: &mut Words) -> Self {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts(words.next() as *const T, words.next() as usize) }
    }
}

impl<T: Element> Argument for &mut [T] {
    #[inline(always)]
    unsafe fn take(words: &mut Words) -> Self {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(words.next() as *mut T, words.next() as usize) }
    }
}

impl Argument for f64 {
    #[inline(always)]
    unsafe fn take(words: &mut Words) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bits(unsafe { words.next() })
    }
}

impl Argument for usize {
    #[inline(always)]
    unsafe fn take(words: &mut Words) -> Self {
        // SAFETY: the caller's promise.
        unsafe { words.next() as Self }
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
