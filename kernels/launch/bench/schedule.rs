//! What one repetition launches, worked out once a point: the arguments of every launch and its dimensions.

use std::ops::Range;

use super::arguments::{Datum, Description, Values};
use super::runtime::{Device, Failure};
use crate::arguments::Role;
use crate::kernel::{Field, Given, Items, Launch, Launcher};
use crate::launch::{Dimensions, LINE, Layout, MOST_ITEMS, MOST_ROWS, Shape};

/// Workgroups a multiprocessor gets from a launch whose threads stride over the items: what its 2048 threads hold in
/// blocks of 256.
const GROUPS_PER_MULTIPROCESSOR: usize = 8;
/// Multiprocessors assumed where a runtime does not say.
const SOME_MULTIPROCESSORS: usize = 128;

/// One argument of a launch, as 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    /// The address of the byte `offset` of a datum, a multiple of `alignment`.
    Pointer { datum: usize, offset: usize, alignment: usize },
    /// A length, a number's bits, or a dimension.
    Value(u64),
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number among the kernel's launches.
    pub launch: usize,
    /// Its arguments and dimensions, in the order of the entry point, without the first pointer.
    pub words: Vec<Word>,
    /// Workgroups along x, y and z.
    pub grid: [u32; 3],
    /// Threads in a workgroup along x, y and z.
    pub block: [u32; 3],
}

impl Step {
    /// The words, if each datum is where `address` says.
    pub fn at(&self, address: impl Fn(usize) -> u64) -> Result<Vec<u64>, Failure> {
        let word = |word: &Word| match *word {
            Word::Value(value) => Ok(value),
            Word::Pointer { datum, offset, alignment } => {
                let pointer = address(datum) + offset as u64;
                match pointer.is_multiple_of(alignment as u64) {
                    true => Ok(pointer),
                    false => {
                        Err(Failure::crashed(format!("an array at {pointer:#x}, not at a multiple of {alignment}")))
                    }
                }
            }
        };
        self.words.iter().map(word).collect()
    }
}

/// All launches of a repetition, and what they do with the data.
pub struct Schedule {
    pub steps: Vec<Step>,
    /// Data that a launch writes.
    pub changed: Vec<usize>,
    /// Results of reductions.
    pub sums: Vec<usize>,
}

/// The schedule of a kernel for `size` elements on `device`. Fails where the kernel's own description contradicts
/// itself: launches would otherwise touch memory that is not theirs.
pub fn schedule(
    kernel: &Description,
    size: usize,
    block: usize,
    device: &Device,
    data: &[Datum],
    values: &[Values],
) -> Result<Schedule, Failure> {
    let mut builder = Builder {
        launches: kernel.launches,
        block,
        device,
        data,
        values,
        schedule: Schedule { steps: Vec::new(), changed: Vec::new(), sums: Vec::new() },
        distinct: Vec::new(),
        mistake: None,
    };
    (kernel.repetition)(size, &mut builder);
    match builder.mistake.take().or_else(|| builder.changed_list()) {
        Some(mistake) => Err(Failure::crashed(format!("{}: {mistake}", kernel.name))),
        None => Ok(builder.schedule),
    }
}

/// Takes down the launches of one repetition.
pub struct Builder<'a> {
    launches: &'static [(&'static str, &'static [Field])],
    block: usize,
    device: &'a Device,
    data: &'a [Datum],
    values: &'a [Values],
    schedule: Schedule,
    /// Lists whose indices are all different, as long as no launch writes them.
    distinct: Vec<usize>,
    /// The first one.
    mistake: Option<String>,
}

/// A part of a datum that a launch uses.
struct Use {
    field: Field,
    datum: usize,
    range: Range<usize>,
    /// What the indices of a list count from.
    first: usize,
}

impl Launcher for Builder<'_> {
    fn launch_with<L: Launch>(&mut self, items: impl Into<Items>, given: &[Given]) {
        let Items(items) = items.into();
        if self.mistake.is_some() || items.contains(&0) {
            return;
        }
        if let Err(mistake) = self.add::<L>(items, given) {
            self.mistake = Some(format!("{}: {mistake}", L::ENTRY));
        }
    }
}

