//! Shared memory is read before all of it is written.
// error: this method takes 2 arguments but 1 argument was supplied

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
        let first = group.stage::<4>(|index| b[index]);
        let second = group.stage::<4>(|index| first.get(index));
        group.each(|member| m.set(member, 0, second.get(member, 0)));
    }
}
