//! A team reduces twice, through the same shared memory.
// error: use of moved value: `team`

kernel! {
    fn compile_fail(n) as struct Arguments {
        one: Sum<f64> = zeros(1),
        two: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        let Self { one, two, b } = self;
        team.sum(&one, |item| b[item]);
        team.sum(&two, |item| b[item]);
    }
}
