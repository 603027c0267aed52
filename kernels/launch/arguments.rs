//! What a kernel may do with its arrays, said in types.
//!
//! Many threads run a kernel's body at once, so the body never gets a `&mut` to a whole array. It gets
//! * [`In`]: read anything;
//! * [`Out`]: write (and read) the element of its own [`Item`], and no other;
//! * [`Sum`]: add to the one result of a reduction.
//!
//! `Item`s are made by the launch layer alone, each index once a launch: two threads cannot hold the same one. That two
//! threads write one element is therefore not a rule to be kept but a program that does not compile.

use core::ops::Index;

use crate::device;
use crate::launch::Item;

/// A type that arrays are made of: plain data without padding, 8 bytes wide like every argument of the launch ABI.
pub trait Element: Copy + Send + Sync + 'static {}

impl Element for f64 {}

/// An array that the kernel reads. It holds at least one element an item, and `HALO` more behind the last.
///
/// The launch layer checks that length once, when a thread enters the kernel. Reading at an [`Item`] is then in
/// bounds by construction; reading at a plain index is checked each time.
pub struct In<T: Element, const HALO: usize = 0> {
    pointer: *const T,
    len: usize,
}

impl<T: Element, const HALO: usize> In<T, HALO> {
    /// # Safety
    /// `pointer` points to `len` elements that nobody writes while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *const T, len: usize, items: usize) -> Self {
        if len < items || len - items < HALO {
            device::trap();
        }
        Self { pointer, len }
    }

    /// Number of elements.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
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
        if index >= self.len {
            device::trap();
        }
        // SAFETY: just checked.
        unsafe { &*self.pointer.add(index) }
    }
}

/// An array of which every thread writes its own item's element.
pub struct Out<T: Element> {
    pointer: *mut T,
}

impl<T: Element> Out<T> {
    /// # Safety
    /// `pointer` points to `len` elements that only this launch's `Out` touches while the kernel runs.
    #[inline(always)]
    pub unsafe fn from_raw(pointer: *mut T, len: usize, items: usize) -> Self {
        if len < items {
            device::trap();
        }
        Self { pointer }
    }

    /// The item's own element.
    #[inline(always)]
    pub fn own(&mut self, item: Item) -> &mut T {
        // SAFETY: item < items <= len, and no other thread holds an equal item.
        unsafe { &mut *self.pointer.add(item.index()) }
    }

    /// Writes the item's own element.
    #[inline(always)]
    pub fn set(&mut self, item: Item, value: T) {
        *self.own(item) = value;
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
    pub unsafe fn from_raw(pointer: *mut T, len: usize, _items: usize) -> Self {
        if len < 1 {
            device::trap();
        }
        Self { pointer }
    }
}

impl Sum<f64> {
    /// Adds `value`, atomically over the whole device.
    #[inline(always)]
    pub fn add(&self, value: f64) {
        // SAFETY: the pointer is valid, and during the launch all access to it is atomic.
        unsafe { device::atomic_add(self.pointer, value) }
    }
}
