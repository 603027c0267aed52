//! Who runs a kernel's body: one thread for each item of a line, a plane or a volume; teams of threads that stride; or
//! workgroups that share memory.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, Range};

use crate::arguments::{Sum, require};
use crate::device::{self, Own, Place};

/// The launch's dimensions. Every kernel gets them as its last arguments, because neither the host device nor
/// amdgcn can ask for them.
///
/// The bench driver sees to it that sizes computed with them do not overflow: there are at most [`MOST_ITEMS`], no more
/// than [`MOST_ROWS`] along an axis where there are several, and `block` is how the hardware was told to launch.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// Units of work along x, y and z.
    pub items: [usize; 3],
    /// Workgroups along x.
    pub grid: usize,
    /// Threads in a workgroup along x, y and z, in 16 bits each, the lowest for x.
    pub block: usize,
}

impl Dimensions {
    /// The number of threads along x, y and z, as `block` holds it.
    pub const fn packed(block: [usize; 3]) -> usize {
        block[0] | block[1] << 16 | block[2] << 32
    }

    /// Threads in a workgroup along an axis.
    #[inline(always)]
    pub fn threads(self, axis: usize) -> usize {
        (self.block >> (16 * axis)) as u16 as usize
    }

    /// Threads of a workgroup whose threads lie along x.
    #[inline(always)]
    pub fn members(self) -> usize {
        device::threads(self, 0)
    }
}

/// Items of a launch: sizes of arrays, with their borders, are then far below 2^64.
pub const MOST_ITEMS: usize = 1 << 36;

/// Items along an axis of a plane or a volume: with a border, they are then below 2^32.
pub const MOST_ROWS: usize = 1 << 31;

/// How a launch's threads are laid over its items; the bench driver makes the grid accordingly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    /// A thread for each item of a line.
    Line,
    /// Threads that stride over a line together.
    Strides,
    /// A thread for so many items of a row of a plane. Rows are moved so that threads begin with them where memory
    /// does; see [`LINE`].
    Plane(usize),
    /// A thread for so many items of a volume, one behind the other along z.
    Volume(usize),
    /// A workgroup of so many threads for each item.
    Groups(usize),
}

/// How a kernel's items are laid over a device's threads; the type of the first argument of its body.
///
/// # Safety
/// In all threads of a launch that is laid out so, [`Shape::each`] makes each item once, and no other.
pub unsafe trait Shape: Sized {
    /// The same, as a value.
    const LAYOUT: Layout;

    /// How a workgroup of so many threads is laid out. 32 threads along x read neighbours together.
    fn block(threads: usize) -> [usize; 3] {
        [threads, 1, 1]
    }

    /// Runs `body` in this thread for what the launch gives it.
    ///
    /// # Safety
    /// Once in each thread of a launch, with the launch's dimensions and the thread's place: items would not be unique
    /// otherwise.
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self));
}

/// What keeps a type from being sent or kept beyond its launch.
type NotSend = PhantomData<*const ()>;

/// What a closure may use that the threads of a workgroup run: nothing that can be changed behind a shared reference.
/// Through a cell or an atomic number it could tell the body around it which thread ran it.
///
/// # Safety
/// No part of it, and of what it refers to, can be changed behind a shared reference.
pub unsafe auto trait Uniform {}

impl<T: ?Sized> !Uniform for UnsafeCell<T> {}

/// The index of one unit of work, in the hand of the one thread that does it.
///
/// Only the launch layer makes items: each index below the number of items, once a launch. See [`crate::arguments`].
#[derive(Clone, Copy)]
pub struct Item(usize, NotSend);

impl Item {
    /// The index, for reading around it. It is a number then, and gives no right to write.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0
    }
}

// SAFETY: `line` hands out each index once.
unsafe impl Shape for Item {
    const LAYOUT: Layout = Layout::Line;

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        place.line(dimensions, move |index| body(Self(index, PhantomData)));
    }
}

/// Items of one thread: so few that no number computed with them overflows.
const fn limited(items: usize) -> usize {
    assert!(1 <= items && items <= 1 << 10, "a thread has between 1 and 1024 items");
    items
}

