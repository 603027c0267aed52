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
        b: Scatter<f64>, real_zones: Distinct<i64>, x: In<f64>, x_row: In<f64>, x_plane: In<f64>,
        dbl: In<f64>, dbc: In<f64>, dbr: In<f64>, dcl: In<f64>, dcc: In<f64>, dcr: In<f64>, dfl: In<f64>,
        dfc: In<f64>, dfr: In<f64>, cbl: In<f64>, cbc: In<f64>, cbr: In<f64>, ccl: In<f64>, ccc: In<f64>,
    }
}

impl Kernel for Stencil {
    const NAME: &'static str = "Apps_MATVEC_3D_STENCIL";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 100;
    const CHECKED: &'static [&'static str] = &["b"];

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
        launcher.launch_with::<Zone>(
            mesh(n).real_zones(),
            &[part("x_row", "x", row..len(n)), part("x_plane", "x", plane..len(n))],
        );
    }
}

impl Launch for Zone {
    type At = Item;

    fn run(self, item: Item) {
        let Self { b, real_zones, x, x_row, x_plane, .. } = self;
        let zone = real_zones.target(item);
        // From a zone to its neighbour in the next row, in the next plane, and in both of them one further.
        let (row, plane) = (x.offset_of(x_row), x.offset_of(x_plane));
        let reach = plane + row + 1;
        // All arrays are seen in parts of one length, of which that for the lowest neighbour, dbl, begins with the array.
        let count = x.len() - 2 * reach;
        let three = |offset| [x.slice(offset, count), x.slice(offset + 1, count), x.slice(offset + 2, count)];
        let both = |stored: In<f64>, offset| {
            let stored = stored.slice(0, x.len());
            [stored.slice(reach, count), stored.slice(offset, count)]
        };
        let [x_dbl, x_dbc, x_dbr] = three(0);
        let [x_dcl, x_dcc, x_dcr] = three(row);
        let [x_dfl, x_dfc, x_dfr] = three(2 * row);
        let [x_cbl, x_cbc, x_cbr] = three(plane);
        let [x_ccl, x_ccc, x_ccr] = three(plane + row);
        let [x_cfl, x_cfc, x_cfr] = three(plane + 2 * row);
        let [x_ubl, x_ubc, x_ubr] = three(2 * plane);
        let [x_ucl, x_ucc, x_ucr] = three(2 * plane + row);
        let [x_ufl, x_ufc, x_ufr] = three(2 * plane + 2 * row);
        let [dbl, ufr] = both(self.dbl, 2 * plane + 2 * row + 2);
        let [dbc, ufc] = both(self.dbc, 2 * plane + 2 * row + 1);
        let [dbr, ufl] = both(self.dbr, 2 * plane + 2 * row);
        let [dcl, ucr] = both(self.dcl, 2 * plane + row + 2);
        let [dcc, ucc] = both(self.dcc, 2 * plane + row + 1);
        let [dcr, ucl] = both(self.dcr, 2 * plane + row);
        let [dfl, ubr] = both(self.dfl, 2 * plane + 2);
        let [dfc, ubc] = both(self.dfc, 2 * plane + 1);
        let [dfr, ubl] = both(self.dfr, 2 * plane);
        let [cbl, cfr] = both(self.cbl, plane + 2 * row + 2);
        let [cbc, cfc] = both(self.cbc, plane + 2 * row + 1);
        let [cbr, cfl] = both(self.cbr, plane + 2 * row);
        let [ccl, ccr] = both(self.ccl, plane + row + 2);
        let [ccc, _] = both(self.ccc, reach);

        let i = zone.index().wrapping_sub(reach);
        let product = dbl[i] * x_dbl[i]
            + dbc[i] * x_dbc[i]
            + dbr[i] * x_dbr[i]
            + dcl[i] * x_dcl[i]
            + dcc[i] * x_dcc[i]
            + dcr[i] * x_dcr[i]
            + dfl[i] * x_dfl[i]
            + dfc[i] * x_dfc[i]
            + dfr[i] * x_dfr[i]
            + cbl[i] * x_cbl[i]
            + cbc[i] * x_cbc[i]
            + cbr[i] * x_cbr[i]
            + ccl[i] * x_ccl[i]
            + ccc[i] * x_ccc[i]
            + ccr[i] * x_ccr[i]
            + cfl[i] * x_cfl[i]
            + cfc[i] * x_cfc[i]
            + cfr[i] * x_cfr[i]
            + ubl[i] * x_ubl[i]
            + ubc[i] * x_ubc[i]
            + ubr[i] * x_ubr[i]
            + ucl[i] * x_ucl[i]
            + ucc[i] * x_ucc[i]
            + ucr[i] * x_ucr[i]
            + ufl[i] * x_ufl[i]
            + ufc[i] * x_ufc[i]
            + ufr[i] * x_ufr[i];
        b.set(zone, product);
    }
}
