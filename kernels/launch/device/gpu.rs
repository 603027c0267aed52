//! What GPUs of all vendors have in common.

use crate::launch::{Dimensions, Share};

/// Loads in flight in a thread that strides: with fewer, memory waits; more gain nothing (measured on an H200).
pub const LANES: usize = 4;

// Written in LLVM's own language, one file a vendor: Rust has no word for shared memory of static size, for a barrier
// that orders memory on every vendor, or for a floating-point atomic.
unsafe extern "C" {
    fn ironsweep_atomic_add_f64(pointer: *mut f64, value: f64);
    fn ironsweep_barrier();
    fn ironsweep_tile_f64() -> *mut f64;
}

/// A thread's position: its workgroup, and its place in it.
#[derive(Clone, Copy)]
pub struct Place {
    pub block: usize,
    pub thread: usize,
}

impl Place {
    #[inline(always)]
    fn first(self, dimensions: Dimensions) -> usize {
        // Both factors fit in 32 bits, which lets the device multiply once instead of twice.
        self.block as u32 as usize * dimensions.block as u32 as usize + self.thread
    }

    /// At most one item: the launch has a thread for each.
    #[inline(always)]
    pub fn items(self, dimensions: Dimensions) -> core::option::IntoIter<usize> {
        let index = self.first(dimensions);
        (index < dimensions.items).then_some(index).into_iter()
    }

    /// Every item whose index is this thread's modulo the number of threads, so that neighbours read neighbours.
    #[inline(always)]
    pub fn share(self, dimensions: Dimensions) -> Share {
        Share { next: self.first(dimensions), end: dimensions.items, stride: dimensions.grid * dimensions.block }
    }
}

/// An argument on its way from the entry point to a thread's body.
#[derive(Clone, Copy)]
pub struct Shared<T>(T);

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

/// Ends the launch with a fault that the runtime reports.
#[inline(always)]
pub fn trap() -> ! {
    core::intrinsics::abort()
}

/// Adds to `*pointer`, atomically for the whole device, in no particular order.
///
/// # Safety
/// `pointer` is valid, and all access to it during the launch is atomic.
#[inline(always)]
pub unsafe fn atomic_add(pointer: *mut f64, value: f64) {
    // SAFETY: the caller's promise.
    unsafe { ironsweep_atomic_add_f64(pointer, value) }
}

/// A tree over the workgroup's tile. The block is a power of two and at most 1024, which the bench driver sees to.
#[inline(always)]
pub fn reduce_block(place: Place, block: usize, value: f64, combine: impl Fn(f64, f64) -> f64) -> Option<f64> {
    // SAFETY: the tile has 1024 elements and serves this reduction alone. In each step a thread reads what another
    // wrote before the barrier; the slots that a step reads (half..) and writes (..half) are disjoint.
    unsafe {
        let tile = ironsweep_tile_f64();
        let own = tile.add(place.thread);
        *own = value;
        ironsweep_barrier();
        let mut half = block / 2;
        while half > 0 {
            if place.thread < half {
                *own = combine(*own, *own.add(half));
            }
            ironsweep_barrier();
            half /= 2;
        }
        (place.thread == 0).then(|| *tile)
    }
}
