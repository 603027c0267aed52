//! A workgroup for each item, which shares memory.

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
        let tile = group.stage::<8>(|index| b[index]);
        group.each(|member| m.set(member, 1, tile.get(member, member.index() % 8)));
    }
}
