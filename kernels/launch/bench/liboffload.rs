//! The runtime `rust_liboffload`: liboffload called by hand. Launches are asynchronous in one queue.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use super::ol::{self, Handle};
use super::ol_launch::{self, ALLOC_TYPE_DEVICE, ALLOC_TYPE_HOST, Extent, LaunchSize};
use super::runtime::{Device, Failure, Problem, Region, Runtime};

/// liboffload, with the programs that were loaded.
#[derive(Default)]
pub struct Liboffload {
    opened: Option<Opened>,
    /// Programs by image file.
    programs: HashMap<PathBuf, Handle>,
    /// The image of the point.
    image: PathBuf,
    /// Device memory of each datum, null for a scalar; and of its kept copy.
    memory: Vec<Memory>,
    launches: Vec<Launch>,
}

struct Opened {
    device: Device,
    handle: Handle,
    host: Handle,
    queue: Handle,
}

#[derive(Clone, Copy)]
struct Memory {
    pointer: *mut c_void,
    size: usize,
    kept: *mut c_void,
    /// Page-locked host memory, through which a reduction's result goes back and forth: in each repetition.
    staging: *mut c_void,
}

struct Launch {
    kernel: Handle,
    /// The arguments as they lie in the entry point's parameter space.
    parameters: Vec<u64>,
    size: LaunchSize,
}

impl Liboffload {
    fn opened(&self) -> &Opened {
        self.opened.as_ref().expect("a point opens the device first")
    }

    fn allocate(&self, kind: c_int, size: usize) -> Result<*mut c_void, Failure> {
        let mut pointer = null_mut();
        // SAFETY: the handle is the library's.
        unsafe { ol_launch::olMemAlloc(self.opened().handle, kind, size, &raw mut pointer) }
            .check("allocating memory")?;
        Ok(pointer)
    }

    fn copy(
        &self,
        to: *mut c_void,
        to_device: Handle,
        from: *const c_void,
        from_device: Handle,
        size: usize,
    ) -> Result<(), Failure> {
        // SAFETY: callers name memory that is as large, and keep it until the queue is synchronised.
        unsafe { ol_launch::olMemcpy(self.opened().queue, to, to_device, from, from_device, size) }.check("copying")
    }
}

fn open_device(vendor: &str, arch: &str) -> Result<Opened, Failure> {
    let found = ol::device_of(vendor)?;
    if !found.device.arch.starts_with(arch) {
        return Err(Failure::wrong_device(format!("asked for {arch}, found {}", found.device.arch)));
    }
    let host = ol::device_of("host")?.handle;
    let mut queue = null_mut();
    // SAFETY: the handle is the library's.
    unsafe { ol_launch::olCreateQueue(found.handle, &raw mut queue) }.check("making a queue")?;
    Ok(Opened { device: found.device, handle: found.handle, host, queue })
}

fn extent([x, y, z]: [u32; 3]) -> Extent {
    Extent { x, y, z }
}

impl Runtime for Liboffload {
    fn variant(&self) -> String {
        "rust_liboffload".into()
    }

    fn version(&self) -> String {
        "liboffload".into()
    }

