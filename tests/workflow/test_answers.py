"""Questions that snakemake answers while it reads the workflow, from command line to exit code. No compilers."""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("Snakefile", "config", "kernels", "profiles", "slurm", "workflow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the workflow without results, and files of records: measured ones of the H200, and the same, slower."""
    folder = tmp_path_factory.mktemp("answers")
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    with lzma.open(ROOT / "examples/h200/h200.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [record for line in lines if (record := json.loads(line)).get("size") == 100_000_000]
    slower = [
        record
        if record["kernel"] != "Apps_FIR"
        else record | {"seconds_per_rep": [1.5 * seconds for seconds in record["seconds_per_rep"]]}
        for record in records
    ]
    for name, content in (("before", records), ("after", slower)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in content))
    return folder


def ask(folder: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output, and the last line of standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr.strip().rpartition("\n")[2]


def test_compare_tells_by_its_exit_code_whether_anything_became_worse(folder: Path) -> None:
    code, output, _ = ask(folder, "compare", "--config", "before=before.jsonl", "after=after.jsonl")
    slower = [line for line in output.splitlines() if line.startswith("slower")]
    assert code == 1 and slower and all(" 0.667x Apps_FIR " in line for line in slower), output
    table = (folder / "results/comparison.csv").read_text().splitlines()
    assert len(table) == 1 + sum('"measure"' in line for line in (folder / "before.jsonl").read_text().splitlines())
    code, output, _ = ask(folder, "compare", "--config", "before=after.jsonl", "after=before.jsonl")
    assert code == 0 and "faster" in output


def test_history_draws(folder: Path) -> None:
    code, output, _ = ask(folder, "history", "--config", "sets=[before.jsonl,after.jsonl,before.jsonl]")
    assert code == 0
    assert all((folder / line).stat().st_size for line in output.splitlines() if line.startswith("results/history."))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare",), "ironsweep: which results? Say: snakemake compare --config before=RESULTS after=RESULTS"),
        (("compare", "--config", "before=none", "after=none"), "ironsweep: --config: before: none is neither"),
        (("history",), "ironsweep: which results? Say: snakemake history"),
        (("history", "--config", "sets=[before.jsonl]"), "ironsweep: --config: sets: has too few values"),
        (("explain",), "ironsweep: which cell? Say: snakemake explain --config cell=ID"),
        (("explain", "--config", "cell=0123456789012345"), "ironsweep: results/tables/cells.parquet does not exist"),
    ],
)
def test_a_mistake_is_one_sentence(folder: Path, words: tuple[str, ...], message: str) -> None:
    code, output, error = ask(folder, *words)
    assert (code, output) == (1, "") and error.startswith(message), error
