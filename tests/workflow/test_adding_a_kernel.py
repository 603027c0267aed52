"""docs/adding-a-kernel.md, followed word by word in a copy of the repository.

The page's boxes are followed in their order. What is to be done with a box is said in the text before it:

* "New file `PATH`:" a file with the box's content;
* "At the end of `PATH`:" the box is appended;
* "In `PATH`, below the line `LINE`:" the box is inserted there;
* a box of `sh` is run, and must print the box of `text` behind it; `…` is any text in a line and, alone in a line, any
  lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/adding-a-kernel.md"
NEW = r"New file\s+`([^`]+)`:$"
END = r"At the end of\s+`([^`]+)`:$"
BELOW = r"In\s+`([^`]+)`, below\s+the\s+line\s+`([^`]+)`:$"
BASELINES = "\n## 2. The baselines\n"


@dataclass(frozen=True)
class Box:
    """A code block of the page: its language, its content and the text between it and the block before."""

    language: str
    content: str
    before: str


def boxes(page: str) -> Iterator[Box]:
    """The code blocks of a page, in order."""
    end = 0
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        yield Box(found[1], found[2], page[end : found.start()].strip())
        end = found.end()


def follow(page: str, folder: Path) -> None:
    """Do what the page says."""
    printed: str | None = None
    for box in boxes(page):
        if box.language == "sh":
            printed = run(box.content, folder)
        elif box.language == "text":
            assert printed is not None, f"there is no command before\n{box.content}"
            assert matches(box.content, printed), f"the page promises\n{box.content}\nand this was printed:\n{printed}"
        elif new := re.search(NEW, box.before):
            assert not (folder / new[1]).exists(), f"{new[1]} is there already"
            (folder / new[1]).write_text(box.content, encoding="utf-8")
        elif end := re.search(END, box.before):
            (folder / end[1]).write_text((folder / end[1]).read_text(encoding="utf-8") + box.content, encoding="utf-8")
        elif below := re.search(BELOW, box.before):
            lines = (folder / below[1]).read_text(encoding="utf-8").splitlines(keepends=True)
            assert f"{below[2]}\n" in lines, f"{below[1]} has no line {below[2]!r}"
            lines.insert(lines.index(f"{below[2]}\n") + 1, box.content)
            (folder / below[1]).write_text("".join(lines), encoding="utf-8")
        else:
            pytest.fail(f"the page does not say what to do with\n{box.content}")


def run(command: str, folder: Path) -> str:
    """Run a command as the page's reader does; returns what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def matches(promised: str, printed: str) -> bool:
    """Whether a command printed what the page promises."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"[ ]*\n"
        for line in promised.splitlines()
    ]
    return re.fullmatch("".join(lines), printed.rstrip() + "\n") is not None


def cells(folder: Path) -> pd.DataFrame:
    """The new kernel's cells on the host."""
    table = pd.read_parquet(folder / "results/tables/cells.parquet")
    assert table.verified.all()
    return table[(table.kernel == "Stream_ADD") & (table.device == "host")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with what has been built in it: the page is for who has run `make run`."""
    if not (ROOT / "results/toolchain/root.json").exists():
        pytest.skip("the toolchain is not built: make run")
    folder = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    # One AMD architecture is enough for the page.
    config = folder / "config/config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("amd: [gfx90a, gfx942]", "amd: [gfx90a]"))
    # Links to files, which Snakemake replaces and does not change.
    for name in ("bin", "build", "codegen"):
        if (ROOT / "results" / name).exists():
            shutil.copytree(ROOT / "results" / name, folder / "results" / name, symlinks=True, copy_function=os.link)
    toolchain = folder / "results/toolchain"
    shutil.copytree(ROOT / "results/toolchain", toolchain, symlinks=True, ignore=shutil.ignore_patterns("root"))
    (toolchain / "root").symlink_to((ROOT / "results/toolchain/root").resolve())
    return folder


def test_the_page_leads_to_a_checked_kernel(checkout: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    kernel, baselines = page.split(BASELINES)
    follow(kernel, checkout)
    own = cells(checkout)
    rust = own[own.variant == "rust_offload"]
    assert set(rust.kind) == {"measure", "check"} and set(rust.data) == {"reference", "random"}
    assert set(rust.status) == {"ok"}, rust[rust.status != "ok"][["tuning", "size", "data", "status", "reason"]]
    others = own[own.variant != "rust_offload"]
    assert set(others.variant) == {"cpp_seq", "cpp_openmp"}
    assert set(others.status) == {"unsupported"}
    assert others.reason.str.contains("no baselines/cpp/stream_add.cpp").all()

    follow(baselines, checkout)
    own = cells(checkout)
    assert set(own.variant) == {"rust_offload", "cpp_seq", "cpp_openmp"}
    assert set(own.status) == {"ok"}, own[own.status != "ok"][["variant", "tuning", "size", "data", "status", "reason"]]


def test_every_kernel_that_the_page_shows_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z0-9_]+\.rs)`", page))
    assert named and all((ROOT / "kernels/suite" / name).exists() for name in named)
    for view, name in re.findall(r"^\| `(\w+<[^`]+>)`[^|]*\|.*\| `([a-z0-9_]+\.rs)` \|$", page, re.MULTILINE):
        text = (ROOT / "kernels/suite" / name).read_text(encoding="utf-8")
        assert re.search(rf"\b{view.partition('<')[0]}<", text), f"{name} has no {view}"


def test_the_page_knows_every_view() -> None:
    prelude = (ROOT / "kernels/launch/lib.rs").read_text(encoding="utf-8")
    views = re.search(r"pub use crate::arguments::\{(.*?)\}", prelude, re.DOTALL)
    assert views
    page = PAGE.read_text(encoding="utf-8")
    assert not [view for view in re.findall(r"\w+", views[1]) if f"`{view}<" not in page]


def test_boxes_are_compared_line_by_line() -> None:
    assert matches("a … c\n…\nd\n", "a b c\nx\ny\nd\n")
    assert matches("…\nd\n", "d\n")
    assert not matches("a … c\nd\n", "a b c\nx\nd\n")
    assert not matches("a\n", "a\nb\n")
