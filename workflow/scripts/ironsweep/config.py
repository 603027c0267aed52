"""The configuration: read, checked and resolved before anything is built or run.

Snakemake reads the configuration files itself and lays command-line values over them; the named sweep comes between.
What YAML loses on that way is looked for in the text (`configtext`); what the command line changes (every value inside
``{...}`` or ``[...]`` is a string) is turned back by the schema's types.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema

from ironsweep import sizes as sizing
from ironsweep import sweeps
from ironsweep.configtext import ConfigError, Origin, Place, Text, as_number, did_you_mean
from ironsweep.kernels import Kernel
from ironsweep.rules import Selection, choose_kernels, parse_rules, parse_size, parse_zips
from ironsweep.sizes import Size, shown_bytes
from ironsweep.variants import ARCHS, DEVICES

# These are used through this module.
__all__ = ["ConfigError", "Origin", "Text"]

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
REFERENCES = Path(__file__).resolve().parents[2] / "resources/rajaperf_reference_checksums.csv"

# In check.reference it stands for RAJAPerf's own size or number of repetitions.
DEFAULT = "default"

# Memory (MB) and time (minutes) of a measurement's job where the system's file says nothing.
JOB_DEFAULTS: Mapping[str, Any] = {"mem_mb": 4000, "runtime": 60}

# In a system's file: a value that only its users know.
FILL_IN = "FILL_IN"


@dataclass(frozen=True)
class Reps:
    """Repetitions in one sample: a default, other numbers for some kernels, and a limit in some regions."""

    default: int
    kernels: Mapping[str, int]
    regions: Mapping[str, int]

    def of(self, kernel: str, region: str) -> int:
        """Repetitions of ``kernel`` in ``region``."""
        reps = self.kernels.get(kernel, self.default)
        return min(reps, self.regions.get(region, reps))


@dataclass(frozen=True)
class Tunings:
    """Ways to build and launch one kernel. Where only one is wanted, the first of each counts."""

    safety: tuple[str, ...]
    contraction: tuple[str, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Region:
    """For which cells a region is timed: those of these tunings (None: of all) up to a size (None: any)."""

    safety: tuple[str, ...] | None = None
    contraction: tuple[str, ...] | None = None
    first_block: bool = False
    max_size: int | None = None


@dataclass(frozen=True)
class Default:
    """RAJAPerf's own problem size and number of repetitions of a kernel, as its table of checksums has them."""

    size: int
    reps: int


@dataclass(frozen=True)
class Check:
    """What is checked. In ``reference_sizes`` and ``reference_reps`` the word ``default`` stands for RAJAPerf's own."""

    sizes: tuple[int, ...]
    reference_sizes: tuple[int | str, ...]
    reference_reps: tuple[int | str, ...]
    large: tuple[int, ...]
    emulated: int
    seed: int


@dataclass(frozen=True)
class Hardware:
    """What is known about the devices of one kind in a node. Memory and cache in bytes, of one device."""

    model: str | None = None
    count: int | None = None
    memory: int | None = None
    last_level_cache: int | None = None


@dataclass(frozen=True)
class System:
    """A kind of node. ``devices`` maps a device to its architectures; (): the device is there, its kind is unknown.

    ``hardware`` describes the devices; those that were only found on this machine may be missing there.
    """

    name: str
    scheduler: str
    devices: Mapping[str, tuple[str, ...]]
    slurm: Mapping[str, Any]
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    scratch: str | None = None

    def cache(self, device: str) -> int | None:
        """Bytes of a device's last-level cache; None where they are not known."""
        return self.hardware[device].last_level_cache if device in self.hardware else None


@dataclass(frozen=True)
class Settings:
    """The resolved configuration; kernel patterns, sizes and systems are what they stand for.

    Of the sizes, only those in units of a device's cache are left as they were written.
    """

    kernels: tuple[Kernel, ...]
    planted: tuple[Kernel, ...]
    sizes: tuple[Size, ...]
    variants: tuple[str, ...]
    archs: Mapping[str, tuple[str, ...]]
    host_cpu: str
    passes: int
    warmup: int
    reps: Reps
    tunings: Tunings
    regions: Mapping[str, Region]
    check: Check
    emulator: str | None
    timeout_s: float
    baseline: Mapping[str, str]
    systems: tuple[System, ...]
    toolchain: str
    toolchain_dir: str
    defaults: Mapping[str, Default]
    selection: Selection = field(default_factory=Selection)

    @property
    def all_kernels(self) -> tuple[Kernel, ...]:
        """The chosen kernels and, always, the planted ones."""
        return self.kernels + self.planted


