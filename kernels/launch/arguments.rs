//! What a kernel may do with its arrays, said in types.
//!
//! Many threads run a kernel's body at once, so the body never gets a `&mut` to an array. It gets views:
//! * [`In`], [`InPairs`], [`In2`], [`Table`]: read;
//! * [`Out`], [`OutPairs`], [`Out2`], [`Out3`]: write (and read) the element of its own item, and no other;
//! * [`Distinct`] and [`Scatter`]: write through a list of indices of which no two are equal;
//! * [`OutGroup`]: write the elements of its own member of a workgroup;
//! * [`Sum`]: add to the one result of a reduction.
//!
//! Items, targets and members are made by the launch layer alone, each once a launch: two threads cannot hold the same
//! one. That two threads write one element is therefore not a rule to be kept but a program that does not compile.
//! None of them can be sent anywhere or kept: a device image has no place for it.
//!
//! [`require`] is the one check behind all of them. In the tuning `unchecked` it does nothing. What is the same for all
//! items (is each array long enough?) is gathered by the views' `from_raw` and required once, before a body runs.

use core::marker::PhantomData;
use core::ops::Index;

use crate::device;
use crate::launch::{Dimensions, Item, Item2, Item3, Member};

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

/// Ends the launch with a fault unless `holds`: every bounds check of the launch layer.
#[inline(always)]
pub fn require(holds: bool) {
    if cfg!(not(unchecked)) && !holds {
        device::trap();
    }
}

/// An array that the kernel reads. It holds at least one element an item, and `HALO` more behind the last.
///
/// The launch layer checks that length once, when a thread enters the kernel. Reading at an [`Item`] is then in
/// bounds by construction; reading at a plain index is checked each time.
#[derive(Clone, Copy)]
pub struct In<T: Element, const HALO: usize = 0> {
    pointer: *const T,
    len: usize,
    items: usize,
}

// SAFETY: nobody writes the elements while the kernel runs (`from_raw`).
unsafe impl<T: Element, const HALO: usize> Sync for In<T, HALO> {}

impl<T: Element, const HALO: usize> In<T, HALO> {
    /// # Safety
    /// `pointer` points to `len` elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        let items = dimensions.items[0];
        *valid &= len >= items && len - items >= HALO;
        Self { pointer, len, items }
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
        // SAFETY: item < items, and `from_raw` saw len >= items + HALO >= item + WIDTH.
        unsafe { &*self.pointer.add(item.index()).cast() }
    }

    /// The array from element `offset` on, which still holds one element an item.
    #[inline(always)]
    pub fn ahead(&self, offset: usize) -> In<T> {
        require(offset <= self.len && self.len - offset >= self.items);
        // SAFETY: just checked.
        In { pointer: unsafe { self.pointer.add(offset) }, len: self.len - offset, items: self.items }
    }

    /// How much later than this array `part` begins, a part of it that ends where it ends.
    #[inline(always)]
    pub fn offset_of(&self, part: Self) -> usize {
        let offset = self.len.wrapping_sub(part.len);
        // So small that sums of a few cannot overflow: the compiler proves checks of such sums once it knows one.
        require(offset <= u32::MAX as usize);
        offset
    }

    /// The `len` elements from `offset` on, which still are one an item. Reading one index in several such parts of one
    /// length is checked once.
    #[inline(always)]
    pub fn slice(&self, offset: usize, len: usize) -> In<T> {
        require(self.items <= len && len <= self.len);
        require(offset <= self.len - len);
        // SAFETY: just checked.
        In { pointer: unsafe { self.pointer.add(offset) }, len, items: self.items }
    }

    /// The `number`-th row of `WIDTH` elements, checked. Such a row begins at a multiple of 16 bytes, which lets a GPU
    /// load two numbers at once: that of the array is checked too.
    #[inline(always)]
    pub fn row<const WIDTH: usize>(&self, number: usize) -> [T; WIDTH] {
        const {
            let whole = (WIDTH * size_of::<T>()).is_multiple_of(16);
            assert!(whole, "rows of this length do not begin at multiples of 16 bytes");
        }
        require(number < self.len / WIDTH && self.pointer.addr().is_multiple_of(WIDE));
        // SAFETY: just checked; a row is as long as it says, without padding.
        unsafe { (*self.pointer.cast::<Wide<[T; WIDTH]>>().add(number)).0 }
    }

    /// The `WIDTH` elements from `start` on, checked.
    #[inline(always)]
    pub fn span<const WIDTH: usize>(&self, start: usize) -> &[T; WIDTH] {
        require(start <= self.len && self.len - start >= WIDTH);
        // SAFETY: just checked.
        unsafe { &*self.pointer.add(start).cast() }
    }
}

impl<T: Element, const HALO: usize> Index<Item> for In<T, HALO> {
    type Output = T;

