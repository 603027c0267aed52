//! A kernel's data as the bench driver sees them.

use super::schedule::Builder;
use std::ops::Range;

use crate::arguments::{Element, ElementKind};
use crate::initial::Initial;
use crate::kernel::{Bytes, Field, Kernel};

/// One datum, as the kernel declares it.
#[derive(Clone, Copy, Debug)]
pub struct Datum {
    pub name: &'static str,
    pub initial: Initial,
}

/// Made by [`kernel!`](crate::kernel!).
///
/// # Safety
/// `LAUNCHES` are those of the device images, in order.
pub unsafe trait Described: Kernel {
    /// Every launch: its entry point's symbol in the device images, and its arguments.
    const LAUNCHES: &'static [(&'static str, &'static [Field])];

    /// The data if `n` elements are asked for, in order.
    fn data(n: usize) -> Vec<Datum>;
}

/// A kernel as a value, so that the driver is compiled once and not for every kernel.
#[derive(Clone, Copy)]
pub struct Description {
    pub name: &'static str,
    pub default_size: usize,
    pub default_reps: usize,
    pub checked: &'static [&'static str],
    pub compared: &'static [&'static str],
    pub checked_parts: fn(usize, &str, &mut dyn FnMut(Range<usize>)),
    pub blocks: &'static [usize],
    pub launches: &'static [(&'static str, &'static [Field])],
    pub data: fn(usize) -> Vec<Datum>,
    pub actual_size: fn(usize) -> usize,
    pub bytes: fn(usize) -> Bytes,
    pub flops: fn(usize) -> usize,
    pub repetition: fn(usize, &mut Builder),
}

impl Description {
    /// That of kernel `K`.
    pub fn of<K: Described>() -> Self {
        Self {
            name: K::NAME,
            default_size: K::DEFAULT_SIZE,
            default_reps: K::DEFAULT_REPS,
            checked: K::CHECKED,
            compared: K::COMPARED,
            checked_parts: K::checked_parts,
            blocks: K::BLOCKS,
            launches: K::LAUNCHES,
            data: K::data,
            actual_size: K::actual_size,
            bytes: K::bytes,
            flops: K::flops,
            repetition: |n, builder| K::repetition(n, builder),
        }
    }
}

/// One datum's content on the host.
#[derive(Clone, Debug)]
pub enum Values {
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Scalar(f64),
}

impl Values {
    /// Number of elements.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Scalar(_) => 1,
        }
    }

    /// The type of the elements.
    pub fn kind(&self) -> ElementKind {
        match self {
            Self::F64(_) | Self::Scalar(_) => ElementKind::f64,
            Self::I32(_) => ElementKind::i32,
            Self::I64(_) => ElementKind::i64,
        }
    }

    /// Whether it is passed by value.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_))
    }

    /// An array's content; nothing for a scalar.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F64(values) => bytes(values),
            Self::I32(values) => bytes(values),
            Self::I64(values) => bytes(values),
            Self::Scalar(_) => &[],
        }
    }

    /// As [`Values::bytes`], to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::F64(values) => bytes_mut(values),
            Self::I32(values) => bytes_mut(values),
            Self::I64(values) => bytes_mut(values),
            Self::Scalar(_) => &mut [],
        }
    }
}

/// The bytes of plain data.
pub fn bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding, and any alignment suits bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of plain data, to be changed.
pub fn bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and every pattern of bits is an element.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
