from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ironsweep import lock
from ironsweep.errors import UserError
from ironsweep.lock import Holder, forget_snakemakes_locks, has_local_locks, take

PACKAGE = Path(__file__).parents[2] / "workflow/scripts"

# Takes the lock, says so, and keeps it until its input ends. `nolocks`: on a file system that has none. `together`:
# when it gets a line. `children`: with one that is another program, and one that is a copy; it says their numbers.
HOLDER = """\
import errno, fcntl, os, subprocess, sys, time
from pathlib import Path
from ironsweep import lock
from ironsweep.errors import UserError
if "nolocks" in sys.argv:
    def flock(*_):
        raise OSError(errno.ENOLCK, "no locks available")
    fcntl.flock = flock
if "together" in sys.argv:
    sys.stdin.readline()
try:
    lock.take(Path(sys.argv[1]))
except UserError as error:
    sys.exit(str(error))
pids = []
if "children" in sys.argv:
    null = subprocess.DEVNULL
    pids = [subprocess.Popen(["sleep", "60"], close_fds=False, stdin=null, stdout=null, stderr=null).pid, os.fork()]
    if pids[-1] == 0:
        os.close(0), os.close(1), os.close(2)
        time.sleep(60)
        os._exit(0)
print("held", *pids, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _nothing_held() -> Iterator[None]:
    """What a test took, it gives back."""
    yield
    for held in list(lock._HELD.values()):
        held.release()


def start(path: Path, *words: str) -> subprocess.Popen[str]:
    """A process that takes a lock."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), *words],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def holding(path: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process that has a lock, and its children."""
    process = start(path, *words)
    assert process.stdout
    said = process.stdout.readline().split()
    assert said and said[0] == "held", process.communicate()[1]
    children = [int(word) for word in said[1:]]
    try:
        yield process, children
    finally:
        process.kill()
        process.communicate()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("words", [(), ("nolocks",)])
def test_a_second_start_is_told_who_has_the_folder_until_that_is_killed(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "results/.lock"
    with holding(path, *words) as (process, _):
        second = start(path, *words)
        _, said = second.communicate()
        assert second.returncode == 1
        assert len(said.splitlines()) == 1
        assert f"process {process.pid} on {socket.gethostname()} since 20" in said
        assert f"kill {process.pid}" in said
        process.kill()  # not waited for: a dead process that its parent has not noticed holds nothing
        with holding(path, *words):
            pass


def test_children_that_outlive_the_holder_do_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holding(path, "children") as (process, children):
        process.kill()
        process.wait()
        assert all(Path(f"/proc/{child}").exists() for child in children)
        take(path)
        assert all(Path(f"/proc/{child}").exists() for child in children)


def test_the_same_process_has_it_already_and_can_let_it_go(tmp_path: Path) -> None:
    first = take(tmp_path / ".lock")
    assert take(tmp_path / ".lock") is first
    refused = start(tmp_path / ".lock")
    assert "another snakemake" in refused.communicate()[1]
    first.release()
    assert (tmp_path / ".lock").read_text() == ""
    with holding(tmp_path / ".lock"):
        pass


def test_an_orderly_end_leaves_no_name(tmp_path: Path) -> None:
    for words, left in (((), ""), (("nolocks",), None)):
        path = tmp_path / f"{len(words)}.lock"
        with holding(path, *words) as (process, _):
            process.communicate()
        assert (path.read_text() if path.exists() else None) == left


def without_locks(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOSYS) -> None:
    """A file system that has no locks."""

    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)


def other(**values: str | int) -> Holder:
    """This process with some differences."""
    return replace(Holder.current(), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "no JSON", json.dumps({"host": "here"}), "[]"])
def test_a_name_that_cannot_be_read_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    without_locks(monkeypatch)
    (tmp_path / ".lock").write_text(content)
    take(tmp_path / ".lock")
    assert Holder.read(tmp_path / ".lock") == Holder.current()
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


def test_a_name_of_a_process_that_is_gone_or_another_by_now_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    gone = subprocess.Popen(["true"])
    gone.wait()
    for holder in (other(pid=gone.pid), other(pid=os.getppid(), birth="another boot/1")):
        (tmp_path / ".lock").write_text(holder.text())
        take(tmp_path / ".lock").release()


def test_a_name_of_a_living_process_or_of_another_machine_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    path = tmp_path / ".lock"
    path.write_text(other(pid=os.getppid(), birth=lock.birth(os.getppid()) or "").text())
    with pytest.raises(UserError, match=f"process {os.getppid()} on"):
        take(path)
    path.write_text(other(host="login7", pid=1).text())
    with pytest.raises(UserError, match=f"process 1 on login7 since .*look on login7.*: rm {path}"):
        take(path)
    assert asdict(Holder.read(path) or Holder.current())["host"] == "login7"


def test_of_many_starts_one_gets_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    gone = subprocess.Popen(["true"])
    gone.wait()
    path.write_text(other(pid=gone.pid).text())
    starts = [start(path, "nolocks", "together") for _ in range(8)]
    for process in starts:  # all have read the package by then, or nearly so
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = []
    for process in starts:
        assert process.stdout
        said.append(process.stdout.readline())
    for process in starts:
        process.communicate()
    assert sum(line.startswith("held") for line in said) == 1


def test_a_file_system_without_locks_and_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("os.link", link)
    with pytest.raises(UserError, match="neither locks nor links"):
        take(tmp_path / ".lock")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {".lock": ""}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(UserError, match=r"results/\.lock: cannot be written"):
        take(tmp_path / "results/.lock")


@pytest.mark.parametrize(
    ("kind", "options", "local"),
    [
        ("lustre", "rw,flock", False),
        ("lustre", "rw,localflock", True),
        ("nfs4", "rw,local_lock=none", False),
        ("nfs", "rw,local_lock=all", True),
        ("nfs", "rw,nolock", True),
        ("ext4", "rw,nolock", False),
    ],
)
def test_locks_that_other_machines_do_not_see_are_recognised(
    tmp_path: Path, kind: str, options: str, local: bool
) -> None:
    mounts = tmp_path / "mountinfo"
    folder = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(
        f"1 0 8:1 / / rw - lustre x rw,localflock\n2 1 8:2 / {folder} rw shared:1 - {kind} server:/x {options}\n"
    )
    assert has_local_locks(tmp_path, mounts) == local
    assert has_local_locks(tmp_path.parent, mounts)
    assert not has_local_locks(tmp_path, tmp_path / "missing")


def test_where_locks_are_local_the_name_is_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "has_local_locks", lambda _: True)
    (tmp_path / ".lock").write_text(other(host="login7").text())
    with pytest.raises(UserError, match="login7"):
        take(tmp_path / ".lock")


def test_locks_of_a_killed_snakemake_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("0.input.lock", "0.output.lock", "other"):
        (tmp_path / name).write_text("results/x\n")
    forget_snakemakes_locks(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["other"]
    forget_snakemakes_locks(tmp_path / "missing")
