//! A kernel's arguments as the bench driver sees them.

use crate::initial::Initial;

/// What the kernel does with an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Array that is read.
    In,
    /// Array that is written.
    Out,
    /// Result of a reduction: reset before, copied back after each repetition.
    Sum,
    /// Scalar, by value.
    #[allow(non_camel_case_types, reason = "named as the kernel's file names the argument's type")]
    f64,
}

/// One argument.
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: &'static str,
    pub role: Role,
    pub initial: Initial,
}

/// Made by [`kernel!`](crate::kernel!).
pub trait Described {
    /// The entry point's symbol in the device images.
    const ENTRY: &'static str;

    /// The arguments at problem size `n`, in order.
    fn describe(n: usize) -> Vec<Argument>;
}

/// One argument's content on the host.
#[derive(Clone, Debug)]
pub enum Slot {
    Array(Vec<f64>),
    Scalar(f64),
}

impl Slot {
    /// The array.
    pub fn array(&self) -> &[f64] {
        match self {
            Slot::Array(array) => array,
            Slot::Scalar(_) => unreachable!("the macro asks for what it declared"),
        }
    }

    /// The array, to be changed.
    pub fn array_mut(&mut self) -> &mut [f64] {
        match self {
            Slot::Array(array) => array,
            Slot::Scalar(_) => unreachable!("the macro asks for what it declared"),
        }
    }

    /// The scalar.
    pub fn scalar(&self) -> f64 {
        match self {
            Slot::Scalar(value) => *value,
            Slot::Array(_) => unreachable!("the macro asks for what it declared"),
        }
    }
}
