"""Writes ``enter``, the script that runs a command with the toolchain, and ``bin/``, a wrapper per tool.

Both are plain shell without subprocesses, since a build calls them thousands of times.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ironsweep.errors import UserError

# Top-level folders that come from the root or are bound with special care; every other one is the host's.
_ROOT_FOLDERS = "bin|boot|dev|etc|lib|lib32|lib64|libx32|lost+found|proc|sbin|sys|usr"

# The host's settings for its own tools, which would mislead those of the root.
_HOST_VARIABLES = (
    "LD_LIBRARY_PATH LD_PRELOAD LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH GCC_EXEC_PREFIX COMPILER_PATH "
    "PERL5LIB HIP_PATH ROCM_PATH HIP_CLANG_PATH HIP_DEVICE_LIB_PATH DEVICE_LIB_PATH HIP_COMPILER CUDA_PATH "
    "CUDA_HOME NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN RUSTFLAGS"
)

_HEAD = """\
#!/bin/sh
# Runs a command {how}: enter COMMAND [ARGUMENT ...]
# Made by rule toolchain of ironsweep.
"""

_DEBIAN = """\
case $0 in */*) here=${{0%/*}} ;; *) here=. ;; esac
root={root}
unset {variables}
export RUSTC_BOOTSTRAP=1 HIP_PLATFORM=amd LC_ALL=C.UTF-8 PATH={path}
{enter}"""

_BWRAP = """\
set -- --chdir "$PWD" -- "$@"
case $PWD/ in /usr/*|/etc/*) set -- --bind "$PWD" "$PWD" "$@" ;; esac
for folder in /*; do
    case $folder in {root_folders}) ;; *) [ -d "$folder" ] && set -- --bind "$folder" "$folder" "$@" ;; esac
done
exec bwrap --die-with-parent --ro-bind "$root/usr" /usr --ro-bind "$root/etc" /etc \\
    --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \\
    --dev-bind /dev /dev --ro-bind /proc /proc --ro-bind-try /sys /sys{bound} "$@"
"""

# The same picture with mount and chroot, in a mount namespace of its own: all of it is gone when the command ends.
_CHROOT = """\
cd_to=$PWD
cd "$root"
root=$PWD
cd "$cd_to"
exec unshare --mount --propagation private sh -euc '
    root=$1 new=$1/mnt cd_to=$2
    shift 2
    mount -t tmpfs -o mode=755 ironsweep "$new"
    bind() {{ mkdir -p "$new$2"; mount --rbind "$1" "$new$2"; }}
    for folder in /*; do
        case $folder in {root_folders}) ;; *) [ ! -d "$folder" ] || bind "$folder" "$folder" ;; esac
    done
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$new/$name"; done
    for name in usr etc; do bind "$root/$name" "/$name"; mount -o remount,bind,ro "$new/$name"; done
    for name in dev proc sys; do bind "/$name" "/$name"; done
    {bound}case $cd_to/ in /usr/*|/etc/*) bind "$cd_to" "$cd_to" ;; esac
    exec chroot "$new" /bin/sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$cd_to" "$@"
' enter "$root" "$cd_to" "$@"
"""


def way_in() -> str:
    """How a root can be entered here: ``bwrap`` or ``chroot``. Raises UserError with the remedy if it cannot."""
    if shutil.which("bwrap"):
        tried = subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return "bwrap"
        reason = f"bubblewrap says: {tried.stderr.strip()}"
    else:
        reason = "bubblewrap is not installed (`apt-get install bubblewrap`)"
    if os.geteuid() == 0 and all(map(shutil.which, ("unshare", "mount", "chroot"))):
        tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return "chroot"
        reason += f"; and root cannot make a mount namespace here: {tried.stderr.strip()}"
    raise UserError(f"the toolchain's root cannot be entered: {reason}")


def debian_script(way: str, root: Path, beside: Path, bound: list[Path]) -> str:
    """The enter script of a root.

    beside: the script's own folder. way: ``bwrap`` or ``chroot``. bound: further folders of the host (a CUDA toolkit)
    that are seen at their own place, where a mount point is made in the root if it is needed; the folder `bin` of each
    is added to PATH.
    """
    inside = [folder for folder in bound if folder.parts[1:2] in (("usr",), ("etc",))]
    for folder in inside:
        (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
    quoted = [shlex.quote(str(folder)) for folder in inside]
    if way == "bwrap":
        enter = _BWRAP.format(
            root_folders=_pattern(), bound="".join(f" \\\n    --ro-bind {folder} {folder}" for folder in quoted)
        )
    else:
        enter = _CHROOT.format(root_folders=_pattern(), bound="".join(f"bind {f} {f}\n    " for f in quoted))
    path = ":".join(["/usr/bin", "/bin", "/usr/sbin", *(str(folder / "bin") for folder in bound)])
    return _HEAD.format(how="inside the toolchain's root") + _DEBIAN.format(
        root=_relative(root, beside), variables=_HOST_VARIABLES, path=shlex.quote(path), enter=enter
    )


def _relative(root: Path, beside: Path) -> str:
    """The root as the script finds it: from its own folder if it is in there, so that the folder may be moved."""
    return (
        f'"$here"/{shlex.quote(str(root.relative_to(beside)))}'
        if root.is_relative_to(beside)
        else shlex.quote(str(root))
    )


def _pattern() -> str:
    return "|".join(f"/{name}" for name in _ROOT_FOLDERS.split("|"))


def path_script(changed: Mapping[str, str]) -> str:
    """The enter script of a toolchain of kind path: it sets what the modules have set, then runs the command."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(changed.items())]
    return _HEAD.format(how="with the toolchain's modules") + "".join(lines) + 'export RUSTC_BOOTSTRAP=1\nexec "$@"\n'


def module_environment(init: str | None, modules: tuple[str, ...]) -> dict[str, str]:
    """The environment variables that loading these modules sets or changes.

    Raises UserError naming the module that cannot be loaded.
    """
    if not modules:
        return {}
    before = _shell_environment(init, ())
    after = _shell_environment(init, modules)
    shell_own = {"_", "SHLVL", "PWD", "OLDPWD"}
    return {
        name: value
        for name, value in after.items()
        if before.get(name) != value and name not in shell_own and not name.startswith("BASH_FUNC_")
    }


def _shell_environment(init: str | None, modules: tuple[str, ...]) -> dict[str, str]:
    lines = [f". {shlex.quote(init)}"] if init else []
    lines += [f"module load {shlex.quote(name)} >&2 || {{ echo {shlex.quote(name)} >&3; exit 9; }}" for name in modules]
    script = "exec 3>&1 >/dev/null; " + "; ".join([*lines, "exec 1>&3; env -0"])
    done = subprocess.run(["bash", "-lc", script], capture_output=True, text=True, check=False)
    if done.returncode == 9:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(
            f"environment module {done.stdout.strip()} cannot be loaded ({last}): see `modules` in the toolchain file"
        )
    if done.returncode != 0:
        raise UserError(
            f"the shell for environment modules failed: {done.stderr.strip()}; see `modules` in the toolchain file"
        )
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)


def wrapper(command: str) -> str:
    """A tool's wrapper: it passes the command and all arguments to the enter script beside its folder."""
    return (
        "#!/bin/sh\ncase $0 in */*) bin=${0%/*} ;; *) bin=. ;; esac\n"
        f'exec "$bin/../enter" {shlex.quote(command)} "$@"\n'
    )


def write_executable(file: Path, text: str) -> None:
    """Write an executable script at once (temporary name, then rename): it may be running."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.part")
    temporary.write_text(text)
    temporary.chmod(0o755)
    temporary.rename(file)
