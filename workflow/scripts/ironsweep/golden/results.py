"""Golden results of cases: checksums, expected elements with their bounds, and files of checksums."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironsweep.checksum import chunk_checksum_parts, sum_parts
from ironsweep.errors import UserError
from ironsweep.golden.data import Array, Case
from ironsweep.golden.kernels import oracle_of
from ironsweep.golden.oracle import Oracle, Piece

_HELD = 1 << 25
"""Elements that may wait for their output's turn; 512 MiB with their bounds."""


@dataclass(frozen=True)
class Golden:
    """The golden result of a case.

    Attributes:
        checksum: RAJAPerf's checksum of the output.
        scale: what a deviation of the checksum is divided by: the checksum, or the sum of the magnitudes of the terms
            where terms of both signs may cancel.
        value: the output itself where it is one number, else None.
    """

    checksum: float
    scale: float
    value: float | None = None


def compute(kernel: str, case: Case) -> Golden:
    """The golden result of a case, in some 2 to 25 s for 1e8 elements and 20 reps.

    The checksum is the sum of the checked outputs' checksums; each output is counted from its own first element.
    """
    oracle = oracle_of(kernel)
    if oracle.is_sum:
        return _summed(oracle, case)
    outputs = oracle.outputs(case.size)
    position = [0] * len(outputs)
    sums: list[float] = []
    for piece in oracle.pieces(case, False):
        if outputs[piece.output].checked:
            sums += chunk_checksum_parts(piece.values, position[piece.output])
        position[piece.output] += piece.values.size
    total = math.fsum(sums)
    return Golden(checksum=total, scale=abs(total))


def _summed(oracle: Oracle, case: Case) -> Golden:
    sums: list[float] = []
    magnitudes: list[float] = []
    for piece in oracle.pieces(case, False):
        sums += sum_parts(piece.values)
        magnitudes += sum_parts(np.abs(piece.values))
    value = math.fsum(sums)
    return Golden(checksum=abs(value), scale=math.fsum(magnitudes), value=value)


def outputs(kernel: str, case: Case) -> Iterator[Array]:
    """The expected elements of the dump in chunks, output by output. A sum is one chunk of one element."""
    oracle = oracle_of(kernel)
    if oracle.is_sum:
        yield np.array([_summed(oracle, case).value])
    else:
        for piece in _in_order(oracle, case, bounded=False):
            yield piece.values


def bounds(kernel: str, case: Case, contract: bool = False) -> Iterator[tuple[Array, Array]]:
    """The expected elements of the dump in chunks, and what each may deviate at most, in absolute terms.

    Args:
        kernel: its full name.
        case: what the result depends on.
        contract: whether products and sums may have been contracted to fused multiply-adds. It matters where nothing
            else leaves room for deviations.
    """
    oracle = oracle_of(kernel)
    if oracle.is_sum:
        golden = _summed(oracle, case)
        yield np.array([golden.value]), np.array([oracle.tolerance(case.size) * golden.scale])
        return
    bounded = contract or not oracle.exact
    for piece in _in_order(oracle, case, bounded):
        yield piece.values, np.broadcast_to(piece.error if bounded else 0.0, piece.values.shape)


def _in_order(oracle: Oracle, case: Case, bounded: bool) -> Iterator[Piece]:
    """All pieces, output by output."""
    if not oracle.interleaved:
        yield from oracle.pieces(case, bounded)
        return
    lengths = [output.length for output in oracle.outputs(case.size)]
    if sum(lengths[1:]) > _HELD:
        for output in range(len(lengths)):
            yield from (piece for piece in oracle.pieces(case, bounded) if piece.output == output)
        return
    waiting = []
    for piece in oracle.pieces(case, bounded):
        if piece.output:
            waiting.append(piece)
        else:
            yield piece
    yield from sorted(waiting, key=lambda piece: piece.output)  # stable: pieces of an output stay in order


# --- Files of golden results ---------------------------------------------------------------------------------------


def case_of(kernel: str, point: Mapping[str, Any]) -> Case:
    """The case of a point, planned cell or record, without what its result does not depend on."""
    return Case(
        size=int(point["size"]),
        reps=int(point["reps"]) if oracle_of(kernel).depends_on_reps else 1,
        data=str(point["data"]),
        seed=int(point["seed"]) if point["data"] == "random" else 0,
    )


def load(path: Path, version: str | None = None) -> dict[Case, Golden]:
    """Golden results from a file that `save` wrote.

    Args:
        path: the file.
        version: if given, results of another version are as good as none, and so is a damaged file.

    Raises UserError for a damaged file if no version is given.
    """
    try:
        content = json.loads(path.read_text())
        if version is not None and content["version"] != version:
            return {}
        return {Case(**entry["case"]): Golden(**entry["golden"]) for entry in content["results"]}
    except (ValueError, KeyError, TypeError):
        if version is not None:
            return {}
        raise UserError(f"{path} is damaged: remove it and run again") from None


def save(path: Path, kernel: str, results: Mapping[Case, Golden], version: str) -> None:
    """Write golden results of a kernel in full precision and a fixed order; `version` is that of the code."""
    ordered = sorted(results, key=lambda case: (case.data, case.seed, case.size, case.reps))
    content = {
        "kernel": kernel,
        "version": version,
        "results": [{"case": asdict(case), "golden": asdict(results[case])} for case in ordered],
    }
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def complete(kernel: str, cases: Iterable[Case], known: Mapping[Case, Golden]) -> dict[Case, Golden]:
    """Golden results of `cases`, computing only those that are not in `known`."""
    return {case: known.get(case) or compute(kernel, case) for case in dict.fromkeys(cases)}
