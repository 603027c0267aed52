//! Shared memory is read before the barrier, by one that has only its seat.
// error: expected `&Member`, found `&Seat`

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, mut group: Group<64, 8>) {
        let Self { b, m } = self;
        let tile = group.stage::<4>(|index| b[index]);
        let own = group.own(|seat| tile.get(seat, 0));
        group.each_with(own, |member, value| m.set(member, 0, value));
    }
}
