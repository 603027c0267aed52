//! An array with another border than the launch's items have: its rows are longer.
// error: mismatched types

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 2> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item2<1>;

    fn run(self, item: Item2<1>) {
        self.a.set(item, self.b.near(item, 0, 0));
    }
}
