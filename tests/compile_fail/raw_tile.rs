//! Shared memory is reached past its checks.
// error: field `tile` of struct `ironsweep::launch::Group` is private

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let tile = group.tile;
        group.each(|member| self.m.set(member, 0, tile.addr() as f64));
    }
}
