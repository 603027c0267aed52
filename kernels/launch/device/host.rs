//! The host as an offload device: all cores, one workgroup of one thread on each.
//!
//! libomptarget's host plugin calls a kernel's entry once, whatever the launch's dimensions; the entry spreads the
//! items over the cores with the OpenMP runtime that libomptarget itself runs on.

use core::ffi::{c_int, c_uint, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::launch::{Dimensions, Share, piece};

/// Partial results of a thread: four vectors of four, which hides the latency of an addition.
pub const LANES: usize = 16;

/// A thread's position: which of the launch's threads it is.
#[derive(Clone, Copy)]
pub struct Place {
    thread: usize,
    threads: usize,
}

impl Place {
    /// A contiguous piece of the items.
    #[inline(always)]
    pub fn items(self, dimensions: Dimensions) -> Range<usize> {
        piece(dimensions.items, self.thread, self.threads)
    }

    /// The same piece: neighbours in memory stay on one core.
    #[inline(always)]
    pub fn share(self, dimensions: Dimensions) -> Share {
        let Range { start, end } = self.items(dimensions);
        Share { next: start, end, stride: 1 }
    }
}

/// An argument on its way from the entry point to a thread's body.
#[derive(Clone, Copy)]
pub struct Shared<T>(T);

// SAFETY: what threads may do with the memory behind an argument is said by the type that is made of it (`In`, `Out`,
// `Sum`), whose `from_raw` demands what sharing needs.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// # Safety
    /// Only for an entry point's arguments: threads share what is in it.
    #[inline(always)]
    pub const unsafe fn new(argument: T) -> Self {
        Self(argument)
    }

    /// The argument.
    #[inline(always)]
    pub fn get(&self) -> T {
        self.0
    }
}

// Found in libomp, which libomptarget brings.
unsafe extern "C" {
    fn GOMP_parallel(body: extern "C" fn(*mut c_void), data: *mut c_void, threads: c_uint, flags: c_uint);
    safe fn omp_get_thread_num() -> c_int;
    safe fn omp_get_num_threads() -> c_int;
}

/// Runs `thread` once on each core.
#[inline(always)]
pub fn run<F: Fn(Place) + Sync>(_: Dimensions, thread: F) {
    extern "C" fn body<F: Fn(Place) + Sync>(thread: *mut c_void) {
        // SAFETY: `run` passes a pointer to its `thread`, which outlives the parallel region.
        let thread = unsafe { &*thread.cast::<F>() };
        thread(Place { thread: omp_get_thread_num() as usize, threads: omp_get_num_threads() as usize });
    }
    // SAFETY: `body` matches `F`, and the region ends before this call returns.
    unsafe { GOMP_parallel(body::<F>, (&raw const thread).cast_mut().cast(), 0, 0) }
}

/// Ends the process: the worker's runner records the point as crashed.
#[cold]
pub fn trap() -> ! {
    std::process::abort()
}

/// Adds to `*pointer`, atomically, in no particular order.
///
/// # Safety
/// `pointer` is valid, and all access to it during the launch is atomic.
pub unsafe fn atomic_add(pointer: *mut f64, value: f64) {
    // SAFETY: f64 and AtomicU64 have the same size and alignment on this target; the rest is the caller's promise.
    let bits = unsafe { AtomicU64::from_ptr(pointer.cast()) };
    let _ =
        bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some((f64::from_bits(old) + value).to_bits()));
}

/// A workgroup is one thread here: its value is the result.
#[inline(always)]
pub fn reduce_block(_: Place, _: usize, value: f64, _: impl Fn(f64, f64) -> f64) -> Option<f64> {
    Some(value)
}
