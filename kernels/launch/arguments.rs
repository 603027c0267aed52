//! What a kernel may do with its arrays, said in types.
//!
//! Many threads run a kernel's body at once, so the body never gets a `&mut` to an array. It gets views:
//! * [`In`], [`InPairs`], [`In2`], [`InGroup`], [`Rows`], [`Table`]: read;
//! * [`Out`], [`OutPairs`], [`Out2`]: write (and read) the element of its own item, and no other;
//! * [`Distinct`], [`Gather`] and [`Scatter`]: read and write through a list of indices of which no two are equal;
//! * [`OutGroup`]: write the elements of its own member of a workgroup;
//! * [`Sum`]: add to the one result of a reduction.
//!
//! Items, targets and members are made by the launch layer alone, each once a launch: two threads cannot hold the same
//! one. That two threads write one element is therefore not a rule to be kept but a program that does not compile.
//! None of them can be sent anywhere or kept: a device image has no place for it.
//!
//! What is the same for all threads of a launch is checked once, on the host, before it begins: whether each array holds
//! what its view [needs](View::needs), whether it begins where it must, and how far a list of indices reaches. Views
//! are made of arrays that were found good, so that most of what a body does with them needs no check.
//!
//! [`require`] is the one check of what differs from thread to thread. In the tuning `unchecked` it does nothing.

use core::marker::PhantomData;
use core::ops::Index;

use crate::device;
use crate::launch::{Dimensions, Group, Item, Item2, Member, Numbered, Seat, Strip};

/// A type that arrays are made of.
///
/// # Safety
/// Plain data without padding, of that kind: every pattern of bits is a value.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// Its name and size, for the bench driver.
    const KIND: ElementKind;
}

/// The types that arrays are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_camel_case_types, reason = "named as Rust names the types")]
pub enum ElementKind {
    f64,
    i32,
    i64,
}

impl ElementKind {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::f64 | Self::i64 => 8,
            Self::i32 => 4,
        }
    }
}

// SAFETY: a number.
unsafe impl Element for f64 {
    const KIND: ElementKind = ElementKind::f64;
}

// SAFETY: a number.
unsafe impl Element for i32 {
    const KIND: ElementKind = ElementKind::i32;
}

// SAFETY: a number.
unsafe impl Element for i64 {
    const KIND: ElementKind = ElementKind::i64;
}

/// What the host sees of a view: what its array must be.
///
/// # Safety
/// The view stays within `needs` elements, and what it does with them is what `ROLE` says.
pub unsafe trait View {
    /// The type of the array's elements.
    type Element: Element;
    /// What the launch does with the array.
    const ROLE: Role;
    /// The array begins at a multiple of so many bytes.
    const ALIGNMENT: usize = align_of::<Self::Element>();

    /// The least number of elements of the array, if the launch has these dimensions and its list of indices, if there is
    /// one, reaches `reach` elements from its first. Does not overflow, as [`Dimensions`] promise.
    fn needs(dimensions: Dimensions, reach: usize) -> usize;
}

/// What a launch does with an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Array that is read.
    Read,
    /// Array that is written.
    Write,
    /// Array of indices that must all be different.
    Distinct,
    /// Result of a reduction: reset before, copied back after each repetition.
    Sum,
    /// Number, passed by value.
    Scalar,
}

/// Ends the launch with a fault unless `holds`: every bounds check in device code.
#[inline(always)]
pub fn require(holds: bool) {
    if cfg!(not(unchecked)) && !holds {
        device::trap();
    }
}

/// An array that the kernel reads. It holds at least one element an item, and `HALO` more behind the last.
///
/// Reading at an [`Item`] is in bounds by construction; reading at a plain index is checked each time.
#[derive(Clone, Copy)]
pub struct In<T: Element, const HALO: usize = 0> {
    pointer: *const T,
    len: usize,
}

// SAFETY: nobody writes the elements while the kernel runs (`from_raw`).
unsafe impl<T: Element, const HALO: usize> Sync for In<T, HALO> {}

// SAFETY: an item is below the number of items.
unsafe impl<T: Element, const HALO: usize> View for In<T, HALO> {
    type Element = T;
    const ROLE: Role = Role::Read;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        dimensions.items[0] + HALO
    }
}

