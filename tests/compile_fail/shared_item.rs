//! A kernel keeps an item in a global that the launch layer's own type would make shareable.
// error: call to unsafe function `Shared::<T>::new` is unsafe

use ironsweep::prelude::*;

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
    }
}

static KEPT: ironsweep::device::Shared<Option<Item>> = ironsweep::device::Shared::new(None);

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
        let _ = KEPT.get();
        a.set(item, b[item]);
    }
}
