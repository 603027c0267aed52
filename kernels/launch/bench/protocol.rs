//! Points and records.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use super::arguments::Description;
use super::data::Data;
use super::json::Value;
use super::runtime::Region;
use crate::kernel::Field;

/// One measurement that is asked for.
#[derive(Clone, Debug)]
pub struct Point {
    /// As it was received: a record repeats it.
    received: Vec<(String, Value)>,
    pub kernel: String,
    pub device: String,
    pub arch: String,
    /// The file with the variant's code.
    pub part: PathBuf,
    pub size: usize,
    pub reps: usize,
    pub passes: usize,
    pub warmup: usize,
    pub block: usize,
    pub region: Region,
    pub data: Data,
    pub dump: Option<PathBuf>,
}

impl Point {
    /// Reads a point; says which member is missing or wrong.
    /// Its part lies in `folder`.
    pub fn new(value: Value, folder: &Path) -> Result<Self, String> {
        let text = |key: &str| match value.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            other => Err(format!("{key}: expected a string, found {other:?}")),
        };
        let integer = |key: &str| match value.get(key) {
            Some(Value::Number(digits)) => {
                digits.parse::<usize>().map_err(|_| format!("{key}: expected a whole number, found {digits}"))
            }
            other => Err(format!("{key}: expected a whole number, found {other:?}")),
        };
        let positive = |key: &str| match integer(key)? {
            0 => Err(format!("{key}: must be at least 1")),
            number => Ok(number),
        };
        let region = match text("region")?.as_str() {
            "kernel" => Region::Kernel,
            "launch_sync" => Region::LaunchSync,
            "with_transfers" => Region::WithTransfers,
            other => return Err(format!("region: unknown {other:?}")),
        };
        let data = match text("data")?.as_str() {
            "reference" => Data::Reference,
            "random" => Data::Random(integer("seed")? as u64),
            other => return Err(format!("data: unknown {other:?}")),
        };
        let block = positive("block")?;
        if !block.is_power_of_two() || block > 1024 {
            return Err(format!("block: must be a power of two up to 1024, found {block}"));
        }
        Ok(Self {
            kernel: text("kernel")?,
            device: text("device")?,
            arch: text("arch")?,
            part: folder.join(text("part")?),
            size: positive("size")?,
            reps: positive("reps")?,
            passes: positive("passes")?,
            warmup: integer("warmup")?,
            block,
            region,
            data,
            dump: match value.get("dump") {
                Some(Value::String(path)) => Some(path.into()),
                _ => None,
            },
            received: match value {
                Value::Object(members) => members,
                _ => return Err("expected an object".into()),
            },
        })
    }
}

/// One measurement that was made, or the reason why not.
pub struct Record {
    members: Vec<(String, Value)>,
}

impl Record {
    /// The point, and what was found. Where both have a member, what was found replaces what was asked for.
    pub fn new(point: Point, status: &str, message: &str, found: Vec<(String, Value)>) -> Self {
        let outcome = [("status".to_owned(), status.into()), ("message".to_owned(), message.into())];
        let found: Vec<_> = outcome.into_iter().chain(found).collect();
        let mut members = point.received;
        members.retain(|(name, _)| found.iter().all(|(other, _)| other != name));
        members.extend(found);
        Self { members }
    }
}

impl Display for Record {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Value::Object(self.members.clone()).fmt(f)
    }
}

/// What `--list` prints.
pub fn metadata(kernel: &Description) -> Value {
    let member = |name: &str, value: Value| (name.to_owned(), value);
    let launch = |(entry, fields): &(&str, &[Field])| {
        let words = fields.iter().map(Field::words).sum::<usize>();
        Value::Object(vec![member("entry", (*entry).into()), member("words", words.into())])
    };
    Value::Object(vec![
        member("kernel", kernel.name.into()),
        member("default_size", kernel.default_size.into()),
        member("default_reps", kernel.default_reps.into()),
        member("checked", kernel.checked.iter().copied().collect()),
        member("compared", kernel.compared.iter().copied().collect()),
        member("blocks", kernel.blocks.iter().copied().collect()),
        member("parameters", (kernel.data)(1).iter().map(|datum| datum.name).collect()),
        member("launches", kernel.launches.iter().map(launch).collect()),
    ])
}
