//! Apps_LTIMES: the moments of a flux that is known in directions,
//! `phi[z][g][m] += sum over d of ell[m][d] * psi[z][g][d]`.

use core::array::from_fn;

use ironsweep::prelude::*;

const DIRECTIONS: usize = 6;
const GROUPS: usize = 32;
const MOMENTS: usize = 25;
/// Groups that a member works on, with one row of `ell`.
const SHARE: usize = 4;
/// Members of a workgroup, which works on a zone.
const MEMBERS: usize = MOMENTS * GROUPS / SHARE;

const fn zones(n: usize) -> usize {
    match (n + DIRECTIONS * GROUPS / 2) / (DIRECTIONS * GROUPS) {
        0 => 1,
        zones => zones,
    }
}

kernel! {
    fn apps_ltimes(n) as struct Moments {
        phi: OutGroup<f64, 4> = zeros(MOMENTS * GROUPS * zones(n)).or_random(-1.0, 1.0),
        ell: Rows<f64, 6, 25> = ramp(DIRECTIONS * MOMENTS),
        psi: InGroup<f64, 192> = ramp(DIRECTIONS * GROUPS * zones(n)),
    }
}

impl Kernel for Moments {
    const NAME: &'static str = "Apps_LTIMES";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 50;
    const CHECKED: &'static [&'static str] = &["phi"];
    /// The nearest to its members.
    const BLOCKS: &'static [usize] = &[256];

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
        launcher.launch::<Self>(zones(n));
    }
}

impl Launch for Moments {
    type At = Group<MEMBERS, { DIRECTIONS * GROUPS }>;

    fn run(self, mut zone: Group<MEMBERS, { DIRECTIONS * GROUPS }>) {
        let Self { phi, ell, psi } = self;
        let own = zone.own(|seat| -> [f64; SHARE] { from_fn(|share| phi.get(seat, share)) });
        let psi = psi.of(&zone);
        let psi = zone.stage::<{ DIRECTIONS * GROUPS }>(|index| psi[index]);
        zone.each_with(own, |member, mut sums| {
            let m = member.index() % MOMENTS;
            let first = member.index() / MOMENTS;
            let ell = ell.row(m);
            for (share, sum) in sums.iter_mut().enumerate() {
                let group = first + GROUPS / SHARE * share;
                for (direction, ell) in ell.iter().enumerate() {
                    *sum += ell * psi.get(member, direction + DIRECTIONS * group);
                }
            }
            for (share, sum) in sums.into_iter().enumerate() {
                phi.set(member, share, sum);
            }
        });
    }
}
