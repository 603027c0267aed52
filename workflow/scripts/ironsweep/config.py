"""The configuration: read, checked and resolved before anything is built or run.

Snakemake reads the configuration files itself and lays command-line values over them. What YAML loses on that way
(duplicate keys, ``010`` that becomes 8, ``1:30`` that becomes 90) is looked for in the text of the files; what the
command line changes (every value inside ``{...}`` or ``[...]`` is a string) is turned back by the schema's types.
"""

from __future__ import annotations

import csv
import difflib
import fnmatch
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ironsweep.errors import UserError
from ironsweep.kernels import Kernel
from ironsweep.variants import DEVICES

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
REFERENCES = Path(__file__).resolve().parents[2] / "resources/rajaperf_reference_checksums.csv"

# In check.reference it stands for RAJAPerf's own size or number of repetitions.
DEFAULT = "default"

# Memory (MB) and time (minutes) of a measurement's job where the system's file says nothing.
JOB_DEFAULTS: Mapping[str, Any] = {"mem_mb": 4000, "runtime": 60}

_NUMBER = re.compile(r"[+-]?(\d[\d_]*)(\.[\d_]*)?([eE][+-]?\d+)?")
_OCTAL = re.compile(r"[+-]?0[\d_]+")
_SEXAGESIMAL = re.compile(r"[+-]?\d[\d_]*(:[0-5]?\d)+(\.\d*)?")

Place = tuple[str | int, ...]


class ConfigError(UserError):
    """Something in the configuration is wrong; the text names the file, the key and what to do."""


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
class System:
    """A kind of node. ``devices`` maps a device to its architectures; (): the device is there, its kind is unknown."""

    name: str
    scheduler: str
    devices: Mapping[str, tuple[str, ...]]
    slurm: Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """The resolved configuration; kernel patterns, sizes and systems are what they stand for."""

    kernels: tuple[Kernel, ...]
    planted: tuple[Kernel, ...]
    sizes: tuple[int, ...]
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

    @property
    def all_kernels(self) -> tuple[Kernel, ...]:
        """The chosen kernels and, always, the planted ones."""
        return self.kernels + self.planted


# --- reading text ---------------------------------------------------------------------------------------------------