/// Elements after which a line of memory begins, in a plane of numbers of 64 bits: 128 bytes. Threads that write side by
/// side begin with one, because memory that is written in part has to be read first.
pub const LINE: usize = 16;

/// As [`Item`], in a plane whose arrays have a border of so many elements.
#[derive(Clone, Copy)]
pub struct Item2<const BORDER: usize = 0>([usize; 2], NotSend);

impl<const BORDER: usize> Item2<BORDER> {
    #[inline(always)]
    const fn new(column: usize, row: usize) -> Self {
        Self([column, row], PhantomData)
    }

    /// Along x, which runs fastest in memory.
    #[inline(always)]
    pub fn column(self) -> usize {
        self.0[0]
    }

    /// Along y.
    #[inline(always)]
    pub fn row(self) -> usize {
        self.0[1]
    }
}

// SAFETY: `plane` hands out each pair once.
unsafe impl<const BORDER: usize> Shape for Item2<BORDER> {
    const LAYOUT: Layout = Layout::Plane(1);

    fn block(threads: usize) -> [usize; 3] {
        [32, threads / 32, 1]
    }

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        place.plane(dimensions, BORDER, move |column, row| body(Self::new(column, row)));
    }
}

/// Up to `COUNT` items of a row of a plane, in the hand of one thread; see [`crate::arguments::Out2::set_each`].
#[derive(Clone, Copy)]
pub struct Strip<const COUNT: usize, const BORDER: usize = 0> {
    /// The first place's.
    column: usize,
    row: usize,
    /// From one item to the next.
    step: usize,
    /// The launch's width.
    width: usize,
    not_send: NotSend,
}

// SAFETY: `strips` hands out the first places of strips, which are apart by what a workgroup has threads along x, and the next
// workgroup's begin behind the last. Places that are no items are left out.
unsafe impl<const COUNT: usize, const BORDER: usize> Shape for Strip<COUNT, BORDER> {
    const LAYOUT: Layout = Layout::Plane(limited(COUNT));

    fn block(threads: usize) -> [usize; 3] {
        Item2::<BORDER>::block(threads)
    }

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        let (step, width) = (device::threads(dimensions, 0), dimensions.items[0]);
        place.strips(dimensions, const { limited(COUNT) }, BORDER, move |column, row| {
            body(Self { column, row, step, width, not_send: PhantomData });
        });
    }
}

impl<const COUNT: usize, const BORDER: usize> Strip<COUNT, BORDER> {
    /// Item `number`, if the launch has it: the first ones may lie before the row.
    #[inline(always)]
    fn item(self, number: usize) -> Option<Item2<BORDER>> {
        let column = self.column.wrapping_add(number * self.step);
        (column < self.width).then(|| Item2::new(column, self.row))
    }

    /// Calls `store` for each item with what `value` gives for it: with the values of all items at hand, so that no load
    /// waits for a store.
    #[inline(always)]
    pub(crate) fn each_value<T: Copy>(
        self,
        value: impl Fn(Item2<BORDER>) -> T + Copy,
        store: impl Fn(Item2<BORDER>, T),
    ) {
        if device::ITEM_BY_ITEM {
            let item = Item2::new(self.column, self.row);
            return store(item, value(item));
        }
        // The first and the last in the row: all of them are.
        if let (Some(first), Some(_)) = (self.item(0), self.item(COUNT - 1)) {
            let item = |number| Item2::new(first.column() + number * self.step, self.row);
            let values: [T; COUNT] = core::array::from_fn(|number| value(item(number)));
            // Index by index, as in `Team::fold`.
            let mut number = 0;
            while number < COUNT {
                store(item(number), values[number]);
                number += 1;
            }
        } else {
            let mut number = 0;
            while number < COUNT {
                if let Some(item) = self.item(number) {
                    store(item, value(item));
                }
                number += 1;
            }
        }
    }
}

