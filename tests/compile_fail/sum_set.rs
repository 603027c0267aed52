//! Threads overwrite the result of a reduction, which they may only add to.
// error: no method named `set` found

use ironsweep::prelude::*;

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Kernel for Arguments {
    const NAME: &'static str = "Compile_FAIL";
    const DEFAULT_SIZE: usize = 1;
    const DEFAULT_REPS: usize = 1;
    const CHECKED: &'static str = "sum";
    type At = Item;

    fn bytes(_: usize) -> Bytes {
        Bytes::default()
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn run(self, item: Item) {
        let Self { sum, b } = self;
        sum.set(item, b[item]);
    }
}
