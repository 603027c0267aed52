from __future__ import annotations

import io
import json
import logging
import os
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ironsweep import progress, session
from ironsweep.batches import Entry
from ironsweep.progress import Display, Events, Pace, Sweep, Tail, failed, values


@dataclass(frozen=True)
class Planned:
    """An index."""

    batches: list[Entry]
    cells: int


INDEX = Planned(
    [
        Entry("b1", "frontier", "amd", (), 5, 0, 1, 100.0),
        Entry("b2", "frontier", "amd", (), 5, 0, 1, 300.0),
        Entry("b3", "lumi", "host", (), 10, 0, 1, 100.0),
    ],
    18,
)


def record(name: str, status: str = "ok", **more: Any) -> str:
    return json.dumps({"status": status, "message": "", "checksums": [1.5] * 9, "id": name, **more}) + "\n"


def write(file: Path, text: str) -> None:
    """Append to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(text)


def journal(root: Path, system: str, name: str, text: str) -> None:
    write(root / f"results/journal/{system}/{name}.jsonl", text)


def records(root: Path, system: str, name: str, text: str) -> None:
    write(root / f"results/records/{system}/{name}.jsonl", text)


# --- reading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        {"id": "a", "status": "ok"},
        {"status": "ok", "log_tail": 'he said "id": "b", "status": "crashed"', "id": "a"},
        {"inner": {"id": "b", "status": "crashed"}, "id": "a", "status": "ok"},
        {"id": "a", "status": "ok", "inner": {"id": "b", "status": "crashed", "twin_of": "c"}, "twin_of": None},
        {"id": 'a"\\', "status": "ok", "twin_of": "x"},
        {"type": "environment", "status": 7},
    ],
)
def test_what_is_picked_from_a_line_is_what_a_parser_finds(line: dict[str, Any]) -> None:
    expected = {name: line[name] for name in ("id", "status", "twin_of") if isinstance(line.get(name), str)}
    assert values(json.dumps(line).encode()) == expected


@pytest.mark.parametrize("line", [b"", b'{"id": "', b"\xff", b"[]", b'{"id": "a\\u00"}'])
def test_a_damaged_line_says_nothing(line: bytes) -> None:
    assert values(line) == {}


def test_a_file_is_read_on_and_a_half_written_line_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    write(file, "one\ntwo\nthr")
    tail = Tail(file)
    assert tail.read() == (True, [b"one", b"two"])
    assert tail.read() == (False, [])
    write(file, "ee\n")
    assert tail.read() == (False, [b"three"])
    file.write_text("anew\n")
    assert tail.read() == (True, [b"anew"])
    other = tmp_path / "other"
    other.write_text("replaced by a file as long or longer\n")
    other.replace(file)
    assert tail.read()[0]


def test_finished_files_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records(tmp_path, "lumi", "b3", record("x"))
    journal(tmp_path, "frontier", "b1.0", record("a") * 3)
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    read: list[int] = []
    monkeypatch.setattr(progress, "values", lambda line: read.append(len(line)) or {})
    sweep.look()
    assert read == []


# --- where the sweep is ---------------------------------------------------------------------------------------------


def test_cells_are_counted_once_by_system_and_status(tmp_path: Path) -> None:
    journal(tmp_path, "frontier", "b1.0", record("a") + record("b", "crashed") + record("t", twin_of="a"))
    journal(tmp_path, "frontier", "b1.1", json.dumps({"type": "environment", "run": "1"}) + "\n" + record("c"))
    journal(tmp_path, "frontier", "unplanned.0", record("z"))
    journal(tmp_path, "lumi", "b3", record("a", "timeout"))
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    assert sweep.counts() == {"frontier": {"ok": 2, "crashed": 1}, "lumi": {"timeout": 1}}
    assert (sweep.done, sweep.running, sweep.has_changed) == (0, 0, False)

    # The later record of a cell counts, within a journal and between batches; what is forgotten is gone.
    journal(tmp_path, "frontier", "b1.0", record("b") + json.dumps({"type": "forgotten", "ids": ["a"]}) + "\n")
    journal(tmp_path, "frontier", "b2.0", record("c", "not_run"))
    sweep.look()
    assert sweep.counts() == {"frontier": {"ok": 1, "not_run": 1}, "lumi": {"timeout": 1}}
    assert (sweep.done, sweep.running, sweep.has_changed) == (0, 2, True)

    # A batch's file of records takes the place of its journals, until the batch is measured again.
    records(
        tmp_path, "frontier", "b1", record("a") + record("b") + record("c") + record("d") + record("t", twin_of="a")
    )
    sweep.look()
    assert sweep.counts()["frontier"] == {"ok": 3, "not_run": 1}
    assert (sweep.done, sweep.running) == (1, 1)
    assert sweep.seconds() == (pytest.approx(100 + 300 / 5 + 100 / 10), 500.0)
    (tmp_path / "results/records/frontier/b1.jsonl").unlink()
    sweep.look()
    assert sweep.counts()["frontier"] == {"ok": 1, "not_run": 1}
    assert sweep.done == 0

    journal_file = tmp_path / "results/journal/frontier/b1.0.jsonl"
    journal_file.write_text(record("e"))
    sweep.look()
    assert sweep.counts()["frontier"] == {"ok": 1, "not_run": 1}
    journal_file.unlink()
    sweep.look()


def test_an_empty_plan_and_missing_folders_are_no_problem(tmp_path: Path) -> None:
    sweep = Sweep(Planned([], 0), tmp_path)
    sweep.look()
    assert sweep.counts() == {}
    assert "0 of 0 cells" in progress.line(sweep, None, 0.0)
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    assert not sweep.has_changed


def test_the_end_is_estimated_from_how_fast_estimated_seconds_went_by() -> None:
    pace = Pace()
    assert pace.left(0, 100, 500) is None  # from an earlier run
    assert pace.left(1000, 100, 500) is None  # compiling
    assert pace.left(1010, 120, 500) == pytest.approx(380 * 10 / 20)
    assert pace.left(1020, 120, 500) == pytest.approx(380 * 20 / 20)
    assert pace.left(1040, 500, 500) == pytest.approx(0)


def test_one_line_says_all(tmp_path: Path) -> None:
    journal(tmp_path, "frontier", "b1.0", record("a", "crashed") + record("b") + record("c"))
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    text = progress.line(sweep, 4000.0, time.mktime((2026, 12, 1, 10, 0, 0, 0, 0, 0)))
    assert text.startswith("3 of 18 cells (16 %) · frontier: 2 ok, 1 crashed · batches: 0 of 3 done, 0 running · ")
    assert "about 1 h 7 min left, until 11:06 · logs: results/logs/run/" in text
    assert "lumi" not in text


def test_lines_are_written_when_something_changed_and_not_for_what_was_there(tmp_path: Path) -> None:
    journal(tmp_path, "frontier", "b1.0", record("a"))
    stream = io.StringIO()
    display = Display(Sweep(INDEX, tmp_path), stream, every_s=0.01)
    display.start()
    time.sleep(0.1)
    assert stream.getvalue() == ""
    journal(tmp_path, "frontier", "b1.0", record("b"))
    end = time.monotonic() + 20
    while not stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    display.stop()
    assert not display.is_alive()
    assert [line.split(" cells")[0] for line in stream.getvalue().splitlines()] == ["ironsweep: 2 of 18"]


def test_the_table_at_the_end(tmp_path: Path) -> None:
    records(
        tmp_path, "frontier", "b1", "".join(record(f"a{number}") for number in range(1200)) + record("x", "crashed")
    )
    records(tmp_path, "lumi", "b3", record("a0", "timeout"))
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    lines = progress.summary(sweep, 3661, 3).splitlines()
    assert lines.pop(0) == "1 202 of 18 cells in 1 h 1 min, 3 Slurm jobs, 2 of 3 batches done"
    assert lines[0].split() == ["cells", "ok", "crashed", "timeout", "all"]
    assert [" ".join(line.split()) for line in lines[1:4]] == [
        "frontier 1 200 1 0 1 201",
        "lumi 0 0 1 1",
        "all 1 200 1 1 1 202",
    ]
    assert len({len(line) for line in lines}) == 1
    assert "Slurm" not in progress.summary(sweep, 30, 0)


# --- what Snakemake says --------------------------------------------------------------------------------------------


def failure(system: str, batch: str, message: str | None) -> logging.LogRecord:
    return logging.makeLogRecord(
        {
            "msg": "Error in rule run_batch",
            "event": "job_error",
            "output": [f"results/records/{system}/{batch}.jsonl", f"results/dumps/{system}/{batch}"],
            "rule_msg": message,
        }
    )


def test_a_failed_batch_has_one_line_with_its_reason(tmp_path: Path) -> None:
    events = Events()
    events.handle(failure("frontier", "b1", "SLURM-job '5' failed, SLURM status is: 'NODE_FAIL'. Reason: Unknown."))
    events.handle(failure("frontier", "b1", "SLURM-job '7' failed, SLURM status is: 'TIMEOUT'. Reason: Unknown."))
    refused = (
        "SLURM sbatch failed. The error message was 'sbatch: error: Invalid qos'.\n    sbatch call:\n        sbatch x"
    )
    events.handle(failure("frontier", "b2", refused))
    events.handle(failure("lumi", "b3", None))
    events.handle(failure("lumi", "elsewhere", None))
    since = time.time()
    for system, name, age in (("frontier", "b1", 0), ("frontier", "b2", 3600), ("lumi", "b3", 0)):
        log = tmp_path / f"results/logs/run/{system}/{name}.log"
        write(log, "first\nthe disk is full\n\n")
        os.utime(log, (since - age, since - age))
    sweep = Sweep(INDEX, tmp_path)
    sweep.look()
    logs = "results/logs/run"
    assert list(failed(sweep, events, since - 1, tmp_path)) == [
        f"batch b1 on frontier failed: Slurm says TIMEOUT; the disk is full (log: {logs}/frontier/b1.log)",
        "batch b2 on frontier failed: Slurm refused it: sbatch: error: Invalid qos (log: " + f"{logs}/frontier/b2.log)",
        f"batch b3 on lumi failed: the disk is full (log: {logs}/lumi/b3.log)",
    ]
    records(tmp_path, "frontier", "b1", record("a"))  # the second attempt went well
    sweep.look()
    assert "batch b1" not in "".join(failed(sweep, events, since - 1, tmp_path))


def test_slurm_jobs_are_counted() -> None:
    events = Events()
    for number in (1, 2, 2):
        text = f"Job 9 has been submitted with SLURM jobid {number} (log: x)."
        events.handle(logging.makeLogRecord({"msg": text, "levelno": logging.INFO}))
    events.handle(logging.makeLogRecord({"msg": None}))
    assert events.submitted == {"1", "2"}


# --- where any of it is done ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("main", "arguments", "expected"),
    [
        (True, {}, True),
        (True, {"targets": ["bundle"], "dryrun": False, "summary": False, "dag": None}, True),
        (True, {"touch": True}, True),
        (True, {"delete_all_output": True}, True),
        (True, {"reporter": "html", "report_after_run": True}, True),
        (True, {"reporter": "html", "report_after_run": False}, False),
        (True, {"dryrun": True}, False),
        (True, {"delete_all_output": True, "dryrun": True}, False),
        (True, {"lint": "text"}, False),
        (True, {"dag": "dot"}, False),
        (True, {"unlock": True}, False),
        (True, {"targets": ["plan"]}, False),
        (True, {"targets": ["doctor"]}, False),
        (False, {}, False),
    ],
)
def test_only_the_start_that_changes_results_has_a_session(
    main: bool, arguments: dict[str, Any], expected: bool
) -> None:
    assert session.will_run(SimpleNamespace(is_main_process=main), Namespace(**arguments)) == expected


def test_outside_of_snakemakes_program_there_is_no_command_line() -> None:
    assert session.command_line() is None

    def args_to_api(args: Namespace) -> Any:
        return session.command_line()

    args = Namespace(dryrun=True)
    assert args_to_api(args) is args


def test_the_options_that_only_look_are_snakemakes() -> None:
    from snakemake.cli import get_argument_parser

    known = vars(get_argument_parser().parse_args([]))
    assert set(session.LOOKING) <= set(known)
    assert not [name for name in session.LOOKING if known[name] not in (None, False)]
