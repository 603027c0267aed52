//! Lcals_HYDRO_2D: explicit hydrodynamics in two dimensions. With rows k and columns j, in three sweeps:
//! * `za`, `zb`: what crosses to column j - 1 and to row k - 1;
//! * `zu`, `zv`: the velocities, to each of which s times the sum over the four neighbours is added;
//! * `zrout = zr + t * zu` and `zzout = zz + t * zv`.

use ironsweep::prelude::*;

const S: f64 = 0.0041;
const T: f64 = 0.0037;

const fn nodes(n: usize) -> usize {
    square_edge(n) * square_edge(n)
}

/// Nodes along an edge without the border, which belongs to no item.
const fn inner(n: usize) -> usize {
    square_edge(n).saturating_sub(2)
}

kernel! {
    data(n) of Hydro {
        zrout = zeros(nodes(n)),
        zzout = zeros(nodes(n)),
        za = ramp(nodes(n)),
        zb = ramp(nodes(n)),
        // Positive random data keep the denominators away from zero.
        zm = ramp(nodes(n)).or_random(0.5, 1.5),
        zp = ramp(nodes(n)),
        zq = ramp(nodes(n)),
        zr = ramp(nodes(n)),
        zu = ramp(nodes(n)),
        zv = ramp(nodes(n)),
        zz = ramp(nodes(n)),
    }
    launch lcals_hydro_2d_flow as Flow {
        za: Out2<f64, 1>, zb: Out2<f64, 1>, zp: In2<f64, 1>, zq: In2<f64, 1>, zr: In2<f64, 1>, zm: In2<f64, 1>,
    }
    launch lcals_hydro_2d_speed as Speed {
        zu: Out2<f64, 1>, zv: Out2<f64, 1>, za: In2<f64, 1>, zb: In2<f64, 1>, zr: In2<f64, 1>, zz: In2<f64, 1>,
    }
    launch lcals_hydro_2d_place as Place {
        zrout: Out2<f64, 1>, zzout: Out2<f64, 1>, zr: In2<f64, 1>, zu: In2<f64, 1>, zz: In2<f64, 1>, zv: In2<f64, 1>,
    }
}

impl Kernel for Hydro {
    const NAME: &'static str = "Lcals_HYDRO_2D";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 100;
    const CHECKED: &'static [&'static str] = &["zrout", "zzout"];
    const COMPARED: &'static [&'static str] = &["za", "zb", "zu", "zv"];

    fn actual_size(n: usize) -> usize {
        nodes(n)
    }

    fn bytes(n: usize) -> Bytes {
        let items = inner(n) * inner(n);
        // Twelve arrays are read, with 18 lines of the border.
        Bytes { read: 8 * (12 * items + 18 * inner(n)), written: 8 * 4 * items, modified: 8 * 2 * items, atomic: 0 }
    }

    fn flops(n: usize) -> usize {
        44 * inner(n) * inner(n)
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let items = [inner(n), inner(n)];
        launcher.launch::<Flow>(items);
        launcher.launch::<Speed>(items);
        launcher.launch::<Place>(items);
    }
}

impl Launch for Flow {
    type At = Item2<1>;

    fn run(self, at: Item2<1>) {
        let Self { za, zb, zp, zq, zr, zm } = self;
        let a = (zp.near(at, 1, -1) + zq.near(at, 1, -1) - zp.near(at, 0, -1) - zq.near(at, 0, -1))
            * (zr[at] + zr.near(at, 0, -1))
            / (zm.near(at, 0, -1) + zm.near(at, 1, -1));
        let b = (zp.near(at, 0, -1) + zq.near(at, 0, -1) - zp[at] - zq[at]) * (zr[at] + zr.near(at, -1, 0))
            / (zm[at] + zm.near(at, 0, -1));
        za.set(at, a);
        zb.set(at, b);
    }
}

impl Launch for Speed {
    type At = Item2<1>;

    fn run(self, at: Item2<1>) {
        let Self { zu, zv, za, zb, zr, zz } = self;
        let change = |z: In2<f64, 1>| {
            S * (za[at] * (z[at] - z.near(at, 0, 1))
                - za.near(at, 0, -1) * (z[at] - z.near(at, 0, -1))
                - zb[at] * (z[at] - z.near(at, -1, 0))
                + zb.near(at, 1, 0) * (z[at] - z.near(at, 1, 0)))
        };
        let (u, v) = (zu.get(at) + change(zz), zv.get(at) + change(zr));
        zu.set(at, u);
        zv.set(at, v);
    }
}

impl Launch for Place {
    type At = Item2<1>;

    fn run(self, at: Item2<1>) {
        let Self { zrout, zzout, zr, zu, zz, zv } = self;
        let (r, z) = (zr[at] + T * zu[at], zz[at] + T * zv[at]);
        zrout.set(at, r);
        zzout.set(at, z);
    }
}
