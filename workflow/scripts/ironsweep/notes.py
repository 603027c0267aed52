"""What could not be built, for cells that no batch runs: their rows say so instead of which device is missing."""

from __future__ import annotations

from pathlib import Path

from ironsweep.attempt import Note, read_note
from ironsweep.judge import PLANNED, Status
from ironsweep.planned import Row
from ironsweep.variants import program


def add_notes(cells: list[Row], folder: Path) -> None:
    """Put status and reason of a failed build into planned cells that no device runs; cells are changed in place.

    Args:
        cells: rows of the plan.
        folder: where programs are, a folder for each kernel.
    """
    notes: dict[Path, Note | None] = {}
    for cell in cells:
        if cell["status_planned"] in (None, PLANNED, Status.EXCLUDED):
            continue
        for file in _files(cell, folder / cell["kernel"]):
            if file not in notes:
                notes[file] = read_note(file)
            if note := notes[file]:
                cell |= {"status_planned": note.status, "reason_planned": f"{note.step}: {note.reason}"}
                break


def _files(cell: Row, folder: Path) -> list[Path]:
    """What a cell needs: a launcher holds the images of all devices but those that could not be built."""
    files = [folder / program(cell["variant"]), folder / cell["part"]]
    if cell["variant"] == "rust_offload":
        files.append(folder / "images" / "{arch}-{safety}-{contraction}.img".format(**cell))
    return files