impl Builder<'_> {
    fn add<L: Launch>(&mut self, items: [usize; 3], given: &[Given]) -> Result<(), String> {
        let launch = self
            .launches
            .iter()
            .position(|(entry, _)| *entry == L::ENTRY)
            .ok_or("is not declared as a launch of this kernel")?;
        if let Some(stranger) = given.iter().find(|given| L::FIELDS.iter().all(|field| field.name != given.field)) {
            return Err(format!("has no argument {}", stranger.field));
        }
        let (mut words, mut uses) = (Vec::new(), Vec::<Use>::new());
        for field in L::FIELDS {
            let used = self.bound(field, given)?;
            if let Values::Scalar(value) = self.values[used.datum] {
                words.push(Word::Value(value.to_bits()));
                continue;
            }
            let offset = used.range.start * field.kind.size();
            words.push(Word::Pointer { datum: used.datum, offset, alignment: field.alignment });
            words.push(Word::Value(used.range.len() as u64));
            if field.role == Role::Distinct {
                words.push(Word::Value(used.first as u64));
            }
            uses.push(used);
        }
        check_apart(&uses)?;
        check_aligned(&uses)?;

        let block = L::block(self.block);
        check_block(L::At::LAYOUT, block)?;
        check_items(L::At::LAYOUT, items)?;
        let grid = grid(L::At::LAYOUT, items, block, self.device.multiprocessors)?;
        check_work_items(&self.device.vendor, grid, block)?;
        let reach = self.note(&uses)?;
        let dimensions = Dimensions { items, grid: grid[0], block: Dimensions::packed(block) };
        check_lengths(&uses, dimensions, reach)?;
        // The host device's entry point spreads the items over the cores itself.
        let (grid, hardware_block) = match self.device.vendor.as_str() {
            "host" => ([1; 3], [1; 3]),
            _ => (grid, block),
        };
        words.extend(
            items.into_iter().chain([grid[0], Dimensions::packed(block)]).map(|number| Word::Value(number as u64)),
        );
        self.schedule.steps.push(Step {
            launch,
            words,
            grid: grid.map(|number| number as u32),
            block: hardware_block.map(|number| number as u32),
        });
        Ok(())
    }

    /// The datum, and the part of it, that an argument stands for.
    fn bound(&self, field: &Field, given: &[Given]) -> Result<Use, String> {
        let given = given.iter().find(|given| given.field == field.name);
        let name = given.map_or(field.name, |given| given.data);
        let datum = self
            .data
            .iter()
            .position(|datum| datum.name == name)
            .ok_or_else(|| format!("argument {}: no datum {name}", field.name))?;
        let values = &self.values[datum];
        if values.kind() != field.kind || values.is_scalar() != (field.role == Role::Scalar) {
            return Err(format!("argument {} is not of the type of datum {name}", field.name));
        }
        let range = given.and_then(|given| given.range.clone()).unwrap_or(0..values.len());
        if range.start > range.end || range.end > values.len() {
            return Err(format!("argument {}: {range:?} is not within {name}, which has {}", field.name, values.len()));
        }
        if range.is_empty() {
            return Err(format!("argument {} has no element", field.name));
        }
        let first = given.map_or(0, |given| given.first);
        if first > 0 && field.role != Role::Distinct {
            return Err(format!("argument {} is not a list whose indices count from something", field.name));
        }
        Ok(Use { field: *field, datum, range, first })
    }

    /// Notes what is written, and looks at lists that must not repeat themselves; says how far they reach.
    fn note(&mut self, uses: &[Use]) -> Result<usize, String> {
        let mut reach = 0;
        for Use { field, datum, range, first } in uses {
            let noted = match field.role {
                Role::Write => &mut self.schedule.changed,
                Role::Sum => &mut self.schedule.sums,
                Role::Distinct => {
                    reach = check_distinct(&self.values[*datum], range.clone(), *first, self.longest())
                        .map_err(|mistake| format!("{}: {mistake}", self.data[*datum].name))?;
                    self.distinct.push(*datum);
                    continue;
                }
                Role::Read | Role::Scalar => continue,
            };
            if !noted.contains(datum) {
                noted.push(*datum);
            }
        }
        Ok(reach)
    }

    /// Elements of the longest array.
    fn longest(&self) -> usize {
        self.values.iter().map(Values::len).max().unwrap_or_default()
    }

    /// A list that some launch writes: that its indices were different says nothing then.
    fn changed_list(&self) -> Option<String> {
        let written = |datum: &&usize| self.schedule.changed.contains(datum) || self.schedule.sums.contains(datum);
        self.distinct
            .iter()
            .find(written)
            .map(|datum| format!("{}: a list of distinct indices is written", self.data[*datum].name))
    }
}

