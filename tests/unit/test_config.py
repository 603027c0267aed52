"""The configuration: what is understood, and what is refused with which words."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ironsweep import config
from ironsweep.config import Check, ConfigError, Default, Region, System, Tunings
from ironsweep.errors import UserError
from ironsweep.kernels import Kernel, discover, kernel_name

REPOSITORY = Path(__file__).parents[2]
NAMES = tuple(name for name, kernel in discover(REPOSITORY).items() if not kernel.planted)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the real configuration and empty kernel files."""
    shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    for name in NAMES:
        file = tmp_path / "kernels/suite" / f"{name.lower()}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    shutil.copy(REPOSITORY / "kernels/registry.yaml", tmp_path / "kernels")
    (tmp_path / "kernels/suite/mod.rs").touch()
    (tmp_path / "kernels/planted").mkdir()
    (tmp_path / "kernels/planted/planted_off_by_one.rs").touch()
    return tmp_path


def resolve(root: Path, **overrides: Any) -> config.Settings:
    """Settings of the sweep in ``root`` with values from the command line laid over it."""
    merged = yaml.safe_load((root / "config/config.yaml").read_text())
    return config.resolve({**merged, **overrides}, discover(root), root, overrides=overrides)


def edit(root: Path, old: str, new: str, file: str = "config/config.yaml") -> None:
    """Replace text in a file that must contain it."""
    path = root / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def refusal(root: Path, **overrides: Any) -> str:
    """The message with which the configuration is refused."""
    with pytest.raises(ConfigError) as caught:
        resolve(root, **overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_default_sweep_is_valid(root: Path) -> None:
    settings = resolve(root)
    assert tuple(kernel.name for kernel in settings.kernels) == NAMES
    assert [kernel.name for kernel in settings.planted] == ["Planted_OFF_BY_ONE"]
    assert settings.sizes == (10_000, 1_000_000)
    assert settings.tunings == Tunings(("safe", "unchecked"), ("strict", "contract"), (256,))
    assert settings.regions["launch_sync"] == Region()
    assert settings.regions["with_transfers"] == Region(("safe",), ("strict",), first_block=True)
    assert settings.check.reference_reps == (1, "default")
    assert settings.emulator is None
    assert settings.defaults["Apps_FIR"] == Default(1_000_000, 160)
    assert settings.passes >= 10
    assert settings.systems[0].name == "local"


def write_registry(root: Path, text: str) -> None:
    """A registry with these lines, and files for two kernels."""
    shutil.rmtree(root / "kernels/suite")
    (root / "kernels/suite").mkdir()
    for name in ("stream_triad", "apps_mass3dea"):
        (root / f"kernels/suite/{name}.rs").touch()
    (root / "kernels/registry.yaml").write_text(text)


def test_the_registry_says_which_blocks_a_kernel_allows(root: Path) -> None:
    write_registry(root, "# kernels\nStream_TRIAD:\nApps_MASS3DEA: {blocks: [128, 64]}\n")
    kernels = discover(root)
    assert kernels["Stream_TRIAD"].blocks == (64, 128, 256, 512, 1024)
    assert kernels["Apps_MASS3DEA"].blocks == (64, 128)
    assert [kernels["Apps_MASS3DEA"].block(wanted) for wanted in (64, 1024)] == [64, 128]
    assert kernels["Planted_OFF_BY_ONE"].planted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Stream_TRIAD: {}\n", "kernels/suite/apps_mass3dea.rs: the kernel is not registered; add the line `Apps_MASS"),
        ("Stream_TRIAD: {}\nApps_MASS3DEA: {}\nApps_FIR: {}\n", "kernels/registry.yaml:3: there is no kernels/suite/a"),
        ("Stream_TRIAD: {block: 64}\n", "kernels/registry.yaml:1: Stream_TRIAD: write {} or {blocks: [64]}"),
        ("Stream_TRIAD: {blocks: [96]}\n", "kernels/registry.yaml:1: Stream_TRIAD: blocks: [96] is not possible"),
        ("Stream_TRIAD: {blocks: 64}\n", "kernels/registry.yaml:1: Stream_TRIAD: blocks: 64 is not possible"),
        ("Stream_TRIAD: {}\nStream_TRIAD: {}\n", "kernels/registry.yaml:2: Stream_TRIAD is already on line 1"),
        ("Stream_TRIAD: {\n", "kernels/registry.yaml: not valid YAML"),
        ("- Stream_TRIAD\n", "kernels/registry.yaml: one line a kernel is expected"),
    ],
)
def test_a_registry_that_is_wrong_is_one_plain_message(root: Path, text: str, message: str) -> None:
    write_registry(root, text)
    with pytest.raises(UserError) as caught:
        discover(root)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_kernel_names_come_from_files(root: Path) -> None:
    assert kernel_name("algorithm_reduce_sum") == "Algorithm_REDUCE_SUM"
    assert discover(root)["Stream_TRIAD"] == Kernel("Stream_TRIAD", "Stream", "kernels/suite/stream_triad.rs")


@pytest.mark.parametrize("text", ["1000000", "1_000_000", "1e6", "1.0e6", "1.0e+6", '"1e6"', "1000000.0"])
def test_one_size_can_be_written_in_many_ways(root: Path, text: str) -> None:
    edit(root, "sizes: [10_000, 1_000_000]", f"sizes: [{text}]")
    assert resolve(root).sizes == (1_000_000,)


def test_strings_of_the_command_line_get_their_types(root: Path) -> None:
    check = {
        "sizes": ["1e3"],
        "reference": {"sizes": ["default", "1e4"], "reps": ["1", "default"]},
        "large": ["1e8"],
        "emulated": "100",
        "seed": "7",
    }
    settings = resolve(root, sizes=["1e3", "2_000"], passes=12.0, check=check)
    assert settings.sizes == (1000, 2000)
    assert settings.passes == 12
    assert settings.check == Check((1000,), ("default", 10_000), (1, "default"), (10**8,), 100, 7)


def test_patterns_choose_kernels(root: Path) -> None:
    chosen = [kernel.name for kernel in resolve(root, kernels=["Stream_[CT]*", "Apps_FIR"]).kernels]
    assert chosen == ["Apps_FIR", "Stream_COPY", "Stream_TRIAD"]


def test_reps_have_defaults_exceptions_and_limits() -> None:
    reps = config.Reps(20, {"Apps_FIR": 50, "Basic_DAXPY": 3}, {"with_transfers": 5})
    assert reps.of("Stream_TRIAD", "launch_sync") == 20
    assert reps.of("Apps_FIR", "kernel") == 50
    assert reps.of("Apps_FIR", "with_transfers") == 5
    assert reps.of("Basic_DAXPY", "with_transfers") == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("passes: 10", "pases: 10", "unknown key; did you mean 'passes'?"),
        (
            'kernels: ["*"]',
            "kernels: [Stream_TRAID]",
            "kernels[0]: no kernel is called 'Stream_TRAID'; did you mean 'Stream_",
        ),
        ("- cuda #", "- cudda #", "\"cudda\" is not possible; did you mean 'cuda'?"),
        ("sizes: [10_000, 1_000_000]", "sizes: [10_000, 0]", "sizes[1]: 0 is out of range; it must be at least 1"),
        ("sizes: [10_000, 1_000_000]", "sizes: [10_000, 1e4]", "sizes: 10000 is there twice"),
        ("sizes: [10_000, 1_000_000]", "sizes: [10_000, 010]", "sizes[1]: 010 is an octal number for YAML"),
        ("sizes: [10_000, 1_000_000]", "sizes: [10_000, 1:30]", "sizes[1]: 1:30 is a number to base 60 for YAML"),
        ("sizes: [10_000, 1_000_000]", "sizes: [10_000, 1.5]", "sizes[1]: 1.5 is not a whole number"),
        ("sizes: [10_000, 1_000_000]", "sizes: []", "sizes: is empty"),
        ("timeout_s: 60", "passes: 11\ntimeout_s: 60", "passes: is already set on line"),
        ("emulated: 300", "emulated: 300\n  seed: 1", "check.seed: is already set on line"),
        ("nvidia: [sm_90]", "nvidia: [gfx90a]", 'archs.nvidia[0]: "gfx90a" is not possible here'),
        ("block: [256]", "block: [100]", "tunings.block[0]: 100 is not possible; known are"),
        ("block: [256]", "block: 256", "tunings.block: 256 is not a list"),
        ("[safe, unchecked]", "[safe, unsafe]", "\"unsafe\" is not possible; did you mean 'safe'?"),
        ("block: first}", "block: last}", 'with_transfers.block: "last" is not possible'),
        ("launch_sync: {}", "launch: {}", "regions.launch: unknown key; did you mean 'launch_sync'?"),
        ("reps: [1, default]", "reps: [1, defualt]", 'reference.reps[1]: "defualt" is not possible; it must be'),
        ("host_cpu: auto", "host_cpu: zenver4", "\"zenver4\" is not possible; did you mean 'znver4'?"),
        ("host: cpp_openmp", "host: cuda", "baseline.host: cuda does not run there; possible are rust_offload, cpp_"),
        ("tinygrad: null", "tinygrad: nowhere", "emulator.tinygrad: nowhere is not a checkout of tinygrad"),
        (
            "    Lcals_PLANCKIAN: 2",
            "    Lcals_PLANKIAN: 10",
            "no kernel is called so; did you mean 'Lcals_PLANCKIAN'?",
        ),
        ("system: local", "system: locla", "there is no config/systems/locla.yaml; did you mean 'local'?"),
        ("system: local", "system: [local", "not valid YAML"),
        ("passes: 10\nwarmup", "passes: many\nwarmup", 'passes: "many" is not a whole number'),
        ("warmup: 1", "#", "the key 'warmup' is missing"),
        ("/debian.yaml", "/debain.yaml", "there is no file config/toolchains/debain.yaml; did you mean"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(root: Path, old: str, new: str, message: str) -> None:
    edit(root, old, new)
    try:
        said = refusal(root)
    except yaml.YAMLError:  # not even Snakemake can read it; the text is checked first
        with pytest.raises(ConfigError) as caught:
            config.Text(root / "config/config.yaml", "config/config.yaml")
        said = str(caught.value)
    assert said.startswith("config/config.yaml:")
    assert said.split(":")[1].isdigit()
    assert message in said


def test_values_of_the_command_line_are_called_so(root: Path) -> None:
    assert refusal(root, passes="many") == '--config: passes: "many" is not a whole number'
    check = yaml.safe_load((root / "config/config.yaml").read_text())["check"]
    assert refusal(root, check={**check, "seed": "x"}).startswith("--config: check.seed: ")
    assert refusal(root, pases=3) == "--config: pases: unknown key; did you mean 'passes'?"
    assert refusal(root, system="nowhere").startswith("--config: system: there is no config/systems/nowhere.yaml")


def test_a_file_of_the_command_line_wins_and_is_named(root: Path) -> None:
    (root / "more.yaml").write_text("passes: none\n")
    merged = {**yaml.safe_load((root / "config/config.yaml").read_text()), "passes": "none"}
    with pytest.raises(ConfigError, match=r"^more.yaml:1: passes: "):
        config.resolve(merged, discover(root), root, files=["more.yaml", "config/config.yaml"])


def test_outside_the_repository_it_says_so(root: Path) -> None:
    shutil.rmtree(root / "kernels")
    assert refusal(root) == "kernels/suite: there is no kernel file; run from the root of the repository"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("host: true", "hots: true", "devices.hots: unknown key; did you mean 'host'?"),
        ("host: true", "nvidia: auto", "auto would look at another machine in every job"),
        ("host: true", "amd: [sm_90]", "'sm_90' is not an architecture of amd"),
        ("host: true", "nvidia: many", 'devices.nvidia: "many" is not possible; it must be'),
        ("scheduler: slurm", "scheduler: local", "slurm: is given, but the scheduler is local"),
        ("mem_mb: 4000", "mem_mb: 100", "slurm.mem_mb: 100 is out of range; it must be at least 500"),
        ("cpus: 4", "gres: gpu h100", 'slurm.gres: "gpu h100" is not possible here'),
    ],
)
def test_a_wrong_system_is_refused(root: Path, old: str, new: str, message: str) -> None:
    edit(root, old, new, "config/systems/cluster.yaml")
    said = refusal(root, system="cluster")
    assert said.startswith("config/systems/cluster.yaml:")
    assert message in said


@pytest.mark.parametrize("name", [file.stem for file in (REPOSITORY / "config/systems").glob("*.yaml")])
def test_the_systems_that_come_with_it_are_valid(name: str) -> None:
    assert config.load_system(name, REPOSITORY, "test").name == name


def test_several_systems(root: Path) -> None:
    assert [system.name for system in resolve(root, system=["local", "cluster"]).systems] == ["local", "cluster"]


def test_gpus_are_found_by_their_device_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.detect_gpus("nvidia", tmp_path) is None
    assert config.detect_gpus("amd", tmp_path) is None
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "kfd"):
        (tmp_path / "dev" / name).touch()
    monkeypatch.setattr(config, "_compute_capabilities", lambda: [])
    assert config.detect_gpus("nvidia", tmp_path) == ()
    monkeypatch.setattr(config, "_compute_capabilities", lambda: ["9.0", "9.0"])
    assert config.detect_gpus("nvidia", tmp_path) == ("sm_90",)
    for node, version in enumerate((0, 90010, 90402)):
        folder = tmp_path / f"sys/class/kfd/kfd/topology/nodes/{node}"
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    assert config.detect_gpus("amd", tmp_path) == ("gfx90a", "gfx942")


def test_slurm_resources_are_those_of_the_system() -> None:
    slurm = {
        "partition": "gpu",
        "account": "p1",
        "gres": "gpu:h100:1",
        "constraint": "h100",
        "runtime": 60,
        "mem_mb": 4000,
        "cpus": 8,
        "exclusive": True,
        "extra": "--hint=nomultithread",
    }
    assert config.slurm_resources(System("c", "slurm", {}, slurm)) == {
        "slurm_partition": "gpu",
        "slurm_account": "p1",
        "gres": "gpu:h100:1",
        "constraint": "h100",
        "runtime": 60,
        "mem_mb": 4000,
        "slurm_extra": "--hint=nomultithread --exclusive",
    }
    assert config.slurm_resources(System("c", "slurm", {}, {"cpus": 2})) == {"mem_mb": 4000, "runtime": 60}
    assert config.slurm_resources(System("l", "local", {}, {})) == {"mem_mb": 4000, "runtime": 60}


def test_jobs_get_what_their_system_says() -> None:
    systems = {
        "local": System("local", "local", {}, {}),
        "c": System("c", "slurm", {}, {"cpus": 8, "gres": "gpu:1"}),
        "d": System("d", "slurm", {}, {}),
    }
    threads = config.threads_of(systems, lambda: 64)
    assert [threads(SimpleNamespace(system=name)) for name in systems] == [64, 8, 1]
    gres = config.resource_of(systems, "gres")
    assert [gres(SimpleNamespace(system=name)) for name in systems] == [None, "gpu:1", None]


def test_the_host_cpu_is_found(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags\t\t: fpu sse2\n")
    assert config.host_cpu("auto", cpuinfo) == "x86-64-v2"
    cpuinfo.write_text("flags\t\t: avx avx2 bmi1 bmi2 f16c fma movbe abm xsave\n")
    assert config.host_cpu("auto", cpuinfo) == "x86-64-v3"
    assert config.host_cpu("znver4", cpuinfo) == "znver4"


def test_a_bundle_is_the_sweep_with_changes(root: Path) -> None:
    merged = yaml.safe_load((root / "config/config.yaml").read_text())
    settings = config.resolve_bundle(merged, discover(root), root)
    assert settings is not None
    assert settings.systems[0].name == "h200"
    assert settings.sizes == (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
    assert settings.kernels == resolve(root).kernels
    assert settings.check.large == (270_000_000,)
    assert settings.check.sizes == resolve(root).check.sizes
    assert settings.tunings == resolve(root).tunings
    assert settings.regions["with_transfers"].max_size == 1_000_000
    del merged["bundle"]
    assert config.resolve_bundle(merged, discover(root), root) is None


def test_a_bundle_may_have_tunings_of_its_own_and_has_no_emulator(root: Path) -> None:
    (root / "tinygrad/tinygrad").mkdir(parents=True)
    merged = yaml.safe_load((root / "config/config.yaml").read_text())
    merged["emulator"]["tinygrad"] = "tinygrad"
    merged["bundle"]["tunings"] = {"block": ["64", 1024]}
    assert config.resolve(merged, discover(root), root).emulator == str(root / "tinygrad")
    settings = config.resolve_bundle(merged, discover(root), root)
    assert settings is not None and settings.emulator is None
    assert settings.tunings == Tunings(("safe", "unchecked"), ("strict", "contract"), (64, 1024))


def test_a_bundle_for_slurm_is_refused(root: Path) -> None:
    merged = yaml.safe_load((root / "config/config.yaml").read_text())
    merged["bundle"]["system"] = "cluster"
    with pytest.raises(ConfigError, match="a bundle runs where it is unpacked"):
        config.resolve_bundle(merged, discover(root), root)
