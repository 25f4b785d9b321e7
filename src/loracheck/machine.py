"""What this machine has, told from a few small files: memory, that of its container too, and a graphics card."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# A control group without a limit says a number that no machine has.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes, with swap space; None is what this system does not say."""

    total: int | None
    free: int | None
    """What can be had without making others smaller."""
    is_limited: bool = False
    """By a control group, as in a container: the machine itself has more."""


def memory(root: Path = Path("/")) -> Memory:
    """`root` is where /proc and /sys are."""
    sizes = _numbers(root / "proc/meminfo", scale=1024)
    if "MemTotal" not in sizes:
        return Memory(_physical(), None)
    swap, free_swap = sizes.get("SwapTotal", 0), sizes.get("SwapFree", 0)
    free = sizes["MemAvailable"] + free_swap if "MemAvailable" in sizes else None
    has = Memory(sizes["MemTotal"] + swap, free)
    for group in _groups(root):
        total = group.limit + min(swap, group.swap)
        left = group.limit - group.used + min(free_swap, group.swap)
        if has.total is None or total < has.total:
            has = Memory(total, left if has.free is None else max(0, min(has.free, left)), is_limited=True)
    return has


def graphics_card(root: Path = Path("/")) -> str | None:
    """One that llama.cpp could compute on; None where none is seen. Nothing is started to look."""
    if platform.system() == "Darwin":
        return "Apple GPU" if platform.machine() == "arm64" else None
    if any((root / "proc/driver/nvidia/gpus").glob("*")) or shutil.which("nvidia-smi"):
        return "NVIDIA GPU"
    return "AMD GPU" if (root / "dev/kfd").exists() else None


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class _Group:
    limit: int
    used: int
    """Without the pages of files that are given back when memory is short."""
    swap: int


def _groups(root: Path) -> Iterator[_Group]:
    """The control groups with a limit that this process is in, of both versions."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mount, read = root / "sys/fs/cgroup", _group_v2
        elif "memory" in controllers.split(","):
            mount, read = root / "sys/fs/cgroup/memory", _group_v1
        else:
            continue
        # Inside a container the path may be the one outside; what counts then is at the root of the mount.
        inner = PurePosixPath(path.lstrip("/"))
        for folder in (inner, *inner.parents):
            group = read(mount / folder)
            if group is not None and group.limit < _NO_LIMIT:
                yield group


def _group_v2(folder: Path) -> _Group | None:
    limit, swap = _number(folder / "memory.max"), _number(folder / "memory.swap.max")
    if limit is None:
        return None
    cached = _numbers(folder / "memory.stat").get("inactive_file", 0)
    used = max(0, (_number(folder / "memory.current") or 0) - cached)
    return _Group(limit, used, _NO_LIMIT if swap is None else swap)


def _group_v1(folder: Path) -> _Group | None:
    limit, with_swap = _number(folder / "memory.limit_in_bytes"), _number(folder / "memory.memsw.limit_in_bytes")
    if limit is None:
        return None
    cached = _numbers(folder / "memory.stat").get("total_inactive_file", 0)
    used = max(0, (_number(folder / "memory.usage_in_bytes") or 0) - cached)
    return _Group(limit, used, _NO_LIMIT if with_swap is None else max(0, with_swap - limit))


def _number(path: Path) -> int | None:
    words = _text(path).strip()
    return int(words) if words.isdigit() else None


def _numbers(path: Path, scale: int = 1) -> dict[str, int]:
    """Lines such as `MemTotal: 123 kB` or `inactive_file 123`."""
    pairs = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) * scale for pair in pairs if len(pair) > 1 and pair[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
