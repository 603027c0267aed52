"""Lets one snakemake work in a folder at a time, by a lock that dies with its process.

Snakemake's own lock is a file that stays when the process is killed, and then wants ``--unlock``. This one is an
``flock`` on a file: the kernel drops it, whatever ended the process. The file says who has it, for the message that a
second start gets.

Where the file system has no such locks, or has them for one machine only, the file itself is the lock: it counts as
long as its process lives. Whether it does can be seen on that process's machine only; elsewhere the file must be
removed by hand.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import shlex
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from ironsweep.errors import UserError

BOOT = Path("/proc/sys/kernel/random/boot_id")

# Options of mounts whose locks other machines do not see, by the beginning of the file system's type.
LOCAL_LOCKS = {"lustre": {"localflock"}, "nfs": {"nolock", "local_lock=flock", "local_lock=all"}}


@dataclass(frozen=True)
class Holder:
    """Who has a lock.

    Attributes:
        host: its machine.
        pid: its process there.
        since: when it took the lock, for a person.
        command: its command line.
        birth: what tells the process from a later one of the same number; empty where there is no /proc.
    """

    host: str
    pid: int
    since: str
    command: str
    birth: str

    @classmethod
    def current(cls) -> Holder:
        """This process."""
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        return cls(socket.gethostname(), os.getpid(), since, command, birth(os.getpid()) or "")

    @classmethod
    def read(cls, path: Path) -> Holder | None:
        """Who wrote a file; None if nobody did, or it is damaged or gone."""
        try:
            stated = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{name: kind(stated[name]) for name, kind in _FIELDS.items()})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def text(self) -> str:
        """The content of the lock's file."""
        return json.dumps(asdict(self)) + "\n"

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine, so that its process can be looked at."""
        return self.host == socket.gethostname()

    @property
    def lives(self) -> bool:
        """Whether the process, on this machine, is still there and still the same."""
        found = birth(self.pid)
        return found is not None and (not found or not self.birth or found == self.birth)


_FIELDS = {"host": str, "pid": int, "since": str, "command": str, "birth": str}


def birth(pid: int) -> str | None:
    """Boot and start of a process of this machine; None if there is none, empty if it cannot be said."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        # The name, in brackets, may contain anything; behind it come the state and, 19 further on, the start.
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        boot = BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return None if words[0] in "ZX" else f"{boot}/{words[19]}"  # a dead one may wait for its parent


class Lock:
    """A lock that this process has until it ends, or releases it."""

    def __init__(self, path: Path, file: BinaryIO | None) -> None:
        """``file`` is open and locked; None where the file's existence is the lock."""
        self._path = path
        self._file = file
        self._pid = os.getpid()
        atexit.register(self.release)
        # A program that a process starts does not get its files, but a copy of the process does.
        os.register_at_fork(after_in_child=self._drop)

    def release(self) -> None:
        """Let others have it. The file stays, empty: somebody may be about to lock it."""
        if os.getpid() != self._pid or _HELD.get(self._path) is not self:
            return
        del _HELD[self._path]
        with contextlib.suppress(OSError):
            if self._file is None:
                self._path.unlink()
            else:
                self._file.truncate(0)
        self._drop()

    def _drop(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()


_HELD: dict[Path, Lock] = {}


def take(path: Path) -> Lock:
    """Take the lock that a file stands for. A process that has it already gets the same again.

    Raises:
        UserError: if somebody else has it, or it cannot be taken here at all.
    """
    path = path.absolute()
    if path not in _HELD:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _HELD[path] = Lock(path, _take(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    return _HELD[path]


def _take(path: Path) -> BinaryIO | None:
    """The locked file, or None where its existence is the lock."""
    if has_local_locks(path.parent):
        _take_by_name(path)
        return None
    file = path.open("a+b")  # it is another's, and kept, until it is locked
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.close()
        raise UserError(_busy(_patiently_read(path))) from None
    except OSError:  # ENOLCK, ENOSYS, EOPNOTSUPP: a file system without locks
        file.close()
        _take_by_name(path)
        return None
    file.truncate(0)
    file.write(Holder.current().text().encode())
    file.flush()
    return file


def _take_by_name(path: Path) -> None:
    """Be the one whose name is in the file: written beside it, and then linked, which only one can do."""
    own = path.with_name(f"{path.name}.{socket.gethostname()}.{os.getpid()}")
    own.write_text(Holder.current().text(), encoding="utf-8")
    try:
        while True:
            try:
                os.link(own, path)
                return
            except FileExistsError:
                _remove_if_dead(path, own.with_suffix(".old"))
            except OSError as error:
                raise UserError(
                    f"{path}: this file system knows neither locks nor links ({error.strerror}), so that nothing keeps"
                    " two snakemakes from working side by side; put the folder on another one"
                ) from None
    finally:
        own.unlink(missing_ok=True)


def _remove_if_dead(path: Path, grave: Path) -> None:
    """Remove the file of a process that is gone. Raises UserError if it is not, or cannot be known to be."""
    holder = Holder.read(path)
    if holder and holder.is_here and holder.lives:
        raise UserError(_busy(holder))
    if holder and not holder.is_here:
        raise UserError(f"{_busy(holder)}. If it is not there any more (look on {holder.host}): rm {path}")
    # Another start may do the same just now: of those who rename one file, one gets it.
    with contextlib.suppress(FileNotFoundError):
        path.rename(grave)
        if Holder.read(grave) != holder:  # that start was faster, and this is its own
            with contextlib.suppress(FileExistsError):
                os.link(grave, path)
        grave.unlink()


def _patiently_read(path: Path) -> Holder | None:
    """Who has the lock; it may be about to write its name."""
    for _ in range(10):
        if holder := Holder.read(path):
            return holder
        time.sleep(0.05)
    return None


def _busy(holder: Holder | None) -> str:
    if holder is None:
        return "another snakemake works in this folder; wait until it has finished, or end it"
    return (
        f"another snakemake works in this folder: process {holder.pid} on {holder.host} since {holder.since}"
        f" ({holder.command}); wait until it has finished, or end it there with `kill {holder.pid}`, and start again"
    )


def has_local_locks(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether locks on files of a folder are unknown to other machines that see it."""
    place = folder.resolve()
    best, local = -1, False
    with contextlib.suppress(OSError):
        for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
            before, _, behind = line.partition(" - ")
            mounted, words = Path(before.split()[4].replace("\\040", " ")), behind.split()
            # Of mounts over one another the last counts.
            if place.is_relative_to(mounted) and len(mounted.parts) >= best:
                best = len(mounted.parts)
                options = {*before.split()[5].split(","), *words[-1].split(",")}
                local = any(
                    words[0].startswith(kind) and options & local_ones for kind, local_ones in LOCAL_LOCKS.items()
                )
    return local


def forget_snakemakes_locks(folder: Path = Path(".snakemake/locks")) -> None:
    """Remove the locks that a killed Snakemake left. To be called by who has this folder's lock."""
    for file in folder.glob("*.lock"):
        with contextlib.suppress(OSError):
            file.unlink()
