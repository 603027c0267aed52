//! Fills data with what they are before the first repetition.

use std::ffi::{c_int, c_uint};

use super::arguments::{Datum, Values};
use crate::arguments::ElementKind;
use crate::initial::{Initial, Random, Reference};

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

/// The initial content of every datum. RAJAPerf's counter is the datum's position unless the kernel says otherwise: each
/// initialisation counts, whatever its kind.
pub fn initial(data: &[Datum], mode: Data) -> Vec<Values> {
    let fill = |(position, datum): (usize, &Datum)| {
        let initial = datum.initial;
        let counter = initial.counter.unwrap_or(position);
        match (initial.kind, initial.reference, initial.len) {
            (ElementKind::i32, Reference::Index(n, index), Some(len)) => {
                Values::I32(filled(len, |i| i32::try_from(index(n, i)).expect("the kernel's indices fit in 32 bits")))
            }
            (ElementKind::i64, Reference::Index(n, index), Some(len)) => Values::I64(filled(len, |i| index(n, i))),
            (_, _, Some(len)) => Values::F64(numbers(initial, mode, counter, len)),
            (_, _, None) => Values::Scalar(numbers(initial, mode, counter, 1)[0]),
        }
    };
    data.iter().enumerate().map(fill).collect()
}

fn numbers(initial: Initial, mode: Data, counter: usize, len: usize) -> Vec<f64> {
    let reference = initial.reference;
    match (mode, initial.random) {
        (Data::Random(seed), Random::Range(low, high)) => {
            filled(len, |i| low + uniform(seed, counter, i) * (high - low))
        }
        (Data::Random(seed), Random::Perturbed(low, high)) => {
            filled(len, |i| at(reference, counter, i) + (low + uniform(seed, counter, i) * (high - low)))
        }
        // One number follows from the one before.
        _ if matches!(reference, Reference::RandomValues) => {
            srand(RAJAPERF_SEED);
            (0..len).map(|_| f64::from(rand()) / RAND_MAX).collect()
        }
        _ => filled(len, |i| at(reference, counter, i)),
    }
}

/// Element `i` of the reference data.
fn at(reference: Reference, counter: usize, i: usize) -> f64 {
    match reference {
        Reference::Constant(value) => value,
        Reference::Ramp => {
            let factor = if counter.is_multiple_of(2) { 0.2 } else { 0.1 };
            factor * (i as f64 + 1.1) / (i as f64 + 1.12345)
        }
        Reference::Computed(n, value) => value(n, i),
        Reference::RandomValues | Reference::Index(..) => unreachable!("not computed element by element"),
    }
}

/// `len` values, made by all cores.
fn filled<T: Copy + Default + Send>(len: usize, value: impl Fn(usize) -> T + Sync) -> Vec<T> {
    /// What is worth a thread.
    const LEAST: usize = 1 << 18;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let chunk = len.div_ceil(threads).max(LEAST);
    let (mut values, value) = (vec![T::default(); len], &value);
    std::thread::scope(|scope| {
        for (number, part) in values.chunks_mut(chunk).enumerate() {
            let mut work = move || part.iter_mut().enumerate().for_each(|(i, slot)| *slot = value(number * chunk + i));
            if len <= chunk {
                work();
            } else {
                scope.spawn(work);
            }
        }
    });
    values
}

/// The `i`-th number in [0, 1) of the stream that belongs to `counter`: splitmix64 of a counter (Steele, Lea, Flood
/// 2014), so that any element can be computed apart from all others.
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
    use crate::initial::{computed, indices_64, ramp, random_values, scalar, zeros};

    fn data() -> Vec<Datum> {
        [zeros(3), ramp(3), random_values(2), scalar(), indices_64(2, 7, |n, i| (n + i) as i64)]
            .map(|initial| Datum { name: "x", initial })
            .into()
    }

    fn array(values: &Values) -> &[f64] {
        match values {
            Values::F64(array) => array,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reference_data_follow_the_counter() {
        let values = initial(&data(), Data::Reference);
        assert_eq!(array(&values[0]), [0.0; 3]);
        assert_eq!(array(&values[1])[0], 0.1 * 1.1 / 1.12345);
        assert!(matches!(values[3], Values::Scalar(value) if value == 0.1 * 1.1 / 1.12345));
        assert!(array(&values[2]).iter().all(|x| (0.0..=1.0).contains(x)));
        assert!(matches!(&values[4], Values::I64(list) if *list == [7, 8]));
        let counted = [Datum { name: "x", initial: ramp(1).counted(52) }];
        assert_eq!(array(&initial(&counted, Data::Reference)[0])[0], 0.2 * 1.1 / 1.12345);
    }

    #[test]
    fn random_data_are_reproducible_distinct_and_in_range() {
        let values = initial(&data(), Data::Random(1));
        assert_eq!(array(&values[1]), array(&initial(&data(), Data::Random(1))[1]));
        assert_ne!(array(&values[1]), array(&initial(&data(), Data::Random(2))[1]));
        assert_ne!(array(&values[1])[0], array(&values[1])[1]);
        assert!(array(&values[1]).iter().all(|x| (-1.0..1.0).contains(x)));
        assert_eq!(array(&values[0]), [0.0; 3]);
    }

    #[test]
    fn perturbed_data_stay_near() {
        let data = [Datum { name: "x", initial: computed(9, 0, |_, i| i as f64).or_perturbed(-0.1, 0.1) }];
        let values = initial(&data, Data::Random(1));
        for (i, x) in array(&values[0]).iter().enumerate() {
            assert!((x - i as f64).abs() <= 0.1 && *x != i as f64);
        }
    }

    #[test]
    fn many_threads_fill_in_order() {
        assert!(filled(1_000_003, |i| i as i64).iter().enumerate().all(|(i, &x)| i as i64 == x));
    }
}
