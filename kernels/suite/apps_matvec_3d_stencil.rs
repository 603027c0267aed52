//! Apps_MATVEC_3D_STENCIL: a symmetric matrix times a vector, `b[i] = sum over j of m[i][j] * x[j]`, where j runs over
//! zone i of a mesh and its 26 neighbours.
//!
//! A diagonal is named by the neighbour that it multiplies: by its plane (down, centre, up), its row (back, centre,
//! front) and its place in the row (left, centre, right). Those behind the middle are not stored: their elements are
//! those of the opposite diagonal at the neighbour.

use ironsweep::prelude::*;

const fn mesh(n: usize) -> Mesh {
    Mesh::cube(cube_edge(n))
}

const fn len(n: usize) -> usize {
    mesh(n).inner().end
}

kernel! {
    data(n) of Stencil {
        b = zeros(len(n)),
        x = ramp(len(n)),
        dbl = ramp(len(n)),
        dbc = ramp(len(n)),
        dbr = ramp(len(n)),
        dcl = ramp(len(n)),
        dcc = ramp(len(n)),
        dcr = ramp(len(n)),
        dfl = ramp(len(n)),
        dfc = ramp(len(n)),
        dfr = ramp(len(n)),
        cbl = ramp(len(n)),
        cbc = ramp(len(n)),
        cbr = ramp(len(n)),
        ccl = ramp(len(n)),
        ccc = ramp(len(n)),
        real_zones = indices_64(mesh(n).real_zones(), mesh(n).zones, |zones, number| {
            Mesh::cube(zones).real_zone(number) as i64
        }),
    }
    launch apps_matvec_3d_stencil as Zone {
        b: Scatter<f64>, real_zones: Distinct<i64>,
        x_db: Gather<f64, 2>, x_dc: Gather<f64, 2>, x_df: Gather<f64, 2>,
        x_cb: Gather<f64, 2>, x_cc: Gather<f64, 2>, x_cf: Gather<f64, 2>,
        x_ub: Gather<f64, 2>, x_uc: Gather<f64, 2>, x_uf: Gather<f64, 2>,
        dbl: Gather<f64>, dbc: Gather<f64>, dbr: Gather<f64>, dcl: Gather<f64>, dcc: Gather<f64>, dcr: Gather<f64>,
        dfl: Gather<f64>, dfc: Gather<f64>, dfr: Gather<f64>, cbl: Gather<f64>, cbc: Gather<f64>, cbr: Gather<f64>,
        ccl: Gather<f64>, ccc: Gather<f64>, ccr: Gather<f64>, cfl: Gather<f64>, cfc: Gather<f64>, cfr: Gather<f64>,
        ubl: Gather<f64>, ubc: Gather<f64>, ubr: Gather<f64>, ucl: Gather<f64>, ucc: Gather<f64>, ucr: Gather<f64>,
        ufl: Gather<f64>, ufc: Gather<f64>, ufr: Gather<f64>,
    }
}

