//! RAJAPerf's checksum: a sum of absolute values, each weighted by its position, so that swapped or shifted elements
//! are seen.

use std::f64::consts::FRAC_1_PI;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Elements that are summed one after another. A constant, so that the result does not depend on the number of cores.
const CHUNK: usize = 1 << 20;

/// The checksum of an array. A NaN anywhere makes it NaN.
pub fn array(values: &[f64]) -> f64 {
    let mut sums = vec![0.0; values.len().div_ceil(CHUNK)];
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(sums.len());
    let results: Vec<(usize, f64)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = values.chunks(CHUNK).nth(index) else {
                    return done;
                };
                let first = index * CHUNK;
                let terms = chunk.iter().enumerate().map(|(i, &value)| weight(first + i, value) * value.abs());
                done.push((index, kahan(terms)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("summing does not panic")).collect()
    });
    for (index, sum) in results {
        sums[index] = sum;
    }
    kahan(sums)
}

/// The checksum of a scalar.
pub fn scalar(value: f64) -> f64 {
    value.abs()
}

fn weight(index: usize, value: f64) -> f64 {
    let offset = if value >= 0.0 { 1.0 } else { 0.5 };
    let position = (index as f64 + offset) * FRAC_1_PI;
    position - position.floor() + 0.5
}

fn kahan(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for term in terms {
        let corrected = term - lost;
        let next = sum + corrected;
        lost = (next - sum) - corrected;
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_arrays_by_hand() {
        let by_hand = (1.0 / std::f64::consts::PI).fract() + 0.5;
        assert!((array(&[1.0]) - by_hand).abs() < 1e-15);
        assert_eq!(array(&[]), 0.0);
        assert_ne!(array(&[1.0, 2.0]), array(&[2.0, 1.0]));
        assert_ne!(array(&[1.0]), array(&[-1.0]));
    }

    #[test]
    fn nan_is_not_lost() {
        let mut values = vec![1.0; 3 * CHUNK];
        values[CHUNK + 7] = f64::NAN;
        assert!(array(&values).is_nan());
    }
}
