"""Installs the lock into a folder, the root, with mmdebstrap.

The root is built under another name and renamed when it is whole; a mark inside says from which lock it was made.
Whatever was left by a build that was killed is removed by the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ironsweep.errors import UserError
from ironsweep.toolchain import apt
from ironsweep.toolchain.settings import Settings

MARK = "etc/ironsweep-root.json"

# Left out to save space; rust-src holds the compiler's own sources too, of which only the library is needed.
_EXCLUDED = (
    "path-exclude=/usr/share/doc/*",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/src/rustc-*/*",
    "path-include=/usr/src/rustc-*/library/*",
)

# Removed at the end: the package database's indexes, and the apt configuration, which names the host's mirror.
_UNNEEDED = ("var/lib/apt", "var/cache", "etc/apt", "boot", "home", "media", "srv", "opt")


def lock_digest(lock_text: str) -> str:
    """SHA-256 of a lock, which identifies the root that is made from it."""
    return hashlib.sha256(lock_text.encode()).hexdigest()


def is_whole(root: Path, digest: str) -> bool:
    """Whether the folder is a finished root of this very lock."""
    try:
        mark = json.loads((root / MARK).read_text())
    except (OSError, ValueError):
        return False
    return bool(mark.get("lock_sha256") == digest)


def remove(folder: Path) -> None:
    """Remove a folder tree, after unmounting whatever a killed build has left mounted in it.

    Raises UserError if something is still mounted there: removing through a mount would delete the host's files.
    """
    if not folder.exists():
        return
    prefix = str(folder.resolve()) + "/"
    for point in reversed(_mount_points(prefix)):
        if shutil.which("umount"):
            subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)
    if left := _mount_points(prefix):
        raise UserError(
            f"{left[0]} is still mounted inside {folder}: unmount it (as root: umount {left[0]}) and run again"
        )
    shutil.rmtree(folder)


def _mount_points(prefix: str) -> list[str]:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [m.encode().decode("unicode_escape") for m in mounts if (m + "/").startswith(prefix)]


def require_tools() -> None:
    """Check that a root can be made and entered here. Raises UserError with what is missing and how to get it."""
    if reason := missing():
        raise UserError(f"the Debian toolchain cannot be made: {reason}")


def missing() -> str | None:
    """Why a root cannot be made here, with the remedy; None if it can."""
    packages = [
        package
        for tool, package in (("mmdebstrap", "mmdebstrap"), ("bwrap", "bubblewrap"))
        if shutil.which(tool) is None
    ]
    if os.geteuid() == 0 and "bubblewrap" in packages and all(map(shutil.which, ("unshare", "mount", "chroot"))):
        packages.remove("bubblewrap")  # chroot will do
    if os.geteuid() != 0 and shutil.which("newuidmap") is None:
        packages.append("uidmap")
    if packages:
        return f"install what is missing with `apt-get install {' '.join(packages)}` (as root)"
    if os.geteuid() != 0 and not user_namespaces():
        return (
            "it needs root or user namespaces, and this user has neither: run as root, or have root allow them "
            "(sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000, "
            "kernel.apparmor_restrict_unprivileged_userns=0), or take a toolchain of kind `path`"
        )
    return None


def user_namespaces() -> bool:
    """Whether this user can make user namespaces."""
    return (
        subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, check=False).returncode
        == 0
    )


def preferences(lock: apt.Lock) -> str:
    """Apt preferences that pin every package to the lock's version."""
    return "".join(
        f"Package: {name}\nPin: version {version}\nPin-Priority: 1001\n\n" for name, version in sorted(lock.items())
    )


def build(settings: Settings, archive: apt.Archive, lock_text: str, root: Path, log: IO[str]) -> None:
    """Make the root from the lock, unless it is there already.

    Raises UserError if the host lacks what is needed, the installation fails, or what was installed is not the lock.
    """
    digest = lock_digest(lock_text)
    if is_whole(root, digest):
        return
    require_tools()
    root.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(root.with_name(root.name + ".building")) as guard:
        if not is_whole(root, digest):  # whoever was waited for may have built it
            _build(settings, archive, lock_text, root, log, guard)


