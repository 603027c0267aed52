//! Stream_COPY: `c[i] = a[i]`.

use ironsweep::prelude::*;

kernel! {
    data(n) of Copy {
        a = ramp(n),
        c = zeros(n),
    }
    launch stream_copy_pairs as Pairs { a: InPairs<f64>, c: OutPairs<f64> }
    launch stream_copy_last as Last { a: In<f64>, c: Out<f64> }
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
        launcher.launch::<Pairs>(n / 2);
        let rest = n - n % 2..n;
        launcher.launch_with::<Last>(n % 2, &[part("a", "a", rest.clone()), part("c", "c", rest)]);
    }
}

impl Launch for Pairs {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, c } = self;
        c.set(item, a.window(item));
    }
}

impl Launch for Last {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, c } = self;
        c.set(item, a[item]);
    }
}