/// As [`Item`], in a volume, by its number: x runs fastest, then y, then z. A thread works on up to `DEPTH` of them, one after
/// another along z, and finds close by what it needs of its last item's neighbours.
#[derive(Clone, Copy)]
pub struct Item3<const DEPTH: usize = 1>(usize, NotSend);

// SAFETY: `volume` hands out each triple once, and each has a number of its own.
unsafe impl<const DEPTH: usize> Shape for Item3<DEPTH> {
    const LAYOUT: Layout = Layout::Volume(limited(DEPTH));

    fn block(threads: usize) -> [usize; 3] {
        [32, threads / 32, 1]
    }

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        let [width, height, _] = dimensions.items;
        place.volume(dimensions, const { limited(DEPTH) }, move |x, y, z| {
            body(Self(x + width * (y + height * z), PhantomData))
        });
    }
}

/// Items that have a number.
///
/// # Safety
/// It is below the number of all items, and no other item of the launch has it.
pub unsafe trait Numbered {
    /// The number.
    fn number(self) -> usize;
}

// SAFETY: the index.
unsafe impl Numbered for Item {
    #[inline(always)]
    fn number(self) -> usize {
        self.0
    }
}

// SAFETY: made so.
unsafe impl<const DEPTH: usize> Numbered for Item3<DEPTH> {
    #[inline(always)]
    fn number(self) -> usize {
        self.0
    }
}

/// All threads of a launch, which stride over its items together.
///
/// The body that gets it is the same for every thread: nothing in it tells one thread from another, so that all of them
/// come to a reduction.
pub struct Team {
    dimensions: Dimensions,
    place: Place,
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

// SAFETY: the only one of its thread; shares are apart.
unsafe impl Shape for Team {
    const LAYOUT: Layout = Layout::Strides;

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        body(Self { dimensions, place });
    }
}

impl Team {
    /// Adds the values of all items to `sum`: each thread those of its share, each workgroup those of its threads
    /// through shared memory, then one atomic addition a workgroup.
    #[inline(always)]
    pub fn sum(self, sum: &Sum<f64>, value: impl Fn(Item) -> f64) {
        let partial = self.fold(value);
        if let Some(total) = device::sum_block(self.place, self.dimensions.members(), partial) {
            sum.add(total);
        }
    }

    /// The sum over this thread's share, of which several elements are on their way at once.
    #[inline(always)]
    #[allow(clippy::modulo_one, reason = "a GPU has one sum")]
    fn fold(&self, value: impl Fn(Item) -> f64) -> f64 {
        const { assert!(device::LOADS.is_multiple_of(device::SUMS)) };
        let value = |index| value(Item(index, PhantomData));
        let Share { mut next, end, stride } = self.place.share(self.dimensions);
        // Index by index: an iterator over an array keeps it in local memory on a GPU.
        let mut sums = [0.0; device::SUMS];
        while next + (device::LOADS - 1) * stride < end {
            let values: [f64; device::LOADS] = core::array::from_fn(|load| value(next + load * stride));
            let mut load = 0;
            while load < device::LOADS {
                sums[load % device::SUMS] += values[load];
                load += 1;
            }
            next += device::LOADS * stride;
        }
        let mut result = 0.0;
        while next < end {
            result += value(next);
            next += stride;
        }
        let mut sum = 0;
        while sum < device::SUMS {
            result += sums[sum];
            sum += 1;
        }
        result
    }
}

/// One workgroup of `MEMBERS` threads, which works on one item with `SHARED` numbers of memory in common.
///
/// The body that gets it is the same for every thread of the group. It fills shared memory ([`Group::stage`]) and then
/// lets each member work ([`Group::each`]); only there is one thread told from another, and only there can shared memory
/// be read. No thread can therefore read what another has not written yet, or miss a barrier.
pub struct Group<const MEMBERS: usize, const SHARED: usize> {
    index: usize,
    place: Place,
    tile: *mut f64,
    used: usize,
}

// SAFETY: `groups` hands each group to all of its members, and to no other thread.
unsafe impl<const MEMBERS: usize, const SHARED: usize> Shape for Group<MEMBERS, SHARED> {
    const LAYOUT: Layout = Layout::Groups(MEMBERS);

