//! A thread for several items of a row.

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 1> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Strip<4, 1>;

    fn run(self, strip: Strip<4, 1>) {
        self.a.set_each(strip, |item| self.b[item] + self.b.near(item, 0, 1));
    }
}
