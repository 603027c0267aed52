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
        vol: Out<f64>, x: In<f64>, x_row: In<f64>, x_plane: In<f64>, y: In<f64>, z: In<f64>,
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
        // All begin with the first zone.
        let zones = mesh(n).inner();
        launcher.launch_with::<Zone>(
            zones.len(),
            &[
                part("vol", "vol", zones.clone()),
                part("x", "x", zones.start..nodes),
                part("x_row", "x", zones.start + row..nodes),
                part("x_plane", "x", zones.start + plane..nodes),
                part("y", "y", zones.start..nodes),
                part("z", "z", zones.start..nodes),
            ],
        );
    }
}

impl Launch for Zone {
    type At = Item;

    fn run(self, item: Item) {
        let Self { vol, x, x_row, x_plane, y, z } = self;
        // From a node to its neighbour in the next row, and in the next plane.
        let (row, plane) = (x.offset_of(x_row), x.offset_of(x_plane));
        let count = x.len() - (plane + row + 1);
        let corners = |a: In<f64>| {
            let a = a.slice(0, x.len());
            // Bit 0 of a corner's number is its step along the row, bit 1 to the next row, bit 2 to the next plane.
            [0, 1, row, row + 1, plane, plane + 1, plane + row, plane + row + 1]
                .map(|offset| a.slice(offset, count)[item])
        };
        let (x, y, z) = (corners(x), corners(y), corners(z));
        let edge = |to: usize, from: usize| [x[to] - x[from], y[to] - y[from], z[to] - z[from]];
        let (edge_71, edge_72, edge_74) = (edge(7, 1), edge(7, 2), edge(7, 4));
        let (edge_30, edge_50, edge_60) = (edge(3, 0), edge(5, 0), edge(6, 0));
        let volume = triple_product(sum(edge_71, edge_60), edge_72, edge_30)
            + triple_product(sum(edge_72, edge_50), edge_74, edge_60)
            + triple_product(sum(edge_74, edge_30), edge_71, edge_50);
        vol.set(item, volume * 0.083_333_333_333_333_33);
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
