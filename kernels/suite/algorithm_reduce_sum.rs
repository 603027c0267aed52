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
    const CHECKED: &'static str = "sum";
    type At = Team;

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        n
    }

    fn run(self, team: Team) {
        let Self { x, sum } = self;
        let partial = team.fold(0.0, |item| x[item], |a, b| a + b);
        if let Some(total) = team.reduce(partial, |a, b| a + b) {
            sum.add(total);
        }
    }
}
