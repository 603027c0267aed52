//! Two lists of distinct indices: what is in one may also be in the other.
// error: a launch has at most one list of distinct indices

kernel! {
    fn compile_fail(n) as struct Arguments {
        one: Distinct<i32> = indices_32(n, n, |_, index| index as i64),
        two: Distinct<i32> = indices_32(n, n, |_, index| index as i64),
        b: In<f64> = ramp(n),
        c: Scatter<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let Self { one, two, b, c } = self;
        c.set(one.target(item), b[item]);
        c.set(two.target(item), b[item]);
    }
}