/// Workgroups along x, y and z, so that there is a thread for every item. On a device that does not say how many
/// multiprocessors it has (0), some are assumed.
pub fn grid(
    layout: Layout,
    items: [usize; 3],
    block: [usize; 3],
    multiprocessors: usize,
) -> Result<[usize; 3], String> {
    let groups = |axis: usize| items[axis].div_ceil(block[axis]);
    let grid = match layout {
        Layout::Line => [groups(0), 1, 1],
        Layout::Strides => {
            let multiprocessors = if multiprocessors == 0 { SOME_MULTIPROCESSORS } else { multiprocessors };
            [groups(0).min(multiprocessors * GROUPS_PER_MULTIPROCESSOR * 256 / block[0]), 1, 1]
        }
        Layout::Plane(count) => [(items[0] + LINE - 1).div_ceil(block[0] * count), groups(1), 1],
        Layout::Volume(depth) => [groups(0), groups(1), items[2].div_ceil(block[2] * depth)],
        Layout::Groups(_) => [items[0], 1, 1],
    };
    // CUDA's limits, the narrowest of all.
    match grid[0] <= i32::MAX as usize && grid[1] <= 65535 && grid[2] <= 65535 {
        true => Ok(grid),
        false => Err(format!("a grid of {grid:?} workgroups is more than a device takes")),
    }
}

/// Threads in the widest device's warp.
const WIDEST_WARP: usize = 64;

/// Whether no two threads of a workgroup would work on one item. Threads that add up what they have are whole warps.
fn check_block(layout: Layout, block: [usize; 3]) -> Result<(), String> {
    let axes = match layout {
        Layout::Line | Layout::Strides | Layout::Groups(_) => 1,
        Layout::Plane(_) => 2,
        Layout::Volume(_) => 3,
    };
    let each = block.iter().all(|threads| (1..=1024).contains(threads)) && block.iter().product::<usize>() <= 1024;
    let whole = match layout {
        Layout::Strides => block[0].is_multiple_of(WIDEST_WARP),
        Layout::Groups(members) => block[0] == members,
        _ => true,
    };
    match each && whole && block[axes..].iter().all(|threads| *threads == 1) {
        true => Ok(()),
        false => Err(format!("{block:?} threads in a workgroup do not suit its layout")),
    }
}

/// Whether a device can count the launch's threads: AMD's packets hold their number along an axis in 32 bits.
fn check_work_items(vendor: &str, grid: [usize; 3], block: [usize; 3]) -> Result<(), String> {
    let too_many = |axis: usize| grid[axis] * block[axis] > u32::MAX as usize;
    match vendor.starts_with("amd") && (0..3).any(too_many) {
        true => Err(format!("{grid:?} workgroups of {block:?} threads are more than an AMD device can count")),
        false => Ok(()),
    }
}

/// Whether the items are so few that no size computed with them overflows in device code.
fn check_items(layout: Layout, items: [usize; 3]) -> Result<(), String> {
    let all = items.iter().try_fold(1, |product: usize, number| product.checked_mul(*number));
    let rows =
        !matches!(layout, Layout::Plane(_) | Layout::Volume(_)) || items.iter().all(|number| *number <= MOST_ROWS);
    match all.is_some_and(|all| all <= MOST_ITEMS) && rows {
        true => Ok(()),
        false => Err(format!("{items:?} items are more than a launch can have")),
    }
}

/// Whether what is written is touched through no other argument.
fn check_apart(uses: &[Use]) -> Result<(), String> {
    for (index, one) in uses.iter().enumerate() {
        for other in &uses[..index] {
            let overlap = one.range.start < other.range.end && other.range.start < one.range.end;
            let written = [one, other].iter().any(|it| matches!(it.field.role, Role::Write | Role::Sum));
            if one.datum == other.datum && overlap && written {
                return Err("an array that is written is also used through another argument".to_owned());
            }
        }
    }
    Ok(())
}

/// Whether each array holds what its view needs: device code does not look again.
fn check_lengths(uses: &[Use], dimensions: Dimensions, reach: usize) -> Result<(), String> {
    for Use { field, range, .. } in uses {
        let needed = (field.needs)(dimensions, reach);
        if range.len() < needed {
            let (name, held) = (field.name, range.len());
            return Err(format!("argument {name} holds {held} elements, the launch uses {needed}"));
        }
    }
    Ok(())
}

