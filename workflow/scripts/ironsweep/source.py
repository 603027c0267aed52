"""Which source a sweep was started from: its commit, and whether files differ from it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

FILE = Path("results/source.json")
"""Written by each start; runners put it into the records' environment lines."""

MOST_CHANGED = 20


def state(root: Path) -> dict[str, Any]:
    """Commit, whether the tree is clean, and which files are not as in the commit; None where git does not tell.

    Args:
        root: the repository's folder.
    """
    commit, status = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain")
    if commit is None or status is None:
        return {"commit": None, "clean": None, "changed": []}
    changed = [line[3:] for line in status.splitlines()]
    return {"commit": commit.strip(), "clean": not changed, "changed": changed[:MOST_CHANGED]}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        # A folder of somebody else's is no secret here: nothing of it is run.
        command = ["git", "-c", f"safe.directory={root.resolve()}", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def keep(root: Path, file: Path = FILE) -> None:
    """Write the state to a file, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(state(root)) + "\n", encoding="utf-8")
    part.replace(file)
