"""Named sweeps: config/sweeps/NAME.yaml, laid over config/config.yaml; one can extend another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ironsweep.configtext import ConfigError, Origin, Text, did_you_mean

FOLDER = "config/sweeps"
_BASE = "config/config.yaml"

# What a sweep's file cannot say: they choose or take in, and do not describe what is measured.
_NOT_IN_A_SWEEP = ("sweep", "records", "rajaperf", "name")


def read(
    config: Mapping[str, Any], root: Path, files: Sequence[str | Path], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], Origin]:
    """The configuration with its named sweep, and where everything comes from.

    ``config`` is what Snakemake made of ``files`` and ``overrides``. The sweep lies over config/config.yaml, and under
    the other files and the command line, so these are laid over it once more. Raises ConfigError.
    """
    paths = [root / file for file in files]
    base = [Text(path, _shown(path, root)) for path in paths if path == root / _BASE]
    others = [Text(path, _shown(path, root)) for path in paths if path != root / _BASE]
    origin = Origin((*base, *others), overrides)
    chain = _chain(config["sweep"], root, origin) if config.get("sweep") is not None else []
    data = dict(config)
    for text in (*chain, *others):
        own = {key: value for key, value in text.values.items() if key != "extends" or text not in chain}
        data = lay(data, own)
    return lay(data, overrides), Origin((*base, *chain, *others), overrides)


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def lay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """``above`` laid over ``below``: groups of keys are merged, lists, values and ranges of sizes replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        is_group = isinstance(value, Mapping) and isinstance(old, Mapping) and "from" not in value
        merged[key] = lay(old, value) if is_group else value  # type: ignore[arg-type]
    return merged


def _chain(name: Any, root: Path, origin: Origin) -> list[Text]:
    """The files of a sweep: first those that it extends. Raises ConfigError for a cycle and an unknown name."""
    asked_at = origin.of(("sweep",))
    names: list[str] = []
    texts: list[Text] = []
    while True:
        text = _file(name, root, asked_at)
        if name in names:
            raise ConfigError(f"{asked_at}: {' -> '.join([*names, name])} is a circle; a sweep cannot extend itself")
        names.append(name)
        texts.insert(0, text)
        for key in _NOT_IN_A_SWEEP:
            if key in text.values:
                place = Origin((text,), {}).of((key,))
                raise ConfigError(f"{place}: does not belong in a sweep; `extends: NAME` lays a sweep over another")
        if "extends" not in text.values:
            return texts
        name = text.values["extends"]
        asked_at = Origin((text,), {}).of(("extends",))


def _file(name: Any, root: Path, asked_at: str) -> Text:
    known = [file.stem for file in (root / FOLDER).glob("*.yaml")]
    if name not in known:
        raise ConfigError(f"{asked_at}: no sweep in {FOLDER} is called {name!r}{did_you_mean(str(name), known)}")
    return Text(root / FOLDER / f"{name}.yaml", f"{FOLDER}/{name}.yaml")
