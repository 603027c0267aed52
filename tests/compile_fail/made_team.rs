//! A second team, to reduce twice through the same shared memory.
// error: fields `dimensions` and `place` of struct

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        let Team { dimensions, place } = team;
        Team { dimensions, place }.sum(&self.sum, |item| self.b[item]);
    }
}
