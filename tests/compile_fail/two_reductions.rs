//! A team reduces twice, through the same shared memory.
// error: use of moved value: `team`

use ironsweep::prelude::*;

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Kernel for Arguments {
    const NAME: &'static str = "Compile_FAIL";
    const DEFAULT_SIZE: usize = 1;
    const DEFAULT_REPS: usize = 1;
    const CHECKED: &'static str = "sum";
    type At = Team;

    fn bytes(_: usize) -> Bytes {
        Bytes::default()
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn run(self, team: Team) {
        let Self { sum, b } = self;
        let first = team.reduce(1.0, |a, b| a + b);
        let second = team.reduce(b[0], |a, b| a + b);
        if let (Some(first), Some(second)) = (first, second) {
            sum.add(first + second);
        }
    }
}
