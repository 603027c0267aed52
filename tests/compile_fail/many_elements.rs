//! So many elements a member that sizes computed with them could overflow.
// error: a member has too many elements

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 288230376151711744> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        group.each(|member| self.m.set(member, 1 << 50, self.b[0]));
    }
}
