"""Puts together ``toolchain.json``: every tool with its path and version, or the reason why it is missing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from ironsweep.errors import UserError
from ironsweep.toolchain import cuda as cuda_
from ironsweep.toolchain import enter, probe
from ironsweep.toolchain.record import Tool, Toolchain
from ironsweep.toolchain.settings import Settings, ToolSetting

# Without these nothing can be built; without any other, only the variants that need it.
REQUIRED_TOOLS = (
    "rustc", "clang", "g++", "ld.lld", "opt", "llc", "llvm-link", "llvm-offload-binary", "llvm-offload-wrapper",
    "llvm-readelf",
)  # fmt: skip
REQUIRED_PLACES = ("rust_src", "offload_libs")

# A file that tells the folder from another one of that name.
_TELLTALE = {
    "rust_src": "core/src/lib.rs",
    "device_libs": "ocml.bc",
    "offload_libs": "libomptarget.so",
    "hip_libs": "libamdhip64.so",
}
_SAME_LLVM = ("clang", "opt", "llc", "llvm-link")


def describe_debian(
    settings: Settings, root: Path, packages: dict[str, str], cuda: cuda_.Cuda, folder: Path
) -> Toolchain:
    """Write ``enter`` and ``bin/`` of a root into the toolchain's folder, and describe what is in it.

    Raises UserError if the root cannot be entered, a required tool is missing, or the compiler does not fit.
    """
    way = enter.way_in()
    bound = [Path(cuda.home)] if cuda.home else []
    enter.write_executable(folder / "enter", enter.debian_script(way, root, folder, bound))
    search = str(root / "usr/bin")

    def find(setting: ToolSetting) -> str | None:
        found = _which(setting, search)
        return None if found is None else "/usr/bin/" + Path(found).name

    remedy = f"add the package that has it to `packages` in {settings.file}"
    return _describe(settings, folder, way, packages, _find(settings, cuda, folder, find, remedy))


def describe_path(settings: Settings, environment: Mapping[str, str], cuda: cuda_.Cuda, folder: Path) -> Toolchain:
    """Write ``enter`` and ``bin/`` of a toolchain of kind path into its folder, and describe it.

    environment: what the modules set. Raises UserError as `describe_debian`.
    """
    return _describe(settings, folder, "path", {}, tools_on_path(settings, environment, cuda, folder))


def tools_on_path(
    settings: Settings, environment: Mapping[str, str], cuda: cuda_.Cuda, folder: Path
) -> dict[str, Tool]:
    """Write ``enter`` of a toolchain of kind path into its folder, and find its tools, files and folders."""
    search = search_path(settings, environment)
    enter.write_executable(folder / "enter", enter.path_script({**environment, "PATH": search}))
    remedy = f"install it or load its module, or name it in {settings.file} (`tools`, `path`, `modules`)"
    return _find(settings, cuda, folder, lambda setting: _which(setting, search), remedy)


def search_path(settings: Settings, environment: Mapping[str, str]) -> str:
    """PATH as the tools of kind path are looked up in."""
    first = [str(Path(name).expanduser()) for name in settings.path]
    return os.pathsep.join([*first, environment.get("PATH", os.environ.get("PATH", os.defpath))])


def _which(setting: ToolSetting, search: str) -> str | None:
    for command in setting.commands:
        found = shutil.which(command, path=search)
        if found:
            return found
    return None


def _find(
    settings: Settings, cuda: cuda_.Cuda, folder: Path, find: Callable[[ToolSetting], str | None], remedy: str
) -> dict[str, Tool]:
    script = str(folder / "enter")
    tools = {name: _tool(name, setting, find(setting), script, remedy) for name, setting in settings.tools.items()}
    tools |= _cuda_tools(cuda, script)
    rustc = tools["rustc"].path or "rustc"
    return tools | {name: _folder(name, globs, script, rustc, remedy) for name, globs in settings.folders.items()}


def _describe(
    settings: Settings, folder: Path, way: str, packages: dict[str, str], tools: dict[str, Tool]
) -> Toolchain:
    _check_required(tools)
    _write_wrappers(folder, tools)
    rustc = [str(folder / "enter"), str(tools["rustc"].path)]
    _check_llvm(probe.rustc_llvm(rustc), tools)
    generation = probe.generation(rustc)
    probe.check_generation(generation)
    identity = {"kind": settings.kind, "generation": generation, "packages": packages,
                "versions": {name: tool.version for name, tool in tools.items()}}  # fmt: skip
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return Toolchain(settings.kind, generation, way, packages, tools, digest)


def _tool(name: str, setting: ToolSetting, path: str | None, script: str, remedy: str) -> Tool:
    if path is None:
        return Tool(missing=f"{name}: no {' or '.join(setting.commands)} found; {remedy}")
    found = probe.version([script, path])
    if found is None:
        return Tool(missing=f"{name}: {path} does not start or says no version; {remedy}")
    if setting.minimum and not probe.at_least(found, setting.minimum):
        return Tool(missing=f"{name}: {path} is version {found}, {setting.minimum} or newer is needed; {remedy}")
    return Tool(path, found)


def _cuda_tools(cuda: cuda_.Cuda, script: str) -> dict[str, Tool]:
    names = ("nvcc", "ptxas", "libdevice", "cuda_libs")
    if cuda.home is None:
        return {name: Tool(missing=f"{name}: {cuda.missing}") for name in names}
    home = Path(cuda.home)
    tools = {}
    for name in ("nvcc", "ptxas"):
        program = home / "bin" / name
        found = str(program) if program.exists() else None
        tools[name] = _tool(name, ToolSetting((name,)), found, script, cuda_.HOW_TO_GET)
    for name, place in (("libdevice", cuda_.libdevice(home)), ("cuda_libs", cuda_.libraries(home))):
        tools[name] = Tool(str(place)) if place else Tool(missing=f"{name}: not in {home}; {cuda_.HOW_TO_GET}")
    return tools


def _folder(name: str, globs: tuple[str, ...], script: str, rustc: str, remedy: str) -> Tool:
    """The first folder that matches and holds the file it is known by, looked for where the tools are."""
    patterns = [f"{pattern}/{_TELLTALE[name]}" for pattern in globs]
    if name == "rust_src":
        patterns.append(f'"$("$1" --print sysroot 2>/dev/null)"/lib/rustlib/src/rust/library/{_TELLTALE[name]}')
    loop = f'for file in {" ".join(patterns)}; do [ -e "$file" ] && echo "$file" && exit; done; true'
    done = subprocess.run([script, "sh", "-c", loop, "sh", rustc], capture_output=True, text=True, check=False)
    found = done.stdout.strip()
    if not found:
        return Tool(
            missing=f"{name}: no folder with {_TELLTALE[name]} at {', '.join(globs) or 'any known place'}; {remedy}"
        )
    return Tool(found.removesuffix("/" + _TELLTALE[name]))


def _check_required(tools: Mapping[str, Tool]) -> None:
    lacking = [str(tools[name].missing) for name in (*REQUIRED_TOOLS, *REQUIRED_PLACES) if tools[name].path is None]
    if lacking:
        raise UserError("the toolchain is not complete:\n  " + "\n  ".join(lacking))


def _check_llvm(rustc_llvm: str, tools: Mapping[str, Tool]) -> None:
    major = rustc_llvm.split(".")[0]
    differing = [
        f"{name} {tools[name].version}" for name in _SAME_LLVM if str(tools[name].version).split(".")[0] != major
    ]
    if differing:
        raise UserError(
            f"rustc is built with LLVM {rustc_llvm}, but {', '.join(differing)}: "
            f"take tools of LLVM {major} (they read rustc's bitcode), or another rustc"
        )


def _write_wrappers(folder: Path, tools: Mapping[str, Tool]) -> None:
    """A wrapper for each tool that is there; those of an earlier toolchain are removed."""
    programs = {name: str(tool.path) for name, tool in tools.items() if tool.path and tool.version}
    for name, path in programs.items():
        enter.write_executable(folder / "bin" / name, enter.wrapper(path))
    for stale in (folder / "bin").iterdir():
        if stale.name not in programs:
            stale.unlink()
