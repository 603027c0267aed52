//! Comm_HALO_PACKING: what a cube's 26 neighbours get from it is packed into buffers, `buffer[i] = variable[list[i]]`, and
//! what came from them is unpacked, `variable[list[i]] = buffer[i]`: a launch for each neighbour and variable.

use core::array::from_fn;
use core::ops::Range;

use ironsweep::prelude::*;

const VARIABLES: [&str; 3] = ["variable_0", "variable_1", "variable_2"];
/// Elements in 64 bytes: at a multiple of them begins what belongs to a neighbour.
const LINE: usize = 8;

/// Where the neighbours are, along x, y and z: at the cube's faces, edges and corners.
const NEIGHBOURS: [[isize; 3]; 26] = [
    [-1, 0, 0],
    [1, 0, 0],
    [0, -1, 0],
    [0, 1, 0],
    [0, 0, -1],
    [0, 0, 1],
    [-1, -1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [1, 1, 0],
    [-1, 0, -1],
    [-1, 0, 1],
    [1, 0, -1],
    [1, 0, 1],
    [0, -1, -1],
    [0, -1, 1],
    [0, 1, -1],
    [0, 1, 1],
    [-1, -1, -1],
    [-1, -1, 1],
    [-1, 1, -1],
    [-1, 1, 1],
    [1, -1, -1],
    [1, -1, 1],
    [1, 1, -1],
    [1, 1, 1],
];

/// What is exchanged with a neighbour.
struct Exchange {
    /// Where it is.
    place: [isize; 3],
    /// Elements of a variable.
    len: usize,
    /// Where its lists begin.
    list: usize,
    /// Where its buffers begin: variable by variable.
    buffer: usize,
}

impl Exchange {
    fn list(&self) -> Range<usize> {
        self.list..self.list + self.len
    }

    fn buffer(&self, variable: usize) -> Range<usize> {
        let start = self.buffer + variable * self.len;
        start..start + self.len
    }

    fn buffers(&self) -> Range<usize> {
        self.buffer..self.buffer + VARIABLES.len() * self.len
    }
}

/// All of that, for a cube of so many cells along an edge.
fn exchanges(edge: usize) -> [Exchange; 26] {
    let (mut list, mut buffer) = (0, 0);
    from_fn(|neighbour| {
        let place = NEIGHBOURS[neighbour];
        let len = place.iter().map(|&along| if along == 0 { edge } else { 1 }).product();
        let exchange = Exchange { place, len, list, buffer };
        list = exchange.list().end;
        buffer = exchange.buffers().end.next_multiple_of(LINE);
        exchange
    })
}

/// The cell that element `index` of the lists names. They go to `low` where a neighbour is at -1, and to `high` where it
/// is at 1. Around the cube's cells is a layer of further ones.
fn cell(edge: usize, index: usize, low: usize, high: usize) -> i64 {
    let Some(exchange) = exchanges(edge).into_iter().find(|exchange| exchange.list().contains(&index)) else {
        return 0;
    };
    let (mut rest, mut stride, mut cell) = (index - exchange.list, 1, 0);
    for along in exchange.place {
        let (first, count) = match along {
            -1 => (low, 1),
            1 => (high, 1),
            _ => (1, edge),
        };
        cell += stride * (first + rest % count);
        rest /= count;
        stride *= edge + 2;
    }
    cell as i64
}

fn list_len(n: usize) -> usize {
    exchanges(cube_edge(n))[25].list().end
}

fn buffer_len(n: usize) -> usize {
    exchanges(cube_edge(n))[25].buffers().end
}

const fn cells(n: usize) -> usize {
    let width = cube_edge(n) + 2;
    width * width * width
}

kernel! {
    data(n) of HaloPacking {
        pack_lists = indices_32(list_len(n), cube_edge(n), |edge, index| cell(edge, index, 1, edge)),
        unpack_lists = indices_32(list_len(n), cube_edge(n), |edge, index| cell(edge, index, 0, edge + 1)),
        // RAJAPerf counts each of the 52 lists.
        pack_buffer = ramp(buffer_len(n)).counted(52),
        unpack_buffer = ramp(buffer_len(n)).counted(53),
        variable_0 = computed(cells(n), 0, |first, index| (first + index) as f64).counted(54),
        variable_1 = computed(cells(n), 1, |first, index| (first + index) as f64).counted(55),
        variable_2 = computed(cells(n), 2, |first, index| (first + index) as f64).counted(56),
    }
    launch comm_halo_packing_pack as Pack { buffer: Out<f64>, variable: Gather<f64>, list: Distinct<i32> }
    launch comm_halo_packing_unpack as Unpack { variable: Scatter<f64>, buffer: In<f64>, list: Distinct<i32> }
}

impl Kernel for HaloPacking {
    const NAME: &'static str = "Comm_HALO_PACKING";
    const DEFAULT_SIZE: usize = 1_000_000;
    const DEFAULT_REPS: usize = 200;
    const CHECKED: &'static [&'static str] = &["variable_0", "variable_1", "variable_2", "pack_buffer"];

    fn checked_parts(n: usize, array: &str, each: &mut dyn FnMut(Range<usize>)) {
        if array == "pack_buffer" {
            exchanges(cube_edge(n)).iter().for_each(|exchange| each(exchange.buffers()));
        }
    }

    fn actual_size(n: usize) -> usize {
        cube_edge(n) * cube_edge(n) * cube_edge(n)
    }

    fn bytes(n: usize) -> Bytes {
        let elements = 2 * VARIABLES.len() * (cells(n) - Self::actual_size(n));
        Bytes { read: (4 + 8) * elements, written: 8 * elements, ..Bytes::default() }
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        let exchanges = exchanges(cube_edge(n));
        for exchange in &exchanges {
            for (number, variable) in VARIABLES.into_iter().enumerate() {
                launcher.launch_with::<Pack>(
                    exchange.len,
                    &[
                        part("buffer", "pack_buffer", exchange.buffer(number)),
                        whole("variable", variable),
                        part("list", "pack_lists", exchange.list()),
                    ],
                );
            }
        }
        for exchange in &exchanges {
            for (number, variable) in VARIABLES.into_iter().enumerate() {
                launcher.launch_with::<Unpack>(
                    exchange.len,
                    &[
                        whole("variable", variable),
                        part("buffer", "unpack_buffer", exchange.buffer(number)),
                        part("list", "unpack_lists", exchange.list()),
                    ],
                );
            }
        }
    }
}

impl Launch for Pack {
    type At = Item;

    fn run(self, item: Item) {
        let Self { buffer, variable, list } = self;
        buffer.set(item, variable[list.target(item)]);
    }
}

impl Launch for Unpack {
    type At = Item;

    fn run(self, item: Item) {
        let Self { variable, buffer, list } = self;
        variable.set(list.target(item), buffer[item]);
    }
}
