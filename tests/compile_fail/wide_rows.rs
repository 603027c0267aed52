//! Rows that do not begin where two numbers can be loaded at once.
// error: rows of this length do not begin at multiples of 16 bytes

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: Rows<f64, 5, 3> = ramp(5 * n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b.row(item.index() % 3)[0]);
    }
}
