//! A border so wide that sizes computed with it could overflow.
// error: the border is too wide

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 9223372036854775808> = zeros(n),
        b: In2<f64, 9223372036854775808> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item2<9223372036854775808>;

    fn run(self, item: Item2<9223372036854775808>) {
        self.a.set(item, self.b.near(item, 100, 0));
    }
}
