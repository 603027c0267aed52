//! How a kernel's data look before the first repetition: descriptions that the bench driver fills in.
//!
//! The reference data are RAJAPerf's (its `initData` family, v2025.12); the random ones are drawn from
//! [-1, 1) unless the kernel asks for another range.

use crate::arguments::ElementKind;

/// One datum: an array or a scalar.
#[derive(Clone, Copy, Debug)]
pub struct Initial {
    /// Number of elements; none for a scalar.
    pub len: Option<usize>,
    /// The type of the elements.
    pub kind: ElementKind,
    /// The reference data.
    pub reference: Reference,
    /// The random data.
    pub random: Random,
    /// RAJAPerf's counter, which a datum's place in the declaration gives unless it is set here.
    pub counter: Option<usize>,
}

/// RAJAPerf's ways to initialise.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// The same number everywhere.
    Constant(f64),
    /// f (i + 1.1) / (i + 1.12345), with f = 0.2 for an even counter and 0.1 for an odd one.
    Ramp,
    /// `rand() / RAND_MAX` after `srand(4793)`.
    RandomValues,
    /// A number computed from the problem size and the position.
    Computed(usize, fn(usize, usize) -> f64),
    /// An index computed from the problem size and the position.
    Index(usize, fn(usize, usize) -> i64),
}

/// What the data mode `random` makes of a datum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Random {
    /// The reference data.
    Reference,
    /// Random numbers: low (included), high (excluded).
    Range(f64, f64),
    /// The reference data, to each of which such a number is added.
    Perturbed(f64, f64),
}

impl Initial {
    /// The same reference data, with random data from [`low`, `high`).
    pub const fn or_random(self, low: f64, high: f64) -> Self {
        Self { random: Random::Range(low, high), ..self }
    }

    /// The same reference data, to which the random data mode adds numbers from [`low`, `high`).
    pub const fn or_perturbed(self, low: f64, high: f64) -> Self {
        Self { random: Random::Perturbed(low, high), ..self }
    }

    /// With another counter than the place in the declaration.
    pub const fn counted(self, counter: usize) -> Self {
        Self { counter: Some(counter), ..self }
    }
}

const fn array(len: usize, reference: Reference, random: Random) -> Initial {
    Initial { len: Some(len), kind: ElementKind::f64, reference, random, counter: None }
}

const ANY: Random = Random::Range(-1.0, 1.0);

/// `len` zeros, whatever the data mode: what a kernel's results start from.
pub const fn zeros(len: usize) -> Initial {
    constant(len, 0.0)
}

/// `len` times the same number, whatever the data mode.
pub const fn constant(len: usize, value: f64) -> Initial {
    array(len, Reference::Constant(value), Random::Reference)
}

/// An array of `len` ramp values.
pub const fn ramp(len: usize) -> Initial {
    array(len, Reference::Ramp, ANY)
}

/// An array of `len` values of C's `rand`.
pub const fn random_values(len: usize) -> Initial {
    array(len, Reference::RandomValues, ANY)
}

/// An array of `len` values `value(n, position)`.
pub const fn computed(len: usize, n: usize, value: fn(usize, usize) -> f64) -> Initial {
    array(len, Reference::Computed(n, value), ANY)
}

/// An array of `len` indices `value(n, position)` of 32 bits, whatever the data mode.
pub const fn indices_32(len: usize, n: usize, value: fn(usize, usize) -> i64) -> Initial {
    Initial { kind: ElementKind::i32, ..array(len, Reference::Index(n, value), Random::Reference) }
}

/// An array of `len` indices `value(n, position)` of 64 bits, whatever the data mode.
pub const fn indices_64(len: usize, n: usize, value: fn(usize, usize) -> i64) -> Initial {
    Initial { kind: ElementKind::i64, ..array(len, Reference::Index(n, value), Random::Reference) }
}

/// A ramp's first value, as a scalar.
pub const fn scalar() -> Initial {
    Initial { len: None, ..ramp(1) }
}
