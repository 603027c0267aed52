//! The bench driver: a worker that reads points, measures them and writes records, one JSON line each.
//!
//! `worker --list` prints the kernel's metadata. `worker [--images FOLDER]` serves points from standard input until it
//! ends. The driver is the same for every variant; what differs is the [`Runtime`] that launches.

pub mod arguments;
mod checksum;
mod data;
mod json;
mod measure;
mod protocol;
pub mod runtime;

#[cfg(any(std_offload, liboffload))]
mod nvidia;
#[cfg(any(std_offload, liboffload))]
mod ol;
#[cfg(liboffload)]
mod ol_launch;

#[cfg(liboffload)]
pub mod liboffload;
#[cfg(native)]
pub mod native;
#[cfg(std_offload)]
pub mod offload;

use std::io::{BufRead, Write};
use std::process::ExitCode;

use crate::kernel::Kernel;
use arguments::Described;
use json::Value;
use protocol::{Point, Record};
use runtime::Runtime;

/// Runs the worker of kernel `K` on `runtime`.
pub fn main<K: Kernel + Described, R: Runtime>(runtime: R) -> ExitCode {
    match serve::<K, R>(runtime, std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}: {message}", K::NAME);
            ExitCode::from(2)
        }
    }
}

fn serve<K: Kernel + Described, R: Runtime>(
    mut runtime: R,
    mut arguments: impl Iterator<Item = String>,
) -> Result<(), String> {
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => {
                println!("{}", protocol::metadata::<K>(&runtime.variant()));
                return Ok(());
            }
            "--images" => runtime.use_images(arguments.next().ok_or("--images needs a folder")?.into()),
            "--help" => {
                println!(
                    "usage: WORKER --list | [--images FOLDER]   points on standard input, records on standard output"
                );
                return Ok(());
            }
            other => return Err(format!("unknown argument {other:?}, see --help")),
        }
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let point = Value::parse(&line).and_then(Point::new).map_err(|error| format!("bad point: {error}: {line}"))?;
        let record: Record = measure::measure::<K, R>(&mut runtime, point);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{record}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))?;
    }
    Ok(())
}
