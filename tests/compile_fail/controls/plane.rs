//! A thread for each item of a plane.

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 1> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item2<1>;

    fn run(self, item: Item2<1>) {
        self.a.set(item, self.b[item] + self.b.near(item, 0, 1));
    }
}