    fn block(_: usize) -> [usize; 3] {
        [MEMBERS, 1, 1]
    }

    #[inline(always)]
    unsafe fn each(dimensions: Dimensions, place: Place, body: impl Fn(Self)) {
        const { assert!(SHARED <= 1024, "a workgroup shares at most 1024 numbers") };
        place.groups::<SHARED>(dimensions, move |index, tile| body(Self { index, place, tile, used: 0 }));
    }
}

impl<const MEMBERS: usize, const SHARED: usize> Group<MEMBERS, SHARED> {
    /// The item that this group works on.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Fills `LEN` numbers of shared memory with `value(0)`, `value(1)`, …: the members share the work out.
    #[inline(always)]
    pub fn stage<const LEN: usize>(&mut self, value: impl Fn(usize) -> f64 + Uniform) -> Tile<LEN> {
        require(LEN <= SHARED - self.used);
        // SAFETY: just checked: these elements are this call's alone, and each is written by one member.
        let pointer = unsafe { self.tile.add(self.used) };
        self.used += LEN;
        self.place.each_of::<LEN, MEMBERS>(|index| {
            // SAFETY: index < LEN.
            unsafe { *pointer.add(index) = value(index) }
        });
        Tile { pointer }
    }

    /// What `value` reads of each member's own, before shared memory is filled: it is on its way while the others are waited
    /// for. [`Group::each_with`] has it.
    #[inline(always)]
    pub fn own<T: Copy, V: Fn(&Seat) -> T + Uniform>(&self, value: V) -> Own<T, V> {
        Own::new::<MEMBERS>(value, |index| self.seat(index))
    }

    /// Runs `body` once for each member of the group, after all of them have filled their part of shared memory.
    #[inline(always)]
    pub fn each(self, body: impl Fn(&Member) + Uniform) {
        device::barrier();
        self.place.members::<MEMBERS>(|index| body(&Member(self.seat(index))));
    }

    /// As [`Group::each`], with the member's own.
    #[inline(always)]
    pub fn each_with<T: Copy, V: Fn(&Seat) -> T + Uniform>(self, own: Own<T, V>, body: impl Fn(&Member, T) + Uniform) {
        device::barrier();
        self.place.members::<MEMBERS>(|index| {
            let seat = self.seat(index);
            let own = own.of(&seat);
            body(&Member(seat), own);
        });
    }

    #[inline(always)]
    fn seat(&self, index: usize) -> Seat {
        Seat { group: self.index, members: MEMBERS, index, not_send: PhantomData }
    }
}

/// `LEN` numbers in a workgroup's shared memory. They are read in [`Group::each`].
pub struct Tile<const LEN: usize> {
    pointer: *const f64,
}

impl<const LEN: usize> Tile<LEN> {
    /// Number `index`, checked.
    #[inline(always)]
    pub fn get(&self, _: &Member, index: usize) -> f64 {
        require(index < LEN);
        // SAFETY: just checked; all of the tile was written before the barrier behind which members exist.
        unsafe { *self.pointer.add(index) }
    }
}

/// One thread of a workgroup, when all of the group's shared memory has been filled.
pub struct Member(Seat);

impl Deref for Member {
    type Target = Seat;

    #[inline(always)]
    fn deref(&self) -> &Seat {
        &self.0
    }
}

/// The place of one thread in a workgroup.
pub struct Seat {
    group: usize,
    members: usize,
    index: usize,
    not_send: NotSend,
}

impl Seat {
    /// Its place in the group.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its group.
    #[inline(always)]
    pub fn group(&self) -> usize {
        self.group
    }

    /// The number of members.
    #[inline(always)]
    pub fn members(&self) -> usize {
        self.members
    }
}

/// The `part`-th of `parts` nearly equal pieces of `0..items`.
#[inline]
pub fn piece(items: usize, part: usize, parts: usize) -> Range<usize> {
    let parts = parts.max(1);
    let (size, rest) = (items / parts, items % parts);
    let start = part * size + part.min(rest);
    start..start + size + usize::from(part < rest)
}
