//! Who runs a kernel's body: one thread for each item, or teams of threads that share the items out.

use core::ops::Range;

use crate::device::{self, Place};

/// The index of one unit of work, in the hand of the one thread that does it.
///
/// Only the launch layer makes items: each index below the number of items, once a launch. See [`crate::arguments`].
#[derive(Clone, Copy)]
pub struct Item(usize);

impl Item {
    /// The index, for reading around it. It is a number then, and gives no right to write.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0
    }
}

/// The launch's dimensions. Every kernel gets them as its last arguments, because neither the host device nor
/// amdgcn can ask for them.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// Units of work.
    pub items: usize,
    /// Workgroups.
    pub grid: usize,
    /// Threads in a workgroup.
    pub block: usize,
}

/// The items `next`, `next + stride`, and so on below `end`.
pub struct Share {
    /// The first.
    pub next: usize,
    /// Behind the last.
    pub end: usize,
    /// From one to the next.
    pub stride: usize,
}

/// How a kernel's items are laid over a device's threads; the type of the first argument of its body.
pub trait Shape: Sized {
    /// Whether a team of threads strides over the items (else each item has its own thread).
    const STRIDES: bool;

    /// Runs `body` in this thread for what the launch gives it.
    ///
    /// # Safety
    /// Once in each thread of a launch, with the launch's dimensions and the thread's place: items would not be unique
    /// otherwise.
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self));
}

impl Shape for Item {
    const STRIDES: bool = false;

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        for index in place.items(dimensions) {
            body(Self(index));
        }
    }
}

/// One thread's seat in a workgroup of a launch whose threads stride over all items together.
pub struct Team {
    dimensions: Dimensions,
    place: Place,
}

impl Shape for Team {
    const STRIDES: bool = true;

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        body(Self { dimensions, place });
    }
}

impl Team {
    /// Combines the values of this thread's share of the items.
    ///
    /// Several partial results are kept, so that their loads and additions do not wait for one another. `combine` must
    /// be associative and commutative up to rounding, and `neutral` must change nothing.
    #[inline(always)]
    pub fn fold(&self, neutral: f64, value: impl Fn(Item) -> f64, combine: impl Fn(f64, f64) -> f64) -> f64 {
        let Share { mut next, end, stride } = self.place.share(self.dimensions);
        // Index by index: an iterator over an array keeps it in local memory on a GPU.
        let mut partial = [neutral; device::LANES];
        while next + (device::LANES - 1) * stride < end {
            let values: [f64; device::LANES] = core::array::from_fn(|lane| value(Item(next + lane * stride)));
            partial = core::array::from_fn(|lane| combine(partial[lane], values[lane]));
            next += device::LANES * stride;
        }
        let mut result = neutral;
        while next < end {
            result = combine(result, value(Item(next)));
            next += stride;
        }
        let mut lane = 0;
        while lane < device::LANES {
            result = combine(result, partial[lane]);
            lane += 1;
        }
        result
    }

    /// Combines one value of each thread of the workgroup through shared memory. The result is in the hand of the
    /// workgroup's first thread, the others get none.
    ///
    /// Every thread of the workgroup must come here equally often. `combine` must be associative and commutative up to
    /// rounding. Takes the team: the tile in shared memory serves one reduction a launch.
    #[inline(always)]
    pub fn reduce(self, value: f64, combine: impl Fn(f64, f64) -> f64) -> Option<f64> {
        device::reduce_block(self.place, self.dimensions.block, value, combine)
    }
}

/// The `part`-th of `parts` nearly equal pieces of `0..items`.
#[inline]
pub fn piece(items: usize, part: usize, parts: usize) -> Range<usize> {
    let (size, rest) = (items / parts, items % parts);
    let start = part * size + part.min(rest);
    start..start + size + usize::from(part < rest)
}
