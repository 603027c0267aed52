//! An item of a line in an array of planes: its rows are unknown.
// error: expected `Item2`, found `Item`

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64> = zeros(n),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b[item]);
    }
}
