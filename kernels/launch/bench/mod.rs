//! The bench driver: a worker that reads points, measures them and writes records, one JSON line each.
//!
//! `worker --list` prints the kernel's metadata. `worker [--folder FOLDER]` serves points from standard input until it
//! ends. The driver is the same for every variant; what differs is the [`Runtime`](runtime::Runtime) that launches.

pub mod arguments;
mod checksum;
mod data;
mod json;
mod library;
mod measure;
mod protocol;
pub mod runtime;
pub(crate) mod schedule;

#[cfg(any(std_offload, liboffload))]
mod nvidia;
#[cfg(any(std_offload, liboffload))]
mod ol;
#[cfg(liboffload)]
mod ol_launch;

#[cfg(liboffload)]
mod emulated;
#[cfg(liboffload)]
mod liboffload;
#[cfg(native)]
mod native;
#[cfg(std_offload)]
mod offload;

#[cfg(liboffload)]
type ThisRuntime = emulated::LiboffloadOrEmulated;
#[cfg(native)]
type ThisRuntime = native::Native;
#[cfg(std_offload)]
type ThisRuntime = offload::Offload;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use arguments::{Described, Description};
use json::Value;
use measure::Driver;
use protocol::{Point, Record};

/// Runs the worker of kernel `K`.
pub fn main<K: Described>() -> ExitCode {
    let kernel = Description::of::<K>();
    match serve(kernel, &mut std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}: {message}", kernel.name);
            ExitCode::from(2)
        }
    }
}

fn serve(kernel: Description, arguments: &mut dyn Iterator<Item = String>) -> Result<(), String> {
    let mut folder = PathBuf::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => {
                println!("{}", protocol::metadata(&kernel));
                return Ok(());
            }
            "--folder" => folder = arguments.next().ok_or("--folder needs a folder")?.into(),
            "--help" => {
                println!(
                    "usage: WORKER --list | [--folder FOLDER]   points on standard input, records on standard output;\n\
                     what a point names as its part lies in the folder"
                );
                return Ok(());
            }
            other => return Err(format!("unknown argument {other:?}, see --help")),
        }
    }
    let mut driver = Driver::new(kernel, ThisRuntime::default());
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let point = Value::parse(&line)
            .and_then(|value| Point::new(value, &folder))
            .map_err(|error| format!("bad point: {error}: {line}"))?;
        let record: Record = driver.measure(point);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{record}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))?;
    }
    Ok(())
}
