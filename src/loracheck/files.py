"""Files written whole or not at all, and hashed."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CONVERTED = "converted"
"""The folder inside the cache for adapters converted on the fly."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, renamed to it when the block ends well and removed when it does not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files only their owner can read; a result is an ordinary file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # Renaming over a link, /dev/stdout or a pipe would put a plain file in its place.
        path.write_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def cache_folder() -> Path:
    """Where answers and the demo's model are kept: LORACHECK_CACHE, or the user's cache folder."""
    # Not needed by most commands, and not free to import.
    from platformdirs import user_cache_path

    moved = os.environ.get("LORACHECK_CACHE")
    return Path(moved).expanduser() if moved else user_cache_path("loracheck", appauthor=False)
