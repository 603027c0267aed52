//! Fills arguments with their initial data.

use std::ffi::{c_int, c_uint};

use super::arguments::{Argument, Slot};
use crate::initial::Reference;

/// Which data a point asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    /// RAJAPerf's, so that checksums can be laid beside its own.
    Reference,
    /// Random and not degenerate, from this seed.
    Random(u64),
}

/// The seed of RAJAPerf's calls of `srand`.
const RAJAPERF_SEED: c_uint = 4793;
/// glibc's.
const RAND_MAX: f64 = 2147483647.0;

unsafe extern "C" {
    // RAJAPerf's random data come from the C library's generator.
    safe fn srand(seed: c_uint);
    safe fn rand() -> c_int;
}

/// The initial content of every argument. RAJAPerf's counter is the argument's position: each initialisation counts,
/// whatever its kind.
pub fn initial(arguments: &[Argument], data: Data) -> Vec<Slot> {
    let fill = |(counter, argument): (usize, &Argument)| {
        let initial = argument.initial;
        let len = initial.len.unwrap_or(1);
        let values = match (data, initial.random) {
            (Data::Random(seed), Some((low, high))) => {
                (0..len).map(|i| low + uniform(seed, counter, i) * (high - low)).collect()
            }
            _ => reference(initial.reference, counter, len),
        };
        match initial.len {
            Some(_) => Slot::Array(values),
            None => Slot::Scalar(values[0]),
        }
    };
    arguments.iter().enumerate().map(fill).collect()
}

fn reference(kind: Reference, counter: usize, len: usize) -> Vec<f64> {
    match kind {
        Reference::Zeros => vec![0.0; len],
        Reference::Ramp => {
            let factor = if counter.is_multiple_of(2) { 0.2 } else { 0.1 };
            (0..len).map(|i| factor * (i as f64 + 1.1) / (i as f64 + 1.12345)).collect()
        }
        Reference::RandomValues => {
            srand(RAJAPERF_SEED);
            (0..len).map(|_| f64::from(rand()) / RAND_MAX).collect()
        }
    }
}

/// The `i`-th number in [0, 1) of the stream that belongs to the argument at position `counter`: splitmix64 of a
/// counter (Steele, Lea, Flood 2014), so that any element can be computed apart from all others.
fn uniform(seed: u64, counter: usize, i: usize) -> f64 {
    let mut z = seed
        .wrapping_add((counter as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03))
        .wrapping_add((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * 2f64.powi(-53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::arguments::Role;
    use crate::initial::{ramp, random_values, scalar, zeros};

    fn arguments() -> Vec<Argument> {
        let argument = |role, initial| Argument { name: "x", role, initial };
        vec![
            argument(Role::Out, zeros(3)),
            argument(Role::In, ramp(3)),
            argument(Role::In, random_values(2)),
            argument(Role::f64, scalar()),
        ]
    }

    #[test]
    fn reference_data_follow_the_counter() {
        let slots = initial(&arguments(), Data::Reference);
        assert_eq!(slots[0].array(), [0.0; 3]);
        assert_eq!(slots[1].array()[0], 0.1 * 1.1 / 1.12345);
        assert_eq!(slots[3].scalar(), 0.1 * 1.1 / 1.12345);
        assert!(slots[2].array().iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn random_data_are_reproducible_distinct_and_in_range() {
        let slots = initial(&arguments(), Data::Random(1));
        assert_eq!(slots[1].array(), initial(&arguments(), Data::Random(1))[1].array());
        assert_ne!(slots[1].array(), initial(&arguments(), Data::Random(2))[1].array());
        assert_ne!(slots[1].array()[0], slots[1].array()[1]);
        assert!(slots[1].array().iter().all(|x| (-1.0..1.0).contains(x)));
        assert_eq!(slots[0].array(), [0.0; 3]);
    }
}
