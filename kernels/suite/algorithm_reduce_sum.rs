//! Algorithm_REDUCE_SUM: `sum = sum over i of x[i]`.

use ironsweep::prelude::*;

kernel! {
    fn algorithm_reduce_sum(n) as struct ReduceSum {
        x: In<f64> = ramp(n),
        sum: Sum<f64> = zeros(1),
    }
}

impl Kernel for ReduceSum {
    const NAME: &'static str = "Algorithm_REDUCE_SUM";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 50;
    const CHECKED: &'static [&'static str] = &["sum"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for ReduceSum {
    type At = Team;

    fn run(self, team: Team) {
        let Self { x, sum } = self;
        team.sum(&sum, |item| x[item]);
    }
}
