//! A body plays the entry point, to learn which thread it is.
// error: call to unsafe function `ironsweep::kernel::expansion::run` is unsafe and requires unsafe block

use ironsweep::launch::Dimensions;

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Team;

    fn run(self, team: Team) {
        let all = Dimensions { items: [1; 3], grid: 1, block: 1 };
        ironsweep::kernel::expansion::run(all, |place| place.line(all, |_| ()));
        team.sum(&self.sum, |item| self.b[item]);
    }
}