impl<T: Element, const HALO: usize> In<T, HALO> {
    /// # Safety
    /// `pointer` points to `len` elements, as many as the view needs, that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, _: Dimensions) -> Self {
        const { assert!(HALO <= WIDEST, "the halo is too wide") };
        Self { pointer, len }
    }

    /// Number of elements.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty, reason = "no kernel asks")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The `WIDTH` elements from the item's own on. That they exist is what `HALO` promises; a window wider than the
    /// promise does not compile.
    #[inline(always)]
    pub fn window<const WIDTH: usize>(&self, item: Item) -> &[T; WIDTH] {
        const { assert!(WIDTH <= HALO + 1, "a window reaches beyond the halo that its array declares") };
        // SAFETY: item < items, and the array holds items + HALO elements, hence item + WIDTH.
        unsafe { &*self.pointer.add(item.index()).cast() }
    }
}

impl<T: Element, const HALO: usize> Index<Item> for In<T, HALO> {
    type Output = T;

    #[inline(always)]
    fn index(&self, item: Item) -> &T {
        // SAFETY: item < items, and the array holds so many elements.
        unsafe { &*self.pointer.add(item.index()) }
    }
}

impl<T: Element, const HALO: usize> Index<usize> for In<T, HALO> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        require(index < self.len);
        // SAFETY: just checked.
        unsafe { &*self.pointer.add(index) }
    }
}

/// Numbers that begin where a GPU can load or store two at once.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Wide<R>(R);

/// Where such numbers begin: at multiples of so many bytes.
const WIDE: usize = align_of::<Wide<()>>();

/// An array that the kernel reads, two elements an item, and `HALO` more behind the last. Elements are loaded in pairs.
#[derive(Clone, Copy)]
pub struct InPairs<T: Element, const HALO: usize = 0> {
    pointer: *const Wide<[T; 2]>,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const HALO: usize> Sync for InPairs<T, HALO> {}

// SAFETY: an item is below the number of items.
unsafe impl<T: Element, const HALO: usize> View for InPairs<T, HALO> {
    type Element = T;
    const ROLE: Role = Role::Read;
    const ALIGNMENT: usize = WIDE;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        2 * dimensions.items[0] + HALO
    }
}

impl<T: Element, const HALO: usize> InPairs<T, HALO> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, where it needs them, that nobody writes while the kernel
    /// runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, _: Dimensions) -> Self {
        const { assert!(HALO <= WIDEST, "the halo is too wide") };
        const { assert!(size_of::<T>() * 2 == WIDE, "two elements fill what is loaded at once") };
        Self { pointer: pointer.cast() }
    }

    /// The `WIDTH` elements from the item's first on; a window wider than the array promises does not compile.
    #[inline(always)]
    pub fn window<const WIDTH: usize>(&self, item: Item) -> [T; WIDTH] {
        const { assert!(WIDTH <= HALO + 2, "a window reaches beyond the halo that its array declares") };
        core::array::from_fn(|index| {
            // SAFETY: item < items, and the array holds 2 * items + HALO elements, hence 2 * item + WIDTH.
            let pair = unsafe { self.pointer.add(item.index() + index / 2) };
            match index + 1 == WIDTH && WIDTH % 2 == 1 {
                // SAFETY: as above; the last element of an odd window may be the last of the array.
                true => unsafe { (*pair).0[0] },
                // SAFETY: as above.
                false => unsafe { *pair }.0[index % 2],
            }
        })
    }
}

/// An array of at least `LEN` elements that the kernel reads: what all items have in common.
#[derive(Clone, Copy)]
pub struct Table<T: Element, const LEN: usize> {
    pointer: *const T,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const LEN: usize> Sync for Table<T, LEN> {}

// SAFETY: every index is checked.
unsafe impl<T: Element, const LEN: usize> View for Table<T, LEN> {
    type Element = T;
    const ROLE: Role = Role::Read;

    fn needs(_: Dimensions, _: usize) -> usize {
        LEN
    }
}

impl<T: Element, const LEN: usize> Table<T, LEN> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, _: Dimensions) -> Self {
        Self { pointer }
    }
}

impl<T: Element, const LEN: usize> Index<usize> for Table<T, LEN> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        require(index < LEN);
        // SAFETY: just checked.
        unsafe { &*self.pointer.add(index) }
    }
}

