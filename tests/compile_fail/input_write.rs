//! Inputs cannot be written.
// error: trait `IndexMut` is required to modify indexed content

use ironsweep::prelude::*;

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
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
        let Self { mut a, mut b } = self;
        a.set(item, 0.0);
        b[item] = 1.0;
    }
}
