//! Peak_FMA: as many fused multiply-adds as a device can do. It is not one of RAJAPerf's kernels; it measures the peak
//! that the others' operations a second can be compared with.
//!
//! `out[i]` is made of 32 chains that do not depend on each other. Two begin at each of the 16 elements `x[i]` to
//! `x[i + 15]`: a step of the first is `chain = 0.99 * chain + b`, of the second `chain = -0.99 * chain + b`. After 64
//! steps they are joined in five rounds: in each, `0.99` times the second half is added to the first half. Every one of
//! the 2079 operations of an element is a fused multiply-add, whatever the tuning says about contraction.

use core::array::from_fn;

use ironsweep::prelude::*;

/// Chains of a kind: on the host four vectors of four numbers.
const LANES: usize = 16;
/// Steps of a chain.
const STEPS: usize = 64;
/// Below 1, so that chains stay finite; with bits in all places, so that the hardware has to multiply.
const FACTOR: f64 = 0.99;
/// Fused multiply-adds for an element: the chains' steps, and one less than there are chains to join them.
const OPERATIONS: usize = 2 * LANES * STEPS + 2 * LANES - 1;

kernel! {
    fn peak_fma(n) as struct Peak {
        x: In<f64, 15> = ramp(n + LANES - 1),
        out: Out<f64> = zeros(n),
        b: f64 = scalar().or_random(-0.015625, 0.015625),
    }
}

impl Kernel for Peak {
    const NAME: &'static str = "Peak_FMA";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 50;
    const CHECKED: &'static [&'static str] = &["out"];
    /// With 1024 threads the chains of all of them do not fit in the registers of some GPUs.
    const BLOCKS: &'static [usize] = &[64, 128, 256, 512];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 8 * (n + LANES - 1), written: 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        2 * OPERATIONS * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}

impl Launch for Peak {
    type At = Item;

    fn run(self, item: Item) {
        let Self { x, out, b } = self;
        let mut first = *x.window::<LANES>(item);
        let mut second = first;
        // Counted by hand: what LLVM makes of a range is a counter in each thread of an AMD GPU instead of one for all.
        let mut step = 0;
        while step < STEPS {
            first = fma_each(first, [FACTOR; LANES], [b; LANES]);
            second = fma_each(second, [-FACTOR; LANES], [b; LANES]);
            step += 1;
        }
        let joined: [f64; 8] = halved(fma_each(second, [FACTOR; LANES], first));
        let [joined] = halved::<2, 1>(halved::<4, 2>(halved(joined)));
        out.set(item, joined);
    }
}

/// The second half is added to the first one.
#[inline(always)]
fn halved<const ALL: usize, const HALF: usize>(chains: [f64; ALL]) -> [f64; HALF] {
    fma_each(from_fn(|lane| chains[HALF + lane]), [FACTOR; HALF], from_fn(|lane| chains[lane]))
}
