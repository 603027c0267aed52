//! An array that is written through a list is written at a plain index.
// error: expected `Target`, found `usize`

kernel! {
    fn compile_fail(n) as struct Arguments {
        list: Distinct<i32> = indices_32(n, n, |_, index| index as i64),
        b: In<f64> = ramp(n),
        c: Scatter<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.c.set(item.index(), self.b[item]);
    }
}
