//! A thread without any item.
// error: a thread has between 1 and 1024 items

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out2<f64, 1> = zeros(n),
        b: In2<f64, 1> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Strip<0, 1>;

    fn run(self, strip: Strip<0, 1>) {
        self.a.set_each(strip, |item| self.b[item]);
    }
}