/// Whether arrays begin where their views need it, on the assumption that data do. A part that is mapped to a device for
/// one launch begins like a datum there, and what lies within it keeps its distance from that.
fn check_aligned(uses: &[Use]) -> Result<(), String> {
    for one in uses {
        for other in uses.iter().filter(|other| other.datum == one.datum) {
            let offset = other.range.start * other.field.kind.size();
            if !offset.is_multiple_of(one.field.alignment) {
                let (name, alignment) = (one.field.name, one.field.alignment);
                return Err(format!("argument {name}: its datum is cut at no multiple of {alignment} bytes"));
            }
        }
    }
    Ok(())
}

/// Whether all indices in a part of a list are different, none is less than `first` and each names an element of an array of
/// `longest`; how far they reach from the first.
fn check_distinct(list: &Values, range: Range<usize>, first: usize, longest: usize) -> Result<usize, String> {
    let indices: Box<dyn Iterator<Item = i64>> = match list {
        Values::I32(list) => Box::new(list[range].iter().map(|&index| index.into())),
        Values::I64(list) => Box::new(list[range].iter().copied()),
        Values::F64(_) | Values::Scalar(_) => return Err("is not a list of indices".to_owned()),
    };
    let (mut seen, mut reach) = (Vec::<u64>::new(), 0);
    for index in indices {
        let counted = usize::try_from(index).ok().and_then(|index| index.checked_sub(first));
        let counted = counted.ok_or_else(|| format!("the index {index} is less than {first}"))?;
        if counted >= longest {
            return Err(format!("the index {index} lies beyond every array"));
        }
        let (word, bit) = (counted / 64, 1 << (counted % 64));
        if word >= seen.len() {
            seen.resize(word + 1, 0);
        }
        if seen[word] & bit != 0 {
            return Err(format!("the index {index} occurs twice"));
        }
        seen[word] |= bit;
        reach = reach.max(counted + 1);
    }
    Ok(reach)
}

