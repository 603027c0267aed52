//! A window reaches beyond the halo that its array declares.
// error: a window reaches beyond the halo that its array declares

use ironsweep::prelude::*;

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64, 2> = ramp(n + 2),
    }
}

impl Kernel for Arguments {
    const NAME: &'static str = "Compile_FAIL";
    const DEFAULT_SIZE: usize = 1;
    const DEFAULT_REPS: usize = 1;
    const CHECKED: &'static str = "a";
    type At = Item;

    fn bytes(_: usize) -> Bytes {
        Bytes::default()
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn run(self, item: Item) {
        let Self { mut a, b } = self;
        a.set(item, b.window::<4>(item).iter().sum());
    }
}
