"""The configuration: what is understood, and what is refused with which words."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from config_reference import reference
from ironsweep import config, plan
from ironsweep.config import SCHEMAS, Check, ConfigError, Default, Hardware, Region, System, Tunings
from ironsweep.configtext import check_arguments
from ironsweep.errors import UserError
from ironsweep.kernels import Kernel, discover, kernel_name
from ironsweep.sizes import all_elements

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
        ("host: {}", "hots: {}", "devices.hots: unknown key; did you mean 'host'?"),
        ("host: {}", "host: {modle: x}", "devices.host.modle: unknown key; did you mean 'model'?"),
        ("host: {}", "nvidia: auto", "auto would look at another machine in every job"),
        ("host: {}", "host: auto", "auto would look at another machine in every job"),
        ("host: {}", "amd: {arch: sm_90}", "devices.amd.arch: 'sm_90' is not an architecture of amd"),
        ("host: {}", "amd: {arch: gfx94}", "'gfx94' is not an architecture of amd; did you mean 'gfx942'?"),
        ("host: {}", "amd: {model: MI300A}", "devices.amd: the key 'arch' is missing"),
        ("host: {}", "host: {arch: host}", "devices.host.arch: is not said of the host"),
        ("host: {}", "host: {memory: 64 XB}", "devices.host.memory: '64 XB' is not understood; write a number and"),
        ("host: {}", "host: {memory: 2 LLC}", "devices.host.memory: '2 LLC' is no amount of memory"),
        ("host: {}", "nvidia: many", 'devices.nvidia: "many" is not possible; known are'),
        (
            "host: {}",
            "host: {model: FILL_IN} # as the vendor calls it",
            "FILL_IN must be replaced by what your site has (as the ",
        ),
        ("runtime: 60", "runtime: 60\n  max_runtime: 30", "slurm.max_runtime: is less than runtime"),
        ("exclusive: false", "exclusive: NO", "slurm.exclusive: NO is true or false for YAML; write true or false"),
        ("scheduler: slurm", "scheduler: local", "slurm: is given, but the scheduler is local"),
        ("mem_mb: 4000", "mem_mb: 100", "slurm.mem_mb: 100 is out of range; it must be at least 500"),
        ("cpus: 4", "gres: gpu:h100:0", 'slurm.gres: "gpu:h100:0" is not possible here'),
        ("scheduler: slurm", "scheduler: slurm\nscratch: $SCRATCH", 'scratch: "$SCRATCH" is not possible here'),
        ("cpus: 4", "gres: gpu h100", 'slurm.gres: "gpu h100" is not possible here'),
    ],
)
def test_a_wrong_system_is_refused(root: Path, old: str, new: str, message: str) -> None:
    edit(root, old, new, "config/systems/cluster.yaml")
    said = refusal(root, system="cluster")
    assert said.startswith("config/systems/cluster.yaml:")
    assert message in said


def test_a_job_asks_for_no_more_gpus_than_a_node_has(root: Path) -> None:
    edit(root, "host: {}", "nvidia: {arch: sm_90, count: 4}", "config/systems/cluster.yaml")
    edit(root, "cpus: 4", "gres: gpu:h100:8", "config/systems/cluster.yaml")
    assert "slurm.gres: asks for 8 GPUs, but a node has 4 (count)" in refusal(root, system="cluster")
    edit(root, "gres: gpu:h100:8", "gres: gpu:h100", "config/systems/cluster.yaml")
    assert resolve(root, system="cluster").systems


@pytest.mark.parametrize("name", [file.stem for file in (REPOSITORY / "config/systems").glob("*.yaml")])
def test_the_systems_that_come_with_it_are_valid_once_filled_in(root: Path, name: str) -> None:
    file = root / f"config/systems/{name}.yaml"
    text = file.read_text()
    if "FILL_IN" in text:
        with pytest.raises(ConfigError, match=rf"^config/systems/{name}.yaml:\d+: \S+: FILL_IN must be replaced by"):
            config.load_system(name, root, "test")
        values = {"memory": "96 GB", "gres": "gpu:1", "account": "p1", "partition": "gpu", "scratch": "/scratch"}
        for key, value in values.items():
            text = text.replace(f"{key}: FILL_IN", f"{key}: {value}")
        file.write_text(text)
    assert config.load_system(name, root, "test").name == name


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


def test_a_pre_emptible_job_comes_back_by_itself() -> None:
    resources = config.slurm_resources(System("c", "slurm", {}, {"preemptible": True}))
    assert resources["slurm_extra"] == "--requeue"


def test_what_a_shell_does_before_it_measures(tmp_path: Path) -> None:
    system = System("c", "slurm", {}, {}, environment={"SOME": "a b"}, scratch=str(tmp_path))
    bare = System("bare", "slurm", {}, {})
    loaded = System("m", "slurm", {}, {}, modules=("rocm/6", "x"), environment={"SOME": "c"})
    prepare = config.preparation_of({"c": system, "bare": bare, "m": loaded})

    def shell(name: str) -> str:
        script = (
            f'module() {{ echo "loaded $*"; }}; {prepare(SimpleNamespace(system=name))}echo "$SOME-${{TMPDIR-none}}"'
        )
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True).stdout

    assert shell("c") == f"a b-{tmp_path}\n"
    assert prepare(SimpleNamespace(system="bare")) == ""
    assert shell("m").startswith("loaded load rocm/6 x\nc-")


def test_jobs_at_once_and_how_slurm_is_asked() -> None:
    systems = [System(str(n), "slurm", {}, {"max_jobs": n, "status_command": "sacct"}) for n in (20, 5)]
    assert config.jobs_at_once(systems, 50) == 5
    assert config.jobs_at_once(systems, 3) == 3
    assert config.jobs_at_once(systems, None) is None  # no Slurm jobs
    assert config.jobs_at_once([System("s", "slurm", {}, {})], 50) == 50
    assert config.status_command(systems) == "sacct"
    assert config.status_command([*systems, System("s", "slurm", {}, {"status_command": "squeue"})]) == "squeue"
    assert config.status_command([System("s", "slurm", {}, {})]) is None


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


def write_sweep(root: Path, name: str, text: str) -> None:
    (root / f"config/sweeps/{name}.yaml").write_text(text)


def test_kernels_are_names_groups_patterns_and_what_is_taken_away(root: Path) -> None:
    def chosen(*patterns: str) -> list[str]:
        return [kernel.name for kernel in resolve(root, kernels=list(patterns)).kernels]

    apps = [name for name in NAMES if name.startswith("Apps_")]
    assert chosen("Apps") == apps
    assert chosen("Apps", "Stream_COPY", "!Apps_F*") == [*(name for name in apps if name != "Apps_FIR"), "Stream_COPY"]
    assert chosen("!Apps") == [name for name in NAMES if name not in apps]
    assert "kernels: no kernel is left" in refusal(root, kernels=["Stream", "!Stream_*"])
    assert "kernels[1]: no kernel is called 'Strem'; did you mean 'Stream'?" in refusal(root, kernels=["*", "!Strem"])


def with_cache(root: Path) -> System:
    """A system whose GPU has a last-level cache of 8 MiB, and memory for 10^9 elements."""
    device = "{arch: gfx90a, memory: 8 GB, last_level_cache: 8 MiB}"
    (root / "config/systems/node.yaml").write_text(f"scheduler: local\ndevices: {{amd: {device}, host: {{}}}}\n")
    return config.load_system("node", root, "test")


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        (["800 MB", "8kB", "1 MiB"], (1000, 131_072, 100_000_000)),
        (["1e3 B"], (125,)),
        ({"from": "1e4", "to": "1e8", "per_decade": "1"}, (10**4, 10**5, 10**6, 10**7, 10**8)),
        ({"from": 1000, "to": 10_000, "per_decade": 2}, (1000, 3162, 10_000)),
        ([{"from": "8 kB", "to": 5000, "factor": 2}, 4000, 7], (7, 1000, 2000, 4000)),
    ],
)
def test_sizes_are_elements_bytes_and_ranges(root: Path, written: Any, sizes: tuple[int, ...]) -> None:
    assert resolve(root, sizes=written).sizes == sizes


def test_sizes_in_units_of_the_cache_are_resolved_for_each_device(root: Path) -> None:
    system = with_cache(root)
    settings = resolve(root, sizes=["0.5 LLC", {"from": "1 LLC", "to": "4 LLC", "factor": 2}, 100], variants=["hip"])
    assert all_elements(settings.sizes, system.cache("amd")) == (100, 2**19, 2**20, 2**21, 2**22)
    assert all_elements(settings.sizes, system.cache("nvidia")) == (100,)
    settings = resolve(root, system="node", sizes=["2 LLC"], variants=["hip"])
    sizes = {cell.size for cell in plan.make(settings).cells if cell.kind == "measure" and cell.arch == "gfx90a"}
    assert sizes == {2**21}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("800 XB", "sizes[0]: '800 XB' is not understood; write a number and one of B, kB"),
        ("0 MB", "sizes[0]: '0 MB' is out of range"),
        ("4 B", "sizes[0]: '4 B' is 0.5 elements of 8 bytes"),
        ("many", "sizes[0]: 'many' is not understood"),
        ("1e400 B", "is out of range"),
        ("010", "sizes[0]: '010' is not understood"),
        ({"from": 1, "to": 10}, "sizes[0]: needs one of per_decade"),
        ({"from": 1, "to": 10, "factor": 2, "per_decade": 1}, "sizes[0]: needs one of per_decade"),
        ({"from": 10, "to": 1, "factor": 2}, "sizes[0]: ends below where it begins"),
        ({"from": 1, "to": 1e9, "factor": 1.001}, "sizes[0]: stands for more than 1000 sizes"),
        ({"from": 1, "too": 1e9, "factor": 2}, "sizes[0].too: unknown key; did you mean 'to'?"),
        ({"from": 1, "to": 1e9, "factor": 1}, "sizes[0].factor: 1 is out of range; it must be more than 1"),
        ({"from": 0, "to": 1e9, "factor": 2}, "sizes[0].from: 0 is out of range; it must be at least 1"),
    ],
)
def test_a_size_that_is_wrong_is_refused(root: Path, size: Any, message: str) -> None:
    assert message in refusal(root, sizes=[size])


def test_a_size_must_have_a_meaning_on_the_device_and_fit_it(root: Path) -> None:
    with_cache(root)
    said = refusal(root, system="node", sizes=[100, "2 LLC"], variants=["cpp_seq"])
    assert said.startswith("--config: sizes[1]: the last-level cache of the host device is not known; write last_level")
    said = refusal(root, system="node", sizes=[100, 2 * 10**9], variants=["hip"])
    assert "sizes[1]: an array of 2000000000 elements (16 GB) does not fit the 8 GB of the amd device in system" in said
    rule = {"device": "amd", "system": "node", "size": {"min": "1e9"}, "reason": "too large"}
    resolve(root, system="node", sizes=[100, 2 * 10**9], variants=["hip"], exclude=[rule])


def test_a_described_device_needs_an_image(root: Path) -> None:
    with_cache(root)
    said = refusal(root, system="node", archs={"host": ["host"], "amd": ["gfx942"]})
    assert said.startswith("--config: archs.amd: gfx90a, the amd device of system node, is not among them")
    resolve(root, system="node", archs={"host": ["host"], "amd": ["gfx942"]}, variants=["cpp_seq"])
    assert "archs.amd[0]: no image can be made for 'gfx999'" in refusal(root, archs={"amd": ["gfx999"]})
    assert "no image can be made for 'sm_91'; did you mean 'sm_90'?" in refusal(root, archs={"nvidia": ["sm_91"]})


def test_rules_give_their_reason_to_what_they_remove(root: Path) -> None:
    settings = resolve(
        root,
        kernels=["Stream_TRIAD"],
        sizes=[1000, 5000],
        where=[{"size": {"max": "4e3"}, "reason": "short"}],
        exclude=[{"variant": ["cpp_seq"], "kernel": "Stream", "kind": "check", "reason": "known\nto be right"}],
    )
    cells = plan.make(settings).cells
    excluded = {(c.kind, c.size, c.reason_planned) for c in cells if c.status_planned == "excluded" and c.size > 4000}
    assert ("measure", 5000, "short") in excluded
    assert {c.status_planned for c in cells if c.kind == "measure" and c.size == 1000 and c.device == "host"} == {
        "planned"
    }
    seq = {c.status_planned for c in cells if c.variant == "cpp_seq" and c.kind == "planted"}
    assert seq == {"planned"}
    assert {c.reason_planned for c in cells if c.variant == "cpp_seq" and c.kind == "check"} >= {"known to be right"}


def test_what_a_cell_does_not_have_removes_it_neither_way(root: Path) -> None:
    rule = {"safety": "safe", "block": [256], "reason": "r"}
    for key, removed in (("where", {"unchecked"}), ("exclude", {"safe"})):
        cells = plan.make(resolve(root, kernels=["Stream_TRIAD"], **{key: [rule]})).cells
        excluded = [c for c in cells if c.status_planned == "excluded" and c.device != "amd_emulated"]
        assert {c.safety for c in excluded} == removed
        assert {c.kind for c in excluded} == {"measure", "check"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"reason": "r"}, "exclude[0]: asks for nothing; add one of kernel, group"),
        ({"variant": "cuda"}, "exclude[0]: the key 'reason' is missing"),
        ({"variant": "cudda", "reason": "r"}, "exclude[0].variant: \"cudda\" is not possible; did you mean 'cuda'?"),
        ({"varient": "cuda", "reason": "r"}, "exclude[0].varient: unknown key; did you mean 'variant'?"),
        ({"kernel": "Apps_FRI", "reason": "r"}, "no kernel is called 'Apps_FRI'; did you mean 'Apps_FIR'?"),
        ({"group": "App", "reason": "r"}, "exclude[0].group: 'App' is not known; did you mean 'Apps'?"),
        ({"group": "Planted", "reason": "r"}, "exclude[0].group: 'Planted' is not known"),
        ({"arch": "sm90", "reason": "r"}, "exclude[0].arch: 'sm90' is not known; did you mean 'sm_90'?"),
        ({"size": {"min": 1e9, "max": "1e3"}, "reason": "r"}, "exclude[0].size: min is larger than max"),
        ({"system": "locla", "reason": "r"}, "exclude[0].system: 'locla' is not known; did you mean 'local'?"),
        ({"block": 100, "reason": "r"}, "exclude[0].block: 100 is not possible; known are"),
        ({"size": {"mim": 1}, "reason": "r"}, "exclude[0].size.mim: unknown key; did you mean 'min'?"),
        ({"size": {"min": 0}, "reason": "r"}, "exclude[0].size.min: 0 is out of range"),
        ({"size": 1, "reason": "  "}, "exclude[0].reason: is empty; say why"),
    ],
)
def test_a_rule_that_is_wrong_is_refused(root: Path, rule: dict[str, Any], message: str) -> None:
    assert message in refusal(root, exclude=[rule])


def test_lists_can_be_walked_together(root: Path) -> None:
    settings = resolve(
        root,
        kernels=["Stream_TRIAD", "Apps_FIR"],
        sizes=["1e6", "800 kB"],
        zip=[["kernels", "sizes"], ["safety", "contraction"]],
    )
    cells = [cell for cell in plan.make(settings).cells if cell.kind == "measure"]
    assert {(c.kernel, c.size) for c in cells} == {("Stream_TRIAD", 10**6), ("Apps_FIR", 10**5)}
    pairs = {(c.safety, c.contraction) for c in cells if c.variant == "rust_liboffload"}
    assert pairs == {("safe", "strict"), ("unchecked", "contract")}
    assert {c.contraction for c in cells if c.variant == "cuda"} == {"strict", "contract"}
    checks = {c.size for c in plan.make(settings).cells if c.kind == "check" and c.kernel == "Apps_FIR"}
    assert set(settings.check.sizes) <= checks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zip": [["sizes", "safty"]]}, "zip[0][1]: \"safty\" is not possible; did you mean 'safety'?"),
        (
            {"zip": [["sizes", "kernels"]]},
            "zip[0]: walks equally long lists together, but these have sizes 2, kernels 1",
        ),
        ({"zip": [["sizes"]]}, "zip[0]: has too few values; it needs 2"),
        ({"zip": [["sizes", "safety"], ["sizes", "contraction"]]}, "zip[1]: sizes is in another group already"),
        ({"zip": [["sizes", "safety"]], "sizes": {"from": 1, "to": 9, "factor": 3}}, "sizes: is not a list, which zip"),
        ({"zip": [["kernels", "sizes"]], "kernels": ["Apps", "!Apps_FIR"]}, "kernels[1]: takes kernels away, which"),
    ],
)
def test_lists_that_cannot_be_walked_together_are_refused(root: Path, changes: dict[str, Any], message: str) -> None:
    assert message in refusal(root, **changes)


@pytest.mark.parametrize("name", [file.stem for file in (REPOSITORY / "config/sweeps").glob("*.yaml")])
def test_the_sweeps_that_come_with_it_are_valid(root: Path, name: str) -> None:
    settings = resolve(root, sweep=name, system="h200", variants=["cuda"])
    assert plan.only_runnable(plan.make(settings)).cells


def test_a_sweep_lies_between_the_configuration_and_the_command_line(root: Path) -> None:
    write_sweep(root, "base", "passes: 3\nwarmup: 2\nsizes: {from: 1e3, to: 1e4, per_decade: 1}\n")
    write_sweep(root, "mine", "extends: base\npasses: 4\nreps: {default: 7}\n")
    settings = resolve(root, sweep="mine")
    assert (settings.passes, settings.warmup, settings.sizes) == (4, 2, (1000, 10_000))
    assert settings.reps.default == 7
    assert settings.reps.kernels == resolve(root).reps.kernels
    changed = resolve(root, sweep="mine", passes=9, sizes={"from": 1e5, "to": 1e6, "factor": 10})
    assert (changed.passes, changed.sizes) == (9, (100_000, 1_000_000))
    (root / "more.yaml").write_text("warmup: 5\nsweep: mine\n")
    merged = {**yaml.safe_load((root / "config/config.yaml").read_text()), "warmup": 5, "sweep": "mine"}
    assert config.resolve(merged, discover(root), root, files=["more.yaml", "config/config.yaml"]).warmup == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: mine\n", "config/sweeps/mine.yaml:1: extends: mine -> mine is a circle"),
        ("extends: other\n", "config/sweeps/other.yaml:1: extends: mine -> other -> mine is a circle"),
        (
            "passes: 3\nextends: qick\n",
            "mine.yaml:2: extends: no sweep in config/sweeps is called 'qick'; did you mean",
        ),
        ("pases: 3\n", "config/sweeps/mine.yaml:1: pases: unknown key; did you mean 'passes'?"),
        ("\npasses: 0\n", "config/sweeps/mine.yaml:2: passes: 0 is out of range; it must be at least 1"),
        ("sweep: quick\n", "config/sweeps/mine.yaml:1: sweep: does not belong in a sweep"),
        ("passes: 3\npasses: 4\n", "config/sweeps/mine.yaml:2: passes: is already set on line 1"),
        ("- passes\n", "config/sweeps/mine.yaml:1: keys and values are expected"),
    ],
)
def test_a_sweep_that_is_wrong_is_refused(root: Path, text: str, message: str) -> None:
    write_sweep(root, "mine", text)
    write_sweep(root, "other", "extends: mine\n")
    assert message in refusal(root, sweep="mine")


def test_an_unknown_sweep_is_refused(root: Path) -> None:
    assert refusal(root, sweep="qiuck") == (
        "--config: sweep: no sweep in config/sweeps is called 'qiuck'; did you mean 'quick'?"
    )
    edit(root, "# sweep: quick", "sweep: 7")
    assert "config/config.yaml:10: sweep: no sweep in config/sweeps is called 7" in refusal(root)
    assert "extends: unknown key" in refusal(root, extends="quick", sweep="quick")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timeout_s: .nan", "x.yaml:1: timeout_s: .nan is not a number that can be used"),
        ("timeout_s: .inf", ".inf is not a number that can be used"),
        ("passes: 0x10", "passes: 0x10 is a hexadecimal or binary number for YAML"),
        ("passes: 0b_", "passes: 0b_ is a hexadecimal or binary number"),
        ("passes: NO", "passes: NO is true or false for YAML"),
        ("name: 2026-12-01", "name: 2026-12-01 is a date for YAML"),
        ("kernels: [!Apps ]", "kernels[0]: !Apps is a tag for YAML; put the word in quotes"),
        (
            "kernels: [Apps, !Apps_FIR]",
            "not valid YAML: expected ',' or ']', but got '<stream end>'; a word that begins",
        ),
        ('passes: !!int "x"', "passes: !!int is a tag for YAML"),
        ("passes: !!set {a}", "passes: !!set is a tag for YAML"),
        ("a: &x [1]\nb: *x", "x.yaml:1: b: refers to another value by its anchor"),
        ("a: &x [*x]", "a[0]: refers to another value by its anchor"),
        ("a: &x {b: 1}\nc: {<<: *x}", "c.<<: cannot be a key"),
        ("1: 2", "1: cannot be a key; a key is a word"),
        ("NO: 2", "NO: cannot be a key"),
        ("? [a]\n: 1", "the file: a key must be a word"),
        ("__use_yte__: true", "__use_yte__: templates are not evaluated here"),
        ('a: "\\0"', "a: contains a character that cannot be seen"),
        ('"a\\nb": 1\n"a\\nb": 2', 'x.yaml:2: "a\\nb": is already set on line 1'),
        (f"passes: {'1' * 5000}", "is too long for a number"),
        (f"a: {'[' * 5000}", "nested too deeply"),
        ("a: 1\n---\nb: 1", "not valid YAML"),
    ],
)
def test_what_yaml_would_change_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.Text(tmp_path / "x.yaml", "x.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "passes=010"], "--config: passes: 010 is an octal number for YAML; write it without leading 0"),
        (["-n", "-C", "passes=3", "passes=4"], "--config: passes: is already set; remove one of the two"),
        (["--config=check={seed: 1, seed: 2}"], "--config: check.seed: is already set; remove one of the two"),
        (["--config", "timeout_s=1:30"], "--config: timeout_s: 1:30 is a number to base 60 for YAML"),
        (["--config", "sizes=[1e4, 010]"], "--config: sizes[1]: 010 is an octal number"),
        (
            ["-C", "kernels=[Apps,!Apps_FIR]"],
            "--config: kernels: not valid YAML: expected ',' or ']', but got '<stream end>'; a",
        ),
        (["--config", "check.exclusive=NO", "-n"], "NO is true or false for YAML"),
    ],
)
def test_what_the_command_line_would_change_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_arguments(["plan", *arguments])
    assert message in str(caught.value)


def test_an_ordinary_command_line_is_let_through() -> None:
    check_arguments(["all", "-n", "--config", "passes=10", "kernels=[Stream_*]", "x", "a=b: [", "-j", "010"])
    check_arguments(["--config", "base64//cGFzc2VzPTEw==", "base64//cGFzc2VzPTEw=="])


def test_what_is_not_used_by_the_rules_yet_is_kept(root: Path) -> None:
    edit(root, "# modules: [rocm]", "modules: [rocm/6.4]", "config/systems/cluster.yaml")
    edit(
        root,
        "# environment: {OMP_PROC_BIND: close}",
        "environment: {OMP_NUM_THREADS: 4}",
        "config/systems/cluster.yaml",
    )
    assert "environment.OMP_NUM_THREADS: 4 is not a word" in refusal(root, system="cluster")
    edit(root, "OMP_NUM_THREADS: 4", 'OMP_NUM_THREADS: "4"', "config/systems/cluster.yaml")
    edit(root, "  # max_jobs: 50 ", "  max_jobs: 50 ", "config/systems/cluster.yaml")
    edit(
        root,
        "host: {}",
        "host: {model: x, count: 1, memory: 64 GiB, last_level_cache: 1 MiB}",
        "config/systems/cluster.yaml",
    )
    system = resolve(root, system="cluster").systems[0]
    assert system.modules == ("rocm/6.4",)
    assert system.environment == {"OMP_NUM_THREADS": "4"}
    assert system.slurm["max_jobs"] == 50
    assert system.hardware == {"host": Hardware("x", 1, 64 * 2**30, 2**20)}
    assert "max_jobs" not in config.slurm_resources(system)


def test_the_hosts_cache_is_its_last_level(tmp_path: Path) -> None:
    assert config._host_cache(tmp_path) is None
    for index, (level, size) in enumerate(((1, "32K"), (3, "32768K"), (2, "512K"))):
        folder = tmp_path / f"sys/devices/system/cpu/cpu0/cache/index{index}"
        folder.mkdir(parents=True)
        (folder / "level").write_text(f"{level}\n")
        (folder / "size").write_text(f"{size}\n")
    assert config._host_cache(tmp_path) == 32 * 2**20


def test_the_reference_is_up_to_date() -> None:
    assert (REPOSITORY / "config/README.md").read_text() == reference(), "run: make reference"


@pytest.mark.parametrize("name", ["config", "system"])
def test_every_key_is_described(name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())

    def undescribed(node: Any, place: str) -> list[str]:
        found = []
        for key, given in node.get("properties", {}).items():
            target = schema["$defs"][given["$ref"].rpartition("/")[2]] if "$ref" in given else given
            if not (given.get("description") or target.get("description")):
                found.append(f"{place}.{key}")
            found += undescribed(given, f"{place}.{key}")
        return found

    nodes = {"": schema, **schema["$defs"]}
    assert [place for where, node in nodes.items() for place in undescribed(node, where)] == []
