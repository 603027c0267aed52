//! A member fills shared memory on its own.
// error: cannot borrow `group` as mutable, as it is a captured variable in a `Fn` closure
// error: borrow of moved value: `group`

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
        group.each(|member| {
            let tile = group.stage::<1>(|index| b[index]);
            m.set(member, 0, tile.get(member, 0));
        });
    }
}
