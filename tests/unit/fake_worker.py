#!/usr/bin/env python3
"""A worker that speaks the protocol without measuring anything, and misbehaves on request.

The environment variable IRONSWEEP_FAKE names what it does with points of certain sizes: ``{"1000": "hang"}``.
Every start is noted in the file IRONSWEEP_FAKE_STARTS, every point in IRONSWEEP_FAKE_POINTS. What it says about its
device is in IRONSWEEP_FAKE_DEVICE: ``{"device_name": "NVIDIA H200"}``.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any


def note(variable: str, text: str) -> None:
    """Append a line to the file that an environment variable names."""
    if variable in os.environ:
        with Path(os.environ[variable]).open("a") as file:
            file.write(f"{text}\n")


def checksum(identity: str) -> float:
    """A number that only this point has, so that a record in another one's place shows."""
    return int(identity, 16) / 2.0**64


def record_of(point: dict[str, Any]) -> dict[str, Any]:
    """A valid record of a point."""
    if point["dump"]:
        Path(point["dump"]).write_bytes(struct.pack("<4d", 1.0, 2.0, 3.0, 4.0))
    passes = point["passes"]
    return {
        **point,
        "status": "ok",
        "message": "",
        "actual_size": point["size"],
        "seconds_per_rep": []
        if point["device"] == "amd_emulated"
        else [1e-6 * point["size"] + 1e-9 * index for index in range(passes)],
        "checksums": [checksum(point["id"])] * passes,
        "bytes_read": 16 * point["size"],
        "bytes_written": 8 * point["size"],
        "bytes_modified": 0,
        "bytes_atomic": 0,
        "flops": 2 * point["size"],
        "device_name": "fake",
        "device_arch": point["arch"],
        **json.loads(os.environ.get("IRONSWEEP_FAKE_DEVICE", "{}")),
        "runtime": os.environ.get("IRONSWEEP_EMULATOR"),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")),
    }


def write(text: str) -> None:
    """Write to standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def answer(point: dict[str, Any], behaviour: str) -> None:
    """Write the answer to a point, or whatever the behaviour asks for."""
    line = json.dumps(record_of(point)) + "\n"
    if behaviour == "crash":
        print("about to touch a bad pointer", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif behaviour == "terminated":
        os.kill(os.getpid(), signal.SIGTERM)
    elif behaviour == "no_memory":
        print("memory allocation of 8000000000000 bytes failed", file=sys.stderr, flush=True)
        os.abort()
    elif behaviour == "exit":
        sys.exit(7)
    elif behaviour == "hang":
        time.sleep(3600)
    elif behaviour == "garbage":
        write("Segfault? no, just chatter\n")
    elif behaviour == "half":
        write(line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    elif behaviour == "bytewise":
        for character in line:
            write(character)
    elif behaviour == "wrong_id":
        write(json.dumps({**record_of(point), "id": "0" * 16}) + "\n")
    elif behaviour == "other_variant":
        write(json.dumps({**record_of(point), "variant": "hip"}) + "\n")
    elif behaviour == "nan":
        write(json.dumps({**record_of(point), "checksums": [float("nan")] * point["passes"]}) + "\n")
    elif behaviour == "device_fault":
        write(json.dumps({**point, "status": "crashed", "message": "an illegal memory access"}) + "\n")
    elif behaviour == "unsupported":
        write(json.dumps({**point, "status": "unsupported", "message": "cannot do this"}) + "\n")
    elif behaviour == "out_of_memory":
        write(json.dumps({**point, "status": "out_of_memory", "message": "no room"}) + "\n")
    elif behaviour == "no_dump":
        record = record_of(point)
        Path(point["dump"]).unlink()
        write(json.dumps(record) + "\n")
    elif behaviour == "leave":
        write(line)
        sys.exit(0)
    elif behaviour == "slow":
        time.sleep(0.3)
        write(line)
    elif behaviour.startswith("once "):  # the first such point sleeps, those after it, also in later runs, do not
        slept = Path(os.environ["IRONSWEEP_FAKE_POINTS"]).with_suffix(".slept")
        if not slept.exists():
            slept.touch()
            time.sleep(float(behaviour.split()[1]))
        write(line)
    elif behaviour == "held":  # until somebody removes the file
        while Path(os.environ["IRONSWEEP_FAKE_POINTS"]).with_suffix(".held").exists():
            time.sleep(0.02)
        write(line)
    elif behaviour.startswith("sleep "):
        time.sleep(float(behaviour.split()[1]))
        write(line)
    else:
        write(line)


def main() -> None:
    """Answer points until the end of input."""
    note("IRONSWEEP_FAKE_STARTS", Path(__file__).name)
    behaviours = json.loads(os.environ.get("IRONSWEEP_FAKE", "{}"))
    for line in sys.stdin:
        point = json.loads(line)
        note("IRONSWEEP_FAKE_POINTS", point["id"])
        answer(point, behaviours.get(str(point["size"]), ""))


if __name__ == "__main__":
    main()
