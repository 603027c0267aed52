//! One output is borrowed for writing twice at once.
// error: cannot borrow `a` as mutable more than once at a time

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
        let Self { mut a, b } = self;
        let first = a.own(item);
        let second = a.own(item);
        *first = b[item];
        *second = b[item];
    }
}