/// A table of `COUNT` rows of `WIDTH` elements. Each begins at a multiple of 16 bytes, which lets a GPU load two elements at
/// once.
#[derive(Clone, Copy)]
pub struct Rows<T: Element, const WIDTH: usize, const COUNT: usize> {
    pointer: *const Wide<[T; WIDTH]>,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const WIDTH: usize, const COUNT: usize> Sync for Rows<T, WIDTH, COUNT> {}

// SAFETY: every row's number is checked.
unsafe impl<T: Element, const WIDTH: usize, const COUNT: usize> View for Rows<T, WIDTH, COUNT> {
    type Element = T;
    const ROLE: Role = Role::Read;
    const ALIGNMENT: usize = WIDE;

    fn needs(_: Dimensions, _: usize) -> usize {
        WIDTH * COUNT
    }
}

impl<T: Element, const WIDTH: usize, const COUNT: usize> Rows<T, WIDTH, COUNT> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, where it needs them, that nobody writes while the kernel
    /// runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, _: Dimensions) -> Self {
        const {
            let whole = (WIDTH * size_of::<T>()).is_multiple_of(WIDE);
            assert!(whole, "rows of this length do not begin at multiples of 16 bytes");
            assert!(WIDTH <= WIDEST && COUNT <= WIDEST, "the table is too large");
        }
        Self { pointer: pointer.cast() }
    }

    /// The `number`-th row, checked.
    #[inline(always)]
    pub fn row(&self, number: usize) -> [T; WIDTH] {
        require(number < COUNT);
        // SAFETY: just checked; a row is as long as it says, without padding.
        unsafe { (*self.pointer.add(number)).0 }
    }
}

/// A two-dimensional array that the kernel reads: rows of the launch's width, with `BORDER` further elements on each
/// side, and as many rows above and below.
#[derive(Clone, Copy)]
pub struct In2<T: Element, const BORDER: usize = 0> {
    /// The element of the launch's first item.
    origin: *const T,
    /// From one row to the next.
    stride: usize,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const BORDER: usize> Sync for In2<T, BORDER> {}

// SAFETY: an item lies within the launch, and its neighbours at most `BORDER` away.
unsafe impl<T: Element, const BORDER: usize> View for In2<T, BORDER> {
    type Element = T;
    const ROLE: Role = Role::Read;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        bordered::<BORDER>(dimensions)
    }
}

impl<T: Element, const BORDER: usize> In2<T, BORDER> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, dimensions: Dimensions) -> Self {
        let stride = stride::<BORDER>(dimensions);
        // SAFETY: the border's first rows and columns are there.
        Self { origin: unsafe { pointer.add(BORDER * stride + BORDER) }, stride }
    }

    /// The element `rows` below and `columns` to the right of the item's own; at most `BORDER` away.
    #[inline(always)]
    pub fn near(&self, item: Item2<BORDER>, rows: isize, columns: isize) -> T {
        // The compiler knows the numbers, and leaves nothing of this.
        require(rows.unsigned_abs() <= BORDER && columns.unsigned_abs() <= BORDER);
        // SAFETY: the item lies within the launch, and its neighbours within the border.
        unsafe { *self.origin.add(offset(item, self.stride)).offset(rows * self.stride as isize + columns) }
    }
}

impl<T: Element, const BORDER: usize> Index<Item2<BORDER>> for In2<T, BORDER> {
    type Output = T;

    #[inline(always)]
    fn index(&self, item: Item2<BORDER>) -> &T {
        // SAFETY: the item lies within the launch.
        unsafe { &*self.origin.add(offset(item, self.stride)) }
    }
}

/// A border's or halo's width and the elements of an item or a member are at most so many, so that sizes computed with
/// them do not overflow.
const WIDEST: usize = 1 << 16;

/// Elements from one row to the next of an array with a border.
#[inline(always)]
fn stride<const BORDER: usize>(dimensions: Dimensions) -> usize {
    const { assert!(BORDER <= WIDEST, "the border is too wide") };
    dimensions.items[0] + 2 * BORDER
}

/// Elements of such an array.
fn bordered<const BORDER: usize>(dimensions: Dimensions) -> usize {
    stride::<BORDER>(dimensions) * (dimensions.items[1] + 2 * BORDER)
}

