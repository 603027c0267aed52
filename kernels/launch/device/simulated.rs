//! A GPU's threads on the host, one after another (`--cfg simulated`): tests see that every item of a launch has one.

use std::cell::Cell;

use crate::launch::Dimensions;

#[path = "gpu.rs"]
mod gpu;
pub use gpu::{ITEM_BY_ITEM, LOADS, Own, Place, SUMS, Shared, atomic_add, barrier, run, sum_block, trap};

thread_local! {
    /// Workgroup and thread.
    static HERE: Cell<[[u32; 3]; 2]> = const { Cell::new([[0; 3]; 2]) };
}

/// The workgroup's number along an axis.
pub fn block_id(axis: usize) -> u32 {
    HERE.get()[0][axis]
}

/// The thread's number in its workgroup along an axis.
pub fn thread_id(axis: usize) -> u32 {
    HERE.get()[1][axis]
}

/// Threads in a workgroup along an axis.
pub fn threads(dimensions: Dimensions, axis: usize) -> usize {
    dimensions.threads(axis)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;
    use crate::arguments::Out2;
    use crate::bench::schedule::grid;
    use crate::launch::{Item, Item2, Item3, Numbered, Shape, Strip, Team};

    /// Runs `body` in each thread of a launch.
    fn launch<S: Shape>(items: [usize; 3], threads: usize, body: impl Fn(S)) {
        let block = S::block(threads);
        walk::<S>(items, block, |dimensions, place| {
            // SAFETY: once in each thread, and one thread after another.
            unsafe { S::each(dimensions, place, &body) };
        });
    }

    fn walk<S: Shape>(items: [usize; 3], block: [usize; 3], thread: impl Fn(Dimensions, Place)) {
        let grid = grid(S::LAYOUT, items, block, 3).expect("few workgroups");
        let dimensions = Dimensions { items, grid: grid[0], block: Dimensions::packed(block) };
        let all = |end: [usize; 3]| {
            (0..end[2]).flat_map(move |z| (0..end[1]).flat_map(move |y| (0..end[0]).map(move |x| [x, y, z])))
        };
        for group in all(grid) {
            for place in all(block) {
                HERE.set([group, place].map(|numbers| numbers.map(|number| number as u32)));
                // SAFETY: the promise of an entry point: this is one of its threads.
                unsafe { run(dimensions, |place| thread(dimensions, place)) };
            }
        }
    }

    /// How often each thing was met.
    #[derive(Default)]
    struct Met<T>(RefCell<BTreeMap<T, usize>>);

    impl<T: Ord> Met<T> {
        fn meet(&self, thing: T) {
            *self.0.borrow_mut().entry(thing).or_default() += 1;
        }

        /// Whether it was these, each once.
        fn is_each_of(&self, things: impl Iterator<Item = T>) -> bool {
            *self.0.borrow() == things.map(|thing| (thing, 1)).collect()
        }
    }

    #[test]
    fn a_line_has_each_item_once() {
        for items in [1, 2, 63, 64, 65, 997] {
            for threads in [64, 256] {
                let met = Met::default();
                launch::<Item>([items, 1, 1], threads, |item| met.meet(item.index()));
                assert!(met.is_each_of(0..items), "{items} items, {threads} threads");
            }
        }
    }

    #[test]
    fn a_team_shares_all_items() {
        for items in [1, 255, 4000, 7000] {
            let met = Met::default();
            walk::<Team>([items, 1, 1], [64, 1, 1], |dimensions, place| {
                let share = place.share(dimensions);
                (share.next..share.end).step_by(share.stride).for_each(|item| met.meet(item));
            });
            assert!(met.is_each_of(0..items), "{items} items");
        }
    }

    #[test]
    fn a_plane_has_each_item_once() {
        for width in 1..70 {
            for height in [1, 2, 5] {
                let met = Met::default();
                launch::<Item2<1>>([width, height, 1], 64, |item| met.meet((item.column(), item.row())));
                assert!(met.is_each_of((0..width * height).map(|i| (i % width, i / width))), "{width} x {height}");
            }
        }
    }

    #[test]
    fn strips_write_each_element_once() {
        for width in (1..150).chain([255, 256, 257, 300]) {
            for (height, threads) in [(1, 64), (3, 64), (9, 256)] {
                let (stride, rows) = (width + 2, height + 2);
                let mut array = vec![0.0; stride * rows];
                let dimensions = Dimensions { items: [width, height, 1], grid: 1, block: 0 };
                // SAFETY: as many elements as the view needs; nobody else has them, and there is one thread.
                let view = unsafe { Out2::<f64, 1>::from_raw(array.as_mut_ptr(), array.len(), dimensions) };
                launch::<Strip<4, 1>>([width, height, 1], threads, |strip| {
                    view.set_each(strip, |item| view.get(item) + 1.0);
                });
                let is_inner = |i: usize| (1..=width).contains(&(i % stride)) && (1..=height).contains(&(i / stride));
                let expected: Vec<_> = (0..array.len()).map(|i| f64::from(u8::from(is_inner(i)))).collect();
                assert_eq!(array, expected, "{width} x {height}, {threads} threads");
            }
        }
    }

    #[test]
    fn a_volume_has_each_item_once() {
        for (items, threads) in [([1, 1, 1], 64), ([33, 3, 5], 64), ([70, 9, 8], 256), ([5, 2, 9], 1024)] {
            let met = Met::default();
            launch::<Item3<4>>(items, threads, |item| met.meet(item.number()));
            assert!(met.is_each_of(0..items.iter().product()), "{items:?}");
        }
    }

    #[test]
    fn members_share_what_they_fill() {
        fn shared<const COUNT: usize, const MEMBERS: usize>() {
            let met = Met::default();
            for thread in 0..MEMBERS {
                HERE.set([[0; 3], [thread as u32, 0, 0]]);
                let dimensions = Dimensions { items: [1; 3], grid: 1, block: MEMBERS };
                // SAFETY: as in `walk`.
                unsafe { run(dimensions, |place| place.each_of::<COUNT, MEMBERS>(|index| met.meet(index))) };
            }
            assert!(met.is_each_of(0..COUNT), "{COUNT} for {MEMBERS}");
        }
        shared::<192, 200>();
        shared::<125, 64>();
        shared::<128, 64>();
        shared::<1, 32>();
    }
}
