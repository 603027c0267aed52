"""The archive for a machine that has a GPU driver and Python but no compiler, and the records that come back from it.

``python -m ironsweep.bundle pack`` makes the archive, ``python -m ironsweep.bundle take`` takes records in.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import io
import json
import lzma
import os
import stat
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ironsweep.attempt import read_note
from ironsweep.errors import UserError, run_main
from ironsweep.records import Problem, Record, read_file

LIMIT_BYTES = 60_000_000
MAX_DUMP_BYTES = 1 << 30
# A date for all files (1980-01-01), so that the same content makes the same archive.
MTIME = 315532800
# The archive is compressed in blocks of this size, several at a time; every tar and xz reads them as one.
BLOCK_BYTES = 32 << 20
# X86 turns the targets of jumps into absolute addresses, which repeat. A thread needs 12 times the dictionary's memory.
XZ_FILTERS = (
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": BLOCK_BYTES},
)
MAX_THREADS = 4

RUN_SH = """\
#!/bin/sh
# Measures what this archive holds on this machine and writes one file of records.
#
#   ./run.sh                 writes {system}.jsonl in the current folder; started again, it continues
#   ./run.sh --out FILE      writes FILE
#   ./run.sh --repeat        measures everything again
#   ./run.sh --help          everything else
#
# It needs an x86-64 Linux machine, the GPU's driver and Python 3.8 or newer, and it installs nothing.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "run.sh: the programs in this archive are for Linux on x86-64, not for $(uname -sm)" >&2
    exit 69
fi
python=
for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "run.sh: no Python 3.8 or newer on PATH; load it (for example: module load python) and start again" >&2
    exit 69
fi
exec "$python" "$here/runner.py" --points "$here/points.jsonl" \\
    --bin "$here/bin" --runtime "$here/runtime/run" \\
    --toolchain "$here/toolchain.json" --source "$here/source.json" --journal "$here/{system}.journal" --embed-dumps \\
    --timeout {timeout_s:g} --out {system}.jsonl "$@"
