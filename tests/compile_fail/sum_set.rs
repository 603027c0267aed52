//! Threads overwrite the result of a reduction, which they may only add to.
// error: no method named `set` found for struct `ironsweep::arguments::Sum<T>`

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        self.sum.set(0, self.b[0]);
        team.sum(&self.sum, |item| self.b[item]);
    }
}
