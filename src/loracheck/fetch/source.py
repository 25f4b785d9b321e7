"""Where a file can be had."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol

Tell = Callable[[int], None]
"""Told how many bytes of the file have come so far."""


class SourceFailed(Exception):  # noqa: N818 - no error that a user meets: another source may have the file
    """Why a source brings no more."""


class Source(Protocol):
    """As a text, its name in messages."""

    def read(self, start: int, size: int, tell: Tell) -> Generator[bytes]:
        """The bytes from `start` on of a file that has `size` of them; SourceFailed when they cannot be had."""

    def by_hand(self) -> str:
        """How to get the file on another machine."""
