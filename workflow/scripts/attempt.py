"""Runs one build step; its failure becomes a note in its outputs. See ironsweep.attempt."""

from __future__ import annotations

from ironsweep.attempt import main
from ironsweep.errors import run_main

if __name__ == "__main__":
    run_main(main)