/// The datum of that name.
pub fn position(data: &[Datum], name: &str) -> usize {
    data.iter().position(|datum| datum.name == name).unwrap_or_else(|| panic!("no datum {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::*;

    fn used<V: View>(datum: usize, range: Range<usize>) -> Use {
        Use { field: Field::array::<V>("a"), datum, range, first: 0 }
    }

    fn write(datum: usize, range: Range<usize>) -> Use {
        used::<Out<f64>>(datum, range)
    }

    fn read(datum: usize, range: Range<usize>) -> Use {
        used::<In<f64>>(datum, range)
    }

    /// The least number of elements with which a launch is accepted.
    fn least<V: View>(items: [usize; 3], block: usize, reach: usize) -> usize {
        let dimensions = Dimensions { items, grid: 1, block: Dimensions::packed([block, 1, 1]) };
        (0..1_000_000)
            .find(|&len| check_lengths(&[used::<V>(0, 0..len)], dimensions, reach).is_ok())
            .expect("some number is enough")
    }

    #[test]
    fn arrays_hold_what_their_views_use() {
        let line = [100, 1, 1];
        assert_eq!(least::<In<f64>>(line, 256, 0), 100);
        assert_eq!(least::<In<f64, 15>>(line, 256, 0), 115);
        assert_eq!(least::<InPairs<f64, 15>>(line, 256, 0), 215);
        assert_eq!(least::<Out<f64>>(line, 256, 0), 100);
        assert_eq!(least::<OutPairs<f64>>(line, 256, 0), 200);
        assert_eq!(least::<Sum<f64>>(line, 256, 0), 1);
        assert_eq!(least::<Table<f64, 20>>(line, 256, 0), 20);
        assert_eq!(least::<InGroup<f64, 125>>([3, 1, 1], 64, 0), 375);
        assert_eq!(least::<Rows<f64, 6, 25>>(line, 256, 0), 150);
        assert_eq!(least::<In2<f64>>([30, 20, 1], 256, 0), 600);
        assert_eq!(least::<In2<f64, 1>>([30, 20, 1], 256, 0), 32 * 22);
        assert_eq!(least::<Out2<f64, 1>>([30, 20, 1], 256, 0), 32 * 22);
        assert_eq!(least::<OutGroup<f64, 8>>([3, 1, 1], 64, 0), 3 * 8 * 64);
        assert_eq!(least::<Distinct<i32>>(line, 256, 7), 100);
        assert_eq!(least::<Distinct<i64>>([3, 4, 5], 256, 7), 60);
        assert_eq!(least::<Scatter<f64>>(line, 256, 7), 7);
        assert_eq!(least::<Gather<f64>>(line, 256, 7), 7);
        assert_eq!(least::<Gather<f64, 2>>(line, 256, 7), 9);
    }

    #[test]
    fn parts_begin_where_pairs_do() {
        assert!(check_aligned(&[used::<InPairs<f64>>(0, 2..9)]).is_ok());
        assert!(check_aligned(&[used::<InPairs<f64>>(0, 1..9)]).is_err());
        assert!(check_aligned(&[read(0, 1..9), used::<InPairs<f64>>(0, 2..9)]).is_err());
        assert!(check_aligned(&[read(0, 1..9), used::<InPairs<f64>>(1, 2..9)]).is_ok());
        let step = Step {
            launch: 0,
            words: vec![Word::Pointer { datum: 0, offset: 8, alignment: 16 }, Word::Value(3)],
            grid: [1; 3],
            block: [1; 3],
        };
        assert_eq!(step.at(|_| 24), Ok(vec![32, 3]));
        assert!(step.at(|_| 32).is_err());
    }

    #[test]
    fn what_is_written_is_used_once() {
        assert!(check_apart(&[read(0, 0..9), read(0, 0..9), write(1, 0..9)]).is_ok());
        assert!(check_apart(&[read(0, 0..5), write(0, 5..9)]).is_ok());
        assert!(check_apart(&[read(0, 0..6), write(0, 5..9)]).is_err());
        assert!(check_apart(&[write(0, 0..6), write(0, 0..1)]).is_err());
    }

    #[test]
    fn a_thread_has_an_item_of_its_own() {
        for (layout, block, good) in [
            (Layout::Line, [256, 1, 1], true),
            (Layout::Line, [32, 8, 1], false),
            (Layout::Line, [2048, 1, 1], false),
            (Layout::Line, [0, 1, 1], false),
            (Layout::Strides, [128, 1, 1], true),
            (Layout::Strides, [96, 1, 1], false),
            (Layout::Groups(100), [100, 1, 1], true),
            (Layout::Groups(100), [64, 1, 1], false),
            (Layout::Plane(1), [32, 2, 1], true),
            (Layout::Plane(1), [32, 2, 2], false),
            (Layout::Volume(1), [25, 2, 2], true),
            (Layout::Volume(1), [1 << 32, 1 << 32, 1], false),
        ] {
            assert_eq!(check_block(layout, block).is_ok(), good, "{layout:?} {block:?}");
        }
    }

    #[test]
    fn sizes_do_not_overflow() {
        assert!(check_items(Layout::Line, [MOST_ITEMS, 1, 1]).is_ok());
        assert!(check_items(Layout::Line, [MOST_ITEMS + 1, 1, 1]).is_err());
        assert!(check_items(Layout::Plane(1), [MOST_ROWS, 2, 1]).is_ok());
        assert!(check_items(Layout::Plane(1), [MOST_ROWS + 1, 2, 1]).is_err());
        assert!(check_items(Layout::Volume(1), [1 << 26, 1 << 26, 1 << 12]).is_err());
    }

    #[test]
    fn amd_counts_threads_in_32_bits() {
        let grid = [1 << 24, 1, 1];
        assert!(check_work_items("amd", grid, [255, 1, 1]).is_ok());
        assert!(check_work_items("amd", grid, [256, 1, 1]).is_err());
        assert!(check_work_items("nvidia", grid, [256, 1, 1]).is_ok());
    }

    #[test]
    fn indices_are_different() {
        let list = Values::I32(vec![3, 64, 3, -1]);
        assert_eq!(check_distinct(&list, 0..2, 0, 65), Ok(65));
        assert_eq!(check_distinct(&list, 0..2, 3, 65), Ok(62));
        assert!(check_distinct(&list, 0..2, 0, 64).is_err());
        assert!(check_distinct(&Values::I64(vec![1 << 62]), 0..1, 0, 65).is_err());
        assert!(check_distinct(&list, 0..2, 4, 65).is_err());
        assert!(check_distinct(&list, 0..3, 0, 65).is_err());
        assert!(check_distinct(&list, 3..4, 0, 65).is_err());
        assert!(check_distinct(&Values::F64(vec![1.0]), 0..1, 0, 65).is_err());
    }
}
