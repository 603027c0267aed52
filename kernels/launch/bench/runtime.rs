//! What a runtime does for the bench driver.

use std::path::PathBuf;

use super::arguments::{Argument, Slot};
use super::json::Value;
use crate::launch::Dimensions;

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
    /// `host`, `nvidia` or `amd`.
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
    /// Each repetition is launched and waited for; the data stay on the device.
    LaunchSync,
    /// Each repetition moves its data to the device and back.
    WithTransfers,
}

/// A runtime that holds one point's arguments on a device and launches its kernel there. Arguments are named by their
/// position.
pub trait Runtime {
    /// The variant's name.
    fn variant(&self) -> String;

    /// The runtime's own name and version, for the record.
    fn version(&self) -> String;

    /// Where the device images lie, for runtimes that load them from files.
    fn use_images(&mut self, _: PathBuf) {}

    /// Opens the device for `vendor` and `arch`, and says what it is. Called for every point; cheap after the first.
    fn open(&mut self, vendor: &str, arch: &str) -> Result<Device, Failure>;

    /// Makes room for the arguments of a point, whose contents these are.
    fn prepare(&mut self, arguments: &[Argument], slots: &[Slot], region: Region) -> Result<(), Failure>;

    /// Copies an array to where the kernel finds it; done when the kernel runs.
    fn write(&mut self, position: usize, values: &[f64]) -> Result<(), Failure>;

    /// Copies an array back; done when it returns.
    fn read(&mut self, position: usize, values: &mut [f64]) -> Result<(), Failure>;

    /// Launches the kernel once. Returns when it is enqueued, or done where the runtime knows no other way.
    fn launch(&mut self, dimensions: Dimensions) -> Result<(), Failure>;

    /// Waits for all that was enqueued.
    fn synchronise(&mut self) -> Result<(), Failure>;

    /// Frees what `prepare` made.
    fn release(&mut self);
}

/// The threads that the host device and OpenMP use: `OMP_NUM_THREADS`, else every core that this process may use.
pub fn host_threads() -> usize {
    std::env::var("OMP_NUM_THREADS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
