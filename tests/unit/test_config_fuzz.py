"""Thousands of damaged configurations: each is refused with one plain message, or means what it says.

The text of the files that come with the project is mutated. Never may there be another exception, and never may a
duplicate or unknown key go through.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironsweep import config, plan
from ironsweep.config import SCHEMAS, ConfigError
from ironsweep.kernels import discover

REPOSITORY = Path(__file__).parents[2]
FILES = ("config/config.yaml", "config/sweeps/full.yaml", "config/systems/h200.yaml", "config/systems/cluster.yaml")
EXAMPLES = 2000

# The tests' own reading of a text; what is tested reads it with YAML's loader in Python.
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

TOKENS = (
    *("010", "1:30", "NO", "yes", "~", "null", ".nan", ".inf", "-1", "0", "1e6", "1e400", "0x1F", "1_0", "2026-01-01"),
    *("[]", "{}", "[[]]", "{a: 1}", "[1, 1]", "'", '"', "!x", "!!int x", "&a", "*a", "<<: *a", "? ", "- ", ": ", "#"),
    *("0.5 LLC", "8 MB", "-3 GB", "9e9 LLC", "default", "all", "first", "auto", "true", "FILL_IN", "*", "!Apps", "\0"),
    *("{from: 1, to: 10, factor: 2}", "{from: 1 LLC, to: 1e9, factor: 1.01}", "{min: 5}", "extends: full", "é", "\t"),
    *("\ufeff", "~nobody/x", "x" * 300, "9" * 50, "__use_yte__: true", "where: [{reason: r}]", "zip: [[sizes, block]]"),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with the real configuration and kernels."""
    root = tmp_path_factory.mktemp("fuzzed")
    for name in ("config", "kernels"):
        shutil.copytree(REPOSITORY / name, root / name)
    yield root


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str]:
    """A file's name, and its text after some changes."""
    name = draw(st.sampled_from(FILES))
    lines = TEXTS[name].splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        token = draw(st.sampled_from(TOKENS) | st.text(max_size=5))
        kind = draw(st.sampled_from(("value", "key", "insert", "repeat", "drop", "indent", "character", "swap")))
        if kind == "value" and ":" in line:
            lines[at] = f"{line.partition(':')[0]}: {token}"
        elif kind == "key" and ":" in line:
            key, _, rest = line.partition(":")
            lines[at] = f"{key}{draw(st.sampled_from('xs_'))}:{rest}"
        elif kind == "repeat":
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif kind == "drop":
            lines[at] = ""
        elif kind == "indent":
            lines[at] = f"  {line}" if draw(st.booleans()) else line.removeprefix("  ")
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], line
        else:
            cut = draw(st.integers(0, len(line)))
            lines[at] = f"{line[:cut]}{token}{line[cut + (kind == 'character') :]}"
    return name, "\n".join(lines)


def duplicate(node: yaml.Node | None) -> bool:
    """Whether a key is twice in one mapping anywhere in a YAML text."""
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        return len(keys) != len(set(keys)) or any(duplicate(value) for _, value in node.value)
    return isinstance(node, yaml.SequenceNode) and any(duplicate(value) for value in node.value)


def keys(node: Any) -> set[Any]:
    """All keys in some data, at any level."""
    if isinstance(node, dict):
        return set(node) | {key for below in node.values() for key in keys(below)}
    return {key for below in node for key in keys(below)} if isinstance(node, list) else set()


def known_keys() -> set[Any]:
    """Every key that may be somewhere: those in the schemas, and kernels."""

    def properties(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = set(node["properties"]) if isinstance(node.get("properties"), dict) else set()
            return own.union(*(properties(below) for below in node.values()))
        return set[str]().union(*(properties(below) for below in node)) if isinstance(node, list) else set()

    schemas = [json.loads((SCHEMAS / f"{name}.schema.json").read_text()) for name in ("config", "system")]
    return {"extends", *REGISTRY, *(key for schema in schemas for key in properties(schema))}


REGISTRY = discover(REPOSITORY)
KNOWN = known_keys()
TEXTS = {file: (REPOSITORY / file).read_text() for file in FILES}


def resolve(root: Path, name: str) -> None:
    """What the workflow does with the configuration of which ``name`` is a part, in its order."""
    config.check_file(root)
    merged = yaml.load((root / "config/config.yaml").read_text(), FAST) or {}
    overrides: dict[str, Any] = {"kernels": ["Stream_TRIAD"], "variants": ["cuda", "cpp_seq"]}
    if name.startswith("config/s"):
        overrides |= {"system": "cluster" if "cluster" in name else "h200"}
    if "sweeps" in name:
        overrides |= {"sweep": "full"}
    arguments = ({**merged, **overrides}, REGISTRY, root, ("config/config.yaml",), overrides)
    plan.make(config.resolve(*arguments))
    config.resolve_bundle(*arguments)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(mutation=mutated())
def test_a_damaged_configuration_is_refused_or_means_what_it_says(base: Path, mutation: tuple[str, str]) -> None:
    name, text = mutation
    path = base / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        resolve(base, name)
    except ConfigError as error:
        assert "\n" not in str(error)
        assert str(error).partition(":")[0] in {*FILES, "--config", "config/sweeps/paper.yaml"}
    else:
        assert not duplicate(yaml.compose(text, Loader=FAST))
        assert keys(yaml.load(text, FAST)) <= KNOWN
    finally:
        path.write_text(TEXTS[name])
