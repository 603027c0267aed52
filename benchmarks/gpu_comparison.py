"""Rust beside CUDA on a GPU: measures the bundle on this machine, or reads records, and prints ratios of times.

    python benchmarks/gpu_comparison.py                          measures results/bundle/*.tar.xz here, and prints
    python benchmarks/gpu_comparison.py --bundle ironsweep-h200  measures a bundle that is unpacked already
    python benchmarks/gpu_comparison.py --records h200.jsonl     prints what was measured elsewhere

A ratio is the median time of a Rust variant over that of CUDA: below 1, Rust is faster. Compared are cells of the same
kernel, size, region, block and contraction. Whether results are right is not looked at here but by the tables that
`snakemake import` and `make run` make of the records.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from ironsweep.comparison import IncomparableError, require_comparable  # noqa: E402
from ironsweep.efficiency import COPY  # noqa: E402
from ironsweep.errors import UserError, run_main  # noqa: E402
from ironsweep.records import Record, bytes_moved, bytes_touched, read_file  # noqa: E402
from ironsweep.statistics import Ratio, ratio_of_medians, summarise  # noqa: E402

BASELINE = "cuda"
CONTRACTIONS = ("strict", "contract")
BLOCK = 256
DIGITS = 3
"""Ratios are printed, and judged, with so many digits behind the point."""


@dataclass(frozen=True)
class Targets:
    """What the Rust kernels shall reach where their data do not fit into the L2 cache.

    Attributes:
        safe: largest ratio with bounds checks, in region `kernel`.
        unchecked: largest ratio without.
        mean: largest geometric mean of the ratios with bounds checks, over all kernels of one size.
        of_copy: smallest bandwidth of a memory-bound kernel, as a fraction of that of the device's copy.
    """

    safe: float = 1.05
    unchecked: float = 1.02
    mean: float = 1.00
    of_copy: float = 0.90


@dataclass(frozen=True)
class Limits:
    """What is judged.

    Attributes:
        l2: bytes of the L2 cache: a kernel is judged at sizes at which a repetition's bytes are more.
        flops_per_byte: a kernel is memory-bound if it has at most so many operations for a byte that it moves,
        seconds_per_launch: and if the device's copy takes at least so long for what one of its launches moves: launches
            themselves take some microseconds, as do resets and ways back to the host (`NOT_LAUNCHES`).
    """

    l2: float = 50e6
    flops_per_byte: float = 1.0
    seconds_per_launch: float = 10e-6


# RAJAPerf counts 7 operations for an entry of the matrices, whose loop runs 125 times.
NOT_MEMORY_BOUND = frozenset({"Apps_MASS3DEA"})

# What a repetition asks of the device beside launches: a sum is set to zero before and copied to the host after.
NOT_LAUNCHES = {"Algorithm_REDUCE_SUM": 2}


@dataclass(frozen=True)
class Comparison:
    """One kernel at one size, evaluated in one way (contraction). What was not measured is None.

    Attributes:
        safe: rust_liboffload with bounds checks over CUDA, region `kernel`.
        unchecked: the same without bounds checks.
        liboffload_sync: rust_liboffload with bounds checks over CUDA, region `launch_sync`.
        offload_sync: rust_offload with bounds checks over CUDA, region `launch_sync`.
        of_copy: bandwidth of rust_liboffload with bounds checks over that of the device's copy, region `kernel`.
        cuda_of_copy: the same of CUDA's kernel.
        judged: whether its data do not fit into the L2 cache.
        memory_bound: whether bandwidth is what limits it.
        failures: cells that have no time, with their status.
    """

    kernel: str
    size: int
    contraction: str
    judged: bool
    memory_bound: bool
    safe: Ratio | None = None
    unchecked: Ratio | None = None
    liboffload_sync: Ratio | None = None
    offload_sync: Ratio | None = None
    of_copy: float | None = None
    cuda_of_copy: float | None = None
    failures: Sequence[str] = field(default_factory=tuple)


def bandwidth(record: Record) -> float:
    """Bytes a second."""
    return bytes_moved(record) / summarise(record["seconds_per_rep"]).median


def one_block(records: Iterable[Record], wanted: int = BLOCK) -> list[Record]:
    """The measured cells on an NVIDIA GPU, of each kernel those of the block that is nearest to the wanted one."""
    found = [r for r in records if r["kind"] == "measure" and r["device"] == "nvidia" and r["data"] == "reference"]
    nearest: dict[str, int] = {}
    for record in found:
        best = nearest.setdefault(record["kernel"], record["block"])
        nearest[record["kernel"]] = min(best, record["block"], key=lambda block: (abs(block - wanted), block))
    return [record for record in found if record["block"] == nearest[record["kernel"]]]


def comparisons(records: Sequence[Record], limits: Limits, intervals: bool = True) -> list[Comparison]:
    """All kernels, sizes and contractions for which CUDA was measured, in this order.

    Args:
        records: those that `one_block` left.
        limits: what is judged.
        intervals: whether ratios get intervals, which takes time.
    """
    cells: dict[tuple[str, int, str], dict[tuple[str, str, str], Record]] = {}
    copies: dict[int, float] = {}
    for record in records:
        place = (record["kernel"], record["size"], record["contraction"])
        cells.setdefault(place, {})[record["variant"], record["safety"], record["region"]] = record
        if (record["kernel"], record["variant"], record["region"], record["status"]) == (
            COPY,
            BASELINE,
            "kernel",
            "ok",
        ):
            copies[record["size"]] = max(copies.get(record["size"], 0.0), bandwidth(record))
    order = {name: number for number, name in enumerate(CONTRACTIONS)}
    return [
        _compared(place, own, copies.get(place[1]), limits, intervals)
        for place, own in sorted(cells.items(), key=lambda item: (item[0][0], item[0][1], order[item[0][2]]))
        if any(variant == BASELINE and record["status"] == "ok" for (variant, _, _), record in own.items())
    ]


def _compared(
    place: tuple[str, int, str],
    own: Mapping[tuple[str, str, str], Record],
    copy: float | None,
    limits: Limits,
    intervals: bool,
) -> Comparison:
    kernel, size, contraction = place

    def ratio(variant: str, safety: str, region: str) -> Ratio | None:
        record, baseline = own.get((variant, safety, region)), own.get((BASELINE, "none", region))
        if not (record and baseline) or {record["status"], baseline["status"]} != {"ok"}:
            return None
        try:
            require_comparable({**record, "precision": "f64"}, {**baseline, "precision": "f64"})
        except IncomparableError:
            return None
        samples = record["seconds_per_rep"], baseline["seconds_per_rep"]
        if intervals:
            return ratio_of_medians(*samples)
        return Ratio(summarise(samples[0]).median / summarise(samples[1]).median, math.nan, math.nan)

    def fraction(variant: str, safety: str) -> float | None:
        record = own.get((variant, safety, "kernel"))
        return bandwidth(record) / copy if copy and record and record["status"] == "ok" else None

    some = next(record for record in own.values() if record["status"] == "ok")
    traffic = bytes_moved(some)
    operations = some.get("launches_per_rep", 1) + NOT_LAUNCHES.get(kernel, 0)
    return Comparison(
        kernel,
        size,
        contraction,
        judged=bytes_touched(some) > limits.l2,
        memory_bound=kernel not in NOT_MEMORY_BOUND
        and some["flops"] <= limits.flops_per_byte * traffic
        and (copy is None or traffic / copy >= limits.seconds_per_launch * operations),
        safe=ratio("rust_liboffload", "safe", "kernel"),
        unchecked=ratio("rust_liboffload", "unchecked", "kernel"),
        liboffload_sync=ratio("rust_liboffload", "safe", "launch_sync"),
        offload_sync=ratio("rust_offload", "safe", "launch_sync"),
        of_copy=fraction("rust_liboffload", "safe"),
        cuda_of_copy=fraction(BASELINE, "none"),
        failures=tuple(
            f"{variant} {safety} in {region}: {record['status']}"
            for (variant, safety, region), record in sorted(own.items())
            if record["status"] != "ok"
        ),
    )


def geometric_mean(ratios: Iterable[Ratio | None]) -> tuple[float, int]:
    """Geometric mean of the ratios that there are, and their number; NaN if there are none."""
    logarithms = [math.log(ratio.ratio) for ratio in ratios if ratio]
    return (math.exp(math.fsum(logarithms) / len(logarithms)), len(logarithms)) if logarithms else (math.nan, 0)


def largest(found: Sequence[Comparison]) -> list[Comparison]:
    """Of each kernel and contraction the comparison at the largest size."""
    last = {(one.kernel, one.contraction): one for one in sorted(found, key=lambda one: one.size)}
    return [one for one in found if last[one.kernel, one.contraction] is one]


def _above(value: float, target: float) -> bool:
    return round(value, DIGITS) > target


def misses(found: Sequence[Comparison], targets: Targets) -> list[str]:
    """The targets that are missed beyond the L2 cache, one a line."""
    lines = []
    for one in found:
        if not one.judged:
            continue
        place = f"{one.kernel} {one.size:,} {one.contraction}"
        for name, ratio, target in (("safe", one.safe, targets.safe), ("unchecked", one.unchecked, targets.unchecked)):
            if ratio and _above(ratio.ratio, target):
                lines.append(f"{place}: {name} takes {ratio.ratio:.3f} times as long as CUDA, not at most {target:.2f}")
        if one.memory_bound and one.of_copy is not None and _above(targets.of_copy, one.of_copy):
            lines.append(f"{place}: {one.of_copy:.1%} of the copy's bandwidth, not at least {targets.of_copy:.0%}")
        lines += [f"{place}: {failure}" for failure in one.failures]
    for contraction in CONTRACTIONS:
        for size in sorted({one.size for one in found}):
            own = [one.safe for one in found if one.judged and (one.size, one.contraction) == (size, contraction)]
            mean, number = geometric_mean(own)
            if _above(mean, targets.mean):
                lines.append(
                    f"geometric mean of {number} kernels at {size:,} {contraction}: {mean:.3f}, not at most"
                    f" {targets.mean:.2f}"
                )
    return lines


# --- Tables --------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Lines of a table, of which the first `left` columns are aligned to the left."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    yield line(head)
    yield "  ".join("-" * width for width in widths)
    yield from map(line, rows)


def _ratio(ratio: Ratio | None, missed: bool = False) -> str:
    if ratio is None:
        return "-"
    interval = "" if math.isnan(ratio.ci_low) else f" ({ratio.ci_low:.3f}-{ratio.ci_high:.3f})"
    return f"{'!' if missed else ''}{ratio.ratio:.3f}{interval}"


def _percent(value: float | None, missed: bool = False) -> str:
    return "-" if value is None else f"{'!' if missed else ''}{value:.1%}"


def _judged(one: Comparison, targets: Targets) -> tuple[str, str, str]:
    """The columns with a target: safe, unchecked, of the copy."""

    def beyond(ratio: Ratio | None, target: float) -> bool:
        return one.judged and ratio is not None and _above(ratio.ratio, target)

    slow = one.judged and one.memory_bound and one.of_copy is not None and _above(targets.of_copy, one.of_copy)
    return (
        _ratio(one.safe, beyond(one.safe, targets.safe)),
        _ratio(one.unchecked, beyond(one.unchecked, targets.unchecked)),
        _percent(one.of_copy, slow) + ("" if one.memory_bound else " *"),
    )


def at_largest_size(found: Sequence[Comparison], contraction: str, targets: Targets) -> Iterator[str]:
    """The first table: each kernel at its largest size, with intervals."""
    own = [one for one in found if one.contraction == contraction]
    if not own:
        return
    columns = ("safe", "unchecked", "liboffload sync", "offload sync", "of copy", "CUDA of copy")
    rows = []
    for one in own:
        safe, unchecked, copy = _judged(one, targets)
        name = one.kernel if one.judged else f"{one.kernel} (in L2)"
        sync = (_ratio(one.liboffload_sync), _ratio(one.offload_sync))
        rows.append((name, f"{one.size:,}", safe, unchecked, *sync, copy, _percent(one.cuda_of_copy)))
    judged = [one for one in own if one.judged]
    means = [
        geometric_mean(ratios)
        for ratios in (
            [one.safe for one in judged],
            [one.unchecked for one in judged],
            [one.liboffload_sync for one in judged],
            [one.offload_sync for one in judged],
        )
    ]
    texts = [f"{mean:.3f} of {number}" if number else "-" for mean, number in means]
    if _above(means[0][0], targets.mean):
        texts[0] = f"!{texts[0]}"
    yield f"Largest size, {contraction} beside {contraction}"
    yield ""
    yield from table(("kernel", "size", *columns), [*rows, ("geometric mean", "", *texts, "", "")])


def at_every_size(found: Sequence[Comparison], targets: Targets) -> Iterator[str]:
    """The second table: a row for each kernel and size, both contractions side by side."""
    rows = []
    by_place: dict[tuple[str, int], dict[str, Comparison]] = {}
    for one in found:
        by_place.setdefault((one.kernel, one.size), {})[one.contraction] = one
    for (kernel, size), own in by_place.items():
        some = next(iter(own.values()))
        pairs = [_judged(own[name], targets)[:2] if name in own else ("-", "-") for name in CONTRACTIONS]
        first = own.get("strict", some)
        cells = [text for pair in pairs for text in pair]
        cells += [_ratio(first.liboffload_sync), _ratio(first.offload_sync), _judged(first, targets)[2]]
        rows.append((kernel, "" if some.judged else "in L2", f"{size:,}", *cells))
    for size in sorted({one.size for one in found}):
        own_size = [one for one in found if one.size == size]
        means = []
        for name in CONTRACTIONS:
            these = [one for one in own_size if one.contraction == name]
            means += [geometric_mean(one.safe for one in these)[0], geometric_mean(one.unchecked for one in these)[0]]
        strict = [one for one in own_size if one.contraction == "strict"]
        means.append(geometric_mean(one.liboffload_sync for one in strict)[0])
        means.append(geometric_mean(one.offload_sync for one in strict)[0])
        rows.append(
            ("geometric mean", "", f"{size:,}", *("-" if math.isnan(mean) else f"{mean:.3f}" for mean in means), "")
        )
    columns = ("safe", "unchecked", "safe contract", "unchecked contract", "liboffload sync", "offload sync", "of copy")
    yield "Every size; geometric means of all kernels, also of those in L2"
    yield ""
    yield from table(("kernel", "", "size", *columns), rows, left=2)


def report(source: str, records: Sequence[Record], limits: Limits, targets: Targets, block: int) -> tuple[str, int]:
    """All tables of a file of records as text, and the number of missed targets.

    Raises:
        UserError: if there is nothing to compare in it.
    """
    measured = one_block(records, block)
    plain = comparisons(measured, limits, intervals=False)
    if not plain:
        raise UserError(f"{source}: no times of {BASELINE} on an NVIDIA GPU, so there is nothing to compare with")
    last = {(one.kernel, one.size) for one in largest(plain)}
    with_intervals = comparisons([r for r in measured if (r["kernel"], r["size"]) in last], limits)
    devices = ", ".join(sorted({str(record["device_name"]) for record in measured if record.get("device_name")}))
    statuses = Counter(record["status"] for record in measured)
    missed = misses(plain, targets)
    lines = [
        f"{source}: {devices}, {', '.join(f'{count} {status}' for status, count in sorted(statuses.items()))}",
        "",
        "Median time over CUDA's (95 % interval); below 1 Rust is faster.",
        "  safe, unchecked    rust_liboffload in region kernel",
        "  sync               rust_liboffload and rust_offload, safe, in region launch_sync",
        f"  of copy            bandwidth over that of {COPY}'s {BASELINE}, a copy by the driver, at the same size",
        f"  in L2              a repetition's bytes are at most {limits.l2 / 1e6:g} MB: not judged",
        f"  *                  not memory-bound: more than {limits.flops_per_byte:g} operations for a byte moved"
        f" (and {', '.join(sorted(NOT_MEMORY_BOUND))}),",
        f"                     or a copy takes below {limits.seconds_per_launch * 1e6:g} µs for what a launch moves",
        f"  !                  missed target: safe {targets.safe:.2f}, geometric mean {targets.mean:.2f}, unchecked"
        f" {targets.unchecked:.2f}, of copy {targets.of_copy:.0%}",
    ]
    for contraction in CONTRACTIONS:
        lines += ["", *at_largest_size(with_intervals, contraction, targets)]
    lines += ["", *at_every_size(plain, targets), ""]
    lines += [f"{len(missed)} targets missed:", *(f"  {miss}" for miss in missed)] if missed else ["All targets met."]
    return "\n".join(lines), len(missed)


# --- Measuring -----------------------------------------------------------------------------------------------------


def measure(bundle: Path | None, out: Path, repeat: bool) -> None:
    """Run a bundle on this machine; it goes on where it was interrupted.

    Raises:
        UserError: if there is no bundle, or it cannot be run.
    """
    bundle = bundle or _found_bundle()
    if bundle.is_file():
        folder = ROOT / "results/benchmarks"
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(bundle) as archive:
            archive.extractall(folder, filter="tar")
        bundle = folder / bundle.name.removesuffix(".tar.xz")
    program = bundle.resolve() / "run.sh"
    if not program.is_file():
        raise UserError(f"{bundle} is no unpacked bundle: it has no run.sh; `snakemake bundle` makes one")
    command = [str(program), "--out", str(out.resolve()), *(["--repeat"] if repeat else [])]
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise UserError(f"{program} ended with exit code {done.returncode}; what it printed says why")


def _found_bundle() -> Path:
    archives = sorted((ROOT / "results/bundle").glob("ironsweep-*.tar.xz"))
    if len(archives) != 1:
        names = ", ".join(map(str, archives)) or "none is in results/bundle"
        raise UserError(f"name a bundle with --bundle ({names}); `snakemake bundle` makes one")
    return archives[0]


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, nargs="+", metavar="FILE", help="print these (.jsonl, .jsonl.xz)")
    parser.add_argument("--bundle", type=Path, help="archive or unpacked folder to measure with")
    parser.add_argument("--out", type=Path, default=Path("gpu_comparison.jsonl"), help="where measured records go")
    parser.add_argument("--repeat", action="store_true", help="measure again what was measured already")
    parser.add_argument("--check", action="store_true", help="exit with code 1 if a target is missed")
    parser.add_argument("--block", type=int, default=BLOCK, help="threads in a workgroup (default: %(default)s)")
    parser.add_argument(
        "--l2", type=float, default=Limits.l2, metavar="BYTES", help="size of the L2 cache (default: %(default)g)"
    )
    parser.add_argument(
        "--flops-per-byte",
        type=float,
        default=Limits.flops_per_byte,
        help="a kernel with more operations for a byte is not memory-bound (default: %(default)g)",
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Command line."""
    options = _arguments(words)
    if not options.records:
        measure(options.bundle, options.out, options.repeat)
    missed = 0
    for path in options.records or [options.out]:
        content = read_file(path)
        for problem in content.problems[:5]:
            print(f"left out: {problem}", file=sys.stderr)
        if len(content.problems) > 5:
            print(f"left out: {len(content.problems) - 5} further lines of {path}", file=sys.stderr)
        limits = Limits(options.l2, options.flops_per_byte)
        text, number = report(str(path), content.records, limits, Targets(), options.block)
        print(text)
        missed += number
    if options.check and missed:
        sys.exit(1)


if __name__ == "__main__":
    run_main(main)
