//! What GPUs of all vendors have in common.

use core::marker::PhantomData;

use super::{block_id, thread_id, threads};
use crate::launch::{Dimensions, LINE, Seat, Share};

/// A thread that has several items works on all of them at once.
pub const ITEM_BY_ITEM: bool = false;

/// Loads in flight in a thread that strides: with fewer, memory waits; more gain nothing (measured on an H200).
pub const LOADS: usize = 4;

/// Sums that they are added to. Other threads hide the additions' latency; each further sum takes registers that the loads
/// then wait for.
pub const SUMS: usize = 1;

// Written in LLVM's own language, one file a vendor: Rust has no word for shared memory of static size, for a barrier
// that orders memory on every vendor, for a shuffle between lanes, or for a floating-point atomic.
unsafe extern "C" {
    fn ironsweep_atomic_add_f64(pointer: *mut f64, value: f64);
    safe fn ironsweep_barrier();
    safe fn ironsweep_tile_256_f64() -> *mut f64;
    safe fn ironsweep_tile_1024_f64() -> *mut f64;
    safe fn ironsweep_lanes() -> usize;
    /// The value of the lane `distance` on in the same warp; its own value where there is none.
    safe fn ironsweep_shuffle_down_f64(value: f64, distance: u32) -> f64;
}

/// A thread's position. The hardware knows it.
#[derive(Clone, Copy)]
pub struct Place(());

impl Place {
    /// This thread's.
    #[inline(always)]
    pub(super) fn here() -> Self {
        Self(())
    }

    /// The position along an axis.
    #[inline(always)]
    fn index(self, dimensions: Dimensions, axis: usize) -> usize {
        // Both factors fit in 32 bits, which lets the device multiply once instead of twice.
        block_id(axis) as usize * threads(dimensions, axis) as u32 as usize + thread_id(axis) as usize
    }

    /// At most one item of a line: the launch has a thread for each.
    #[inline(always)]
    pub fn line(self, dimensions: Dimensions, body: impl Fn(usize)) {
        let x = self.index(dimensions, 0);
        if x < dimensions.items[0] {
            body(x);
        }
    }

    /// At most one item of a plane whose arrays have this border.
    #[inline(always)]
    pub fn plane(self, dimensions: Dimensions, border: usize, body: impl Fn(usize, usize)) {
        self.strips(dimensions, 1, border, |x, y| {
            if x < dimensions.items[0] {
                body(x, y);
            }
        });
    }

    /// A place in a row, if a workgroup's threads have `count` items each, as far apart as they are many along x. Rows are
    /// entered where the line of memory begins in which their first item lies. What lies before a row, where later items of
    /// the same thread may lie in it, is a number beyond its end.
    #[inline(always)]
    pub fn strips(self, dimensions: Dimensions, count: usize, border: usize, body: impl Fn(usize, usize)) {
        let [width, height, _] = dimensions.items;
        let y = self.index(dimensions, 1);
        // Only the remainder counts, which 32 bits hold.
        let before = ((y + border) as u32).wrapping_mul((width + 2 * border) as u32).wrapping_add(border as u32);
        let along = block_id(0) as usize * (threads(dimensions, 0) * count) as u32 as usize + thread_id(0) as usize;
        if y < height {
            body(along.wrapping_sub(before as usize % LINE), y);
        }
    }

    /// At most `depth` items of a volume, along z.
    #[inline(always)]
    pub fn volume(self, dimensions: Dimensions, depth: usize, body: impl Fn(usize, usize, usize)) {
        let [width, height, planes] = dimensions.items;
        let (x, y, mut z) = (self.index(dimensions, 0), self.index(dimensions, 1), self.index(dimensions, 2) * depth);
        if x < width && y < height {
            let end = planes.min(z + depth);
            while z < end {
                body(x, y, z);
                z += 1;
            }
        }
    }

