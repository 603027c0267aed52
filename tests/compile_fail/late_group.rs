//! A group is used after its members have gone their ways.
// error: use of moved value: `group`

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let Self { b, m } = self;
        group.each(|member| m.set(member, 0, b[0]));
        group.each(|member| m.set(member, 1, b[1]));
    }
}
