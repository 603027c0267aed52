//! Lcals_PLANCKIAN: Planck's distribution, `y[i] = u[i] / v[i]; w[i] = x[i] / (exp(y[i]) - 1)`.

use ironsweep::prelude::*;

kernel! {
    fn lcals_planckian(n) as struct Planckian {
        // Positive random data keep the denominator away from zero.
        x: In<f64> = ramp(n).or_random(0.5, 1.5),
        y: Out<f64> = ramp(n).or_random(0.5, 1.5),
        u: In<f64> = ramp(n).or_random(0.5, 1.5),
        v: In<f64> = ramp(n).or_random(0.5, 1.5),
        w: Out<f64> = zeros(n),
    }
}

impl Kernel for Planckian {
    const NAME: &'static str = "Lcals_PLANCKIAN";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 50;
    const CHECKED: &'static [&'static str] = &["w"];
    const COMPARED: &'static [&'static str] = &["y"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 24 * n, written: 16 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        4 * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for Planckian {
    type At = Item;

    fn run(self, item: Item) {
        let Self { x, y, u, v, w } = self;
        let ratio = u[item] / v[item];
        y.set(item, ratio);
        w.set(item, x[item] / (exp(ratio) - 1.0));
    }
}
