//! Apps_PRESSURE: the pressure of a gas, `bvc = cls * (compression + 1)` and `p_new = bvc * e_old`, which is zero where
//! it is small or the volume is large, and at least `pmin`.

use ironsweep::prelude::*;

kernel! {
    data(n) of Pressure {
        compression = ramp(n),
        bvc = ramp(n),
        p_new = zeros(n),
        // Random data take every branch.
        e_old = ramp(n).or_random(-4.0, 4.0),
        vnewc = ramp(n).or_random(0.0, 1.0),
        cls = scalar().or_random(0.5, 1.5),
        p_cut = scalar().or_random(0.1, 0.2),
        pmin = scalar().or_random(-1.0, -0.5),
        eosvmax = scalar().or_random(0.5, 0.9),
    }
    launch apps_pressure_slope as Slope { bvc: Out<f64>, compression: In<f64>, cls: f64 }
    launch apps_pressure_new as New {
        p_new: Out<f64>, bvc: In<f64>, e_old: In<f64>, vnewc: In<f64>, p_cut: f64, pmin: f64, eosvmax: f64,
    }
}

impl Kernel for Pressure {
    const NAME: &'static str = "Apps_PRESSURE";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 700;
    const CHECKED: &'static [&'static str] = &["p_new"];
    const COMPARED: &'static [&'static str] = &["bvc"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 32 * n, written: 16 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        3 * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Slope>(n);
        launcher.launch::<New>(n);
    }
}

impl Launch for Slope {
    type At = Item;

    fn run(self, item: Item) {
        let Self { bvc, compression, cls } = self;
        bvc.set(item, cls * (compression[item] + 1.0));
    }
}

impl Launch for New {
    type At = Item;

    fn run(self, item: Item) {
        let Self { p_new, bvc, e_old, vnewc, p_cut, pmin, eosvmax } = self;
        let mut p = bvc[item] * e_old[item];
        if p.abs() < p_cut {
            p = 0.0;
        }
        if vnewc[item] >= eosvmax {
            p = 0.0;
        }
        if p < pmin {
            p = pmin;
        }
        p_new.set(item, p);
    }
}
