from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path

import pytest

from ironsweep import slurm
from ironsweep.errors import UserError
from ironsweep.slurm import Away, Job, Patience, end_orphans, queue

QUICK = Patience(answer=20, away=1.5, ending=3, pause=0.02)

# A Slurm whose queue is the file `queue`. `failing` holds a number of calls that fail (each costs one), and how: an
# exit code, or `hang`. Jobs whose ids are in `stubborn` do not end.
FAKE = f"""#!{sys.executable}
import json, os, sys, time
from pathlib import Path
here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([Path(sys.argv[0]).name, *sys.argv[1:]]) + "\\n")
failing = here / "failing"
if failing.exists():
    count, how = failing.read_text().split()
    if int(count):
        failing.write_text(f"{{int(count) - 1}} {{how}}")
        if how == "hang":
            time.sleep(60)
        print("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", file=sys.stderr)
        sys.exit(int(how))
queue = here / "queue"
lines = queue.read_text().splitlines()
if sys.argv[0].endswith("squeue"):
    print("\\n".join(lines))
else:
    stubborn = (here / "stubborn").read_text().split() if (here / "stubborn").exists() else []
    ended = [name for name in sys.argv[1:] if name not in stubborn]
    lines = [line.replace("RUNNING", "CANCELLED").replace("PENDING", "CANCELLED")
             if line.split("|")[0] in ended else line for line in lines]
    queue.write_text("\\n".join(lines))
"""


class FakeSlurm:
    """Its folder, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("squeue", "scancel"):
            (folder / name).write_text(FAKE)
            (folder / name).chmod(0o755)
        self.has()

    def has(self, *jobs: Job) -> None:
        lines = [f"{job.id}|{job.state}|{job.name}|{job.folder}" for job in jobs]
        (self.folder / "queue").write_text("\n".join(lines))

    def fails(self, times: int, how: str = "1") -> None:
        (self.folder / "failing").write_text(f"{times} {how}")

    def calls(self, program: str) -> list[list[str]]:
        file = self.folder / "calls"
        calls = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [call[1:] for call in calls if call[0] == program]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """A Slurm that is alone on PATH."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return FakeSlurm(folder)


@pytest.fixture
def said() -> list[str]:
    """Lines for a person."""
    return []


def job(number: int, folder: Path, state: str = "RUNNING", name: str = "") -> Job:
    return Job(str(number), state, name or f"ironsweep_{uuid.UUID(int=7)}", str(folder))