    /// The workgroup's own item, with its shared memory.
    #[inline(always)]
    pub fn groups<const SHARED: usize>(self, dimensions: Dimensions, body: impl Fn(usize, *mut f64)) {
        let group = block_id(0) as usize;
        if group < dimensions.items[0] {
            body(group, if SHARED <= 256 { ironsweep_tile_256_f64() } else { ironsweep_tile_1024_f64() });
        }
    }

    /// This thread's share of the numbers below `COUNT`, if the `MEMBERS` threads of its workgroup share them out.
    #[inline(always)]
    pub fn each_of<const COUNT: usize, const MEMBERS: usize>(self, body: impl Fn(usize)) {
        let mut first = 0;
        while first < COUNT {
            let index = first + member::<MEMBERS>();
            if index < COUNT {
                body(index);
            }
            first += MEMBERS;
        }
    }

    /// This thread as a member of its workgroup.
    #[inline(always)]
    pub fn members<const MEMBERS: usize>(self, body: impl Fn(usize)) {
        body(member::<MEMBERS>());
    }

    /// Every item whose index is this thread's modulo the number of threads, so that neighbours read neighbours.
    #[inline(always)]
    pub fn share(self, dimensions: Dimensions) -> Share {
        Share {
            next: self.index(dimensions, 0),
            end: dimensions.items[0],
            stride: dimensions.grid * threads(dimensions, 0),
        }
    }
}

/// This thread's number in a workgroup of so many.
#[inline(always)]
fn member<const MEMBERS: usize>() -> usize {
    let index = thread_id(0) as usize;
    // SAFETY: the bench driver launches a group's kernel in workgroups of its members, along x.
    unsafe { core::hint::assert_unchecked(index < MEMBERS) };
    index
}

/// What a member of a workgroup has of its own: this thread's.
pub struct Own<T, V>(T, PhantomData<V>);

impl<T: Copy, V: Fn(&Seat) -> T> Own<T, V> {
    /// Reads it.
    #[inline(always)]
    pub fn new<const MEMBERS: usize>(value: V, seat: impl Fn(usize) -> Seat) -> Self {
        Self(value(&seat(member::<MEMBERS>())), PhantomData)
    }

    /// What was read.
    #[inline(always)]
    pub fn of(&self, _: &Seat) -> T {
        self.0
    }
}

/// Runs one thread of a kernel: the hardware has already spread them over the device.
///
/// # Safety
/// Only in an entry point: it tells threads apart.
#[inline(always)]
pub unsafe fn run(_: Dimensions, thread: impl Fn(Place)) {
    thread(Place::here());
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

/// Waits for all threads of the workgroup, and for what they wrote.
#[inline(always)]
pub fn barrier() {
    ironsweep_barrier();
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

/// The sum over the workgroup, for its first thread. All of its threads come here, once a launch; they are a multiple
/// of a warp and at most 1024, which the bench driver sees to.
#[inline(always)]
pub fn sum_block(_: Place, members: usize, value: f64) -> Option<f64> {
    let lanes = ironsweep_lanes();
    let (thread, warps) = (thread_id(0) as usize, members / lanes);
    let value = sum_warp(value, lanes);
    let tile = ironsweep_tile_256_f64();
    // SAFETY: the tile has room for one number a warp. Each is written by the warp's first thread, and read behind the
    // barrier.
    unsafe {
        if thread % lanes == 0 {
            *tile.add(thread / lanes) = value;
        }
        barrier();
        if thread < lanes {
            let partial = if thread < warps { *tile.add(thread) } else { 0.0 };
            let total = sum_warp(partial, lanes);
            return (thread == 0).then_some(total);
        }
    }
    None
}

/// The sum over a warp, for its first lane.
#[inline(always)]
fn sum_warp(mut value: f64, lanes: usize) -> f64 {
    let mut distance = lanes as u32 / 2;
    while distance > 0 {
        value += ironsweep_shuffle_down_f64(value, distance);
        distance /= 2;
    }
    value
}
