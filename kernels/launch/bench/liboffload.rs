//! The runtime `rust_liboffload`: liboffload called by hand. Launches are asynchronous in one queue.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;

use super::arguments::{Argument, Slot};
use super::ol::{self, Handle};
use super::ol_launch::{self, Extent, LaunchSize};
use super::runtime::{Device, Failure, Region, Runtime};
use crate::launch::Dimensions;

/// liboffload, with one program loaded.
pub struct Liboffload {
    entry: &'static str,
    images: PathBuf,
    opened: Option<Opened>,
    /// Device memory of each argument: null for a scalar.
    memory: Vec<*mut c_void>,
    /// The kernel's arguments as they lie in the entry point's parameter space; the last three are the dimensions.
    parameters: Vec<u64>,
}

struct Opened {
    arch: String,
    device: Device,
    handle: Handle,
    host: Handle,
    queue: Handle,
    kernel: Handle,
}

impl Liboffload {
    /// For the kernel whose entry point is `entry`.
    pub fn new(entry: &'static str) -> Self {
        Self { entry, images: PathBuf::from("images"), opened: None, memory: Vec::new(), parameters: Vec::new() }
    }

    fn opened(&self) -> &Opened {
        self.opened.as_ref().expect("a point opens the device first")
    }

    fn load(&self, vendor: &str, arch: &str) -> Result<Opened, Failure> {
        let found = ol::device_of(vendor)?;
        if !found.device.arch.starts_with(arch) {
            return Err(Failure::wrong_device(format!("asked for {arch}, found {}", found.device.arch)));
        }
        let host = ol::device_of("host")?.handle;
        let path = self.images.join(format!("{arch}.img"));
        let image = std::fs::read(&path).map_err(|error| Failure::crashed(format!("{}: {error}", path.display())))?;
        let name = CString::new(self.entry).expect("a Rust identifier");
        let (mut program, mut kernel, mut queue) = (null_mut(), null_mut(), null_mut());
        // SAFETY: handles come from the library, the image outlives the call that reads it.
        unsafe {
            ol_launch::olCreateProgram(found.handle, image.as_ptr().cast(), image.len(), &raw mut program)
                .check("loading the image")?;
            ol_launch::olGetSymbol(program, name.as_ptr(), ol_launch::SYMBOL_KIND_KERNEL, &raw mut kernel)
                .check("finding the kernel")?;
            ol_launch::olCreateQueue(found.handle, &raw mut queue).check("making a queue")?;
        }
        Ok(Opened { arch: arch.to_owned(), handle: found.handle, device: found.device, host, queue, kernel })
    }
}

impl Runtime for Liboffload {
    fn variant(&self) -> String {
        "rust_liboffload".into()
    }

    fn version(&self) -> String {
        "liboffload".into()
    }

    fn use_images(&mut self, folder: PathBuf) {
        self.images = folder;
    }

    fn open(&mut self, vendor: &str, arch: &str) -> Result<Device, Failure> {
        if vendor == "host" {
            return Err(Failure::unsupported("liboffload's host device runs no kernels"));
        }
        if self.opened.as_ref().is_none_or(|opened| opened.device.vendor != vendor || opened.arch != arch) {
            self.opened = Some(self.load(vendor, arch)?);
        }
        Ok(self.opened().device.clone())
    }

    fn prepare(&mut self, arguments: &[Argument], slots: &[Slot], region: Region) -> Result<(), Failure> {
        if region == Region::WithTransfers {
            return Err(Failure::unsupported("rust_liboffload measures with the data on the device"));
        }
        // libomptarget passes a pointer first, and the entry point is the same for both runtimes.
        self.parameters = vec![0];
        for (_, slot) in arguments.iter().zip(slots) {
            match slot {
                Slot::Scalar(value) => {
                    self.memory.push(null_mut());
                    self.parameters.push(value.to_bits());
                }
                Slot::Array(array) => {
                    let mut pointer = null_mut();
                    // SAFETY: the handle is the library's.
                    unsafe {
                        ol_launch::olMemAlloc(
                            self.opened().handle,
                            ol_launch::ALLOC_TYPE_DEVICE,
                            size_of_val(&**array),
                            &raw mut pointer,
                        )
                    }
                    .check("allocating device memory")?;
                    self.memory.push(pointer);
                    self.parameters.extend([pointer as u64, array.len() as u64]);
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, position: usize, values: &[f64]) -> Result<(), Failure> {
        let opened = self.opened();
        // SAFETY: the bench driver writes what it had prepared, and keeps the source until it synchronises.
        unsafe {
            ol_launch::olMemcpy(
                opened.queue,
                self.memory[position],
                opened.handle,
                values.as_ptr().cast(),
                opened.host,
                size_of_val(values),
            )
        }
        .check("copying to the device")
    }

    fn read(&mut self, position: usize, values: &mut [f64]) -> Result<(), Failure> {
        let opened = self.opened();
        // SAFETY: as above; the queue is synchronised before the values are used.
        unsafe {
            ol_launch::olMemcpy(
                opened.queue,
                values.as_mut_ptr().cast(),
                opened.host,
                self.memory[position],
                opened.handle,
                size_of_val(values),
            )
            .check("copying from the device")?;
        }
        self.synchronise()
    }

    fn launch(&mut self, dimensions: Dimensions) -> Result<(), Failure> {
        let opened = self.opened.as_ref().expect("a point opens the device first");
        let first = self.parameters.len();
        self.parameters.extend([dimensions.items, dimensions.grid, dimensions.block].map(|number| number as u64));
        let one = |x| Extent { x, y: 1, z: 1 };
        let size = LaunchSize {
            dimensions: 1,
            groups: one(dimensions.grid as u32),
            group: one(dimensions.block as u32),
            dynamic_shared_memory: 0,
        };
        // SAFETY: the parameters are laid out as the entry point declares them; the library copies them.
        let status = unsafe {
            ol_launch::olLaunchKernel(
                opened.queue,
                opened.handle,
                opened.kernel,
                self.parameters.as_ptr().cast(),
                size_of_val(&*self.parameters),
                &raw const size,
            )
        };
        self.parameters.truncate(first);
        status.check("launching")
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        // SAFETY: the queue is the library's.
        unsafe { ol_launch::olSyncQueue(self.opened().queue) }.check("synchronising")
    }

    fn release(&mut self) {
        for pointer in self.memory.drain(..).filter(|pointer| !pointer.is_null()) {
            // SAFETY: allocated by `prepare`, freed once.
            let _ = unsafe { ol_launch::olMemFree(pointer) }.check("freeing device memory");
        }
    }
}
