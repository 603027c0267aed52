//! Stream_TRIAD: `a[i] = b[i] + alpha * c[i]`.

use ironsweep::prelude::*;

kernel! {
    fn stream_triad(n) as struct Triad {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
        c: In<f64> = ramp(n),
        alpha: f64 = scalar(),
    }
}

impl Kernel for Triad {
    const NAME: &'static str = "Stream_TRIAD";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 1000;
    const CHECKED: &'static [&'static str] = &["a"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 16 * n, written: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        2 * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for Triad {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, b, c, alpha } = self;
        a.set(item, b[item] + alpha * c[item]);
    }
}
