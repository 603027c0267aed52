//! A body that takes items of another shape than the launch has.
// error: method `run` has an incompatible type for trait

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 1> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item2<1>) {
        self.a.set(item, self.b[item]);
    }
}
