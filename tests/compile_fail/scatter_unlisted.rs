//! Targets from a list that may repeat itself.
// error: no method named `target` found for struct `In<T, HALO>`

kernel! {
    fn compile_fail(n) as struct Arguments {
        list: In<i32> = indices_32(n, n, |_, index| index as i64),
        c: Scatter<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.c.set(self.list.target(item), 1.0);
    }
}
