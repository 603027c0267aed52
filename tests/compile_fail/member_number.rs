//! A member writes in another's place.
// error: expected `&Member`, found `usize`

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        group.each(|member| self.m.set(member.index() + 1, 0, self.b[0]));
    }
}
