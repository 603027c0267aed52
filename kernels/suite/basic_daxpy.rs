//! Basic_DAXPY: `y[i] += a * x[i]`.

use ironsweep::prelude::*;

kernel! {
    fn basic_daxpy(n) as struct Daxpy {
        y: Out<f64> = zeros(n).or_random(-1.0, 1.0),
        x: In<f64> = ramp(n),
        a: f64 = scalar(),
    }
}

impl Kernel for Daxpy {
    const NAME: &'static str = "Basic_DAXPY";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 500;
    const CHECKED: &'static [&'static str] = &["y"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * n, modified: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        2 * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for Daxpy {
    type At = Item;

    fn run(self, item: Item) {
        let Self { y, x, a } = self;
        y.set(item, y.get(item) + a * x[item]);
    }
}
