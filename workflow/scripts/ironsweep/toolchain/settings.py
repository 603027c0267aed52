"""Reads and checks ``config/toolchains/*.yaml``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ironsweep.errors import UserError

SCHEMA = Path(__file__).parents[3] / "schemas" / "toolchain.schema.json"


@dataclass(frozen=True)
class ToolSetting:
    """What one tool may be called, and the oldest version that works ("" for any)."""

    commands: tuple[str, ...]
    minimum: str = ""


@dataclass(frozen=True)
class Settings:
    """A toolchain file. Fields that belong to the other kind are empty."""

    file: Path
    kind: str
    cuda: str
    tools: dict[str, ToolSetting]
    folders: dict[str, tuple[str, ...]]
    # kind debian
    release: str = ""
    suites: tuple[str, ...] = ()
    packages: dict[str, tuple[str, ...]] | None = None
    mirror: str | None = None
    security_mirror: str | None = None
    keyring: str | None = None
    lock: str | None = None
    # kind path
    modules_init: str | None = None
    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


def read(file: Path) -> Settings:
    """Read a toolchain file.

    Raises UserError naming the file, the key and what is expected if the file is missing or does not fit the schema.
    """
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"toolchain file {file}: {error.strerror}; set `toolchain` to a file in config/toolchains/"
        ) from error
    except yaml.YAMLError as error:
        raise UserError(f"toolchain file {file} is not YAML: {' '.join(str(error).split())}") from error
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(data))
    if problem is not None:
        key = ".".join(str(part) for part in problem.absolute_path) or "the top level"
        raise UserError(f"toolchain file {file}, {key}: {problem.message}")
    return _settings(file, data)


def _settings(file: Path, data: dict[str, Any]) -> Settings:
    packages = data.get("packages")
    if packages is not None and (unknown := sorted(set(packages) - set(data["suites"]))):
        raise UserError(f"toolchain file {file}, packages: {unknown[0]} is not one of `suites`; add it there")
    modules = data.get("modules", {})
    return Settings(
        file=file,
        kind=data["kind"],
        cuda=data.get("cuda", "auto"),
        tools={
            name: ToolSetting(tuple(tool["commands"]), tool.get("minimum", "")) for name, tool in data["tools"].items()
        },
        folders={name: tuple(globs) for name, globs in data["folders"].items()},
        release=data.get("release", ""),
        suites=tuple(data.get("suites", ())),
        packages=None if packages is None else {suite: tuple(names) for suite, names in packages.items()},
        mirror=data.get("mirror"),
        security_mirror=data.get("security_mirror"),
        keyring=data.get("keyring"),
        lock=data.get("lock"),
        modules_init=modules.get("init"),
        modules=tuple(modules.get("load", ())),
        path=tuple(data.get("path", ())),
    )