#[inline(always)]
fn offset<const BORDER: usize>(item: Item2<BORDER>, stride: usize) -> usize {
    // Rows and their length fit in 32 bits, which lets a GPU multiply once instead of four times.
    item.row() as u32 as usize * stride as u32 as usize + item.column()
}

/// An array of which every thread writes its own item's element.
pub struct Out<T: Element> {
    pointer: *mut T,
}

// SAFETY: all access goes through items, of which no two threads hold the same.
unsafe impl<T: Element> Sync for Out<T> {}

// SAFETY: an item is below the number of items.
unsafe impl<T: Element> View for Out<T> {
    type Element = T;
    const ROLE: Role = Role::Write;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        dimensions.items[0]
    }
}

impl<T: Element> Out<T> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that only this `Out` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, _: Dimensions) -> Self {
        Self { pointer }
    }

    /// The item's own element.
    #[inline(always)]
    pub fn get(&self, item: Item) -> T {
        // SAFETY: item < items, the array holds so many elements, and no other thread holds an equal item.
        unsafe { *self.pointer.add(item.index()) }
    }

    /// Writes the item's own element.
    #[inline(always)]
    pub fn set(&self, item: Item, value: T) {
        // SAFETY: as above, and no reference to an element exists.
        unsafe { *self.pointer.add(item.index()) = value }
    }
}

/// As [`Out`], for two elements an item, which are stored at once.
pub struct OutPairs<T: Element> {
    pointer: *mut Wide<[T; 2]>,
}

// SAFETY: as for `Out`.
unsafe impl<T: Element> Sync for OutPairs<T> {}

// SAFETY: an item is below the number of items.
unsafe impl<T: Element> View for OutPairs<T> {
    type Element = T;
    const ROLE: Role = Role::Write;
    const ALIGNMENT: usize = WIDE;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        2 * dimensions.items[0]
    }
}

impl<T: Element> OutPairs<T> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, where it needs them, that only this `OutPairs` touches
    /// while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, _: Dimensions) -> Self {
        const { assert!(size_of::<T>() * 2 == WIDE, "two elements fill what is stored at once") };
        Self { pointer: pointer.cast() }
    }

    /// Writes the item's own elements.
    #[inline(always)]
    pub fn set(&self, item: Item, values: [T; 2]) {
        // SAFETY: item < items, and no other thread holds an equal item.
        unsafe { *self.pointer.add(item.index()) = Wide(values) }
    }
}

/// As [`Out`], for an array like that of [`In2`]. The border is not written.
pub struct Out2<T: Element, const BORDER: usize = 0> {
    origin: *mut T,
    stride: usize,
}

// SAFETY: as for `Out`.
unsafe impl<T: Element, const BORDER: usize> Sync for Out2<T, BORDER> {}

// SAFETY: an item lies within the launch.
unsafe impl<T: Element, const BORDER: usize> View for Out2<T, BORDER> {
    type Element = T;
    const ROLE: Role = Role::Write;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        bordered::<BORDER>(dimensions)
    }
}

impl<T: Element, const BORDER: usize> Out2<T, BORDER> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that only this `Out2` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, dimensions: Dimensions) -> Self {
        let stride = stride::<BORDER>(dimensions);
        // SAFETY: the border's first rows and columns are there.
        Self { origin: unsafe { pointer.add(BORDER * stride + BORDER) }, stride }
    }

    /// The item's own element.
    #[inline(always)]
    pub fn get(&self, item: Item2<BORDER>) -> T {
        // SAFETY: the item lies within the launch, and no other thread holds an equal one.
        unsafe { *self.origin.add(offset(item, self.stride)) }
    }

    /// Writes the item's own element.
    #[inline(always)]
    pub fn set(&self, item: Item2<BORDER>, value: T) {
        // SAFETY: as above, and no reference to an element exists.
        unsafe { *self.origin.add(offset(item, self.stride)) = value }
    }

    /// Writes each of the strip's own elements, with what `value` gives for it.
    #[inline(always)]
    pub fn set_each<const COUNT: usize>(&self, strip: Strip<COUNT, BORDER>, value: impl Fn(Item2<BORDER>) -> T + Copy) {
        strip.each_value(value, |item, value| self.set(item, value));
    }
}

