//! Measures one point.

use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::arguments::{Datum, Description, Values, bytes, bytes_mut};
use super::checksum;
use super::data::{self, Data};
use super::json::Value;
use super::protocol::{Point, Record};
use super::runtime::{Failure, Problem, Region, Runtime};
use super::schedule::{self, Schedule};

/// Results up to this size are looked at after every pass, larger ones after the first and the last: fetching them takes
/// longer than making them.
const LOOKED_AT_EACH_PASS: usize = 64 << 20;

/// Initial data up to this size stay for the next point.
const KEPT: usize = 16 << 30;

/// A bench driver with its runtime.
pub struct Driver<R> {
    kernel: Description,
    runtime: R,
    /// The latest initial data: points of one size come one after another.
    latest: Option<(usize, Data, Rc<Vec<Values>>)>,
}

impl<R: Runtime> Driver<R> {
    /// For `kernel` on `runtime`.
    pub const fn new(kernel: Description, runtime: R) -> Self {
        Self { kernel, runtime, latest: None }
    }

    /// Measures `point`; whatever happens short of the process's end is a record.
    pub fn measure(&mut self, point: Point) -> Record {
        let mut found = Vec::new();
        let result = if point.kernel == self.kernel.name {
            self.attempt(&point, &mut found)
        } else {
            Err(Failure::unsupported(format!("this worker serves {}", self.kernel.name)))
        };
        self.runtime.release();
        match result {
            Ok(()) => Record::new(point, "ok", "", found),
            Err(failure) => Record::new(point, failure.status, &failure.message, found),
        }
    }

    fn attempt(&mut self, point: &Point, found: &mut Vec<(String, Value)>) -> Result<(), Failure> {
        let kernel = self.kernel;
        if !kernel.blocks.contains(&point.block) {
            return Err(Failure::unsupported(format!("{} runs in workgroups of {:?}", kernel.name, kernel.blocks)));
        }
        let device = self.runtime.open(&point.device, &point.arch, &point.part)?;
        found.push(("variant".to_owned(), self.runtime.variant().as_str().into()));
        found.push(("runtime".to_owned(), self.runtime.version().as_str().into()));
        found.extend(device.members());

        let data = (kernel.data)(point.size);
        let values = self.initial(point, &data);
        let schedule = schedule::schedule(&kernel, point.size, point.block, &device, &data, &values)?;
        let entries: Vec<_> = kernel.launches.iter().map(|(entry, _)| *entry).collect();
        self.runtime.prepare(&Problem {
            values: &values,
            steps: &schedule.steps,
            sums: &schedule.sums,
            entries: &entries,
            size: point.size,
            block: point.block,
            multiprocessors: device.multiprocessors,
            region: point.region,
        })?;
        let mut bench = Bench::new(&kernel, &mut self.runtime, point, &data, &values, schedule)?;
        bench.run(point)?;
        if let Some(path) = &point.dump {
            let bytes: Vec<u8> = bench.outputs.iter().flat_map(|output| bytes(&output.result)).copied().collect();
            std::fs::write(path, bytes).map_err(|error| Failure::crashed(format!("{}: {error}", path.display())))?;
        }
        // An emulator's time says nothing.
        let seconds = if device.vendor == "amd_emulated" { Vec::new() } else { bench.seconds };
        let moved = (kernel.bytes)(point.size);
        found.extend(
            [
                ("actual_size", (kernel.actual_size)(point.size).into()),
                ("seconds_per_rep", seconds.into_iter().collect()),
                ("checksums", bench.checksums.into_iter().collect()),
                ("launches_per_rep", bench.schedule.steps.len().into()),
                ("bytes_read", moved.read.into()),
                ("bytes_written", moved.written.into()),
                ("bytes_modified", moved.modified.into()),
                ("bytes_atomic", moved.atomic.into()),
                ("flops", (kernel.flops)(point.size).into()),
                ("clock", "CLOCK_MONOTONIC".into()),
                ("clock_resolution_s", clock_resolution().as_secs_f64().into()),
            ]
            .map(|(name, value): (&str, Value)| (name.to_owned(), value)),
        );
        Ok(())
    }

    fn initial(&mut self, point: &Point, data: &[Datum]) -> Rc<Vec<Values>> {
        match &self.latest {
            Some((size, mode, values)) if *size == point.size && *mode == point.data => Rc::clone(values),
            _ => {
                // The old data need not lie beside the new ones.
                self.latest = None;
                let values = Rc::new(data::initial(data, point.data));
                if values.iter().map(|values| values.bytes().len()).sum::<usize>() <= KEPT {
                    self.latest = Some((point.size, point.data, Rc::clone(&values)));
                }
                values
            }
        }
    }
}

