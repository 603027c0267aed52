//! Problem sizes of two and three dimensions, from the number of elements that is asked for (RAJAPerf's target size).

use core::ops::Range;

/// Edge of a square of about `target` elements: floor(sqrt(target) + sqrt(2) - 1).
pub const fn square_edge(target: usize) -> usize {
    let floor = target.isqrt();
    // The next whole number is reached when the root's fraction is at least 2 - sqrt(2).
    let least = floor as f64 + (2.0 - core::f64::consts::SQRT_2);
    floor + (least * least <= target as f64) as usize
}

/// Edge of a cube of about `target` elements: floor(cbrt(target) + cbrt(3) - 1).
pub const fn cube_edge(target: usize) -> usize {
    const CUBE_ROOT_OF_3: f64 = 1.442_249_570_307_408_4;
    let mut floor = 0;
    while (floor + 1) * (floor + 1) * (floor + 1) <= target {
        floor += 1;
    }
    let least = floor as f64 + (2.0 - CUBE_ROOT_OF_3);
    floor + (least * least * least <= target as f64) as usize
}

/// A mesh of zones between nodes, with two layers of further nodes around it, as the mesh kernels lay it out: node
/// (i, j, k) is element `i + row * j + plane * k`, and real zones begin at 2 along each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mesh {
    /// Real zones along an axis.
    pub zones: usize,
    /// Nodes in a row: from a node to its neighbour along the second axis.
    pub row: usize,
    /// Nodes in a plane: from a node to its neighbour along the third axis; 0 in two dimensions.
    pub plane: usize,
    /// All nodes.
    pub nodes: usize,
}

impl Mesh {
    /// The two-dimensional mesh of `zones` zones along each axis.
    pub const fn square(zones: usize) -> Self {
        let row = zones + 4;
        Self { zones, row, plane: 0, nodes: row * row }
    }

    /// The three-dimensional mesh of `zones` zones along each axis.
    pub const fn cube(zones: usize) -> Self {
        let row = zones + 4;
        Self { zones, row, plane: row * row, nodes: row * row * row }
    }

    /// Number of real zones.
    pub const fn real_zones(self) -> usize {
        match self.plane {
            0 => self.zones * self.zones,
            _ => self.zones * self.zones * self.zones,
        }
    }

    /// From a node to its neighbour along all axes at once: no neighbour is farther away.
    pub const fn reach(self) -> usize {
        self.plane + self.row + 1
    }

    /// First nodes of a loop over zones that goes straight on between the real ones: all that have a node on each side.
    pub const fn inner(self) -> Range<usize> {
        self.reach()..self.nodes - self.reach()
    }

    /// First node of the `number`-th real zone, counted along the rows.
    pub const fn real_zone(self, number: usize) -> usize {
        let (i, rest) = (number % self.zones, number / self.zones);
        match self.plane {
            0 => 2 + i + self.row * (2 + rest),
            _ => 2 + i + self.row * (2 + rest % self.zones) + self.plane * (2 + rest / self.zones),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_those_of_the_definition() {
        for target in (1..100_000).chain([1_000_000, 10_000_000, 100_000_000, 270_000_000]) {
            let x = target as f64;
            assert_eq!(square_edge(target), (x.sqrt() + 2f64.sqrt() - 1.0) as usize, "{target}");
            assert_eq!(cube_edge(target), (x.cbrt() + 3f64.cbrt() - 1.0) as usize, "{target}");
        }
    }

    #[test]
    fn meshes_hold_their_zones() {
        let mesh = Mesh::cube(cube_edge(1_000_000));
        assert_eq!((mesh.zones, mesh.row, mesh.real_zones()), (100, 104, 1_000_000));
        assert_eq!(mesh.real_zone(mesh.real_zones() - 1), 101 * (1 + mesh.row + mesh.plane));
        assert_eq!(Mesh::square(1).real_zone(0), 2 + 2 * Mesh::square(1).row);
    }
}