/// A list of indices, one an item, of which no two are equal: the bench driver looks at that before it launches, and at how
/// far they reach. They count from a first one, which the launch gives: the elements that the list names in an array are
/// counted from there. A launch has at most one such list.
pub struct Distinct<T: Element> {
    pointer: *const T,
    first: usize,
}

// SAFETY: as for `In`.
unsafe impl<T: Element> Sync for Distinct<T> {}

// SAFETY: an item is below the number of items.
unsafe impl<T: Element> View for Distinct<T> {
    type Element = T;
    const ROLE: Role = Role::Distinct;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        dimensions.items.iter().product()
    }
}

/// An element that a [`Distinct`] list names: the right to read it in a [`Gather`] and to write it in a [`Scatter`].
#[derive(Clone, Copy)]
pub struct Target(usize, PhantomData<*const ()>);

impl<T: Element> Distinct<T> {
    /// # Safety
    /// `pointer` points to as many different elements as the view needs, none of them less than `first`, that nobody
    /// writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, first: usize) -> Self {
        Self { pointer, first }
    }

    #[inline(always)]
    fn own(&self, item: impl Numbered) -> T {
        // SAFETY: the number is below that of all items, and the list holds so many.
        unsafe { *self.pointer.add(item.number()) }
    }
}

impl Distinct<i32> {
    /// The item's element.
    #[inline(always)]
    pub fn target(&self, item: impl Numbered) -> Target {
        // Not negative, which lets a GPU make it longer by writing a zero.
        Target(self.own(item) as u32 as usize - self.first, PhantomData)
    }
}

impl Distinct<i64> {
    /// The item's element.
    #[inline(always)]
    pub fn target(&self, item: impl Numbered) -> Target {
        Target(self.own(item) as usize - self.first, PhantomData)
    }
}

/// An array that is read at the indices of the launch's [`Distinct`] list, and at `HALO` elements behind each.
#[derive(Clone, Copy)]
pub struct Gather<T: Element, const HALO: usize = 0> {
    pointer: *const T,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const HALO: usize> Sync for Gather<T, HALO> {}

// SAFETY: a target is below the list's reach.
unsafe impl<T: Element, const HALO: usize> View for Gather<T, HALO> {
    type Element = T;
    const ROLE: Role = Role::Read;

    fn needs(_: Dimensions, reach: usize) -> usize {
        reach + HALO
    }
}

impl<T: Element, const HALO: usize> Gather<T, HALO> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, _: Dimensions) -> Self {
        const { assert!(HALO <= WIDEST, "the halo is too wide") };
        Self { pointer }
    }

    /// The `WIDTH` elements from the target's own on; a window wider than the array promises does not compile.
    #[inline(always)]
    pub fn window<const WIDTH: usize>(&self, target: Target) -> &[T; WIDTH] {
        const { assert!(WIDTH <= HALO + 1, "a window reaches beyond the halo that its array declares") };
        // SAFETY: the array holds HALO elements more than the list reaches, hence target + WIDTH.
        unsafe { &*self.pointer.add(target.0).cast() }
    }
}

impl<T: Element, const HALO: usize> Index<Target> for Gather<T, HALO> {
    type Output = T;

    #[inline(always)]
    fn index(&self, target: Target) -> &T {
        // SAFETY: the array holds as many elements as the list reaches.
        unsafe { &*self.pointer.add(target.0) }
    }
}

/// An array that is written through the launch's [`Distinct`] list.
pub struct Scatter<T: Element> {
    pointer: *mut T,
}

// SAFETY: all access goes through targets, of which no two threads hold the same.
unsafe impl<T: Element> Sync for Scatter<T> {}

// SAFETY: a target is below the list's reach.
unsafe impl<T: Element> View for Scatter<T> {
    type Element = T;
    const ROLE: Role = Role::Write;

    fn needs(_: Dimensions, reach: usize) -> usize {
        reach
    }
}

impl<T: Element> Scatter<T> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that only this `Scatter` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, _: Dimensions) -> Self {
        Self { pointer }
    }

    /// Writes the target's element.
    #[inline(always)]
    pub fn set(&self, target: Target, value: T) {
        // SAFETY: the array holds as many elements as the list reaches, and no other thread holds an equal target.
        unsafe { *self.pointer.add(target.0) = value }
    }
}

