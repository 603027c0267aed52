//! A member made of a seat, to read shared memory before the barrier.
// error: tuple struct constructor `Member` is private

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

fn early(tile: &ironsweep::launch::Tile<4>, seat: Seat) -> f64 {
    tile.get(&ironsweep::launch::Member(seat), 0)
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let _ = (self, group, early);
    }
}
