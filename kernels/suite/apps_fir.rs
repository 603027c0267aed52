//! Apps_FIR: a finite impulse response filter, `out[i] = sum over j < 16 of coefficient[j] * input[i + j]`.
//!
//! An item is two neighbours, which have all but two of their inputs in common; an odd last element is one by itself.

use ironsweep::prelude::*;

const COEFFICIENTS: [f64; 16] =
    [3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0];
const TAPS: usize = COEFFICIENTS.len();

kernel! {
    data(n) of Fir {
        input = random_values(n + TAPS - 1),
        out = zeros(n),
    }
    launch apps_fir_pairs as Pairs { input: InPairs<f64, 15>, out: OutPairs<f64> }
    launch apps_fir_last as Last { input: In<f64, 15>, out: Out<f64> }
}

impl Kernel for Fir {
    const NAME: &'static str = "Apps_FIR";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 160;
    const CHECKED: &'static [&'static str] = &["out"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * (TAPS + n + TAPS - 1), written: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        2 * TAPS * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Pairs>(n / 2);
        let rest = n - n % 2;
        launcher.launch_with::<Last>(n % 2, &[part("input", "input", rest..n + TAPS - 1), part("out", "out", rest..n)]);
    }
}

impl Launch for Pairs {
    type At = Item;

    fn run(self, item: Item) {
        let Self { input, out } = self;
        let window = input.window::<{ TAPS + 1 }>(item);
        out.set(item, [filter(|j| window[j]), filter(|j| window[j + 1])]);
    }
}

impl Launch for Last {
    type At = Item;

    fn run(self, item: Item) {
        let Self { input, out } = self;
        let window = input.window::<TAPS>(item);
        out.set(item, filter(|j| window[j]));
    }
}

#[inline(always)]
fn filter(input: impl Fn(usize) -> f64) -> f64 {
    let mut sum = 0.0;
    for (j, coefficient) in COEFFICIENTS.iter().enumerate() {
        sum += coefficient * input(j);
    }
    sum
}