    #[inline(always)]
    fn index(&self, item: Item) -> &T {
        // SAFETY: item < items <= len, seen by `from_raw`.
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

impl<T: Element, const HALO: usize> InPairs<T, HALO> {
    /// # Safety
    /// `pointer` points to `len` elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        const { assert!(size_of::<T>() * 2 == WIDE, "two elements fill what is loaded at once") };
        *valid &= len >= 2 * dimensions.items[0] + HALO && pointer.addr().is_multiple_of(WIDE);
        Self { pointer: pointer.cast() }
    }

    /// The `WIDTH` elements from the item's first on; a window wider than the array promises does not compile.
    #[inline(always)]
    pub fn window<const WIDTH: usize>(&self, item: Item) -> [T; WIDTH] {
        const { assert!(WIDTH <= HALO + 2, "a window reaches beyond the halo that its array declares") };
        core::array::from_fn(|index| {
            // SAFETY: item < items, and `from_raw` saw len >= 2 * items + HALO >= 2 * item + WIDTH.
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

/// An array that the kernel reads, of any length: what all items have in common.
#[derive(Clone, Copy)]
pub struct Table<T: Element> {
    pointer: *const T,
    len: usize,
}

// SAFETY: as for `In`.
unsafe impl<T: Element> Sync for Table<T> {}

impl<T: Element> Table<T> {
    /// # Safety
    /// `pointer` points to `len` elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, _: Dimensions, _: &mut bool) -> Self {
        Self { pointer, len }
    }
}

impl<T: Element> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        require(index < self.len);
        // SAFETY: just checked.
        unsafe { &*self.pointer.add(index) }
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

impl<T: Element, const BORDER: usize> In2<T, BORDER> {
    /// # Safety
    /// `pointer` points to `len` elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        let stride = bordered::<BORDER>(len, dimensions, valid);
        // SAFETY: the border's first rows and columns are there.
        Self { origin: unsafe { pointer.add(BORDER * stride + BORDER) }, stride }
    }

    /// The element `rows` below and `columns` to the right of the item's own; at most `BORDER` away.
    #[inline(always)]
    pub fn near(&self, item: Item2, rows: isize, columns: isize) -> T {
        // The compiler knows the numbers, and leaves nothing of this.
        require(rows.unsigned_abs() <= BORDER && columns.unsigned_abs() <= BORDER);
        // SAFETY: the item lies within the launch, and its neighbours within the border.
        unsafe { *self.origin.add(offset(item, self.stride)).offset(rows * self.stride as isize + columns) }
    }
}

impl<T: Element, const BORDER: usize> Index<Item2> for In2<T, BORDER> {
    type Output = T;

    #[inline(always)]
    fn index(&self, item: Item2) -> &T {
        // SAFETY: the item lies within the launch.
        unsafe { &*self.origin.add(offset(item, self.stride)) }
    }
}

/// A border's width and the elements of an item or a member are at most so many, so that sizes computed with them do not overflow.
const WIDEST: usize = 1 << 16;

/// Elements from one row to the next of an array with a border, and whether all of it is there.
#[inline(always)]
fn bordered<const BORDER: usize>(len: usize, dimensions: Dimensions, valid: &mut bool) -> usize {
    const { assert!(BORDER <= WIDEST, "the border is too wide") };
    let [columns, rows, _] = dimensions.items;
    // Far from overflowing, as `Dimensions` promise.
    let stride = columns + 2 * BORDER;
    *valid &= len >= stride * (rows + 2 * BORDER);
    stride
}

#[inline(always)]
fn offset(item: Item2, stride: usize) -> usize {
    // Rows and their length fit in 32 bits, which lets a GPU multiply once instead of four times.
    item.row() as u32 as usize * stride as u32 as usize + item.column()
}

/// An array of which every thread writes its own item's element.
pub struct Out<T: Element> {
    pointer: *mut T,
}

// SAFETY: all access goes through items, of which no two threads hold the same.
unsafe impl<T: Element> Sync for Out<T> {}

impl<T: Element> Out<T> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Out` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        *valid &= len >= dimensions.items[0];
        Self { pointer }
    }

    /// The item's own element.
    #[inline(always)]
    pub fn get(&self, item: Item) -> T {
        // SAFETY: item < items <= len, and no other thread holds an equal item.
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

impl<T: Element> OutPairs<T> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `OutPairs` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        const { assert!(size_of::<T>() * 2 == WIDE, "two elements fill what is stored at once") };
        *valid &= len >= 2 * dimensions.items[0] && pointer.addr().is_multiple_of(WIDE);
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

impl<T: Element, const BORDER: usize> Out2<T, BORDER> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Out2` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        let stride = bordered::<BORDER>(len, dimensions, valid);
        // SAFETY: the border's first rows and columns are there.
        Self { origin: unsafe { pointer.add(BORDER * stride + BORDER) }, stride }
    }

    /// The item's own element.
    #[inline(always)]
    pub fn get(&self, item: Item2) -> T {
        // SAFETY: the item lies within the launch, and no other thread holds an equal one.
        unsafe { *self.origin.add(offset(item, self.stride)) }
    }

    /// Writes the item's own element.
    #[inline(always)]
    pub fn set(&self, item: Item2, value: T) {
        // SAFETY: as above, and no reference to an element exists.
        unsafe { *self.origin.add(offset(item, self.stride)) = value }
    }
}

/// As [`Out`], for a dense three-dimensional array: x runs fastest, then y, then z. Along y it is `COUNT` times as long as
/// the launch, and so many elements are an item's own: number `j` lies `j` times the launch's height further along y.
pub struct Out3<T: Element, const COUNT: usize = 1> {
    pointer: *mut T,
    width: usize,
    height: usize,
}

// SAFETY: as for `Out`.
unsafe impl<T: Element, const COUNT: usize> Sync for Out3<T, COUNT> {}

impl<T: Element, const COUNT: usize> Out3<T, COUNT> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Out3` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        const { assert!(COUNT <= WIDEST, "an item has too many elements") };
        let [width, height, depth] = dimensions.items;
        // Does not overflow, as `Dimensions` promise.
        *valid &= len >= width * (COUNT * height * depth);
        Self { pointer, width, height }
    }

    /// Where element `number` of the item is.
    #[inline(always)]
    fn offset(&self, item: Item3, number: usize) -> usize {
        // The compiler knows the number, and leaves nothing of this.
        require(number < COUNT);
        item.x() + self.width * (item.y() + self.height * (number + COUNT * item.z()))
    }

    /// The item's own element `number`.
    #[inline(always)]
    pub fn get(&self, item: Item3, number: usize) -> T {
        // SAFETY: the item lies within the launch, the number below `COUNT`, and no other thread holds an equal item.
        unsafe { *self.pointer.add(self.offset(item, number)) }
    }

    /// Writes the item's own element `number`.
    #[inline(always)]
    pub fn set(&self, item: Item3, number: usize, value: T) {
        // SAFETY: as above, and no reference to an element exists.
        unsafe { *self.pointer.add(self.offset(item, number)) = value }
    }
}

/// A list of indices, one an item, of which no two are equal: the bench driver looks at that before it launches. A
/// launch has at most one such list.
pub struct Distinct<T: Element> {
    list: In<T>,
}

/// An index from a [`Distinct`] list: the right to write that element of a [`Scatter`].
#[derive(Clone, Copy)]
pub struct Target(usize, PhantomData<*const ()>);

impl Target {
    /// The index, for reading around it.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0
    }
}

impl<T: Element> Distinct<T> {
    /// # Safety
    /// `pointer` points to `len` different elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        // SAFETY: the caller's promise.
        Self { list: unsafe { In::from_raw(pointer, len, dimensions, valid) } }
    }
}

impl Distinct<i32> {
    /// The item's index.
    #[inline(always)]
    pub fn target(&self, item: Item) -> Target {
        // A negative number becomes one beyond any array.
        Target(self.list[item] as usize, PhantomData)
    }
}

impl Distinct<i64> {
    /// The item's index.
    #[inline(always)]
    pub fn target(&self, item: Item) -> Target {
        Target(self.list[item] as usize, PhantomData)
    }
}

/// An array that is written through a [`Distinct`] list.
pub struct Scatter<T: Element> {
    pointer: *mut T,
    len: usize,
}

// SAFETY: all access goes through targets, of which no two threads hold the same.
unsafe impl<T: Element> Sync for Scatter<T> {}

impl<T: Element> Scatter<T> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Scatter` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, _: Dimensions, _: &mut bool) -> Self {
        Self { pointer, len }
    }

    /// Writes the target's element, checked.
    #[inline(always)]
    pub fn set(&self, target: Target, value: T) {
        require(target.0 < self.len);
        // SAFETY: just checked, and no other thread holds an equal target.
        unsafe { *self.pointer.add(target.0) = value }
    }
}

