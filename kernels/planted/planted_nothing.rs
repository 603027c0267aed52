//! Planted_NOTHING: Stream_TRIAD that does nothing. Every run contains it, and must find its result wrong.

use ironsweep::prelude::*;

kernel! {
    fn planted_nothing(n) as struct Nothing {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
        c: In<f64> = ramp(n),
        alpha: f64 = scalar(),
    }
}

impl Kernel for Nothing {
    const NAME: &'static str = "Planted_NOTHING";
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

impl Launch for Nothing {
    type At = Item;

    fn run(self, _: Item) {}
}
