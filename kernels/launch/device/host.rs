//! The host as an offload device: all cores, one thread on each.
//!
//! libomptarget's host plugin calls a kernel's entry once, whatever the launch's dimensions; the entry spreads the
//! items over the cores with the OpenMP runtime that libomptarget itself runs on.

use core::ffi::{c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::launch::{Dimensions, Seat, Share, piece};

/// A thread that could have several items gets one after another.
pub const ITEM_BY_ITEM: bool = true;

/// Elements that a thread adds at once: four vectors of four, which hides the latency of an addition.
pub const LOADS: usize = 16;

/// Sums that they are added to.
pub const SUMS: usize = 16;

/// A thread's position: which of the launch's threads it is.
#[derive(Clone, Copy)]
pub struct Place {
    thread: usize,
    threads: usize,
}

impl Place {
    /// This thread's piece of the numbers below `count`: contiguous, so that neighbours in memory stay on one core.
    #[inline(always)]
    fn piece(self, count: usize) -> Range<usize> {
        piece(count, self.thread, self.threads)
    }

    /// A piece of a line.
    #[inline(always)]
    pub fn line(self, dimensions: Dimensions, body: impl Fn(usize)) {
        for x in self.piece(dimensions.items[0]) {
            body(x);
        }
    }

    /// Some rows of a plane, item by item.
    #[inline(always)]
    pub fn plane(self, dimensions: Dimensions, _: usize, body: impl Fn(usize, usize)) {
        let [width, height, _] = dimensions.items;
        for y in self.piece(height) {
            for x in 0..width {
                body(x, y);
            }
        }
    }

    /// Some rows of a plane, item by item.
    #[inline(always)]
    pub fn strips(self, dimensions: Dimensions, _: usize, border: usize, body: impl Fn(usize, usize)) {
        self.plane(dimensions, border, body);
    }

    /// Some planes of a volume.
    #[inline(always)]
    pub fn volume(self, dimensions: Dimensions, _: usize, body: impl Fn(usize, usize, usize)) {
        let [width, height, depth] = dimensions.items;
        for z in self.piece(depth) {
            for y in 0..height {
                for x in 0..width {
                    body(x, y, z);
                }
            }
        }
    }

    /// Some workgroups, one after another in the same memory.
    #[inline(always)]
    pub fn groups<const SHARED: usize>(self, dimensions: Dimensions, body: impl Fn(usize, *mut f64)) {
        let mut tile = [0.0; SHARED];
        for group in self.piece(dimensions.items[0]) {
            body(group, tile.as_mut_ptr());
        }
    }

    /// All numbers below `COUNT`: one thread is the whole workgroup.
    #[inline(always)]
    pub fn each_of<const COUNT: usize, const MEMBERS: usize>(self, body: impl Fn(usize)) {
        for index in 0..COUNT {
            body(index);
        }
    }

    /// All members of the workgroup, one after another.
    #[inline(always)]
    pub fn members<const MEMBERS: usize>(self, body: impl Fn(usize)) {
        for member in 0..MEMBERS {
            body(member);
        }
    }

    /// A piece of a line.
    #[inline(always)]
    pub fn share(self, dimensions: Dimensions) -> Share {
        let Range { start, end } = self.piece(dimensions.items[0]);
        Share { next: start, end, stride: 1 }
    }
}

/// What a member of a workgroup has of its own: read when it is its turn.
pub struct Own<T, V>(V, PhantomData<T>);

impl<T: Copy, V: Fn(&Seat) -> T> Own<T, V> {
    /// Notes what to read.
    #[inline(always)]
    pub fn new<const MEMBERS: usize>(value: V, _: impl Fn(usize) -> Seat) -> Self {
        Self(value, PhantomData)
    }

    /// Reads it.
    #[inline(always)]
    pub fn of(&self, seat: &Seat) -> T {
        (self.0)(seat)
    }
}

/// Threads in a workgroup along an axis.
#[inline(always)]
pub fn threads(dimensions: Dimensions, axis: usize) -> usize {
    dimensions.threads(axis)
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
///
/// # Safety
/// Only in an entry point: it tells threads apart.
#[inline(always)]
pub unsafe fn run<F: Fn(Place) + Sync>(_: Dimensions, thread: F) {
    extern "C" fn body<F: Fn(Place) + Sync>(thread: *mut c_void) {
        // SAFETY: `run` passes a pointer to its `thread`, which outlives the parallel region.
        let thread = unsafe { &*thread.cast::<F>() };
        thread(Place { thread: omp_get_thread_num() as usize, threads: omp_get_num_threads() as usize });
    }
    // SAFETY: `body` matches `F`, and the region ends before this call returns.
    unsafe { GOMP_parallel(body::<F>, (&raw const thread).cast_mut().cast(), 0, 0) }
}

/// Ends the process: the worker's runner records the point as crashed.
#[inline(always)]
pub fn trap() -> ! {
    core::intrinsics::abort()
}

/// A workgroup is one thread here.
#[inline(always)]
pub fn barrier() {}

/// Adds to `*pointer`, atomically, in no particular order.
///
/// # Safety
/// `pointer` is valid, and all access to it during the launch is atomic.
#[inline(always)]
pub unsafe fn atomic_add(pointer: *mut f64, value: f64) {
    // SAFETY: f64 and AtomicU64 have the same size and alignment on this target; the rest is the caller's promise.
    let bits = unsafe { AtomicU64::from_ptr(pointer.cast()) };
    let _ =
        bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some((f64::from_bits(old) + value).to_bits()));
}

/// A workgroup is one thread here: its value is the result.
#[inline(always)]
pub fn sum_block(_: Place, _: usize, value: f64) -> Option<f64> {
    Some(value)
}