impl Kernel for Stencil {
    const NAME: &'static str = "Apps_MATVEC_3D_STENCIL";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 100;
    const CHECKED: &'static [&'static str] = &["b"];
    const BLOCKS: &'static [usize] = &[512, 1024];

    fn actual_size(n: usize) -> usize {
        mesh(n).real_zones()
    }

    fn bytes(n: usize) -> Bytes {
        let edge = mesh(n).zones;
        let zones = edge * edge * edge;
        // A diagonal is read in all zones, and in all of them moved by one step along one, two or three axes.
        let along_one = 2 * zones - edge * edge * (edge - 1);
        let along_two = 2 * zones - edge * (edge - 1) * (edge - 1);
        let along_three = 2 * zones - (edge - 1) * (edge - 1) * (edge - 1);
        let matrix = zones + 3 * along_one + 6 * along_two + 4 * along_three;
        let vector = (edge + 2) * (edge + 2) * (edge + 2);
        Bytes { read: 8 * (zones + vector + matrix), written: 8 * zones, ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        53 * mesh(n).real_zones()
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let Mesh { row, plane, .. } = mesh(n);
        // The list counts from its first zone, whose lowest neighbour is the first of all zones.
        let first = mesh(n).inner().start;
        let above = |field, data, step| part(field, data, first + step..len(n));
        let vector = |field, step| part(field, "x", step..len(n));
        launcher.launch_with::<Zone>(
            [mesh(n).zones; 3],
            &[
                counted("real_zones", first),
                above("b", "b", 0),
                vector("x_db", 0),
                vector("x_dc", row),
                vector("x_df", 2 * row),
                vector("x_cb", plane),
                vector("x_cc", plane + row),
                vector("x_cf", plane + 2 * row),
                vector("x_ub", 2 * plane),
                vector("x_uc", 2 * plane + row),
                vector("x_uf", 2 * plane + 2 * row),
                above("dbl", "dbl", 0),
                above("dbc", "dbc", 0),
                above("dbr", "dbr", 0),
                above("dcl", "dcl", 0),
                above("dcc", "dcc", 0),
                above("dcr", "dcr", 0),
                above("dfl", "dfl", 0),
                above("dfc", "dfc", 0),
                above("dfr", "dfr", 0),
                above("cbl", "cbl", 0),
                above("cbc", "cbc", 0),
                above("cbr", "cbr", 0),
                above("ccl", "ccl", 0),
                above("ccc", "ccc", 0),
                above("ccr", "ccl", 1),
                above("cfl", "cbr", row - 1),
                above("cfc", "cbc", row),
                above("cfr", "cbl", row + 1),
                above("ubl", "dfr", plane - row - 1),
                above("ubc", "dfc", plane - row),
                above("ubr", "dfl", plane - row + 1),
                above("ucl", "dcr", plane - 1),
                above("ucc", "dcc", plane),
                above("ucr", "dcl", plane + 1),
                above("ufl", "dbr", plane + row - 1),
                above("ufc", "dbc", plane + row),
                above("ufr", "dbl", plane + row + 1),
            ],
        );
    }
}

impl Launch for Zone {
    type At = Item3<4>;

    /// Wide and high, so that threads find in the first-level cache what their neighbours have read.
    fn block(threads: usize) -> [usize; 3] {
        [64, threads / 64, 1]
    }

    fn run(self, item: Item3<4>) {
        let Self { b, real_zones, .. } = self;
        let i = real_zones.target(item);
        let Self { dbl, dbc, dbr, dcl, dcc, dcr, dfl, dfc, dfr, .. } = self;
        let Self { cbl, cbc, cbr, ccl, ccc, ccr, cfl, cfc, cfr, .. } = self;
        let Self { ubl, ubc, ubr, ucl, ucc, ucr, ufl, ufc, ufr, .. } = self;
        let [x_dbl, x_dbc, x_dbr] = *self.x_db.window(i);
        let [x_dcl, x_dcc, x_dcr] = *self.x_dc.window(i);
        let [x_dfl, x_dfc, x_dfr] = *self.x_df.window(i);
        let [x_cbl, x_cbc, x_cbr] = *self.x_cb.window(i);
        let [x_ccl, x_ccc, x_ccr] = *self.x_cc.window(i);
        let [x_cfl, x_cfc, x_cfr] = *self.x_cf.window(i);
        let [x_ubl, x_ubc, x_ubr] = *self.x_ub.window(i);
        let [x_ucl, x_ucc, x_ucr] = *self.x_uc.window(i);
        let [x_ufl, x_ufc, x_ufr] = *self.x_uf.window(i);
        let product = dbl[i] * x_dbl
            + dbc[i] * x_dbc
            + dbr[i] * x_dbr
            + dcl[i] * x_dcl
            + dcc[i] * x_dcc
            + dcr[i] * x_dcr
            + dfl[i] * x_dfl
            + dfc[i] * x_dfc
            + dfr[i] * x_dfr
            + cbl[i] * x_cbl
            + cbc[i] * x_cbc
            + cbr[i] * x_cbr
            + ccl[i] * x_ccl
            + ccc[i] * x_ccc
            + ccr[i] * x_ccr
            + cfl[i] * x_cfl
            + cfc[i] * x_cfc
            + cfr[i] * x_cfr
            + ubl[i] * x_ubl
            + ubc[i] * x_ubc
            + ubr[i] * x_ubr
            + ucl[i] * x_ucl
            + ucc[i] * x_ucc
            + ucr[i] * x_ucr
            + ufl[i] * x_ufl
            + ufc[i] * x_ufc
            + ufr[i] * x_ufr;
        b.set(i, product);
    }
}
