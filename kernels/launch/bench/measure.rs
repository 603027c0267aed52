//! Measures one point.

use std::time::{Duration, Instant};

use super::arguments::{Argument, Described, Role, Slot};
use super::json::Value;
use super::protocol::{Point, Record};
use super::runtime::{Device, Failure, Region, Runtime};
use super::{checksum, data};
use crate::kernel::Kernel;
use crate::launch::{Dimensions, Shape};

/// Workgroups a multiprocessor gets from a launch whose threads stride over the items: what its 2048 threads hold in
/// blocks of 256.
const GROUPS_PER_MULTIPROCESSOR: usize = 8;
/// Multiprocessors assumed where a runtime does not say.
const SOME_MULTIPROCESSORS: usize = 128;

/// Measures `point` of kernel `K`; whatever happens short of the process's end is a record.
pub fn measure<K: Kernel + Described, R: Runtime>(runtime: &mut R, point: Point) -> Record {
    let mut found = vec![
        ("variant".to_owned(), Value::from(runtime.variant().as_str())),
        ("runtime".to_owned(), Value::from(runtime.version().as_str())),
    ];
    let result = if point.kernel == K::NAME {
        attempt::<K, R>(runtime, &point, &mut found)
    } else {
        Err(Failure::unsupported(format!("this worker serves {}", K::NAME)))
    };
    runtime.release();
    match result {
        Ok(()) => Record::new(point, "ok", "", found),
        Err(failure) => Record::new(point, failure.status, &failure.message, found),
    }
}

fn attempt<K: Kernel + Described, R: Runtime>(
    runtime: &mut R,
    point: &Point,
    found: &mut Vec<(String, Value)>,
) -> Result<(), Failure> {
    let device = runtime.open(&point.device, &point.arch)?;
    found.extend(device.members());

    let arguments = K::describe(point.size);
    let slots = data::initial(&arguments, point.data);
    let checked = arguments
        .iter()
        .position(|argument| argument.name == K::CHECKED)
        .expect("a kernel checks one of its arguments");
    runtime.prepare(&arguments, &slots, point.region)?;

    let mut bench = Bench {
        runtime,
        dimensions: dimensions::<K>(point, &device),
        changed: positions(&arguments, |role| role == Role::Out),
        sums: positions(&arguments, |role| role == Role::Sum),
        result: slots[checked].array().to_vec(),
        arguments,
        slots,
        checked,
    };
    for position in positions(&bench.arguments, |role| role == Role::In) {
        bench.runtime.write(position, bench.slots[position].array())?;
    }

    let (mut seconds, mut checksums) = (Vec::new(), Vec::new());
    for pass in 0..point.warmup + point.passes {
        let elapsed = bench.pass(point)?;
        if pass >= point.warmup {
            seconds.push(elapsed.as_secs_f64() / point.reps as f64);
            checksums.push(bench.checksum());
        }
    }
    if let Some(path) = &point.dump {
        let bytes: Vec<u8> = bench.result.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(path, bytes).map_err(|error| Failure::crashed(format!("{}: {error}", path.display())))?;
    }

    let bytes = K::bytes(point.size);
    found.extend(
        [
            ("actual_size", point.size.into()),
            ("seconds_per_rep", seconds.into_iter().collect()),
            ("checksums", checksums.into_iter().collect()),
            ("bytes_read", bytes.read.into()),
            ("bytes_written", bytes.written.into()),
            ("bytes_modified", bytes.modified.into()),
            ("bytes_atomic", bytes.atomic.into()),
            ("flops", K::flops(point.size).into()),
            ("clock", "CLOCK_MONOTONIC".into()),
            ("clock_resolution_s", clock_resolution().as_secs_f64().into()),
            ("fp_contract", "off".into()),
        ]
        .map(|(name, value): (&str, Value)| (name.to_owned(), value)),
    );
    Ok(())
}

struct Bench<'a, R> {
    runtime: &'a mut R,
    dimensions: Dimensions,
    arguments: Vec<Argument>,
    /// The initial data.
    slots: Vec<Slot>,
    /// Arrays that the kernel writes.
    changed: Vec<usize>,
    /// Results of reductions.
    sums: Vec<usize>,
    checked: usize,
    /// The checked argument after the latest pass.
    result: Vec<f64>,
}

impl<R: Runtime> Bench<'_, R> {
    /// One pass: restores the data, times the repetitions, fetches the result.
    fn pass(&mut self, point: &Point) -> Result<Duration, Failure> {
        for &position in self.changed.iter().chain(&self.sums) {
            self.runtime.write(position, self.slots[position].array())?;
        }
        // What the last pass left must not be taken for what this one made.
        self.result.fill(f64::NAN);
        self.runtime.synchronise()?;
        let start = Instant::now();
        for _ in 0..point.reps {
            self.repetition(point.region)?;
        }
        self.runtime.synchronise()?;
        let elapsed = start.elapsed();
        if !self.sums.contains(&self.checked) {
            self.runtime.read(self.checked, &mut self.result)?;
        }
        Ok(elapsed)
    }

    fn repetition(&mut self, region: Region) -> Result<(), Failure> {
        // As in RAJAPerf, a reduction's repetition begins with its result's reset and ends with its copy on the host.
        for &position in &self.sums {
            self.runtime.write(position, self.slots[position].array())?;
        }
        self.runtime.launch(self.dimensions)?;
        for &position in &self.sums {
            self.runtime.read(position, &mut self.result)?;
        }
        if region != Region::Kernel {
            self.runtime.synchronise()?;
        }
        Ok(())
    }

    fn checksum(&self) -> f64 {
        match self.arguments[self.checked].role {
            Role::Sum => checksum::scalar(self.result[0]),
            _ => checksum::array(&self.result),
        }
    }
}

fn positions(arguments: &[Argument], of: impl Fn(Role) -> bool) -> Vec<usize> {
    (0..arguments.len()).filter(|&position| of(arguments[position].role)).collect()
}

fn dimensions<K: Kernel>(point: &Point, device: &Device) -> Dimensions {
    let items = point.size;
    let grid = items.div_ceil(point.block);
    if device.vendor == "host" {
        // The host device's entry point spreads the items over the cores itself.
        return Dimensions { items, grid: 1, block: 1 };
    }
    let multiprocessors = match device.multiprocessors {
        0 => SOME_MULTIPROCESSORS,
        number => number,
    };
    let grid = match K::At::STRIDES {
        true => grid.min(multiprocessors * GROUPS_PER_MULTIPROCESSOR * 256 / point.block),
        false => grid,
    };
    Dimensions { items, grid, block: point.block }
}

/// The smallest step that the clock was seen to make.
fn clock_resolution() -> Duration {
    (0..64)
        .map(|_| {
            let start = Instant::now();
            loop {
                let step = start.elapsed();
                if !step.is_zero() {
                    return step;
                }
            }
        })
        .min()
        .unwrap_or_default()
}
