//! A strip's elements are written otherwise than each by its own item.
// error: expected `Item2<1>`, found `Strip<4, 1>`

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 1> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Strip<4, 1>;

    fn run(self, strip: Strip<4, 1>) {
        self.a.set(strip, 1.0);
    }
}
