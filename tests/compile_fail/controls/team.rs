//! Threads that stride over the items together.

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        team.sum(&self.sum, |item| self.b[item]);
    }
}
