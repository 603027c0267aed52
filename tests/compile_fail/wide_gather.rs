//! A window at an element that a list names, wider than its array promises.
// error: a window reaches beyond the halo that its array declares

kernel! {
    fn compile_fail(n) as struct Arguments {
        list: Distinct<i32> = indices_32(n, n, |_, index| index as i64),
        b: Gather<f64, 1> = ramp(n),
        c: Scatter<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let target = self.list.target(item);
        self.c.set(target, self.b.window::<3>(target)[2]);
    }
}
