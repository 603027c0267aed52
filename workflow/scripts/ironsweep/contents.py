"""What a plan contains, for a person: `snakemake plan`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ironsweep.batches import Entry, Index
from ironsweep.config import Settings
from ironsweep.plan import EXCLUDED, Cell, Plan

_PLANNED = "planned"
_HEADER = ("kernel", "variant", "to run", "excluded", "not run", "unsupported", "sizes measured")


def report(plan: Plan, settings: Settings) -> str:
    """The cells by system, kernel and variant, the reasons of those that are not run, and how much there is to run."""
    lines = [line for system in settings.systems for line in _of_system(plan, system.name)]
    reasons = {cell.reason_planned for cell in plan.cells if cell.status_planned == EXCLUDED}
    unused = [rule for rule in settings.selection.rules if rule.reason not in reasons]
    notes = [f"{rule.place}: no cell is excluded by this rule" for rule in unused]
    return "\n".join([*lines, *notes, plan.describe()])


def batches_report(index: Index) -> str:
    """The batches by system and device: how many, of how many points, and how long they are estimated to take."""
    kinds: dict[tuple[str, str], list[Entry]] = {}
    for entry in index.batches:
        kinds.setdefault((entry.system, entry.device), []).append(entry)
    lines = [
        f"{system}, {device}: {len(own)} {'batch' if len(own) == 1 else 'batches'} with"
        f" {sum(entry.points for entry in own):,} points on {own[0].lanes} {'lane' if own[0].lanes == 1 else 'lanes'},"
        f" estimated {sum(entry.seconds for entry in own) / 60:.0f} minutes one after another,"
        f" the longest {max(entry.seconds for entry in own) / 60:.1f}"
        for (system, device), own in sorted(kinds.items())
    ]
    return "\n".join([*lines, *(f"packed: {words}" for words in index.words)])


def _of_system(plan: Plan, system: str) -> Iterator[str]:
    own = [cell for cell in plan.cells if cell.system == system]
    yield f"system {system}"
    yield from _table([_HEADER, *_rows(own)])
    reasons = Counter((cell.status_planned, cell.reason_planned) for cell in own if cell.status_planned != _PLANNED)
    for (status, reason), count in sorted(reasons.items()):
        yield f"  {count} {status}: {reason}"
    yield f"  {_work(own)}"
    yield ""


def _rows(cells: Iterable[Cell]) -> Iterator[tuple[str, ...]]:
    """A row for each kernel and variant."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.kernel, cell.variant)):
        groups.setdefault((cell.kernel, cell.variant), []).append(cell)
    last = ""
    for (kernel, variant), own in groups.items():
        count = Counter(cell.status_planned for cell in own)
        numbers = [str(count[status] or "") for status in (_PLANNED, EXCLUDED, "not_run", "unsupported")]
        sizes = {cell.size for cell in own if cell.kind == "measure" and cell.status_planned == _PLANNED}
        yield (kernel if kernel != last else "", variant, *numbers, _shown_sizes(sorted(sizes)))
        last = kernel


def _shown_sizes(sizes: Sequence[int], most: int = 6) -> str:
    """The sizes, of many of them the first and the last."""
    texts = [f"{size:,}" for size in sizes]
    if len(texts) > most:
        texts = [*texts[: most - 1], f"… ({len(texts)} sizes)", texts[-1]]
    return "  ".join(texts)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        words = [
            word.ljust(width) if column in (0, 1, len(row) - 1) else word.rjust(width)
            for column, (word, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(words)}".rstrip()


def _work(cells: Iterable[Cell]) -> str:
    """How much there is to run: cells, samples, and launches of a kernel with those that are not kept."""
    own = [cell for cell in cells if cell.status_planned == _PLANNED]
    samples = sum(cell.passes for cell in own if cell.kind == "measure")
    launches = sum(cell.reps * (cell.passes + cell.warmup) for cell in own)
    return f"to run: {len(own):,} cells, {samples:,} timed samples, about {launches:,} launches of a kernel"
