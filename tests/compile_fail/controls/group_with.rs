//! Members read their own while shared memory is filled.

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
        let own = group.own(|seat| m.get(seat, 0));
        let tile = group.stage::<4>(|index| b[index]);
        group.each_with(own, |member, value| m.set(member, 0, value + tile.get(member, 0)));
    }
}
