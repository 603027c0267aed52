"""Claims are decided by whole intervals, and mistakes in their file are named with their line."""

from pathlib import Path
from typing import Any

import pytest

from ironsweep import claims, tables
from ironsweep.claims import Verdict, decide
from ironsweep.columns import frame_of
from ironsweep.efficiency import add_roofs
from ironsweep.errors import UserError
from ironsweep.records import read_file

ROOT = Path(__file__).parents[2]

EVERY = "a: {statement: quick, where: {variant: rust_liboffload, size: {min: 1e6}}, every: {speed: {min: 0.95}}}\n"
MEAN = "a: {statement: quick, where: {variant: rust_liboffload}, mean: {speed: {min: 0.95}}}\n"


def read(tmp_path: Path, text: str) -> list[claims.Claim]:
    file = tmp_path / "claims.yaml"
    file.write_text(text)
    return claims.read(file, "config/claims.yaml")


def row(speed: float | None, half: float = 0.01, **changes: Any) -> dict[str, Any]:
    numbers = {"speed": None, "ci_low": None, "ci_high": None}
    if speed is not None:
        numbers = {"speed": speed, "ci_low": speed - half, "ci_high": speed + half}
    known = {"id": "f" * 16, "system": "h200", "kernel": "Stream_TRIAD", "size": 10**7, "variant": "rust_liboffload"}
    return {**known, "status": "ok", "verified": True, **numbers, **changes}


@pytest.mark.parametrize(
    ("rows", "verdict", "reason"),
    [
        ([row(1.0), row(0.97)], Verdict.HOLDS, "all of 2 cells; nearest to the limit: Stream_TRIAD 10,000,000 0.970"),
        ([row(1.0), row(0.90)], Verdict.FAILS, "1 of 2 cells: Stream_TRIAD 10,000,000 0.900 (0.890 to 0.910)"),
        ([row(1.0), row(0.955)], Verdict.INCONCLUSIVE, "1 of 2 intervals reach across the limit"),
        ([row(0.95, half=0.0)], Verdict.HOLDS, "all of 1 cells"),
        ([row(1.0, ci_low=None, ci_high=None)], Verdict.INCONCLUSIVE, "1 of 1 intervals"),
        ([row(1.0), row(None, status="crashed")], Verdict.INCONCLUSIVE, "1 of 2 cells have no number (Stream_TRIAD"),
        ([row(0.8), row(None, status="crashed")], Verdict.FAILS, "1 of 1 cells"),
        ([row(1.0, verified=False)], Verdict.INCONCLUSIVE, "unverified: h200"),
        ([row(1.0, size=1000), row(1.0, variant="hip")], Verdict.INCONCLUSIVE, "no cell is what it speaks of"),
    ],
)
def test_every_row_decides(tmp_path: Path, rows: list[dict[str, Any]], verdict: Verdict, reason: str) -> None:
    (claim,) = read(tmp_path, EVERY)
    decision = decide(claim, rows)
    assert decision.verdict == verdict
    assert decision.reason.startswith(reason)


def test_the_mean_decides_with_its_interval(tmp_path: Path) -> None:
    (claim,) = read(tmp_path, MEAN)
    assert decide(claim, [row(1.2), row(1.25), row(1.22)]).verdict == Verdict.HOLDS
    assert decide(claim, [row(0.8), row(0.82), row(0.79)]).verdict == Verdict.FAILS
    assert decide(claim, [row(0.8), row(1.3), row(0.9)]).verdict == Verdict.INCONCLUSIVE
    assert decide(claim, [row(1.2)]).verdict == Verdict.INCONCLUSIVE  # one row has no interval
    assert decide(claim, [row(2.0), row(0.5)]).value == pytest.approx(1.0)


def test_conditions_are_values_patterns_lists_and_ranges(tmp_path: Path) -> None:
    where = "{kernel: ['Stream_*', Apps_FIR], device_name: '*H200*', flops_per_byte: {max: 1}, block: 256}"
    (claim,) = read(tmp_path, f"a: {{statement: s, where: {where}, every: {{bandwidth_of_copy: {{min: 0.9}}}}}}\n")
    fitting = row(1.0, device_name="NVIDIA H200", flops_per_byte=0.1, block=256, bandwidth_of_copy=0.95)
    others: list[dict[str, Any]] = [
        {"kernel": "Apps_VOL3D"},
        {"device_name": "NVIDIA H100"},
        {"flops_per_byte": 2.0},
        {"flops_per_byte": None},
        {"block": 128},
    ]
    decision = decide(claim, [fitting, *({**fitting, **other} for other in others)])
    assert (decision.verdict, decision.cells) == (Verdict.HOLDS, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {statement: s, where: {varient: x}, every: {speed: {min: 1}}}", "1: a.where.varient: there is no such"),
        ("a: {statement: s, where: {variant: x}, every: {sped: {min: 1}}}", "did you mean 'speed'?"),
        ("a: {statement: s, where: {variant: {min: 1}}, every: {speed: {min: 1}}}", "the column holds words"),
        ("a: {statement: s, where: {size: big}, every: {speed: {min: 1}}}", "'big' is none"),
        ("a: {statement: s, where: {size: 1}, every: {variant: {min: 1}}}", "the column holds words"),
        ("a: {statement: s, where: {size: 1}}", "1: a: needs either `every` (row) or `mean`"),
        ("a: {statement: s, where: {size: 1}, every: {speed: {}}}", "is empty"),
        ("a: {where: {size: 1}, every: {speed: {min: 1}}}", "the key 'statement' is missing"),
        ("a: {statement: s, where: {size: 1}, every: {speed: {min: 1}}, our: 1}", "unknown key; did you mean 'ours'?"),
        ("a: 1\na: 2", "2: a: is already set on line 1"),
        ("", "is empty"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith("config/claims.yaml") and message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_difference_to_ours_is_printed(tmp_path: Path) -> None:
    text = EVERY.removesuffix("}\n") + ", ours: {verdict: holds, value: 0.98, source: a file}}\n"
    (claim,) = read(tmp_path, text)
    decision = decide(claim, [row(0.90)])
    assert "OURS: holds; 0.900, ours 0.980 (-8.2%); ours is from a file" in claims.report([decision])
    assert "as ours; 0.980, ours 0.980 (+0.0%)" in claims.report([decide(claim, [row(0.98)])])
    frame = frame_of(claims.verdict_rows([decision]), "claims")
    assert frame.loc[0, ["verdict", "our_verdict", "value", "cells"]].tolist() == ["fails", "holds", 0.9, 1]


def test_ours_are_what_the_committed_records_say() -> None:
    """Their results were judged elsewhere (test_example_records.py): the largest golden results take minutes."""
    records = [record for record in read_file(ROOT / "examples/h200/h200.jsonl.xz").records if record["status"] == "ok"]
    cells = [
        {**record, "system": "h200", "verified": True, "reason": "", "precision": "f64", **tables.statistics_of(record)}
        for record in records
        if record["kind"] == "measure"
    ]
    add_roofs(cells)
    samples = {("h200", record["id"]): record["seconds_per_rep"] for record in records}
    ratios = tables.ratios(cells, samples, {"nvidia": "cuda"}, tables.Floors([]))
    rows = claims.table_of(frame_of(ratios, "ratios"), frame_of(cells, "cells"))
    for claim in claims.read(ROOT / "config/claims.yaml", "config/claims.yaml"):
        decision = decide(claim, rows)
        assert (str(decision.verdict), round(decision.value, 3)) == (claim.ours["verdict"], claim.ours["value"]), claim
