//! A kernel plays the launch layer, to get an item that is not its own.
// error: call to unsafe function `each` is unsafe

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
        use ironsweep::launch::{Dimensions, Shape};
        let all = Dimensions { items: b.len(), grid: 1, block: 1 };
        ironsweep::device::run(all, |place| Item::each(all, place, |_| {}));
        a.set(item, 1.0);
    }
}
