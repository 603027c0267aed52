//! A seat made by hand, to read in another's place.
// error: fields `group`, `members`, `index` and `not_send` of struct `ironsweep::launch::Seat` are private

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let seat = Seat {
            group: 0,
            members: 1,
            index: group.index(),
            not_send: core::marker::PhantomData,
        };
        let _ = self.m.get(&seat, 0) + self.b[0];
    }
}
