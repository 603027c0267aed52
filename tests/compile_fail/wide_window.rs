//! A window reaches beyond the halo that its array declares.
// error: a window reaches beyond the halo that its array declares

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64, 2> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b.window::<4>(item).iter().sum());
    }
}
