//! A member writes while shared memory is filled: the host would do so later, or never.
// error: expected `&Member`, found `&Seat`

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
        let own = group.own(|seat| m.set(seat, 0, b[0]));
        group.each_with(own, |_, ()| {});
    }
}
