"""The whole line on a small sweep: compilers, packaging, libomptarget's host device, judge, tables and figures.

It runs in a copy of the repository, so that mistakes can be planted. The toolchain's root is that of the repository.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ironsweep.kernels import discover
from slurm_on_one_host import Cluster, why_not
from sweep_through_slurm import CHANCE, Sweep
from sweep_through_slurm import finished as whole

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
SWEEP = (
    "kernels=[Stream_TRIAD,Algorithm_REDUCE_SUM]",
    "sizes=[1000,20000]",
    "passes=6",
    "reps={default: 50}",
    "check={sizes: [1, 997], large: []}",
    "archs={host: [host], nvidia: [sm_90], amd: [gfx90a]}",
)


class Checkout:
    """A copy of the repository in which the small sweep runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).exists() or (ROOT / name).is_symlink():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        # What is large or slow to make is taken from the repository, and what the tests may change is copied.
        toolchain = folder / "toolchain"
        toolchain.mkdir()
        (toolchain / "root").symlink_to(ROOT / "results/toolchain/root")
        for name in ("debian.lock", "root.json", "cuda.json"):
            shutil.copy2(ROOT / "results/toolchain" / name, toolchain / name)
        if (ROOT / "results/build/core").exists():
            shutil.copytree(ROOT / "results/build/core", folder / "results/build/core", copy_function=os.link)

    def snakemake(
        self,
        *arguments: str,
        sweep: tuple[str, ...] = SWEEP,
        profile: str = "profiles/local",
        environment: dict[str, str] | None = None,
    ) -> str:
        """Run snakemake; returns what it printed."""
        command = [
            "snakemake",
            "--profile",
            profile,
            *arguments,
            "--config",
            *sweep,
            "toolchain_dir=toolchain",
        ]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned_jobs(self, *arguments: str) -> tuple[set[str], set[str]]:
        """What a dry run would do: the rules, and the kernels that any job concerns."""
        text = self.snakemake("--dry-run", *arguments)
        table = re.search(r"^job +count\n[- ]+\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        rules = {line.split()[0] for line in table[1].splitlines()} - {"total"} if table else set()
        jobs = re.findall(r"^Job \d+: (.*)$", text, re.MULTILINE)
        concerned = {kernel for kernel in discover(ROOT) for job in jobs if re.search(rf"\b{kernel}\b", job)}
        return rules, concerned

    def records(self) -> dict[str, dict[str, Any]]:
        """The records of all batches by the id of their cell."""
        files = (self.folder / "results/records/local").glob("*.jsonl")
        lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        return {line["id"]: line for line in lines if "id" in line}

    def cells(self) -> pd.DataFrame:
        """The table of cells."""
        return pd.read_parquet(self.folder / "results/tables/cells.parquet")

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that occurs in a file."""
        file = self.folder / name
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{name} does not contain {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in which the sweep has run once."""
    if not (ROOT / "results/toolchain/root.json").exists():
        pytest.skip("the toolchain is not built: make run")
    checkout = Checkout(tmp_path_factory.mktemp("checkout"))
    checkout.snakemake()
    return checkout


@pytest.fixture
def changed(finished: Checkout) -> Iterator[Checkout]:
    """The finished checkout, to be changed by a test and put right again after it."""
    sources = [finished.folder / name for name in ("kernels", "workflow", "config")]
    before = {file: file.read_bytes() for folder in sources for file in folder.rglob("*") if file.is_file()}
    yield finished
    for file, content in before.items():
        if file.read_bytes() != content:
            file.write_bytes(content)


def test_every_host_cell_is_right_and_the_planted_ones_are_caught(finished: Checkout) -> None:
    cells = finished.cells()
    host = cells[(cells.device == "host") & (cells.kind != "planted")]
    assert set(host.variant) == {"rust_offload", "cpp_seq", "cpp_openmp"}
    assert set(host.status) <= {"ok", "below_resolution"}, host[["kernel", "variant", "status", "reason"]]
    planted = cells[(cells.device == "host") & (cells.kind == "planted")]
    assert set(planted.status) == {"wrong_result"}
    assert cells.verified.all()
    rust = host[(host.variant == "rust_offload") & (host.region == "launch_sync")]
    assert set(rust.tuning) == {"safe_strict", "safe_contract", "unchecked_strict", "unchecked_contract"}
    problems = pd.read_csv(finished.folder / "results/tables/problems.csv")
    assert problems.empty, problems


def test_contraction_is_seen_in_the_results(finished: Checkout) -> None:
    """The same random data: all variants agree in every bit, but strict and contracted results do not."""
    cells = finished.cells()
    chosen = cells[(cells.kernel == "Stream_TRIAD") & (cells.device == "host") & (cells["size"] == 997)]
    records = finished.records()
    random = chosen[chosen.data == "random"]
    elements = {
        contraction: {(finished.folder / records[identity]["dump"]).read_bytes() for identity in rows.id}
        for contraction, rows in random.groupby("contraction")
    }
    assert len(elements["strict"]) == 1
    assert len(elements["contract"]) == 1
    if "fma" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        assert elements["strict"] != elements["contract"]


def test_cells_without_their_gpu_say_so(finished: Checkout) -> None:
    cells = finished.cells()
    absent = cells[(cells.device == "amd") & (cells.variant == "rust_liboffload")]
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has an AMD GPU")
    assert set(absent.status) == {"not_run"}
    assert absent.reason.str.contains("no AMD GPU").all()


def test_code_generation_is_recorded_for_every_image(finished: Checkout) -> None:
    table = pd.read_csv(finished.folder / "results/tables/codegen.csv")
    assert (table[table.status == "ok"].code_bytes > 0).all()
    tunings = table.groupby(["kernel", "arch"])[["safety", "contraction"]].nunique()
    assert (tunings == 2).all().all()
    one = table[(table.arch == "gfx90a") & (table.safety == "safe") & (table.contraction == "strict")]
    assert one[one.kernel == "Algorithm_REDUCE_SUM"].shared_bytes.max() > 0
    assert one[one.kernel == "Stream_TRIAD"].scratch_bytes.max() == 0


def test_a_second_run_has_nothing_to_do(finished: Checkout) -> None:
    assert "Nothing to be done" in finished.snakemake("--dry-run")


def test_a_change_of_a_figure_measures_nothing(changed: Checkout) -> None:
    changed.change("workflow/scripts/ironsweep/figures.py", '"""', '# changed\n"""')
    rules, _ = changed.planned_jobs()
    assert rules == {"figures", "report_page", "summary", "all"}


def test_a_change_of_a_kernel_concerns_that_kernel_alone(changed: Checkout) -> None:
    changed.change("kernels/suite/stream_triad.rs", "DEFAULT_REPS: usize = 1000;", "DEFAULT_REPS: usize = 999;")
    rules, concerned = changed.planned_jobs()
    assert concerned == {"Stream_TRIAD"}
    assert {"device_bitcode", "host_images", "launchers", "worker", "run_batch"} <= rules
    assert not rules & {"core", "device_layer", "launch_layer", "bench_layer", "baseline", "golden"}


def test_a_further_size_measures_only_the_new_cells(finished: Checkout) -> None:
    before = finished.cells().set_index("id")
    finished.snakemake(sweep=tuple(item.replace("[1000,20000]", "[1000,20000,40000]") for item in SWEEP))
    after = finished.cells().set_index("id")
    measured = before[(before.kind == "measure") & (before.device == "host")]
    assert (after.loc[measured.index].median_s == measured.median_s).all()
    new = after[(after["size"] == 40000) & (after.device == "host")]
    assert len(new) and set(new.status) <= {"ok", "below_resolution"}
    finished.snakemake()


def test_a_kernel_that_does_not_compile_takes_no_other_along(changed: Checkout) -> None:
    before = changed.records()
    changed.change("kernels/suite/stream_triad.rs", "a.set(item,", "a.set(0,")
    changed.snakemake()
    others = {name for name, record in before.items() if record["kernel"] != "Stream_TRIAD"}
    assert others
    after = changed.records()
    assert all(after[name] == before[name] for name in others)  # nothing else was measured again
    cells = changed.cells()
    broken = cells[(cells.kernel == "Stream_TRIAD") & (cells.variant == "rust_offload") & (cells.device == "host")]
    assert set(broken.status) == {"build_failed"}
    assert broken.reason.str.contains("mismatched types").all()
    other = cells[(cells.kernel == "Algorithm_REDUCE_SUM") & (cells.device == "host")]
    assert set(other.status) <= {"ok", "below_resolution"}


def test_without_ptxas_the_nvidia_cells_are_unsupported(changed: Checkout) -> None:
    changed.change("config/toolchains/debian.yaml", "cuda: auto", "cuda: none")
    changed.snakemake()
    cells = changed.cells()
    nvidia = cells[cells.device == "nvidia"]
    assert set(nvidia.status) == {"unsupported"}
    assert nvidia.reason.str.contains("ptxas|nvcc|libdevice").all()
    host = cells[(cells.device == "host") & (cells.kind == "measure")]
    assert set(host.status) <= {"ok", "below_resolution"}


WHAT = ["kernel", "kind", "variant", "device", "arch", "tuning", "region", "data", "size", "reps"]


class ThroughSlurm(Sweep):
    """The same sweep with the same programs in jobs that ask for a GPU, up to the tables."""

    TABLE = "results/tables/cells.csv"

    def __init__(self, folder: Path, cluster: Cluster, built: Path) -> None:
        super().__init__(folder, cluster, "test-cluster", built=built)
        self.settings = [*SWEEP, "sizes=[1000,20000,1e6]", "passes=20"]
        self.settings.remove("sizes=[1000,20000]")
        self.settings.remove("passes=6")

    def begin(self) -> subprocess.Popen[str]:
        """The command for the tables."""
        return self.start("--allowed-rules", "program", "run_batch", "golden", "aggregate", targets=[self.TABLE])

    def cells(self) -> pd.DataFrame:
        """The rows of results/tables/cells.csv, without what is chance, but with what the cells are called."""
        table = pd.read_csv(self.folder / self.TABLE, dtype=str)
        return table.drop(columns=[name for name in table if name in CHANCE - {"id", "system"}])

    def checksums(self, kernel: str) -> dict[str, list[float]]:
        """What a kernel computed, by cell."""
        return {record["id"]: record["checksums"] for record in self.records() if record["kernel"] == kernel}


@pytest.mark.cluster
@pytest.mark.skipif(bool(why_not()), reason=f"no Slurm can be started: {why_not()}")
def test_a_disturbed_sweep_through_slurm(
    finished: Checkout, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its tables are those of an undisturbed one, and say the same as those of this machine."""
    built = finished.folder / "results"
    before = len(cluster.ended())
    quiet = ThroughSlurm(tmp_path_factory.mktemp("quiet"), cluster, built)
    whole(quiet.begin())
    assert {job["JobState"] for job in cluster.ended()[before:]} == {"COMPLETED"}

    sweep = ThroughSlurm(tmp_path_factory.mktemp("disturbed"), cluster, built)
    process = sweep.begin()
    job = sweep.wait_until_measuring(2)
    cluster.cancel(job)
    sweep.wait_for(lambda: job not in cluster.jobs())
    sweep.wait_until_measuring(2)
    process.kill()
    whole(process, code=-9)
    assert not (sweep.folder / sweep.TABLE).exists()
    whole(sweep.begin())
    sweep.is_whole()
    pd.testing.assert_frame_equal(sweep.cells(), quiet.cells())
    assert sweep.checksums("Stream_TRIAD") == quiet.checksums("Stream_TRIAD")
    # Threads add up in no fixed order.
    sums, before = sweep.checksums("Algorithm_REDUCE_SUM"), quiet.checksums("Algorithm_REDUCE_SUM")
    assert sums.keys() == before.keys()
    for name, found in sums.items():
        assert found == pytest.approx(before[name], rel=1e-12)

    here, there = finished.cells(), quiet.cells()
    assert set(there.system) == {"test-cluster"} and set(there.verified) == {"True"}
    of_host = []
    for cells in (here, there):
        chosen = cells[(cells.device == "host") & (cells["size"].astype(int) < 1_000_000)].astype(str)
        # A pass may be too short for the clock in one of them. How many passes there are is no part of what is said.
        chosen["status"] = chosen["status"].replace("below_resolution", "ok")
        of_host.append(chosen.sort_values(WHAT)[[*WHAT, "status", "verified"]].reset_index(drop=True))
    pd.testing.assert_frame_equal(*of_host)
