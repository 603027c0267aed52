//! AMD's instruction sets without an AMD GPU: a program that emulates them runs the device images
//! (`workflow/scripts/ironsweep/emulator.py`). It shows what kernels compute, never how fast.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::json::Value;
use super::liboffload::Liboffload;
use super::runtime::{Device, Failure, Problem, Runtime};
use super::schedule::{Step, Word};

/// What points call the device.
const VENDOR: &str = "amd_emulated";
/// The environment variable with the emulator's command.
const COMMAND: &str = "IRONSWEEP_EMULATOR";
/// Arrays begin at multiples of this many bytes, as a GPU's allocations do.
const ALIGNMENT: u64 = 256;

/// The emulated device: its memory is a file, which the emulator maps.
#[derive(Default)]
pub struct Emulated {
    emulator: Option<Emulator>,
    image: PathBuf,
    /// First byte and size of each datum in the file.
    places: Vec<(u64, usize)>,
    requests: Vec<String>,
}

struct Emulator {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    memory: File,
    path: PathBuf,
}

impl Emulator {
    fn start() -> Result<Self, Failure> {
        let command = std::env::var(COMMAND).unwrap_or_default();
        let mut words = command.split_whitespace();
        let program = words.next().ok_or_else(|| Failure::unsupported(format!("no emulator: {COMMAND} is not set")))?;
        let failed = |what: &str, error: std::io::Error| Failure::crashed(format!("{what}: {error}"));
        let path = std::env::temp_dir().join(format!("ironsweep-emulated-{}", std::process::id()));
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|error| failed(&path.display().to_string(), error))?;
        let mut process = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(program, error))?;
        let requests = process.stdin.take().expect("a pipe was asked for");
        let answers = BufReader::new(process.stdout.take().expect("a pipe was asked for"));
        Ok(Self { process, requests, answers, memory, path })
    }

    /// Runs one launch.
    fn ask(&mut self, request: &str) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::crashed(format!("the emulator: {error}"));
        writeln!(self.requests, "{request}").and_then(|()| self.requests.flush()).map_err(failed)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(failed)?;
        let answer = Value::parse(&line).map_err(|_| Failure::crashed("the emulator ended without an answer"))?;
        match (answer.get("status"), answer.get("message")) {
            (Some(Value::String(status)), _) if status == "ok" => Ok(()),
            (_, Some(Value::String(message))) => Err(Failure::crashed(format!("the emulator: {message}"))),
            _ => Err(Failure::crashed(format!("the emulator answered {line}"))),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Nothing is left to be done about a failure here.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.path);
    }
}

impl Emulated {
    fn emulator(&mut self) -> &mut Emulator {
        self.emulator.as_mut().expect("a point opens the device first")
    }

    fn request(&mut self, step: &Step, entry: &str) -> String {
        let numbers = |numbers: [u32; 3]| numbers.into_iter().map(|number| number as usize).collect::<Value>();
        let member = |name: &str, value: Value| (name.to_owned(), value);
        let value = |digits: u64| Value::Object(vec![member("value", Value::Number(digits.to_string()))]);
        let word = |word: &Word| match *word {
            Word::Pointer { datum, offset, .. } => {
                Value::Object(vec![member("offset", (self.places[datum].0 as usize + offset).into())])
            }
            Word::Value(bits) => value(bits),
        };
        // libomptarget passes a pointer first.
        let arguments: Value = [value(0)].into_iter().chain(step.words.iter().map(word)).collect();
        let (image, memory) = (self.image.to_string_lossy().into_owned(), self.emulator().path.clone());
        Value::Object(vec![
            member("image", image.as_str().into()),
            member("entry", entry.into()),
            member("grid", numbers(step.grid)),
            member("block", numbers(step.block)),
            member("memory", memory.to_string_lossy().as_ref().into()),
            member("arguments", arguments),
        ])
        .to_string()
    }
}

