//! An output is cloned, to borrow its elements twice.
// error: no method named `clone` found

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
        let mut copy = a.clone();
        let (first, second) = (a.own(item), copy.own(item));
        *first = b[item];
        *second = *first;
    }
}