    fn open(&mut self, vendor: &str, arch: &str, part: &Path) -> Result<Device, Failure> {
        if vendor == "host" {
            return Err(Failure::unsupported("liboffload's host device runs no kernels"));
        }
        if self.opened.as_ref().is_none_or(|opened| opened.device.vendor != vendor) {
            self.opened = Some(open_device(vendor, arch)?);
        }
        if !self.programs.contains_key(part) {
            let image =
                std::fs::read(part).map_err(|error| Failure::crashed(format!("{}: {error}", part.display())))?;
            let mut program = null_mut();
            // SAFETY: the image outlives the call that reads it.
            unsafe {
                ol_launch::olCreateProgram(self.opened().handle, image.as_ptr().cast(), image.len(), &raw mut program)
            }
            .check("loading the image")?;
            self.programs.insert(part.to_owned(), program);
        }
        self.image = part.to_owned();
        Ok(self.opened().device.clone())
    }

    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure> {
        if problem.region == Region::WithTransfers {
            return Err(Failure::unsupported("rust_liboffload measures with the data on the device"));
        }
        for (position, values) in problem.values.iter().enumerate() {
            let size = values.bytes().len();
            let pointer = if size == 0 { null_mut() } else { self.allocate(ALLOC_TYPE_DEVICE, size)? };
            self.memory.push(Memory { pointer, size, kept: null_mut(), staging: null_mut() });
            if problem.sums.contains(&position) {
                self.memory[position].staging = self.allocate(ALLOC_TYPE_HOST, size)?;
            }
        }
        let program = self.programs[&self.image];
        let mut kernels = Vec::new();
        for entry in problem.entries {
            let name = CString::new(*entry).expect("a Rust identifier");
            let mut kernel = null_mut();
            // SAFETY: the program is the library's, the name a C string.
            unsafe { ol_launch::olGetSymbol(program, name.as_ptr(), ol_launch::SYMBOL_KIND_KERNEL, &raw mut kernel) }
                .check("finding the kernel")?;
            kernels.push(kernel);
        }
        for step in problem.steps {
            let words = step.at(|datum| self.memory[datum].pointer as u64)?;
            self.launches.push(Launch {
                kernel: kernels[step.launch],
                // libomptarget passes a pointer first, and the entry point is the same for both runtimes.
                parameters: [0].into_iter().chain(words).collect(),
                size: LaunchSize {
                    dimensions: 3,
                    groups: extent(step.grid),
                    group: extent(step.block),
                    dynamic_shared_memory: 0,
                },
            });
        }
        Ok(())
    }

    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure> {
        let (&Opened { handle, host, .. }, Memory { pointer, staging, .. }) = (self.opened(), self.memory[position]);
        if staging.is_null() {
            return self.copy(pointer, handle, bytes.as_ptr().cast(), host, bytes.len());
        }
        // SAFETY: it is as large. A copy from it that has not ended copies the same: a result begins with one value.
        unsafe { staging.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.copy(pointer, handle, staging, host, bytes.len())
    }

    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        let (&Opened { handle, host, .. }, Memory { pointer, staging, .. }) = (self.opened(), self.memory[position]);
        if staging.is_null() {
            self.copy(bytes.as_mut_ptr().cast(), host, pointer, handle, bytes.len())?;
            return self.synchronise();
        }
        self.copy(staging, host, pointer, handle, bytes.len())?;
        self.synchronise()?;
        // SAFETY: it is as large, and the copy has ended.
        unsafe { staging.cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn keep(&mut self, position: usize) -> Result<bool, Failure> {
        let Memory { pointer, size, .. } = self.memory[position];
        let Ok(kept) = self.allocate(ALLOC_TYPE_DEVICE, size) else {
            return Ok(false);
        };
        self.memory[position].kept = kept;
        let handle = self.opened().handle;
        self.copy(kept, handle, pointer, handle, size)?;
        Ok(true)
    }

    fn restore(&mut self, position: usize) -> Result<(), Failure> {
        let Memory { pointer, size, kept, .. } = self.memory[position];
        let handle = self.opened().handle;
        self.copy(pointer, handle, kept, handle, size)
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        let opened = self.opened();
        for launch in &self.launches {
            // SAFETY: the parameters are laid out as the entry point declares them; the library copies them.
            unsafe {
                ol_launch::olLaunchKernel(
                    opened.queue,
                    opened.handle,
                    launch.kernel,
                    launch.parameters.as_ptr().cast(),
                    size_of_val(&*launch.parameters),
                    &raw const launch.size,
                )
            }
            .check("launching")?;
        }
        Ok(())
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        // SAFETY: the queue is the library's.
        unsafe { ol_launch::olSyncQueue(self.opened().queue) }.check("synchronising")
    }

    fn release(&mut self) {
        self.launches.clear();
        for memory in self.memory.drain(..) {
            for pointer in
                [memory.pointer, memory.kept, memory.staging].into_iter().filter(|pointer| !pointer.is_null())
            {
                // SAFETY: allocated by `prepare` or `keep`, freed once.
                let _ = unsafe { ol_launch::olMemFree(pointer) }.check("freeing memory");
            }
        }
    }
}
