//! Apps_DEL_DOT_VEC_2D: the divergence of a velocity in each zone of a mesh, a quadrilateral between four nodes.

use ironsweep::prelude::*;

const fn mesh(n: usize) -> Mesh {
    Mesh::square(square_edge(n))
}

kernel! {
    data(n) of Divergence {
        x = computed(mesh(n).nodes, mesh(n).row, |row, node| (node % row) as f64 * 0.2).or_perturbed(-0.05, 0.05),
        y = computed(mesh(n).nodes, mesh(n).row, |row, node| (node / row) as f64 * 0.1).or_perturbed(-0.025, 0.025),
        real_zones = indices_64(mesh(n).real_zones(), mesh(n).zones, |zones, number| {
            Mesh::square(zones).real_zone(number) as i64
        }),
        xdot = ramp(mesh(n).nodes),
        ydot = ramp(mesh(n).nodes),
        div = zeros(mesh(n).nodes),
    }
    launch apps_del_dot_vec_2d as Zone {
        div: Scatter<f64>, real_zones: Distinct<i64>,
        x: Gather<f64, 1>, x_row: Gather<f64, 1>, y: Gather<f64, 1>, y_row: Gather<f64, 1>,
        xdot: Gather<f64, 1>, xdot_row: Gather<f64, 1>, ydot: Gather<f64, 1>, ydot_row: Gather<f64, 1>,
    }
}

impl Kernel for Divergence {
    const NAME: &'static str = "Apps_DEL_DOT_VEC_2D";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 100;
    const CHECKED: &'static [&'static str] = &["div"];

    fn actual_size(n: usize) -> usize {
        mesh(n).real_zones()
    }

    fn bytes(n: usize) -> Bytes {
        let corners = (mesh(n).zones + 1) * (mesh(n).zones + 1);
        Bytes {
            read: 8 * mesh(n).real_zones() + 4 * 8 * corners,
            written: 8 * mesh(n).real_zones(),
            ..Bytes::default()
        }
    }

    fn flops(n: usize) -> usize {
        54 * mesh(n).real_zones()
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let Mesh { row, nodes, .. } = mesh(n);
        let next = |field, data| part(field, data, row..nodes);
        launcher.launch_with::<Zone>(
            mesh(n).real_zones(),
            &[next("x_row", "x"), next("y_row", "y"), next("xdot_row", "xdot"), next("ydot_row", "ydot")],
        );
    }
}

impl Launch for Zone {
    type At = Item;

    fn run(self, item: Item) {
        let zone = self.real_zones.target(item);
        let corners = |here: Gather<f64, 1>, next: Gather<f64, 1>| {
            let ([a4, a1], [a3, a2]) = (*here.window::<2>(zone), *next.window::<2>(zone));
            Corners(a1, a2, a3, a4)
        };
        let (x, y) = (corners(self.x, self.x_row), corners(self.y, self.y_row));
        let rarea = 1.0 / (x.across() * y.along() - x.along() * y.across() + 1e-20);
        let (fx, fy) = (corners(self.xdot, self.xdot_row), corners(self.ydot, self.ydot_row));
        let dfxdx = rarea * (fx.across() * y.along() - fx.along() * y.across());
        let dfydy = rarea * (fy.along() * x.across() - fy.across() * x.along());
        self.div.set(zone, dfxdx + dfydy + fy.sum() / y.sum());
    }
}

/// A quantity at the four corners of a zone, anticlockwise.
struct Corners(f64, f64, f64, f64);

impl Corners {
    #[inline(always)]
    fn across(&self) -> f64 {
        0.5 * (self.0 + self.1 - self.2 - self.3)
    }

    #[inline(always)]
    fn along(&self) -> f64 {
        0.5 * (self.1 + self.2 - self.3 - self.0)
    }

    #[inline(always)]
    fn sum(&self) -> f64 {
        self.0 + self.1 + self.2 + self.3
    }
}
