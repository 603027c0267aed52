"""Write config/README.md: what can be configured, from the descriptions in the schemas.

`make reference` runs it; a unit test compares the file with what this would write.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ironsweep.config import SCHEMAS

Schema = Mapping[str, Any]

_TOP = """\
<!-- Made by `make reference` from workflow/schemas/*.schema.json and workflow/scripts/config_reference.py. -->

# Configuration

| File | Says | Schema |
| --- | --- | --- |
| `config.yaml` | what is measured | `config` |
| `sweeps/*.yaml` | the same, by a name: what is laid over `config.yaml` with `sweep: NAME` | `config` |
| `systems/*.yaml` | where: devices and scheduler of one kind of node; the file's name is the system's | `system` |
| `toolchains/*.yaml` | where the compilers come from | `toolchain` |

* **What it comes to**: `snakemake plan` prints it and writes every cell into `results/plan/cells.csv`.
* **For once**: `--config key=value` overrides a key, `--configfile FILE` lays a whole file over the others.
* **Another machine**: a file in `systems/`, and its name under `system` (for Slurm, in `profiles/slurm/system.yaml`).
* **Other compilers**: a copy of `toolchains/path.yaml`, and its path under `toolchain`.

What is laid over something else replaces lists, values and ranges of sizes; groups of keys are merged key by key. The
order is `config.yaml`, the named sweep, files of `--configfile`, `--config`.

Everything is checked against the schemas in `workflow/schemas/` and against itself before anything is built; what is
wrong is refused with file, line and key. Numbers may be written 1000000, 1_000_000 or 1e6: they are the same number and
the same cell. What YAML would read as something else (`010`, `1:30`, `NO`, a date) is refused too, and so is a key that
is there twice.
"""

_SWEEP = """\
## The sweep: `config.yaml`

All keys are required but those marked *optional*.
"""

_SWEEPS = """\
### Named sweeps: `sweeps/*.yaml`

`sweep: quick` in `config.yaml`, or `--config sweep=quick`, lays `sweeps/quick.yaml` over `config.yaml`. Such a file has
the same keys, all of them optional, and one more: `extends: NAME`, another sweep that comes first.
"""

_SIZES = """\
### `sizes`

A size is RAJAPerf's target size, of which a kernel with rows, planes or zones makes the nearest that it can have.

| Written | Means |
| --- | --- |
| `1e6` | elements |
| `800 MB`, `64 KiB` | bytes of one array of 8-byte elements, not of all that the kernel touches (B, kB … TiB) |
| `0.5 LLC` | such an array of half the device's last-level cache, which is in the system's file |
| `{from: 1e4, to: 1e8, per_decade: 1}` | 1e4, 1e5, … 1e8; in a list, or alone |

On a device that the system does not have, a size in LLC stands for no cell. A size of which not even one array fits the
device's memory is refused, unless a rule excludes it.
"""

_TUNINGS = """\
### `tunings`

Each is a list. Where only one is wanted, the first counts. Everything is built with both values of the first two,
whatever is listed here.
"""

_RULES = """\
### Rules: `where` and `exclude`

    where:
      - {size: {max: 1e8}, reason: short nights}
    exclude:
      - {variant: cpp_seq, size: {min: 1e8}, reason: one thread takes minutes}
      - {group: Apps, system: [frontier, perlmutter], reason: measured there before}

A cell that does not fit a rule of `where`, or that fits one of `exclude`, is not run: its status is `excluded` and its
reason that of the first such rule. A rule has a `reason` and one or more of the other keys, and a cell fits it if it
fits all of them. Each takes one value or a list. What a cell does not have (a baseline's `safety`, the host's `block`)
removes it neither way. The planted wrong kernels are never removed. `snakemake plan` says so if a rule removes nothing.
"""

_BUNDLE = """\
### `bundle`

What the archive for a machine without compilers measures. These keys replace those of the sweep; in `tunings` and in
`check` each key by itself. Everything else is as in the sweep. There is no emulated device. Cells that the system
cannot run are left out.
"""

_SYSTEM = """\
## A system: `systems/*.yaml`

Those that come with it: [`local`](systems/local.yaml), a generic Slurm [`cluster`](systems/cluster.yaml),
[`frontier`](systems/frontier.yaml), [`tuolumne`](systems/tuolumne.yaml), [`perlmutter`](systems/perlmutter.yaml),
[`gh200`](systems/gh200.yaml), [`h200`](systems/h200.yaml) and the tests' [`test-cluster`](systems/test-cluster.yaml).
A value `FILL_IN` is one that only your site knows: the system is refused until it is replaced.
"""

_TOOLCHAIN = """\
## A toolchain: `toolchains/*.yaml`

[`debian.yaml`](toolchains/debian.yaml) makes a folder of Debian packages, [`path.yaml`](toolchains/path.yaml) takes
what is on `PATH` and in environment modules. Each key is explained there.
"""


def reference() -> str:
    """The text of config/README.md."""
    config, system = (_read(name) for name in ("config", "system"))
    defs, keys = config["$defs"], config["properties"]
    parts = [
        _TOP,
        _SWEEP,
        _table(config, defs, deep=("archs", "emulator", "baseline", "reps")),
        _SWEEPS,
        _SIZES,
        "A range has these keys:\n",
        _table(defs["range"], defs),
        _TUNINGS,
        _table(keys["tunings"], defs),
        "### `regions`\n",
        _table(defs["regions"], defs),
        "Each can be narrowed:\n",
        _table(defs["region"], defs),
        "### `check`\n\nChecks are run for every tuning, in region `launch_sync`, and are not timed results.\n",
        _table(keys["check"], defs, deep=("reference",)),
        _RULES,
        _table(defs["rule"], defs),
        _BUNDLE,
        _table(keys["bundle"], defs),
        _SYSTEM,
        _table(system, system["$defs"], deep=("devices", "slurm")),
        "A device is described by\n",
        _table(system["$defs"]["device"], system["$defs"]),
        _TOOLCHAIN,
    ]
    return "\n".join(parts)


def _read(name: str) -> Schema:
    schema: Schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def _table(schema: Schema, defs: Mapping[str, Schema], deep: tuple[str, ...] = ()) -> str:
    """A table of a group's keys; those below the keys ``deep`` are in it too."""
    # The fewer ones are marked; nothing needs saying where no key is required.
    required = len(schema.get("required", ()))
    mark = "required" if 2 * required < len(schema["properties"]) else "optional"
    return "".join(["| Key | Value |\n| --- | --- |\n", *_rows(schema, defs, deep, mark if required else "", "")])


def _rows(schema: Schema, defs: Mapping[str, Schema], deep: tuple[str, ...], mark: str, before: str) -> Iterator[str]:
    required = schema.get("required", ())
    for key, given in schema["properties"].items():
        target = defs[given["$ref"].rpartition("/")[2]] if "$ref" in given else given
        is_marked = bool(required) and mark == ("required" if key in required else "optional")
        shown_mark = f"*{mark}*: " if is_marked else ""
        text = given.get("description") or target["description"]
        yield f"| `{before}{key}` | {shown_mark}{text} |\n".replace("`|`", "`\\|`")
        if key in deep:
            yield from _rows(target, defs, (), mark, f"{before}{key}.")


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.parse_args().out.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
