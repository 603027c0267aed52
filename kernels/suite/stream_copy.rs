//! Stream_COPY: `c[i] = a[i]`.

use ironsweep::prelude::*;

kernel! {
    fn stream_copy(n) as struct Copy {
        a: In<f64> = ramp(n),
        c: Out<f64> = zeros(n),
    }
}

impl Kernel for Copy {
    const NAME: &'static str = "Stream_COPY";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 1800;
    const CHECKED: &'static [&'static str] = &["c"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * n, written: 8 * n, ..Bytes::default() }
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for Copy {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, c } = self;
        c.set(item, a[item]);
    }
}