def test_an_empty_queue_is_asked_once_and_nothing_is_said(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    assert end_orphans(tmp_path, said.append, patience=QUICK) == []
    assert said == []
    assert len(fake.calls("squeue")) == 1
    assert "--me" in fake.calls("squeue")[0]
    assert fake.calls("scancel") == []


def test_jobs_of_an_earlier_start_here_are_cancelled_and_no_others(
    fake: FakeSlurm, tmp_path: Path, said: list[str]
) -> None:
    here, own = tmp_path / "a folder|with a bar", f"ironsweep_{uuid.UUID(int=1)}"
    here.mkdir()
    link = tmp_path / "link"
    link.symlink_to(here)
    orphans = [
        job(1, here),
        job(2, here, "PENDING"),
        job(3, link, "SUSPENDED"),
        job(4, here, "A_STATE_OF_TOMORROW"),
        job(5, here, "COMPLETING"),
    ]
    others = [
        job(11, here, name=own),
        job(12, here, name="bash"),
        job(13, here, name="ironsweeper"),
        job(14, tmp_path),
        *(job(20 + number, here, state) for number, state in enumerate(slurm.ENDED)),
    ]
    fake.has(*others, *orphans)
    # A job that is completing needs no scancel, but is waited for; those in other states are ended by nobody here.
    with pytest.raises(UserError, match="jobs 3, 4, 5 of an earlier start did not end"):
        end_orphans(here, said.append, own_run=own, patience=QUICK)
    assert fake.calls("scancel")[0] == ["1", "2", "3", "4"]
    assert len(said) == 1
    assert "Slurm jobs 1, 2, 3, 4, 5" in said[0]
    assert "nothing is lost" in said[0]


def test_it_goes_on_when_they_are_gone(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    fake.has(*(job(number, tmp_path) for number in range(250)))
    assert len(end_orphans(tmp_path, said.append, patience=QUICK) or []) == 250
    assert [len(call) for call in fake.calls("scancel")] == [100, 100, 50]
    assert "0, 1, 2, 3, 4, 5, 6, 7 and 242 more" in said[0]
    assert end_orphans(tmp_path, said.append, patience=QUICK) == []


@pytest.mark.parametrize(
    ("prefix", "name", "found"),
    [
        ("mine", f"mine_{uuid.UUID(int=3)}", True),
        ("mine", f"ironsweep_{uuid.UUID(int=3)}", False),
        ("", str(uuid.UUID(int=3)), True),
        ("", "bash", False),
    ],
)
def test_the_prefix_is_the_profiles(
    fake: FakeSlurm, tmp_path: Path, said: list[str], prefix: str, name: str, found: bool
) -> None:
    fake.has(job(1, tmp_path, name=name))
    assert bool(end_orphans(tmp_path, said.append, prefix=prefix, patience=QUICK)) == found


def test_a_controller_that_restarts_is_waited_for(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    fake.has(job(1, tmp_path))
    fake.fails(3)
    assert [job.id for job in end_orphans(tmp_path, said.append, patience=QUICK) or []] == ["1"]
    assert len(said) == 2
    assert "Unable to contact slurm controller" in said[0]


def test_a_controller_that_stays_away_stops_the_start(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    fake.fails(10**6)
    with pytest.raises(UserError, match=r"Unable to contact.*nothing is started"):
        end_orphans(tmp_path, said.append, patience=QUICK)
    assert len(fake.calls("squeue")) > 1
    assert len(said) == 1


def test_a_call_that_hangs_is_ended(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    fake.fails(10**6, "hang")
    with pytest.raises(UserError, match=r"squeue gave no answer within 0\.2 s"):
        end_orphans(tmp_path, said.append, patience=Patience(answer=0.2, away=0.3, ending=1, pause=0.01))


def test_a_cancel_that_fails_is_told_and_does_not_let_the_start_go_on(
    fake: FakeSlurm, tmp_path: Path, said: list[str]
) -> None:
    fake.has(job(1, tmp_path))
    scancel = fake.folder / "scancel"
    scancel.unlink()
    with pytest.raises(UserError, match="Slurm job 1 of an earlier start did not end"):
        end_orphans(tmp_path, said.append, patience=QUICK)
    assert any("there is no scancel on PATH" in line for line in said)


def test_jobs_that_do_not_end_stop_the_start(fake: FakeSlurm, tmp_path: Path, said: list[str]) -> None:
    fake.has(job(1, tmp_path), job(2, tmp_path))
    (fake.folder / "stubborn").write_text("2")
    with pytest.raises(UserError, match="Slurm job 2 of an earlier start did not end"):
        end_orphans(tmp_path, said.append, patience=QUICK)
    assert len(fake.calls("scancel")) > 1


def test_without_slurm_only_a_start_that_needs_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert end_orphans(tmp_path, said.append, needed=False) is None
    assert said == []
    with pytest.raises(UserError, match="there is no squeue on PATH"):
        end_orphans(tmp_path, said.append)


def test_a_local_start_ends_orphans_too_but_does_not_wait_for_slurm(
    fake: FakeSlurm, tmp_path: Path, said: list[str]
) -> None:
    fake.has(job(1, tmp_path))
    assert end_orphans(tmp_path, said.append, needed=False, patience=QUICK) == [job(1, tmp_path)]
    fake.fails(10**6)
    assert end_orphans(tmp_path, said.append, needed=False, patience=QUICK) is None
    assert "is not known" in said[-1]


def test_lines_that_are_no_jobs_are_passed_over(fake: FakeSlurm, tmp_path: Path) -> None:
    (fake.folder / "queue").write_text(f"a banner\n\n 7 | RUNNING | x | {tmp_path}\n8|FAILED|x|{tmp_path}\n")
    assert queue(QUICK) == [Job("7", "RUNNING", "x", str(tmp_path))]
    fake.fails(1, "3")
    with pytest.raises(Away, match="squeue failed"):
        queue(QUICK)
