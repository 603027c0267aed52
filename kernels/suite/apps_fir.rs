//! Apps_FIR: a finite impulse response filter, `out[i] = sum over j < 16 of coefficient[j] * input[i + j]`.

use ironsweep::prelude::*;

const COEFFICIENTS: [f64; 16] =
    [3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0];
const TAPS: usize = COEFFICIENTS.len();

kernel! {
    fn apps_fir(n) as struct Fir {
        input: In<f64, 15> = random_values(n + TAPS - 1),
        out: Out<f64> = zeros(n),
    }
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
        launcher.launch::<Self>(n);
    }
}

impl Launch for Fir {
    type At = Item;

    fn run(self, item: Item) {
        let Self { input, out } = self;
        let mut sum = 0.0;
        for (coefficient, x) in COEFFICIENTS.iter().zip(input.window::<TAPS>(item)) {
            sum += coefficient * x;
        }
        out.set(item, sum);
    }
}
