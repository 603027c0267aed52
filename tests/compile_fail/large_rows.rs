//! A table so large that its size could overflow.
// error: the table is too large

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: Rows<f64, 2, 9223372036854775808> = ramp(2 * n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b.row(item.index())[0]);
    }
}
