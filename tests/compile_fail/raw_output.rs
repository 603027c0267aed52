//! A kernel makes an output of a pointer: that takes `unsafe`, which a kernel does not have.
// error: usage of an `unsafe` block
// error: -F unsafe-code

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
        let everything = core::ptr::from_mut(a.own(item));
        let mut other = unsafe { Out::from_raw(everything, usize::MAX, usize::MAX) };
        other.set(item, b[item]);
    }
}
