//! A kernel keeps its output for a launch in which another thread owns the element.
// error: cannot find module or crate `std`

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
        std::thread_local!(static KEPT: core::cell::RefCell<Option<Out<f64>>> = const { core::cell::RefCell::new(None) });
        a.set(item, b[item]);
    }
}