"""


@dataclass(frozen=True)
class Member:
    """A file of the archive: its name there, its content (or the file that has it), and whether it is a program."""

    name: str
    content: bytes | Path
    executable: bool = False

    @property
    def size(self) -> int:
        """Bytes before compression; 0 for a link."""
        if isinstance(self.content, bytes):
            return len(self.content)
        return 0 if self.content.is_symlink() else self.content.stat().st_size


def contents(
    system: str,
    timeout_s: float,
    points: Path,
    binaries: list[Path],
    bin_root: Path,
    runtime: Path,
    toolchain: Path,
    source: Path,
) -> list[Member]:
    """What goes into the archive of ``system``.

    ``binaries`` are workers and what they load (or notes of failed builds) below ``bin_root``; ``runtime`` is a folder
    with the program ``run`` and the libraries that it uses. HIP's, which are larger than all others together, go along
    only where a HIP baseline needs them.
    """
    hip = any(file.parent.name == "baselines" and file.name.startswith("hip-") for file in binaries)
    libraries = [
        file
        for file in sorted(runtime.rglob("*"))
        if (file.is_symlink() or file.is_file())
        and not file.name.startswith(".snakemake")
        and (hip or not file.is_relative_to(runtime / "lib/hip"))
    ]
    members = [
        Member("run.sh", RUN_SH.format(system=system, timeout_s=timeout_s).encode(), executable=True),
        Member("points.jsonl", points),
        Member("toolchain.json", toolchain),
        Member("source.json", source),
        Member("runner.py", Path(__file__).with_name("runner.py")),
        *(Member(f"bin/{file.relative_to(bin_root)}", file, executable=not file.suffix) for file in sorted(binaries)),
        *(
            Member(f"runtime/{file.relative_to(runtime)}", file, executable=bool(file.lstat().st_mode & stat.S_IXUSR))
            for file in libraries
        ),
    ]
    return sorted(members, key=lambda member: member.name)


def pack(members: list[Member], archive: Path, limit: int = LIMIT_BYTES) -> str:
    """Write ``archive`` (tar, xz) and return its SHA-256. The same members make the same bytes.

    Everything lies in one folder that is called like the archive. Links stay links: those to a driver's libraries lead
    to the other machine's.
    Raises UserError, and leaves no archive, if it would be larger than ``limit`` bytes.
    """
    folder = archive.name.removesuffix(".tar.xz")
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    with tempfile.TemporaryFile(dir=archive.parent) as plain:
        with tarfile.open(fileobj=plain, mode="w") as tar:
            for member in members:
                _add(tar, f"{folder}/{member.name}", member)
        plain.flush()
        with part.open("wb") as file:
            for block in _compressed(plain):
                file.write(block)
    size = part.stat().st_size
    if size > limit:
        part.unlink()
        largest = sorted(members, key=lambda member: -member.size)[:3]
        names = ", ".join(f"{member.name} ({member.size / 1e6:.0f} MB)" for member in largest)
        raise UserError(
            f"the bundle would have {size / 1e6:.1f} MB, more than {limit / 1e6:.0f} MB; the largest files are {names};"
            " name fewer kernels or variants under `bundle` in config/config.yaml"
        )
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    part.replace(archive)
    return digest


def _compressed(plain: IO[bytes]) -> Iterator[bytes]:
    """A file's content as xz streams, one a block, in order; no more blocks are in memory than there are threads."""

    def compress(number: int) -> bytes:
        block = os.pread(plain.fileno(), BLOCK_BYTES, number * BLOCK_BYTES)
        return lzma.compress(block, filters=list(XZ_FILTERS))

    size = plain.seek(0, os.SEEK_END)
    with ThreadPoolExecutor(min(MAX_THREADS, len(os.sched_getaffinity(0)))) as pool:
        yield from pool.map(compress, range(-(-size // BLOCK_BYTES)))


def _add(tar: tarfile.TarFile, name: str, member: Member) -> None:
    info = tarfile.TarInfo(name)
    info.mtime = MTIME
    info.mode = 0o755 if member.executable else 0o644
    if isinstance(member.content, bytes):
        info.size = len(member.content)
        tar.addfile(info, io.BytesIO(member.content))
    elif member.content.is_symlink():
        info.type = tarfile.SYMTYPE
        info.linkname = str(member.content.readlink())
        tar.addfile(info)
    else:
        info.size = member.size
        with member.content.open("rb") as file:
            tar.addfile(info, file)


def take(records: Path, out: Path, dumps: Path) -> tuple[int, list[Problem]]:
    """Put a file of records from another machine at ``out`` and its embedded arrays into the folder ``dumps``.

    Returns the number of records and what was wrong in the file; raises UserError if there is no valid record in it.
    """
    content = read_file(records)
    problems = list(content.problems)
    taken = []
    dumps.mkdir(parents=True, exist_ok=True)
    for record in content.records:
        try:
            taken.append(_unpacked(record, dumps))
        except ValueError as error:
            problems.append(Problem(str(records), 0, f"record of cell {record['id']}: {error}"))
    if not taken:
        first = f": {problems[0]}" if problems else ""
        raise UserError(f"{records} holds no valid record{first}; it must be a file that run.sh of a bundle wrote")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    part.write_text("".join(f"{json.dumps(line)}\n" for line in [*content.environments, *taken]), encoding="utf-8")
    part.replace(out)
    return len(taken), problems


def _unpacked(record: Record, dumps: Path) -> Record:
    """A record with its array in a file. Raises ValueError if the array is damaged."""
    record = dict(record)
    data = record.pop("dump_data", None)
    record["dump"] = None
    if data is None:
        return record
    try:
        unpacker = zlib.decompressobj()
        array = unpacker.decompress(base64.b64decode(data, validate=True), MAX_DUMP_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"its array is damaged: {error}") from None
    if not unpacker.eof or len(array) % 8:
        raise ValueError("its array is damaged: it is not a whole number of values")
    file = dumps / f"{record['id']}.f64"
    file.write_bytes(array)
    record["dump"] = str(file)
    return record


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ironsweep.bundle")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("--system", required=True)
    packing.add_argument("--timeout", type=float, required=True)
    packing.add_argument("--points", type=Path, required=True)
    packing.add_argument("--bin", type=Path, required=True)
    packing.add_argument("--runtime", type=Path, required=True)
    packing.add_argument("--toolchain", type=Path, required=True)
    packing.add_argument("--source", type=Path, required=True)
    packing.add_argument("--archive", type=Path, required=True)
    packing.add_argument("--binaries", type=Path, nargs="+", required=True)
    taking = commands.add_parser("take")
    taking.add_argument("--records", type=Path, required=True)
    taking.add_argument("--out", type=Path, required=True)
    taking.add_argument("--dumps", type=Path, required=True)
    return parser.parse_args()


def _lines_of_result(options: argparse.Namespace) -> Iterator[str]:
    if options.command == "pack":
        members = contents(
            options.system,
            options.timeout,
            options.points,
            options.binaries,
            options.bin,
            options.runtime,
            options.toolchain,
            options.source,
        )
        digest = pack(members, options.archive)
        Path(f"{options.archive}.sha256").write_text(f"{digest}  {options.archive.name}\n", encoding="utf-8")
        size = options.archive.stat().st_size / 1e6
        yield f"{options.archive}: {len(members)} files, {size:.1f} MB, SHA-256 {digest}"
        kinds = Counter(json.loads(line)["kind"] for line in options.points.read_text(encoding="utf-8").splitlines())
        yield f"{sum(kinds.values())} cells: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}"
        for binary in options.binaries:
            if note := read_note(binary):
                yield f"not built, and so not there: {binary}: {note.reason.splitlines()[0]}"
        return
    count, problems = take(options.records, options.out, options.dumps)
    yield f"{options.out}: {count} records"
    yield from (f"left out: {problem}" for problem in problems)


def main() -> None:
    """Command line: pack or take."""
    for line in _lines_of_result(_arguments()):
        print(line)


if __name__ == "__main__":
    run_main(main)
