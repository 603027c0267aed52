//! How an argument's data looks before the first repetition: a description that the bench driver fills in.
//!
//! The reference data are RAJAPerf's (its `initData` family, v2025.12); the random ones are drawn from
//! [-1, 1) unless the kernel asks for another range.

/// One argument's initial data.
#[derive(Clone, Copy, Debug)]
pub struct Initial {
    /// Number of elements; none for a scalar.
    pub len: Option<usize>,
    /// The reference data.
    pub reference: Reference,
    /// Bounds of the random data: low (included), high (excluded). None: zeros, as in the reference.
    pub random: Option<(f64, f64)>,
}

/// RAJAPerf's ways to initialise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// All zero.
    Zeros,
    /// f (i + 1.1) / (i + 1.12345), with f = 0.2 for an even counter and 0.1 for an odd one.
    Ramp,
    /// `rand() / RAND_MAX` after `srand(4793)`.
    RandomValues,
}

impl Initial {
    /// The same reference data, with random data from [`low`, `high`).
    pub const fn or_random(self, low: f64, high: f64) -> Self {
        Self { random: Some((low, high)), ..self }
    }
}

/// `len` zeros, whatever the data mode: what a kernel's results start from.
pub const fn zeros(len: usize) -> Initial {
    Initial { len: Some(len), reference: Reference::Zeros, random: None }
}

/// An array of `len` ramp values.
pub const fn ramp(len: usize) -> Initial {
    Initial { len: Some(len), reference: Reference::Ramp, random: Some((-1.0, 1.0)) }
}

/// An array of `len` values of C's `rand`.
pub const fn random_values(len: usize) -> Initial {
    Initial { len: Some(len), reference: Reference::RandomValues, random: Some((-1.0, 1.0)) }
}

/// A ramp's first value, as a scalar.
pub const fn scalar() -> Initial {
    Initial { len: None, reference: Reference::Ramp, random: Some((-1.0, 1.0)) }
}