# --- types and schema -----------------------------------------------------------------------------------------------


def _typed(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    """``value`` with the types that ``schema`` asks for, where that loses nothing."""
    options = list(_options(schema, defs))
    if isinstance(value, Mapping):
        known = {key: below for option in options for key, below in option.get("properties", {}).items()}
        others = [option.get("additionalProperties") for option in options]
        other = next((below for below in others if isinstance(below, Mapping)), {})
        return {key: _typed(item, known.get(key, other), defs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items: Mapping[str, Any] = next((option["items"] for option in options if "items" in option), {})
        return [_typed(item, items, defs) for item in value]
    kinds = {option.get("type") for option in options}
    numbers = any(isinstance(word, int) for option in options for word in option.get("enum", ()))
    if kinds & {"integer", "number"} or numbers:
        return as_number(value)
    if "boolean" in kinds and value in ("true", "false"):
        return value == "true"
    return value


def _options(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of which a value can satisfy one."""
    if "$ref" in schema:
        yield from _options(defs[schema["$ref"].rpartition("/")[2]], defs)
    elif "oneOf" in schema:
        for option in schema["oneOf"]:
            yield from _options(option, defs)
    else:
        yield schema


def _complaint(error: jsonschema.ValidationError) -> tuple[Place, str]:
    """Place and plain wording of a violation of a schema."""
    error = _of_fitting_option(error)
    place: Place = tuple(error.absolute_path)
    value: Any = error.instance
    shown = _short(json.dumps(value, default=str))
    rule = error.validator
    wanted: Any = error.validator_value
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if rule == "additionalProperties":
        known = schema.get("properties", {})
        key = next(key for key in value if key not in known)
        return (*place, key), f"unknown key{did_you_mean(str(key), known)}"
    if rule == "required":
        missing = next(key for key in wanted if key not in value)
        return place, f"the key {missing!r} is missing"
    if rule == "enum":
        known = [json.dumps(item) if not isinstance(item, str) else item for item in wanted]
        return place, f"{shown} is not possible{did_you_mean(str(value), known)}"
    if rule == "type":
        return place, f"{shown} is not {_a(wanted)}"
    if rule in ("minimum", "exclusiveMinimum", "maximum"):
        word = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}[str(rule)]
        return place, f"{shown} is out of range; it must be {word} {wanted}"
    if rule == "uniqueItems":
        twice = next(item for index, item in enumerate(value) if item in value[:index])
        return place, f"{json.dumps(twice)} is there twice; remove one of the two"
    if rule == "minItems" and value:
        return place, f"has too few values; it needs {wanted}"
    if rule in ("minItems", "minLength", "minProperties"):
        return place, "is empty; at least one is needed"
    if rule == "pattern":
        return place, f"{shown} is not possible here; it must match {wanted}"
    if rule == "oneOf" and "description" in schema:
        return place, f"{shown} is not possible; it must be: {schema['description']}"
    return place, error.message


def _short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _of_fitting_option(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """The violation of that option whose type the value has, if it has one's; else ``error`` itself."""
    while error.validator == "oneOf":
        compound = isinstance(error.instance, Mapping | list)
        wrong_type = {
            below.schema_path[0]
            for below in error.context or ()
            if below.absolute_path == error.absolute_path
            and (below.validator in ("type", "const") or (below.validator == "enum" and compound))
        }
        fitting = [below for below in error.context or () if below.schema_path[0] not in wrong_type]
        if isinstance(error.instance, float):  # not a whole number
            fitting = [below for below in error.context or () if below.validator_value == "integer"]
        if len({below.schema_path[0] for below in fitting}) != 1:
            break
        error = min(fitting, key=lambda below: below.validator != "additionalProperties")
    return error


def _a(kind: Any) -> str:
    words = {
        "integer": "a whole number",
        "number": "a number",
        "string": "a word",
        "array": "a list, such as [1, 2]",
        "object": "a group of keys and values",
        "boolean": "true or false",
    }
    return " or ".join(words.get(name, str(name)) for name in ([kind] if isinstance(kind, str) else kind))


@functools.cache
def _validator(schema_name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{schema_name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def conform(data: Any, schema_name: str, origin: Origin) -> dict[str, Any]:
    """``data`` with types put right, if it satisfies the schema ``workflow/schemas/<schema_name>.schema.json``.

    Raises ConfigError with the first thing that is wrong.
    """
    validator = _validator(schema_name)
    schema: Any = validator.schema
    typed = _typed(data, schema, schema.get("$defs", {}))
    errors = sorted(validator.iter_errors(typed), key=lambda error: [str(part) for part in error.absolute_path])
    if errors:
        raise origin.error(*_complaint(errors[0]))
    result: dict[str, Any] = typed
    return result


# --- systems --------------------------------------------------------------------------------------------------------


def detect_gpus(device: str, root: Path = Path("/")) -> tuple[str, ...] | None:
    """Architectures of this machine's GPUs of a vendor; None: it has none, (): it has one of unknown kind.

    ``root`` stands for ``/`` in tests.
    """
    if device == "nvidia":
        if not (root / "dev/nvidia0").exists():
            return None
        return tuple(sorted({f"sm_{cap.replace('.', '')}" for cap in _compute_capabilities()}))
    if not (root / "dev/kfd").exists():
        return None
    return tuple(sorted(set(_gfx_names(root / "sys/class/kfd/kfd/topology/nodes"))))


def _compute_capabilities() -> list[str]:
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in answer.stdout.splitlines() if re.fullmatch(r"\d+\.\d", line.strip())]


def _gfx_names(nodes: Path) -> Iterator[str]:
    """Names such as gfx90a from the kernel driver's topology, which numbers them 90010 (decimal pairs, hex digits)."""
    for file in sorted(nodes.glob("*/properties")):
        found = re.search(r"^gfx_target_version (\d+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        if found and (version := int(found[1])):
            yield f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def load_system(name: str, root: Path, asked_at: str) -> System:
    """Read ``config/systems/<name>.yaml`` below ``root`` and look for the GPUs that it leaves to be found.

    ``asked_at`` says in messages who named this system.
    """
    folder = root / "config/systems"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = [file.stem for file in folder.glob("*.yaml")]
        raise ConfigError(f"{asked_at}: there is no config/systems/{name}.yaml{did_you_mean(name, known)}")
    text = Text(path, f"config/systems/{path.name}")
    _check_filled_in(text)
    origin = Origin((text,), {})
    data = conform(text.values, "system", origin)
    on_slurm = data["scheduler"] == "slurm"
    slurm = data.get("slurm", {})
    if slurm and not on_slurm:
        raise origin.error(("slurm",), "is given, but the scheduler is local; remove it or write scheduler: slurm")
    if slurm.get("runtime", JOB_DEFAULTS["runtime"]) > slurm.get("max_runtime", float("inf")):
        raise origin.error(("slurm", "max_runtime"), "is less than runtime, the minutes that a job asks for")
    devices: dict[str, tuple[str, ...]] = {}
    hardware: dict[str, Hardware] = {}
    for device, value in data["devices"].items():
        there = _architectures(device, value, on_slurm, origin)
        if there is not None:
            devices[device] = there
            hardware.update(_hardware(device, value, origin))
    _check_gpus(slurm, data["devices"], origin)
    return System(
        name=name,
        scheduler=data["scheduler"],
        devices=devices,
        slurm=slurm,
        hardware=hardware,
        modules=tuple(data.get("modules", ())),
        environment=data.get("environment", {}),
        scratch=data.get("scratch"),
    )


def _check_gpus(slurm: Mapping[str, Any], devices: Mapping[str, Any], origin: Origin) -> None:
    """Raise ConfigError if a job asks for more GPUs than a node has."""
    last = str(slurm.get("gres", "")).rpartition(":")[2]
    asked = int(last) if last.isdigit() else 1
    counts = [value["count"] for value in devices.values() if isinstance(value, Mapping) and "count" in value]
    if "gres" in slurm and counts and asked > max(counts):
        raise origin.error(("slurm", "gres"), f"asks for {asked} GPUs, but a node has {max(counts)} (count)")


def _check_filled_in(text: Text) -> None:
    """Raise ConfigError for the first value that is to be filled in; the comment behind it says what is wanted."""
    for place, value in _leaves(text.values, ()):
        if isinstance(value, str) and FILL_IN in value:
            wanted = text.comment(place)
            hint = f" ({wanted})" if wanted else ""
            raise Origin((text,), {}).error(place, f"{FILL_IN} must be replaced by what your site has{hint}")


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, Mapping | list):
        for key, below in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(below, (*place, key))
    else:
        yield place, value


def _architectures(device: str, value: Any, slurm: bool, origin: Origin) -> tuple[str, ...] | None:
    """Architectures that a system's file gives a device; None if the system does not have it."""
    place = ("devices", device)
    if value is False:
        return None
    if value == "auto" and slurm:
        raise origin.error(place, "auto would look at another machine in every job; describe the device")
    if device == "host":
        return ("host",)
    if value == "auto":
        return detect_gpus(device)
    if "arch" not in value:
        raise origin.error(place, f"the key 'arch' is missing, such as {ARCHS[device][-1]}")
    if value["arch"] not in ARCHS[device]:
        raise origin.error(
            (*place, "arch"), f"{value['arch']!r} is not an architecture of {device}{_near(value['arch'], device)}"
        )
    return (value["arch"],)


def _near(arch: str, device: str) -> str:
    return did_you_mean(arch, ARCHS[device])


def _hardware(device: str, value: Any, origin: Origin) -> dict[str, Hardware]:
    """What is known about a device; of GPUs that are only looked for, nothing."""
    if value == "auto":
        return {"host": Hardware(None, 1, _host_memory(), _host_cache())} if device == "host" else {}
    if device == "host" and "arch" in value:
        raise origin.error(("devices", device, "arch"), "is not said of the host; remove it (see host_cpu)")
    sizes: dict[str, int] = {}
    for key in ("memory", "last_level_cache"):
        if key in value:
            try:
                sizes[key] = sizing.parse_bytes(value[key])
            except ValueError as error:
                raise origin.error(("devices", device, key), str(error)) from None
    return {device: Hardware(value.get("model"), value.get("count"), **sizes)}


def _host_memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _host_cache(root: Path = Path("/")) -> int | None:
    """Bytes of the last-level cache of this machine's first core; None where the kernel does not tell."""
    levels: dict[int, int] = {}
    for folder in (root / "sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, size = (int((folder / name).read_text().strip().rstrip("K")) for name in ("level", "size"))
        except (OSError, ValueError):
            continue
        levels[level] = size * 1024
    return levels[max(levels)] if levels else None


def slurm_resources(system: System) -> dict[str, Any]:
    """Resources of a measurement in the words of Snakemake's Slurm executor.

    Memory and time are always there, because Snakemake wants numbers; the others only if the system's file gives them.
    """
    given = system.slurm
    names = {
        "partition": "slurm_partition",
        "account": "slurm_account",
        "gres": "gres",
        "constraint": "constraint",
        "qos": "qos",
        "mem_mb": "mem_mb",
        "runtime": "runtime",
    }
    resources = {**JOB_DEFAULTS, **{names[key]: given[key] for key in names if key in given}}
    extra = [str(given["extra"])] if "extra" in given else []
    # The plugin has no word for it; with it the node is quiet, and the job still sees only its own GPU.
    extra += ["--exclusive"] if given.get("exclusive") else []
    # After the profile's --no-requeue, and instead of it: where a job can be taken away it has to come back by itself.
    extra += ["--requeue"] if given.get("preemptible") else []
    if extra:
        resources["slurm_extra"] = " ".join(extra)
    return resources


def resource_of(systems: Mapping[str, System], name: str) -> Callable[[Any], Any]:
    """A resource as a function of a rule's wildcards, one of which is `system`; None where it is not given."""
    return lambda wildcards: slurm_resources(systems[wildcards.system]).get(name)


def preparation_of(systems: Mapping[str, System]) -> Callable[[Any], str]:
    """What a shell does before it measures, as a function of a rule's wildcards: the system's variables and modules."""

    def preparation(wildcards: Any) -> str:
        system = systems[wildcards.system]
        variables = {**system.environment, **({"TMPDIR": system.scratch} if system.scratch else {})}
        exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        if not system.modules:
            return "".join(f"{line}; " for line in exports)
        # A job's shell may not know `module` yet, and its start files do not bear the shell's strict mode.
        known = "type module >/dev/null 2>&1 || . /etc/profile || true"
        load = f"set +u; {{ {known}; }}; module load {shlex.join(system.modules)}; set -u"
        return "".join(f"{line}; " for line in [load, *exports])

    return preparation


def jobs_at_once(systems: Iterable[System], asked: int | None) -> int | None:
    """Jobs that may be in the queue: what the profile asks for, but no more than a user may have on any system."""
    most = [int(system.slurm["max_jobs"]) for system in systems if "max_jobs" in system.slurm]
    return min([*most, asked]) if most and asked is not None else asked


def status_command(systems: Iterable[System]) -> str | None:
    """How Slurm is asked for the state of jobs; None: as the profile says. `squeue` is what works on all of them."""
    said = {str(system.slurm["status_command"]) for system in systems if "status_command" in system.slurm}
    return min(said, key=["squeue", "sacct"].index) if said else None


def threads_of(systems: Mapping[str, System], cores: Callable[[], int | None]) -> Callable[[Any], int]:
    """Threads of a measurement as a function of a rule's wildcards.

    In a Slurm job those that the system's file asks for, else all ``cores()``, which has no answer where only Slurm
    jobs run.
    """

    def threads(wildcards: Any) -> int:
        system = systems[wildcards.system]
        return int(system.slurm.get("cpus", 1)) if system.scheduler == "slurm" else cores() or 1

    return threads


# --- the whole ------------------------------------------------------------------------------------------------------


def host_cpu(name: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The -march name that ``auto`` stands for on this machine; other names are returned as they are."""
    if name != "auto":
        return name
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    level3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm", "xsave"}
    return "x86-64-v3" if level3 <= flags else "x86-64-v2"


def _reps(data: Mapping[str, Any], registry: Mapping[str, Kernel], origin: Origin, place: Place) -> Reps:
    for name in data.get("kernels", {}):
        if name not in registry:
            raise origin.error((*place, "kernels", name), f"no kernel is called so{did_you_mean(name, registry)}")
    return Reps(data["default"], data.get("kernels", {}), data.get("regions", {}))


def _tunings(data: Mapping[str, Any]) -> Tunings:
    return Tunings(tuple(data["safety"]), tuple(data["contraction"]), tuple(data["block"]))


def _regions(data: Mapping[str, Any]) -> dict[str, Region]:
    return {
        name: Region(
            safety=tuple(given["safety"]) if "safety" in given else None,
            contraction=tuple(given["contraction"]) if "contraction" in given else None,
            first_block=given.get("block") == "first",
            max_size=given.get("max_size"),
        )
        for name, given in data.items()
    }


def _check(data: Mapping[str, Any]) -> Check:
    return Check(
        sizes=tuple(sorted(data["sizes"])),
        reference_sizes=tuple(data["reference"]["sizes"]),
        reference_reps=tuple(data["reference"]["reps"]),
        large=tuple(sorted(data["large"])),
        emulated=data["emulated"],
        seed=data["seed"],
    )


def _baseline(data: Mapping[str, str], origin: Origin) -> Mapping[str, str]:
    for device, variant in data.items():
        if device not in DEVICES[variant]:
            able = [name for name, devices in DEVICES.items() if device in devices]
            raise origin.error(("baseline", device), f"{variant} does not run there; possible are {', '.join(able)}")
    return data


def _emulator(checkout: str | None, root: Path, origin: Origin) -> str | None:
    """The absolute path of tinygrad's checkout; None if the configuration names none."""
    if checkout is None:
        return None
    place = ("emulator", "tinygrad")
    try:
        path = (root / Path(checkout).expanduser()).resolve()
        there = (path / "tinygrad").is_dir()
    except (OSError, RuntimeError):  # too long a name, or a home folder that there is not
        there = False
    if not there:
        raise origin.error(place, f"{checkout} is not a checkout of tinygrad; it must hold the folder tinygrad")
    if re.search(r"\s", str(path)):
        raise origin.error(place, f"{str(path)!r} contains a space, which the command that a worker starts cannot have")
    return str(path)


def read_defaults(path: Path = REFERENCES) -> dict[str, Default]:
    """RAJAPerf's own sizes and repetitions, by kernel, from its table of checksums."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["tuning"] == row["target_size"] == DEFAULT]
    # Each kernel ran once with its own repetitions and once with a single one.
    rows.sort(key=lambda row: int(row["reps"]))
    return {row["kernel"]: Default(int(row["actual_size"]), int(row["reps"])) for row in rows}


def resolve(
    config: Mapping[str, Any],
    registry: Mapping[str, Kernel],
    root: Path,
    files: Sequence[str | Path] = ("config/config.yaml",),
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Settings of a sweep from Snakemake's merged ``config``.

    ``files`` are the configuration files that Snakemake read (later ones win) and ``overrides`` is what the command
    line set; both serve the messages, and the text of the files is checked. Raises ConfigError.
    """
    return _resolve(*_read(config, root, files, overrides), registry, root)


def resolve_bundle(
    config: Mapping[str, Any],
    registry: Mapping[str, Kernel],
    root: Path,
    files: Sequence[str | Path] = ("config/config.yaml",),
    overrides: Mapping[str, Any] | None = None,
) -> Settings | None:
    """Settings of what the bundle measures: the sweep with ``config['bundle']`` laid over it; None without that key."""
    sweep, origin = _read(config, root, files, overrides)
    base = _resolve(sweep, origin, registry, root)
    data = sweep.get("bundle")
    if data is None:
        return None
    place = ("bundle",)
    system = load_system(data["system"], root, origin.of((*place, "system")))
    if system.scheduler != "local":
        raise origin.error((*place, "system"), f"{system.name} is a Slurm system; a bundle runs where it is unpacked")
    settings = replace(
        base,
        systems=(system,),
        emulator=None,  # its checkout is on this machine
        tunings=_tunings({**sweep["tunings"], **data.get("tunings", {})}),
        regions=_regions(data["regions"]) if "regions" in data else base.regions,
        check=_check({**sweep["check"], **data.get("check", {})}),
        kernels=choose_kernels(data["kernels"], registry, origin, (*place, "kernels"))
        if "kernels" in data
        else base.kernels,
        sizes=_sizes(data["sizes"], origin, (*place, "sizes")) if "sizes" in data else base.sizes,
        variants=tuple(data.get("variants", base.variants)),
        passes=data.get("passes", base.passes),
        warmup=data.get("warmup", base.warmup),
        reps=_reps(data["reps"], registry, origin, (*place, "reps")) if "reps" in data else base.reps,
        timeout_s=float(data.get("timeout_s", base.timeout_s)),
    )
    _check_systems(settings, sweep, origin, place if "sizes" in data else ())
    return settings


def check_file(root: Path, file: str = "config/config.yaml") -> None:
    """Look through the text of a file before Snakemake reads it. Raises ConfigError."""
    Text(root / file, file)


def _read(
    config: Mapping[str, Any], root: Path, files: Sequence[str | Path], overrides: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Origin]:
    """The checked configuration, its named sweep included, and where it comes from."""
    data, origin = sweeps.read(config, root, files, overrides or {})
    return conform(data, "config", origin), origin


def _resolve(data: Mapping[str, Any], origin: Origin, registry: Mapping[str, Kernel], root: Path) -> Settings:
    if not any(not kernel.planted for kernel in registry.values()):
        raise ConfigError("kernels/suite: there is no kernel file; run from the root of the repository")
    names = [data["system"]] if isinstance(data["system"], str) else data["system"]
    settings = Settings(
        kernels=choose_kernels(data["kernels"], registry, origin, ("kernels",)),
        planted=tuple(kernel for kernel in registry.values() if kernel.planted),
        sizes=_sizes(data["sizes"], origin, ("sizes",)),
        variants=tuple(data["variants"]),
        archs=_archs(data["archs"], origin),
        host_cpu=host_cpu(data["host_cpu"]),
        passes=data["passes"],
        warmup=data["warmup"],
        reps=_reps(data["reps"], registry, origin, ("reps",)),
        tunings=_tunings(data["tunings"]),
        regions=_regions(data["regions"]),
        check=_check(data["check"]),
        emulator=_emulator(data.get("emulator", {}).get("tinygrad"), root, origin),
        timeout_s=float(data["timeout_s"]),
        baseline=_baseline(data["baseline"], origin),
        systems=tuple(load_system(name, root, origin.of(("system",))) for name in names),
        toolchain=_existing(data["toolchain"], root, origin),
        toolchain_dir=data.get("toolchain_dir", "results/toolchain"),
        defaults=read_defaults(),
        selection=_selection(data, registry, root, origin),
    )
    _check_systems(settings, data, origin, ())
    return settings


def _archs(data: Mapping[str, Sequence[str]], origin: Origin) -> dict[str, tuple[str, ...]]:
    for device, archs in data.items():
        for index, arch in enumerate(archs):
            if arch not in ARCHS[device]:
                place = ("archs", device, index)
                raise origin.error(place, f"no image can be made for {arch!r}{_near(arch, device)}")
    return {device: tuple(archs) for device, archs in data.items()}


def _sizes(data: Any, origin: Origin, place: Place) -> tuple[Size, ...]:
    """The sizes: first, in ascending order and none twice, those that are the same on every device."""
    if isinstance(data, list):
        parsed = [parse_size(value, origin, (*place, index)) for index, value in enumerate(data)]
    else:
        parsed = [parse_size(data, origin, place)]
    of_cache = [size for size in dict.fromkeys(parsed) if sizing.needs_cache(size)]
    return (*sizing.all_elements((size for size in parsed if size not in of_cache), None), *of_cache)


def _selection(data: Mapping[str, Any], registry: Mapping[str, Kernel], root: Path, origin: Origin) -> Selection:
    lists: dict[str, tuple[Place, Any]] = {
        name: (("tunings", name) if name in data["tunings"] else (name,), data["tunings"].get(name, data.get(name)))
        for name in ("kernels", "sizes", "variants", "safety", "contraction", "block")
    }
    systems = [file.stem for file in (root / "config/systems").glob("*.yaml")]
    return Selection(
        parse_rules(data, registry, systems, origin), parse_zips(data.get("zip", ()), lists, registry, origin)
    )


def _check_systems(settings: Settings, data: Mapping[str, Any], origin: Origin, place: Place) -> None:
    """Raise ConfigError if a described device has no image, or a size does not fit it.

    ``place`` is where the sizes stand: () or the bundle.
    """
    for system in settings.systems:
        for device, hardware in system.hardware.items():
            if not settings.archs.get(device) or not any(device in DEVICES[name] for name in settings.variants):
                continue  # there are no cells for it
            for arch in system.devices[device]:
                if arch not in settings.archs[device]:
                    raise origin.error(
                        ("archs", device),
                        f"{arch}, the {device} device of system {system.name}, is not among them, so there would be no"
                        f" image for it; add {arch}",
                    )
            _check_sizes(settings, system, device, hardware, data, origin, place)


def _check_sizes(
    settings: Settings,
    system: System,
    device: str,
    hardware: Hardware,
    data: Mapping[str, Any],
    origin: Origin,
    place: Place,
) -> None:
    """Raise ConfigError for a size of which not even one array fits a device, or that has no meaning there."""
    written = (data["bundle"] if place else data)["sizes"]
    places = [(*place, "sizes", index) for index in range(len(written))] if isinstance(written, list) else []
    sizes = written if places else [written]
    for here, value in zip(places or [(*place, "sizes")], sizes, strict=True):
        size = parse_size(value, origin, here)
        if sizing.needs_cache(size) and hardware.last_level_cache is None:
            raise origin.error(
                here,
                f"the last-level cache of the {device} device is not known; write last_level_cache: into"
                f" config/systems/{system.name}.yaml, for example 50 MiB",
            )
        try:
            numbers = sizing.elements(size, hardware.last_level_cache)
        except ValueError as error:
            raise origin.error(here, str(error)) from None
        for number in numbers:
            _check_fits(number, "measure", settings, system, device, origin, here)
    # A check's sizes are the same in the bundle, unless it has its own.
    for key in ("sizes", "large"):
        for number in getattr(settings.check, key):
            _check_fits(number, "check", settings, system, device, origin, (*place, "check", key))


def _check_fits(
    number: int, kind: str, settings: Settings, system: System, device: str, origin: Origin, place: Place
) -> None:
    memory = system.hardware[device].memory
    if memory is None or number * sizing.ELEMENT <= memory:
        return
    arch = system.devices[device][0]
    facts = {"kind": kind, "system": system.name, "device": device, "arch": arch, "size": number}
    if any(rule.removes(facts, system.cache(device)) for rule in settings.selection.rules):
        return
    raise origin.error(
        place,
        f"an array of {number} elements ({shown_bytes(number * sizing.ELEMENT)}) does not fit the"
        f" {shown_bytes(memory)} of the {device} device in system {system.name}; use a smaller size, or exclude"
        " it there (exclude:)",
    )


def _existing(file: str, root: Path, origin: Origin) -> str:
    try:
        there = (root / file).is_file()
    except OSError:  # too long a name
        there = False
    if not there:
        known = [f"config/toolchains/{path.name}" for path in (root / "config/toolchains").glob("*.yaml")]
        raise origin.error(("toolchain",), f"there is no file {file}{did_you_mean(file, known)}")
    return file
