//! Apps_ENERGY: the energy and the artificial viscosity of a gas after a time step, in six sweeps: a first guess of the
//! energy, the viscosity that belongs to it, two corrections of the energy, a third with the new pressure, and the
//! viscosity once more.

use ironsweep::prelude::*;

kernel! {
    data(n) of Energy {
        // Random data take every branch.
        e_new = zeros(n),
        e_old = ramp(n),
        delvc = ramp(n),
        p_new = ramp(n).or_random(0.0, 1.0),
        p_old = ramp(n).or_random(0.0, 1.0),
        q_new = zeros(n),
        q_old = ramp(n).or_random(0.0, 1.0),
        work = ramp(n),
        comp_half_step = ramp(n).or_random(0.0, 1.0),
        p_half_step = ramp(n).or_random(0.0, 1.0),
        bvc = ramp(n).or_random(0.0, 1.0),
        pbvc = ramp(n),
        ql_old = ramp(n).or_random(0.0, 1.0),
        qq_old = ramp(n).or_random(0.0, 1.0),
        vnewc = ramp(n).or_random(0.0, 1.0),
        rho0 = scalar().or_random(0.5, 1.5),
        e_cut = scalar().or_random(0.01, 0.02),
        emin = scalar().or_random(-1.5, -1.0),
        q_cut = scalar().or_random(0.05, 0.1),
    }
    launch apps_energy_guess as Guess {
        e_new: Out<f64>, e_old: In<f64>, delvc: In<f64>, p_old: In<f64>, q_old: In<f64>, work: In<f64>,
    }
    launch apps_energy_half_viscosity as HalfViscosity {
        q_new: Out<f64>, delvc: In<f64>, e_new: In<f64>, comp_half_step: In<f64>, p_half_step: In<f64>, bvc: In<f64>,
        pbvc: In<f64>, ql_old: In<f64>, qq_old: In<f64>, rho0: f64,
    }
    launch apps_energy_half_pressure as HalfPressure {
        e_new: Out<f64>, delvc: In<f64>, p_old: In<f64>, q_old: In<f64>, p_half_step: In<f64>, q_new: In<f64>,
    }
    launch apps_energy_work as Work { e_new: Out<f64>, work: In<f64>, e_cut: f64, emin: f64 }
    launch apps_energy_new_pressure as NewPressure {
        e_new: Out<f64>, delvc: In<f64>, p_old: In<f64>, q_old: In<f64>, p_half_step: In<f64>, q_new: In<f64>,
        p_new: In<f64>, vnewc: In<f64>, bvc: In<f64>, pbvc: In<f64>, ql_old: In<f64>, qq_old: In<f64>,
        rho0: f64, e_cut: f64, emin: f64,
    }
    launch apps_energy_viscosity as Viscosity {
        q_new: Out<f64>, delvc: In<f64>, e_new: In<f64>, p_new: In<f64>, vnewc: In<f64>, bvc: In<f64>, pbvc: In<f64>,
        ql_old: In<f64>, qq_old: In<f64>, rho0: f64, q_cut: f64,
    }
}

impl Kernel for Energy {
    const NAME: &'static str = "Apps_ENERGY";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 130;
    const CHECKED: &'static [&'static str] = &["e_new", "q_new"];

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 19 * 8 * n, written: 2 * 8 * n, modified: 3 * 8 * n, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        55 * n
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Guess>(n);
        launcher.launch::<HalfViscosity>(n);
        launcher.launch::<HalfPressure>(n);
        launcher.launch::<Work>(n);
        launcher.launch::<NewPressure>(n);
        launcher.launch::<Viscosity>(n);
    }
}

impl Launch for Guess {
    type At = Item;

    fn run(self, item: Item) {
        let Self { e_new, e_old, delvc, p_old, q_old, work } = self;
        e_new.set(item, e_old[item] - 0.5 * delvc[item] * (p_old[item] + q_old[item]) + 0.5 * work[item]);
    }
}

impl Launch for HalfViscosity {
    type At = Item;

    fn run(self, item: Item) {
        let Self { q_new, delvc, e_new, comp_half_step, p_half_step, bvc, pbvc, ql_old, qq_old, rho0 } = self;
        let q = if delvc[item] > 0.0 {
            0.0
        } else {
            let vhalf = 1.0 / (1.0 + comp_half_step[item]);
            let ssc = sound_speed(pbvc[item], e_new[item], vhalf, bvc[item], p_half_step[item], rho0);
            ssc * ql_old[item] + qq_old[item]
        };
        q_new.set(item, q);
    }
}

impl Launch for HalfPressure {
    type At = Item;

    fn run(self, item: Item) {
        let Self { e_new, delvc, p_old, q_old, p_half_step, q_new } = self;
        let change = 3.0 * (p_old[item] + q_old[item]) - 4.0 * (p_half_step[item] + q_new[item]);
        e_new.set(item, e_new.get(item) + 0.5 * delvc[item] * change);
    }
}

impl Launch for Work {
    type At = Item;

    fn run(self, item: Item) {
        let Self { e_new, work, e_cut, emin } = self;
        e_new.set(item, cut(e_new.get(item) + 0.5 * work[item], e_cut, emin));
    }
}

impl Launch for NewPressure {
    type At = Item;

    fn run(self, item: Item) {
        let Self { e_new, delvc, p_old, q_old, p_half_step, q_new, p_new, vnewc, bvc, pbvc, .. } = self;
        let Self { ql_old, qq_old, rho0, e_cut, emin, .. } = self;
        let e = e_new.get(item);
        let q_tilde = if delvc[item] > 0.0 {
            0.0
        } else {
            let ssc = sound_speed(pbvc[item], e, vnewc[item], bvc[item], p_new[item], rho0);
            ssc * ql_old[item] + qq_old[item]
        };
        let change =
            7.0 * (p_old[item] + q_old[item]) - 8.0 * (p_half_step[item] + q_new[item]) + (p_new[item] + q_tilde);
        e_new.set(item, cut(e - change * delvc[item] / 6.0, e_cut, emin));
    }
}

impl Launch for Viscosity {
    type At = Item;

    fn run(self, item: Item) {
        let Self { q_new, delvc, e_new, p_new, vnewc, bvc, pbvc, ql_old, qq_old, rho0, q_cut } = self;
        if delvc[item] <= 0.0 {
            let ssc = sound_speed(pbvc[item], e_new[item], vnewc[item], bvc[item], p_new[item], rho0);
            let q = ssc * ql_old[item] + qq_old[item];
            q_new.set(item, if q.abs() < q_cut { 0.0 } else { q });
        }
    }
}

#[inline(always)]
fn sound_speed(pbvc: f64, energy: f64, volume: f64, bvc: f64, pressure: f64, rho0: f64) -> f64 {
    let square = (pbvc * energy + volume * volume * bvc * pressure) / rho0;
    if square <= 0.111_111_1e-36 { 0.333_333_3e-18 } else { sqrt(square) }
}

/// The energy, which is zero if it is small, and at least `emin`.
#[inline(always)]
fn cut(energy: f64, e_cut: f64, emin: f64) -> f64 {
    let energy = if energy.abs() < e_cut { 0.0 } else { energy };
    if energy < emin { emin } else { energy }
}
