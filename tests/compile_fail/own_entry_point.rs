//! A body expands the launch layer's entry point, around pointers and lengths of its own.
// error: Shared::<T>::new` is unsafe and requires unsafe block
// error: expansion::run` is unsafe and requires unsafe block
// error: In::<T, HALO>::from_raw` is unsafe and requires unsafe block
// error: call to unsafe function `each` is unsafe and requires unsafe block
// error: call to unsafe function `read` is unsafe and requires unsafe block

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let _ = item;
        let (n, block) = (1_usize, 1_usize);
        let (pointer, len): (&'static f64, usize) = (&0.0, 1 << 40);
        ironsweep::__entry! { @enter Arguments (n n n n block) [(pointer: &'static f64) (len: usize)] [(b In pointer len)] }
    }
}