@contextmanager
def _only_one(file: Path) -> Iterator[int]:
    """Wait until no other process builds the root; yields the descriptor that holds the lock.

    The installer inherits it: should this process be killed, the next one waits for the installer, which goes on.
    """
    with file.open("w") as guard:
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another process is building the toolchain's root: waiting for it", flush=True)
            fcntl.flock(guard, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        yield guard.fileno()


def _build(settings: Settings, archive: apt.Archive, lock_text: str, root: Path, log: IO[str], guard: int) -> None:
    part = root.with_name(root.name + ".part")
    remove(part)
    remove(root)
    lock = apt.parse_lock(lock_text, "debian.lock")
    with tempfile.TemporaryDirectory(prefix="ironsweep-") as scratch:
        _install(settings, archive, lock, part, Path(scratch), log, guard)
    installed = _installed(part)
    if installed != lock:
        remove(part)
        raise UserError(f"the installed packages are not those of the lock: {_difference(lock, installed)}")
    for name in _UNNEEDED:
        shutil.rmtree(part / name, ignore_errors=True)
    (part / MARK).write_text(json.dumps({"lock_sha256": lock_digest(lock_text)}) + "\n")
    part.rename(root)


def _install(
    settings: Settings, archive: apt.Archive, lock: apt.Lock, part: Path, scratch: Path, log: IO[str], guard: int
) -> None:
    assert settings.packages is not None
    scratch.chmod(0o755)  # in a user namespace, the installer is another user
    pins = scratch / "lock"
    pins.write_text(preferences(lock))
    options = scratch / "apt.conf"
    options.write_text("\n".join((*archive.network_options, 'Acquire::Languages "none";')) + "\n")
    names = sorted(name for group in settings.packages.values() for name in group)
    as_root = os.geteuid() == 0
    command = [
        "mmdebstrap", "--variant=apt", f"--mode={'root' if as_root else 'unshare'}",
        f"--format={'directory' if as_root else 'tar'}", "--architectures=amd64", f"--aptopt={options}",
        "--aptopt=APT::Sandbox::User \"root\"", *(f"--dpkgopt={option}" for option in _EXCLUDED),
        f"--setup-hook=mkdir -p \"$1/etc/apt/preferences.d\" && cp {pins} \"$1/etc/apt/preferences.d/lock\"",
        f"--include={','.join(names)}", settings.release, str(part) if as_root else "-",
        *archive.source_lines(settings.suites),
    ]  # fmt: skip
    print("+", *command, file=log, flush=True)
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    if as_root:
        done = subprocess.run(command, stdout=log, stderr=log, env=environment, pass_fds=[guard], check=False)
        returncode = done.returncode
    else:
        returncode = _unpack(command, part, environment, log, guard)
    if returncode != 0:
        log.flush()
        raise UserError(f"mmdebstrap failed with exit status {returncode}; its messages are in {log.name}")


def _unpack(command: list[str], part: Path, environment: dict[str, str], log: IO[str], guard: int) -> int:
    """Run mmdebstrap in a user namespace and unpack its archive, so that all files belong to this user."""
    part.mkdir()
    unpack = ["tar", "--extract", "--directory", str(part), "--no-same-owner", "--exclude=./dev/*"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, pass_fds=[guard]) as made:
        tar = subprocess.run(unpack, stdin=made.stdout, stdout=log, stderr=log, check=False)
    return made.returncode or tar.returncode


def _installed(root: Path) -> apt.Lock:
    """Package versions in the root's package database."""
    lock: apt.Lock = {}
    name = ""
    for line in (root / "var/lib/dpkg/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("Package: "):
            name = line.removeprefix("Package: ")
        elif line.startswith("Version: "):
            lock[name] = line.removeprefix("Version: ")
    return lock


def _difference(wanted: apt.Lock, found: apt.Lock) -> str:
    differing = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
    shown = [
        f"{name}: wanted {wanted.get(name, 'none')}, installed {found.get(name, 'none')}" for name in differing[:5]
    ]
    return "; ".join(shown) + (f"; and {len(differing) - 5} more" if len(differing) > 5 else "")
