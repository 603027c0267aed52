//! Apps_LTIMES: the moments of a flux that is known in directions,
//! `phi[z][g][m] += sum over d of ell[m][d] * psi[z][g][d]`.

use core::array::from_fn;

use ironsweep::prelude::*;

const DIRECTIONS: usize = 6;
const GROUPS: usize = 32;
const MOMENTS: usize = 25;
/// Groups that an item works on, with one row of `ell`.
const SHARE: usize = 4;

const fn zones(n: usize) -> usize {
    match (n + DIRECTIONS * GROUPS / 2) / (DIRECTIONS * GROUPS) {
        0 => 1,
        zones => zones,
    }
}

kernel! {
    fn apps_ltimes(n) as struct Moments {
        phi: Out3<f64, 4> = zeros(MOMENTS * GROUPS * zones(n)).or_random(-1.0, 1.0),
        ell: Rows<f64, 6> = ramp(DIRECTIONS * MOMENTS),
        psi: Rows<f64, 6> = ramp(DIRECTIONS * GROUPS * zones(n)),
    }
}

impl Kernel for Moments {
    const NAME: &'static str = "Apps_LTIMES";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 50;
    const CHECKED: &'static [&'static str] = &["phi"];

    fn actual_size(n: usize) -> usize {
        DIRECTIONS * GROUPS * zones(n)
    }

    fn bytes(n: usize) -> Bytes {
        Bytes {
            read: 8 * DIRECTIONS * (MOMENTS + GROUPS * zones(n)),
            modified: 8 * MOMENTS * GROUPS * zones(n),
            ..Bytes::default()
        }
    }

    fn flops(n: usize) -> usize {
        2 * DIRECTIONS * MOMENTS * GROUPS * zones(n)
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>([MOMENTS, GROUPS / SHARE, zones(n)]);
    }
}

impl Launch for Moments {
    type At = Item3;

    /// As wide as the moments are many, then as high as the groups: no thread is idle.
    fn block(threads: usize) -> [usize; 3] {
        let rows = threads / 32;
        let height = rows.min(GROUPS / SHARE);
        [MOMENTS, height, rows / height]
    }

    fn run(self, item: Item3) {
        let Self { phi, ell, psi } = self;
        let (m, g, z) = (item.x(), item.y(), item.z());
        let ell = ell.row(m);
        let psi: [_; SHARE] = from_fn(|s| psi.row(g + GROUPS / SHARE * s + GROUPS * z));
        let before: [_; SHARE] = from_fn(|s| phi.get(item, s));
        for s in 0..SHARE {
            let mut sum = before[s];
            for d in 0..DIRECTIONS {
                sum += ell[d] * psi[s][d];
            }
            phi.set(item, s, sum);
        }
    }
}