/// An array that the kernel reads, `COUNT` elements a workgroup.
#[derive(Clone, Copy)]
pub struct InGroup<T: Element, const COUNT: usize> {
    pointer: *const T,
}

// SAFETY: as for `In`.
unsafe impl<T: Element, const COUNT: usize> Sync for InGroup<T, COUNT> {}

// SAFETY: a group is below the number of items.
unsafe impl<T: Element, const COUNT: usize> View for InGroup<T, COUNT> {
    type Element = T;
    const ROLE: Role = Role::Read;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        dimensions.items[0] * COUNT
    }
}

impl<T: Element, const COUNT: usize> InGroup<T, COUNT> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, _: usize, _: Dimensions) -> Self {
        const { assert!(COUNT <= WIDEST, "a workgroup has too many elements") };
        Self { pointer }
    }

    /// The group's elements.
    #[inline(always)]
    pub fn of<const MEMBERS: usize, const SHARED: usize>(&self, group: &Group<MEMBERS, SHARED>) -> Table<T, COUNT> {
        // SAFETY: the array holds so many elements for each group.
        Table { pointer: unsafe { self.pointer.add(group.index() * COUNT) } }
    }
}

/// An array of which every member of every workgroup writes `COUNT` elements: number `j` of member `m` in group `g`
/// is element `(g * COUNT + j) * members + m`, so that neighbours write neighbours.
pub struct OutGroup<T: Element, const COUNT: usize> {
    pointer: *mut T,
}

// SAFETY: all access goes through members, of which no two threads hold the same.
unsafe impl<T: Element, const COUNT: usize> Sync for OutGroup<T, COUNT> {}

// SAFETY: groups and members are below their numbers, and a member's elements are numbered below `COUNT`.
unsafe impl<T: Element, const COUNT: usize> View for OutGroup<T, COUNT> {
    type Element = T;
    const ROLE: Role = Role::Write;

    fn needs(dimensions: Dimensions, _: usize) -> usize {
        dimensions.items[0] * COUNT * dimensions.threads(0)
    }
}

impl<T: Element, const COUNT: usize> OutGroup<T, COUNT> {
    /// # Safety
    /// `pointer` points to as many elements as the view needs, that only this `OutGroup` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, _: Dimensions) -> Self {
        const { assert!(COUNT <= WIDEST, "a member has too many elements") };
        Self { pointer }
    }

    /// Where element `number` of the member is.
    #[inline(always)]
    fn element(&self, member: &Seat, number: usize) -> *mut T {
        require(number < COUNT);
        let index = (member.group() * COUNT + number) * member.members() + member.index();
        // SAFETY: group, number and member are below their counts, and the array holds their product.
        unsafe { self.pointer.add(index) }
    }

    /// Element `number` of the member.
    #[inline(always)]
    pub fn get(&self, member: &Seat, number: usize) -> T {
        // SAFETY: it is there, and no other thread sits there.
        unsafe { *self.element(member, number) }
    }

    /// Writes element `number` of the member.
    #[inline(always)]
    pub fn set(&self, member: &Member, number: usize, value: T) {
        // SAFETY: as above, and no reference to an element exists.
        unsafe { *self.element(member, number) = value }
    }
}

/// The one result of a reduction: threads can add to it, and nothing else. It is zero when a repetition begins.
pub struct Sum<T: Element> {
    pointer: *mut T,
}

// SAFETY: one element.
unsafe impl<T: Element> View for Sum<T> {
    type Element = T;
    const ROLE: Role = Role::Sum;

    fn needs(_: Dimensions, _: usize) -> usize {
        1
    }
}

impl<T: Element> Sum<T> {
    /// # Safety
    /// `pointer` points to an element that only this `Sum` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, _: usize, _: Dimensions) -> Self {
        Self { pointer }
    }
}

impl Sum<f64> {
    /// Adds `value`, atomically over the whole device.
    #[inline(always)]
    pub(crate) fn add(&self, value: f64) {
        // SAFETY: the pointer is valid, and during the launch all access to it is atomic.
        unsafe { device::atomic_add(self.pointer, value) }
    }
}
