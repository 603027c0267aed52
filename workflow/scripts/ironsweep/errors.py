"""The error that is meant for the user."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn


class UserError(Exception):
    """Something that the user can put right. Its text is one plain message: what is wrong, where, and the remedy."""


def die(error: UserError) -> NoReturn:
    """Print the message, without a traceback, and leave with exit status 1."""
    print(f"ironsweep: {error}", file=sys.stderr)
    raise SystemExit(1)


def run_main(main: Callable[[], None]) -> None:
    """Run a script's main function; a UserError becomes its one message and exit status 1."""
    try:
        main()
    except UserError as error:
        die(error)
