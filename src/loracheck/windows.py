"""What does not work on Windows yet, and how that is said."""

from __future__ import annotations

import sys

from loracheck.errors import InputError


def refuse_on_windows(what: str) -> None:
    """To be called where something begins that only POSIX has, or that nobody has tried on Windows."""
    if sys.platform == "win32":
        raise InputError(f"{what} does not work on Windows yet; use WSL")