/// An array of which every member of every workgroup writes `COUNT` elements: number `j` of member `m` in group `g`
/// is element `(g * COUNT + j) * members + m`, so that neighbours write neighbours.
pub struct OutGroup<T: Element, const COUNT: usize> {
    pointer: *mut T,
}

// SAFETY: all access goes through members, of which no two threads hold the same.
unsafe impl<T: Element, const COUNT: usize> Sync for OutGroup<T, COUNT> {}

impl<T: Element, const COUNT: usize> OutGroup<T, COUNT> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `OutGroup` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, dimensions: Dimensions, valid: &mut bool) -> Self {
        const { assert!(COUNT <= WIDEST, "a member has too many elements") };
        // Far from overflowing, as `Dimensions` promise.
        *valid &= len >= dimensions.items[0] * COUNT * dimensions.members();
        Self { pointer }
    }

    /// Writes element `number` of the member.
    #[inline(always)]
    pub fn set(&self, member: &Member, number: usize, value: T) {
        require(number < COUNT);
        let index = (member.group() * COUNT + number) * member.members() + member.index();
        // SAFETY: group, number and member are below their counts, whose product `from_raw` compared with the length.
        unsafe { *self.pointer.add(index) = value }
    }
}

/// The one result of a reduction: threads can add to it, and nothing else. It is zero when a repetition begins.
pub struct Sum<T: Element> {
    pointer: *mut T,
}

impl<T: Element> Sum<T> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Sum` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, _: Dimensions, valid: &mut bool) -> Self {
        *valid &= len >= 1;
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
