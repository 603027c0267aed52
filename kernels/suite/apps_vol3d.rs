//! Apps_VOL3D: the volume of each zone of a mesh, a hexahedron between eight nodes.

use ironsweep::prelude::*;

const fn mesh(n: usize) -> Mesh {
    Mesh::cube(cube_edge(n))
}

/// Zones of the loop, which goes straight on between the mesh's own.
const fn zones(n: usize) -> usize {
    mesh(n).inner().end - mesh(n).inner().start
}

kernel! {
    data(n) of Volume {
        x = computed(mesh(n).nodes, mesh(n).row, |row, node| (node % row) as f64 * 0.3),
        y = computed(mesh(n).nodes, mesh(n).row, |row, node| (node / row % row) as f64 * 0.2),
        z = computed(mesh(n).nodes, mesh(n).row, |row, node| (node / (row * row)) as f64 * 0.1),
        vol = zeros(mesh(n).nodes),
    }
    launch apps_vol3d as Zone {
        vol: Out<f64>,
        x: In<f64, 1>, x_row: In<f64, 1>, x_plane: In<f64, 1>, x_plane_row: In<f64, 1>,
        y: In<f64, 1>, y_row: In<f64, 1>, y_plane: In<f64, 1>, y_plane_row: In<f64, 1>,
        z: In<f64, 1>, z_row: In<f64, 1>, z_plane: In<f64, 1>, z_plane_row: In<f64, 1>,
    }
}

impl Kernel for Volume {
    const NAME: &'static str = "Apps_VOL3D";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 100;
    const CHECKED: &'static [&'static str] = &["vol"];

    fn actual_size(n: usize) -> usize {
        mesh(n).real_zones()
    }

    fn bytes(n: usize) -> Bytes {
        Bytes { read: 24 * (zones(n) + mesh(n).reach()), written: 8 * zones(n), ..Bytes::default() }
    }

    fn flops(n: usize) -> usize {
        72 * zones(n)
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let Mesh { row, plane, nodes, .. } = mesh(n);
        let zones = mesh(n).inner();
        // The nodes that are so far from the first of each zone.
        let nodes = |field, data, step| part(field, data, zones.start + step..nodes);
        launcher.launch_with::<Zone>(
            zones.len(),
            &[
                part("vol", "vol", zones.clone()),
                nodes("x", "x", 0),
                nodes("x_row", "x", row),
                nodes("x_plane", "x", plane),
                nodes("x_plane_row", "x", plane + row),
                nodes("y", "y", 0),
                nodes("y_row", "y", row),
                nodes("y_plane", "y", plane),
                nodes("y_plane_row", "y", plane + row),
                nodes("z", "z", 0),
                nodes("z_row", "z", row),
                nodes("z_plane", "z", plane),
                nodes("z_plane_row", "z", plane + row),
            ],
        );
    }
}

impl Launch for Zone {
    type At = Item;

    fn run(self, item: Item) {
        // Bit 0 of a corner's number is its step along the row, bit 1 to the next row, bit 2 to the next plane.
        let corners = |near: In<f64, 1>, row: In<f64, 1>, plane: In<f64, 1>, plane_row: In<f64, 1>| {
            let ([c0, c1], [c2, c3]) = (*near.window::<2>(item), *row.window::<2>(item));
            let ([c4, c5], [c6, c7]) = (*plane.window::<2>(item), *plane_row.window::<2>(item));
            [c0, c1, c2, c3, c4, c5, c6, c7]
        };
        let x = corners(self.x, self.x_row, self.x_plane, self.x_plane_row);
        let y = corners(self.y, self.y_row, self.y_plane, self.y_plane_row);
        let z = corners(self.z, self.z_row, self.z_plane, self.z_plane_row);
        let edge = |to: usize, from: usize| [x[to] - x[from], y[to] - y[from], z[to] - z[from]];
        let (edge_71, edge_72, edge_74) = (edge(7, 1), edge(7, 2), edge(7, 4));
        let (edge_30, edge_50, edge_60) = (edge(3, 0), edge(5, 0), edge(6, 0));
        let volume = triple_product(sum(edge_71, edge_60), edge_72, edge_30)
            + triple_product(sum(edge_72, edge_50), edge_74, edge_60)
            + triple_product(sum(edge_74, edge_30), edge_71, edge_50);
        self.vol.set(item, volume * 0.083_333_333_333_333_33);
    }
}

#[inline(always)]
fn sum(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// `a * (b x c)`.
#[inline(always)]
fn triple_product(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
}