class Text:
    """The text of one YAML file: what its values were before YAML interpreted them, and on which lines."""

    def __init__(self, path: Path, shown: str) -> None:
        """Read ``path``; messages call it ``shown``. Raises ConfigError for what must not be in such a file."""
        self.shown = shown
        self.lines: dict[Place, int] = {}
        try:
            root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        except FileNotFoundError:
            raise ConfigError(f"{shown}: there is no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{shown}: cannot be read: {error}") from None
        except yaml.MarkedYAMLError as error:
            line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
            raise ConfigError(f"{shown}{line}: not valid YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise ConfigError(f"{shown}: not valid YAML: {' '.join(str(error).split())}") from None
        if root is None:
            return
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(f"{shown}:1: keys and values are expected here, such as `passes: 10`")
        self._walk(root, ())

    def _walk(self, node: yaml.Node, place: Place) -> None:
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        if isinstance(node, yaml.MappingNode):
            first: dict[str, int] = {}
            for key, value in node.value:
                name = str(key.value)
                at = key.start_mark.line + 1
                here = dotted((*place, name))
                if name in first:
                    raise ConfigError(
                        f"{self.shown}:{at}: {here}: is already set on line {first[name]}; remove one of the two"
                    )
                first[name] = at
                self.lines[(*place, name)] = at
                self._walk(value, (*place, name))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._walk(value, (*place, index))
        elif isinstance(node, yaml.ScalarNode) and node.style is None:
            self._check_scalar(node.value, line, place)

    def _check_scalar(self, text: str, line: int, place: Place) -> None:
        if _OCTAL.fullmatch(text):
            raise ConfigError(
                f"{self.shown}:{line}: {dotted(place)}: {text} is an octal number for YAML; write it without leading 0"
            )
        if _SEXAGESIMAL.fullmatch(text):
            raise ConfigError(
                f"{self.shown}:{line}: {dotted(place)}: {text} is a number to base 60 for YAML; write a plain number"
            )


def dotted(place: Iterable[str | int]) -> str:
    """A place in the configuration as a person writes it: ``check.seed``, ``sizes[2]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


@dataclass(frozen=True)
class Origin:
    """Where values came from, to say so: the files (later ones win) and what the command line set."""

    texts: tuple[Text, ...]
    overrides: Mapping[str, Any]

    def of(self, place: Place) -> str:
        """File and line (or ``--config``) of the value at ``place``, followed by its key."""
        key = dotted(place) or "the file"
        if _lies_in(self.overrides, place):
            return f"--config: {key}"
        for depth in range(len(place), -1, -1):
            for text in reversed(self.texts):
                if place[:depth] in text.lines and (depth or not place):
                    return f"{text.shown}:{text.lines[place[:depth]]}: {key}"
        return f"{self.texts[-1].shown}: {key}" if self.texts else key

    def error(self, place: Place, message: str) -> ConfigError:
        """An error about the value at ``place``."""
        return ConfigError(f"{self.of(place)}: {message}")


def _lies_in(tree: Any, place: Place) -> bool:
    """Whether ``place``, or a whole value that contains it, was set by ``tree``."""
    if not place or not isinstance(tree, Mapping) or place[0] not in tree:
        return False
    below = tree[place[0]]
    return len(place) == 1 or not isinstance(below, Mapping) or _lies_in(below, place[1:])


# --- types and schema -----------------------------------------------------------------------------------------------


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` if a known word is near, else the known words."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known) or 'none'}"


def as_number(value: Any) -> Any:
    """The integer (or else float) that ``value`` stands for: ``'1e6'``, ``1e6`` and ``'1_000_000'`` are 1000000.

    What is not a number is returned as it is.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value) and not _OCTAL.fullmatch(value):
        plain = value.replace("_", "")
        value = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _typed(value: Any, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    """``value`` with the types that ``schema`` asks for, where that loses nothing."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        other = schema.get("additionalProperties")
        other = other if isinstance(other, Mapping) else {}
        return {key: _typed(item, known.get(key, other), defs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_typed(item, schema.get("items", {}), defs) for item in value]
    kinds = {schema.get("type"), *(option.get("type") for option in schema.get("oneOf", ()))}
    if kinds & {"integer", "number"}:
        return as_number(value)
    if "boolean" in kinds and value in ("true", "false"):
        return value == "true"
    return value


def _complaint(error: jsonschema.ValidationError) -> tuple[Place, str]:
    """Place and plain wording of a violation of a schema."""
    place: Place = tuple(error.absolute_path)
    value: Any = error.instance
    shown = json.dumps(value, default=str)
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
    if rule in ("minItems", "minLength", "minProperties"):
        return place, "is empty; at least one is needed"
    if rule == "pattern":
        return place, f"{shown} is not possible here; it must match {wanted}"
    if rule == "oneOf" and "description" in schema:
        return place, f"{shown} is not possible; it must be: {schema['description']}"
    return place, error.message


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


def conform(data: Any, schema_name: str, origin: Origin) -> dict[str, Any]:
    """``data`` with types put right, if it satisfies the schema ``workflow/schemas/<schema_name>.schema.json``.

    Raises ConfigError with the first thing that is wrong.
    """
    schema = json.loads((SCHEMAS / f"{schema_name}.schema.json").read_text(encoding="utf-8"))
    typed = _typed(data, schema, schema.get("$defs", {}))
    validator = jsonschema.Draft202012Validator(schema)
    errors = sorted(validator.iter_errors(typed), key=lambda error: [str(part) for part in error.absolute_path])
    if errors:
        place, message = _complaint(errors[0])
        raise origin.error(place, message)
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
    origin = Origin((text,), {})
    data = conform(yaml.safe_load(path.read_text(encoding="utf-8")) or {}, "system", origin)
    slurm = data["scheduler"] == "slurm"
    if "slurm" in data and not slurm:
        raise origin.error(("slurm",), "is given, but the scheduler is local; remove it or write scheduler: slurm")
    devices: dict[str, tuple[str, ...]] = {}
    for device, value in data["devices"].items():
        there = _architectures(device, value, slurm, origin)
        if there is not None:
            devices[device] = there
    return System(name=name, scheduler=data["scheduler"], devices=devices, slurm=data.get("slurm", {}))


def _architectures(device: str, value: Any, slurm: bool, origin: Origin) -> tuple[str, ...] | None:
    """Architectures that a system's file gives a device; None if the system does not have it."""
    place = ("devices", device)
    if value is False:
        return None
    if device == "host":
        return ("host",)
    if value == "auto":
        if slurm:
            raise origin.error(place, "auto would look at another machine in every job; name the architecture")
        return detect_gpus(device)
    prefix = {"nvidia": "sm_", "amd": "gfx"}[device]
    for arch in value:
        if not arch.startswith(prefix):
            raise origin.error(place, f"{arch!r} is not an architecture of {device}; those start with {prefix}")
    return tuple(value)


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
    if extra:
        resources["slurm_extra"] = " ".join(extra)
    return resources


def resource_of(systems: Mapping[str, System], name: str) -> Callable[[Any], Any]:
    """A resource as a function of a rule's wildcards, one of which is `system`; None where it is not given."""
    return lambda wildcards: slurm_resources(systems[wildcards.system]).get(name)


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


def choose_kernels(
    patterns: Sequence[str], registry: Mapping[str, Kernel], origin: Origin, place: Place
) -> tuple[Kernel, ...]:
    """Kernels of the suite that match any of ``patterns``, in the registry's order."""
    suite = {name: kernel for name, kernel in registry.items() if not kernel.planted}
    for index, pattern in enumerate(patterns):
        if not fnmatch.filter(suite, pattern):
            raise origin.error((*place, index), f"no kernel is called {pattern!r}{did_you_mean(pattern, suite)}")
    return tuple(kernel for name, kernel in suite.items() if any(fnmatch.fnmatchcase(name, p) for p in patterns))


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
    path = (root / Path(checkout).expanduser()).resolve()
    if not (path / "tinygrad").is_dir():
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
    return _resolve(config, registry, root, _origin(files, overrides or {}, root))


def resolve_bundle(
    config: Mapping[str, Any],
    registry: Mapping[str, Kernel],
    root: Path,
    files: Sequence[str | Path] = ("config/config.yaml",),
    overrides: Mapping[str, Any] | None = None,
) -> Settings | None:
    """Settings of what the bundle measures: the sweep with ``config['bundle']`` laid over it; None without that key."""
    origin = _origin(files, overrides or {}, root)
    base = _resolve(config, registry, root, origin)
    sweep = conform(config, "config", origin)
    data = sweep.get("bundle")
    if data is None:
        return None
    place = ("bundle",)
    system = load_system(data["system"], root, origin.of((*place, "system")))
    if system.scheduler != "local":
        raise origin.error((*place, "system"), f"{system.name} is a Slurm system; a bundle runs where it is unpacked")
    return replace(
        base,
        systems=(system,),
        emulator=None,  # its checkout is on this machine
        tunings=_tunings({**sweep["tunings"], **data.get("tunings", {})}),
        regions=_regions(data["regions"]) if "regions" in data else base.regions,
        check=_check({**sweep["check"], **data.get("check", {})}),
        kernels=choose_kernels(data["kernels"], registry, origin, (*place, "kernels"))
        if "kernels" in data
        else base.kernels,
        sizes=tuple(sorted(data.get("sizes", base.sizes))),
        variants=tuple(data.get("variants", base.variants)),
        passes=data.get("passes", base.passes),
        warmup=data.get("warmup", base.warmup),
        reps=_reps(data["reps"], registry, origin, (*place, "reps")) if "reps" in data else base.reps,
        timeout_s=float(data.get("timeout_s", base.timeout_s)),
    )


def _origin(files: Sequence[str | Path], overrides: Mapping[str, Any], root: Path) -> Origin:
    paths = [root / file for file in files]
    # Snakemake lists files of the command line first, although they win.
    ordered = sorted(paths, key=lambda path: path != (root / "config/config.yaml"))
    return Origin(tuple(Text(path, _shown(path, root)) for path in ordered), overrides)


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _resolve(config: Mapping[str, Any], registry: Mapping[str, Kernel], root: Path, origin: Origin) -> Settings:
    data = conform(config, "config", origin)
    if not any(not kernel.planted for kernel in registry.values()):
        raise ConfigError("kernels/suite: there is no kernel file; run from the root of the repository")
    names = [data["system"]] if isinstance(data["system"], str) else data["system"]
    return Settings(
        kernels=choose_kernels(data["kernels"], registry, origin, ("kernels",)),
        planted=tuple(kernel for kernel in registry.values() if kernel.planted),
        sizes=tuple(sorted(data["sizes"])),
        variants=tuple(data["variants"]),
        archs={device: tuple(archs) for device, archs in data["archs"].items()},
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
    )


def _existing(file: str, root: Path, origin: Origin) -> str:
    if not (root / file).is_file():
        known = [f"config/toolchains/{path.name}" for path in (root / "config/toolchains").glob("*.yaml")]
        raise origin.error(("toolchain",), f"there is no file {file}{did_you_mean(file, known)}")
    return file
