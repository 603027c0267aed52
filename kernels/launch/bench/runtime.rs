//! What a runtime does for the bench driver.

use std::path::Path;

use super::arguments::Values;
use super::json::Value;
use super::schedule::Step;

/// Why a point has no measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// One of the record's statuses.
    pub status: &'static str,
    pub message: String,
}

impl Failure {
    /// This variant cannot do what the point asks for.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { status: "unsupported", message: message.into() }
    }

    /// The device that the point asks for is not there.
    pub fn wrong_device(message: impl Into<String>) -> Self {
        Self { status: "wrong_device", message: message.into() }
    }

    /// The device has not enough memory.
    pub fn out_of_memory(message: impl Into<String>) -> Self {
        Self { status: "out_of_memory", message: message.into() }
    }

    /// The runtime or the device failed.
    pub fn crashed(message: impl Into<String>) -> Self {
        Self { status: "crashed", message: message.into() }
    }
}

/// What the runtime itself says of the device that runs the kernels.
#[derive(Clone, Debug, Default)]
pub struct Device {
    pub name: String,
    pub uid: String,
    /// `host`, `nvidia`, `amd` or `amd_emulated`.
    pub vendor: String,
    /// For example `sm_90`; the runtime's word, empty where it has none.
    pub arch: String,
    pub driver: String,
    /// Streaming multiprocessors or compute units; 0 where the runtime does not say.
    pub multiprocessors: usize,
    /// Threads of this process that run the kernel.
    pub threads: usize,
}

impl Device {
    /// For a record.
    pub fn members(&self) -> Vec<(String, Value)> {
        [
            ("device_name", self.name.as_str().into()),
            ("device_uid", self.uid.as_str().into()),
            ("device_vendor", self.vendor.as_str().into()),
            ("device_arch", self.arch.as_str().into()),
            ("driver", self.driver.as_str().into()),
            ("multiprocessors", self.multiprocessors.into()),
            ("threads", self.threads.into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// What the timed region of a point contains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// All repetitions are enqueued; the device is synchronised before and after.
    Kernel,
    /// Each repetition is waited for; the data stay on the device.
    LaunchSync,
    /// Each repetition moves its data to the device and back.
    WithTransfers,
}

/// What a point runs.
pub struct Problem<'a> {
    /// The initial data.
    pub values: &'a [Values],
    /// What one repetition launches.
    pub steps: &'a [Step],
    /// Data that are results of reductions.
    pub sums: &'a [usize],
    /// Entry points, by number.
    pub entries: &'a [&'static str],
    pub size: usize,
    pub block: usize,
    pub multiprocessors: usize,
    pub region: Region,
}

/// A runtime that holds one point's data on a device and launches its kernels there. Data are named by their position.
pub trait Runtime {
    /// The variant's name.
    fn variant(&self) -> String;

    /// The runtime's own name and version, for the record.
    fn version(&self) -> String;

    /// Opens the device for `vendor` and `arch`, says what it is, and loads `part`: the file with this variant's code.
    /// Called for every point; cheap after the first.
    fn open(&mut self, vendor: &str, arch: &str, part: &Path) -> Result<Device, Failure>;

    /// Makes room for the data of a point.
    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure>;

    /// Copies an array to where the kernels find it; done when the next one runs. The source stays until then.
    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure>;

    /// Copies an array back; done when it returns.
    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure>;

    /// Keeps a copy of an array as it is now. False if there is no room for it.
    fn keep(&mut self, position: usize) -> Result<bool, Failure>;

    /// Makes an array again what it was when it was kept.
    fn restore(&mut self, position: usize) -> Result<(), Failure>;

    /// Runs one repetition. Returns when it is enqueued, or done where the runtime knows no other way.
    fn repetition(&mut self) -> Result<(), Failure>;

    /// Waits for all that was enqueued.
    fn synchronise(&mut self) -> Result<(), Failure>;

    /// Frees what `prepare` and `keep` made.
    fn release(&mut self);
}

/// The threads that the host device and OpenMP use: `OMP_NUM_THREADS`, else every core that this process may use.
pub fn host_threads() -> usize {
    std::env::var("OMP_NUM_THREADS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