/// An array that is looked at.
struct Output {
    position: usize,
    /// Its content after the latest pass that was looked at.
    result: Vec<f64>,
    /// The parts that have a checksum.
    checked: Vec<Range<usize>>,
}

struct Bench<'a, R> {
    runtime: &'a mut R,
    region: Region,
    values: &'a [Values],
    schedule: Schedule,
    outputs: Vec<Output>,
    /// Data that are restored on the device; the others that change are written anew.
    kept: Vec<usize>,
    seconds: Vec<f64>,
    checksums: Vec<f64>,
}

impl<'a, R: Runtime> Bench<'a, R> {
    fn new(
        kernel: &Description,
        runtime: &'a mut R,
        point: &Point,
        data: &[Datum],
        values: &'a [Values],
        schedule: Schedule,
    ) -> Result<Self, Failure> {
        let output = |name: &str, is_checked: bool| {
            let position = schedule::position(data, name);
            let (len, mut checked) = (values[position].len(), Vec::new());
            if is_checked {
                (kernel.checked_parts)(point.size, name, &mut |part| checked.push(part));
                if checked.is_empty() {
                    checked.push(0..len);
                }
            }
            Output { position, result: vec![f64::NAN; len], checked }
        };
        // What the checksum does not see is compared element by element, and only then.
        let compared = if point.dump.is_some() { kernel.compared } else { &[] };
        let outputs = kernel
            .checked
            .iter()
            .map(|name| output(name, true))
            .chain(compared.iter().map(|name| output(name, false)))
            .collect();
        for (position, array) in values.iter().enumerate().filter(|(_, values)| !values.is_scalar()) {
            runtime.write(position, array.bytes())?;
        }
        let mut kept = Vec::new();
        for &position in &schedule.changed {
            if runtime.keep(position)? {
                kept.push(position);
            }
        }
        runtime.synchronise()?;
        let (seconds, checksums) = (Vec::new(), Vec::new());
        Ok(Self { runtime, region: point.region, values, schedule, outputs, kept, seconds, checksums })
    }

    fn run(&mut self, point: &Point) -> Result<(), Failure> {
        let looked_at: usize = self.outputs.iter().map(|output| size_of_val(&*output.result)).sum();
        for pass in 0..point.warmup + point.passes {
            let elapsed = self.pass(point.reps)?;
            if pass < point.warmup {
                continue;
            }
            self.seconds.push(elapsed.as_secs_f64() / point.reps as f64);
            let is_edge = pass == point.warmup || pass + 1 == point.warmup + point.passes;
            if is_edge || looked_at <= LOOKED_AT_EACH_PASS {
                self.fetch()?;
                self.checksums.push(self.checksum());
            }
        }
        Ok(())
    }

    /// One pass: restores the data and times the repetitions.
    fn pass(&mut self, reps: usize) -> Result<Duration, Failure> {
        for &position in &self.schedule.changed {
            match self.kept.contains(&position) {
                true => self.runtime.restore(position)?,
                false => self.runtime.write(position, self.values[position].bytes())?,
            }
        }
        self.runtime.synchronise()?;
        let start = Instant::now();
        for _ in 0..reps {
            self.repetition()?;
        }
        self.runtime.synchronise()?;
        Ok(start.elapsed())
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        // As in RAJAPerf, a reduction's repetition begins with its result's reset and ends with its copy on the host.
        for &position in &self.schedule.sums {
            self.runtime.write(position, self.values[position].bytes())?;
        }
        self.runtime.repetition()?;
        for &position in &self.schedule.sums {
            if let Some(output) = self.outputs.iter_mut().find(|output| output.position == position) {
                self.runtime.read(position, bytes_mut(&mut output.result))?;
            }
        }
        if self.region != Region::Kernel {
            self.runtime.synchronise()?;
        }
        Ok(())
    }

    /// Brings the results of the latest pass to the host.
    fn fetch(&mut self) -> Result<(), Failure> {
        for output in &mut self.outputs {
            if !self.schedule.sums.contains(&output.position) {
                // What an earlier pass left must not be taken for what this one made.
                output.result.fill(f64::NAN);
                self.runtime.read(output.position, bytes_mut(&mut output.result))?;
            }
        }
        Ok(())
    }

    fn checksum(&self) -> f64 {
        let of = |output: &Output| -> f64 {
            let part = |part: &Range<usize>| match self.schedule.sums.contains(&output.position) {
                true => checksum::scalar(output.result[0]),
                false => checksum::array(&output.result[part.clone()]),
            };
            output.checked.iter().map(part).sum()
        };
        self.outputs.iter().map(of).sum()
    }
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
