//! Polybench_JACOBI_2D: two sweeps of a five-point average, from `a` to `b` and back.

use ironsweep::prelude::*;

/// Nodes along an edge: the border belongs to no item.
const fn edge(n: usize) -> usize {
    square_edge(n) + 2
}

kernel! {
    data(n) of Jacobi {
        a = ramp(edge(n) * edge(n)),
        b = ramp(edge(n) * edge(n)),
    }
    launch polybench_jacobi_2d_there as There { a: In2<f64, 1>, b: Out2<f64, 1> }
    launch polybench_jacobi_2d_back as Back { a: Out2<f64, 1>, b: In2<f64, 1> }
}

impl Kernel for Jacobi {
    const NAME: &'static str = "Polybench_JACOBI_2D";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 2000;
    const CHECKED: &'static [&'static str] = &["a", "b"];

    fn actual_size(n: usize) -> usize {
        square_edge(n) * square_edge(n)
    }

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 16 * (edge(n) * edge(n) - 4), written: 16 * Self::actual_size(n), ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        10 * Self::actual_size(n)
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let inner = [square_edge(n), square_edge(n)];
        launcher.launch::<There>(inner);
        launcher.launch::<Back>(inner);
    }
}

impl Launch for There {
    type At = Strip<4, 1>;

    fn run(self, strip: Strip<4, 1>) {
        let Self { a, b } = self;
        b.set_each(strip, |item| average(a, item));
    }
}

impl Launch for Back {
    type At = Strip<4, 1>;

    fn run(self, strip: Strip<4, 1>) {
        let Self { a, b } = self;
        a.set_each(strip, |item| average(b, item));
    }
}

#[inline(always)]
fn average(from: In2<f64, 1>, item: Item2<1>) -> f64 {
    0.2 * (from[item] + from.near(item, 0, -1) + from.near(item, 0, 1) + from.near(item, 1, 0) + from.near(item, -1, 0))
}
