"""Build steps whose failure is a result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ironsweep import attempt
from ironsweep.attempt import Note, read_note, write_note
from ironsweep.errors import UserError
from ironsweep.toolchain.record import Tool, Toolchain

SHELL = ("sh", "-c")


class Step:
    """A build step in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.outputs = [folder / "out/a", folder / "out/b"]
        self.folder = folder
        tools = {"nvcc": Tool(missing="nvcc: no toolkit on PATH"), "libdevice": Tool(path="/cuda/libdevice.10.bc")}
        toolchain = Toolchain("path", "two-pass", "path", {}, tools, "0")
        (folder / "toolchain.json").write_text(
            json.dumps({**vars(toolchain), "tools": {n: vars(t) for n, t in tools.items()}})
        )

    def run(self, *command: str, inputs: Sequence[Path] = (), requires: Sequence[str] = ()) -> None:
        attempt.attempt(
            command, step="image", inputs=inputs, outputs=self.outputs, log=self.folder / "log",
            requires=requires, toolchain=self.folder / "toolchain.json",
        )  # fmt: skip

    def note(self) -> Note | None:
        first, second = (read_note(output) for output in self.outputs)
        assert first == second
        return first


@pytest.fixture
def step(tmp_path: Path) -> Step:
    return Step(tmp_path)


def test_a_step_that_succeeds_leaves_its_outputs(step: Step) -> None:
    step.run(*SHELL, 'echo said; echo done > "$0"; echo done > "$1"', *map(str, step.outputs))
    assert step.note() is None
    assert step.outputs[1].read_text() == "done\n"
    assert (step.folder / "log").read_text() == "said\n"


def test_a_command_that_fails_leaves_its_last_words(step: Step) -> None:
    step.outputs[0].parent.mkdir()
    step.outputs[0].write_text("of an earlier run")
    step.run(*SHELL, "for i in $(seq 100); do echo line $i; done; echo error: bad kernel >&2; exit 3")
    note = step.note()
    assert note is not None and (note.status, note.step) == ("build_failed", "image")
    assert note.reason.endswith("line 100\nerror: bad kernel") and "line 1\n" not in note.reason


def test_a_compiler_that_crashes_has_failed_on_the_code(step: Step) -> None:
    step.run(*SHELL, "echo 'LLVM ERROR: Cannot select'; kill -ABRT $$")
    note = step.note()
    assert note is not None and note.reason == "the compiler crashed (SIGABRT)\nLLVM ERROR: Cannot select"


@pytest.mark.parametrize("ending", ["kill -KILL $$", "kill -TERM $$", "exit 137"])
def test_a_command_that_was_killed_is_an_error(step: Step, ending: str) -> None:
    with pytest.raises(UserError, match="image: ended by SIG"):
        step.run(*SHELL, ending)
    assert not step.outputs[0].exists()


def test_a_full_disk_is_an_error(step: Step) -> None:
    with pytest.raises(UserError, match="No space left on device"):
        step.run(*SHELL, "echo 'ld.lld: error: No space left on device' >&2; exit 1")


def test_outputs_that_were_not_written_are_an_error(step: Step) -> None:
    with pytest.raises(UserError, match="did not write"):
        step.run("true")


def test_a_missing_tool_makes_it_unsupported(step: Step) -> None:
    step.run("false", requires=["libdevice", "nvcc"])
    assert step.note() == Note("unsupported", "image", "nvcc: no toolkit on PATH")


def test_a_note_is_passed_on(step: Step) -> None:
    note = Note("build_failed", "bitcode", "error: bad kernel")
    write_note(note, [step.folder / "input"])
    step.run("false", inputs=[step.folder, step.folder / "no-such-file", step.folder / "input"])
    assert step.note() == note


def test_paths_of_the_toolchain_are_filled_in(step: Step) -> None:
    step.run(*SHELL, 'echo @libdevice@ | tee "$0" > "$1"', *map(str, step.outputs))
    assert step.outputs[0].read_text() == "/cuda/libdevice.10.bc\n"


def test_a_program_is_no_note(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\xff\xfe")
    assert read_note(tmp_path / "program") is None
    assert read_note(tmp_path / "none") is None
