//! A body calls an entry point, with a length of its own.
// error: call to unsafe function `compile_fail` is unsafe and requires unsafe block

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        if item.index() == 0 {
            compile_fail(core::ptr::null(), &0.0, 1 << 40, 1, 1, 1, 1, 1);
        }
    }
}
