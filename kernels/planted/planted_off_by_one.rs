//! Planted_OFF_BY_ONE: Stream_TRIAD with a mistake. Every run contains it, and must find its result wrong.

use ironsweep::prelude::*;

kernel! {
    fn planted_off_by_one(n) as struct OffByOne {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
        c: In<f64> = ramp(n),
        alpha: f64 = scalar(),
    }
}

impl Kernel for OffByOne {
    const NAME: &'static str = "Planted_OFF_BY_ONE";
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

impl Launch for OffByOne {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, b, c, alpha } = self;
        let neighbour = (item.index() + 1).min(b.len() - 1);
        a.set(item, b[neighbour] + alpha * c[item]);
    }
}
