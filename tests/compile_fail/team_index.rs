//! A team's body asks which thread it runs in, to leave the reduction to others.
// error: field `place` of struct `ironsweep::launch::Team` is private
// error: field `dimensions` of struct `ironsweep::launch::Team` is private

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        if team.place.share(team.dimensions).next == 0 {
            team.sum(&self.sum, |item| self.b[item]);
        }
    }
}