fn file_failure(error: std::io::Error) -> Failure {
    Failure::crashed(format!("the emulated memory: {error}"))
}

impl Runtime for Emulated {
    fn variant(&self) -> String {
        "rust_liboffload".into()
    }

    fn version(&self) -> String {
        "emulator".into()
    }

    fn open(&mut self, _: &str, arch: &str, part: &Path) -> Result<Device, Failure> {
        if self.emulator.is_none() {
            self.emulator = Some(Emulator::start()?);
        }
        self.image = part.canonicalize().map_err(|error| Failure::crashed(format!("{}: {error}", part.display())))?;
        Ok(Device {
            name: format!("{arch}, emulated"),
            vendor: VENDOR.into(),
            arch: arch.into(),
            multiprocessors: 1,
            threads: 1,
            ..Device::default()
        })
    }

    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure> {
        let mut end = 0u64;
        for values in problem.values {
            let size = values.bytes().len();
            self.places.push((end, size));
            end = (end + size as u64).next_multiple_of(ALIGNMENT);
        }
        self.emulator().memory.set_len(end.max(ALIGNMENT)).map_err(file_failure)?;
        self.requests = problem.steps.iter().map(|step| self.request(step, problem.entries[step.launch])).collect();
        Ok(())
    }

    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure> {
        let (first, _) = self.places[position];
        self.emulator().memory.write_all_at(bytes, first).map_err(file_failure)
    }

    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        let (first, _) = self.places[position];
        self.emulator().memory.read_exact_at(bytes, first).map_err(file_failure)
    }

    fn keep(&mut self, _: usize) -> Result<bool, Failure> {
        Ok(false)
    }

    fn restore(&mut self, _: usize) -> Result<(), Failure> {
        unreachable!("nothing is kept")
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        let requests = std::mem::take(&mut self.requests);
        let result = requests.iter().try_for_each(|request| self.emulator().ask(request));
        self.requests = requests;
        result
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn release(&mut self) {
        self.places.clear();
        self.requests.clear();
    }
}

/// liboffload's devices, and the emulated one beside them.
#[derive(Default)]
pub struct LiboffloadOrEmulated {
    liboffload: Liboffload,
    emulated: Emulated,
    is_emulated: bool,
}

impl LiboffloadOrEmulated {
    fn chosen(&self) -> &dyn Runtime {
        if self.is_emulated { &self.emulated } else { &self.liboffload }
    }

    fn chosen_mut(&mut self) -> &mut dyn Runtime {
        if self.is_emulated { &mut self.emulated } else { &mut self.liboffload }
    }
}

impl Runtime for LiboffloadOrEmulated {
    fn variant(&self) -> String {
        self.chosen().variant()
    }

    fn version(&self) -> String {
        self.chosen().version()
    }

    fn open(&mut self, vendor: &str, arch: &str, part: &Path) -> Result<Device, Failure> {
        self.is_emulated = vendor == VENDOR;
        self.chosen_mut().open(vendor, arch, part)
    }

    fn prepare(&mut self, problem: &Problem) -> Result<(), Failure> {
        self.chosen_mut().prepare(problem)
    }

    fn write(&mut self, position: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.chosen_mut().write(position, bytes)
    }

    fn read(&mut self, position: usize, bytes: &mut [u8]) -> Result<(), Failure> {
        self.chosen_mut().read(position, bytes)
    }

    fn keep(&mut self, position: usize) -> Result<bool, Failure> {
        self.chosen_mut().keep(position)
    }

    fn restore(&mut self, position: usize) -> Result<(), Failure> {
        self.chosen_mut().restore(position)
    }

    fn repetition(&mut self) -> Result<(), Failure> {
        self.chosen_mut().repetition()
    }

    fn synchronise(&mut self) -> Result<(), Failure> {
        self.chosen_mut().synchronise()
    }

    fn release(&mut self) {
        self.chosen_mut().release();
    }
}
