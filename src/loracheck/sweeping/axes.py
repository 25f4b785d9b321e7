"""The axes of a sweep, and the cells where they cross: each is a suite of its own."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from loracheck.cases.suite import AdapterEntry, Suite, SweepEntry, adapter_entry
from loracheck.errors import InputError
from loracheck.models.peft import is_peft_folder
from loracheck.quantized import file_type
from loracheck.suites import AnyPath, build_suite, quantizations
from loracheck.text import counted

Several: TypeAlias = "AnyPath | Sequence[AnyPath]"

MOST_CELLS = 200
"""More take a --yes: a cell is a whole check."""

NO_ADAPTER = "no adapter"

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


@dataclass(frozen=True, slots=True)
class Stack:
    """One alternative on the axis of adapters: what is on in its cells, together."""

    entries: tuple[AdapterEntry, ...]
    run: Path | None = None
    """The training run that it comes from."""
    checkpoint: int | None = None
    """The step of the training run; None is its end."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One check of a sweep, and where it stands on each axis."""

    base: str
    quantization: str | None
    """None is the base as it is."""
    adapter: str
    scale: float
    run: str | None
    checkpoint: int | None
    suite: Suite

    @property
    def is_bare(self) -> bool:
        """Whether it is the base itself, with nothing on that the base has not."""
        ft = self.suite.models.ft
        return not self.quantization and ft.gguf is None and all(entry.scale == 0 for entry in ft.adapters)


def build_cells(
    suite: Suite | AnyPath | None = None,
    *,
    base: Several = (),
    adapter: Several = (),
    scale: float | Sequence[float] = (),
    quantize: str | Sequence[str] = (),
    **given: Any,
) -> tuple[Cell, ...]:
    """The cells of a suite file's `sweep`, of the axes given here, or of both: what is given here wins, axis by axis.

    `given` is what `build_suite` takes. The cells that share a model file stand together.
    """
    bases = [Path(each).expanduser() for each in _several(base)]
    stacks = _read_stacks(_several(adapter), Path())
    types = [file_type(each) for each in ([quantize] if isinstance(quantize, str) else quantize)]
    built = build_suite(
        suite,
        base=bases[0] if bases else None,
        adapter=stacks[0].entries if stacks else (),
        quantize=types[0] if types else None,
        **given,
    )
    section = built.sweep or SweepEntry()
    folder = built.file.parent if built.file else Path()
    stacks = stacks or _read_stacks(section.adapters, folder) or [Stack(built.models.ft.adapters)]
    bases = bases or list(section.bases) or [built.models.base.gguf]
    types = types or quantizations(section.quantize, built, "sweep")
    if types and len(bases) > 1:
        raise InputError("quantize takes one base, and there are several; give the quantized files as bases instead")
    scales = [scale] if isinstance(scale, int | float) else list(scale) or list(section.scales) or [1.0]
    axes = _Axes(bases, [None, *types] if types else [built.defaults.quantize], stacks, _finite(scales))
    return tuple(_cells(built.model_copy(update={"sweep": None}), axes))


def with_threads(cells: Sequence[Cell], threads: int) -> tuple[Cell, ...]:
    """One thread count for a whole sweep: it is a part of an answer's identity."""
    return tuple(replace(cell, suite=cell.suite.with_defaults(threads=threads)) for cell in cells)


def confirm_number(cells: Sequence[Cell], *, yes: bool) -> None:
    if len(cells) > MOST_CELLS and not yes:
        raise InputError(
            f"{len(cells)} cells, each a whole check; more than {MOST_CELLS} take --yes (in Python, yes=True)"
        )


def in_words(cells: Sequence[Cell]) -> str:
    """How many cells there are, and what they are made of."""
    axes = ("base", "quantization", "adapter", "scale")
    counts = {axis: len({getattr(cell, axis) for cell in cells}) for axis in axes}
    # The base as it is stands among the quantizations.
    factors = [counted(many, axis) for axis, many in counts.items() if axis != "quantization" or many > 1]
    return f"{counted(len(cells), 'cell')}: {' × '.join(factors)}"


@dataclass(frozen=True, slots=True)
class _Axes:
    bases: Sequence[Path]
    quantizations: Sequence[str | None]
    stacks: Sequence[Stack]
    scales: Sequence[float]


def _cells(suite: Suite, axes: _Axes) -> Iterator[Cell]:
    base_names = short_names(axes.bases)
    names = short_names(entry.gguf for stack in axes.stacks for entry in stack.entries)
    runs = short_names(stack.run for stack in axes.stacks if stack.run)
    # A model is loaded once when its cells come one after the other.
    bases, quantizations = dict.fromkeys(axes.bases), dict.fromkeys(axes.quantizations)
    stacks, scales = dict.fromkeys(axes.stacks), dict.fromkeys(axes.scales)
    for base, quantization, stack, scale in product(bases, quantizations, stacks, scales):
        under_test = tuple(AdapterEntry(gguf=entry.gguf, scale=entry.scale * scale) for entry in stack.entries)
        # A quantized file with nothing on it still is another model than its base.
        on = under_test if not quantization or any(entry.scale for entry in under_test) else ()
        models = suite.models.model_copy(
            update={
                "base": suite.models.base.model_copy(update={"gguf": base}),
                "ft": suite.models.ft.model_copy(update={"adapters": on}),
            }
        )
        yield Cell(
            base=base_names[base],
            quantization=quantization,
            adapter=" + ".join(_name(names[entry.gguf], entry.scale) for entry in stack.entries) or NO_ADAPTER,
            scale=scale,
            run=None if stack.run is None else runs[stack.run],
            checkpoint=stack.checkpoint,
            suite=suite.with_defaults(quantize=quantization).model_copy(update={"models": models}),
        )


def _several(given: Several) -> Sequence[AnyPath]:
    return [given] if isinstance(given, str | os.PathLike) else given


def _finite(scales: Sequence[float]) -> list[float]:
    for scale in scales:
        if not math.isfinite(scale):
            raise InputError(f"the scale {scale} is not a finite number; give one such as 0.5")
    return [float(scale) for scale in scales]


# Adapters as they are written


def _read_stacks(given: Iterable[AnyPath], folder: Path) -> list[Stack]:
    return [stack for each in given for stack in read_stack(os.fspath(each), folder)]


def read_stack(text: str, folder: Path) -> list[Stack]:
    """PATH or PATH@SCALE, several of them joined by `+`; relative paths start at `folder`.

    A training output folder is one stack for each of its checkpoints, and one for the adapter that came out at the end.
    """
    parts = [_of_training(entry) for entry in _entries(text, folder)]
    stacks = []
    for steps in product(*parts):
        run, checkpoint = next(((step.run, step.checkpoint) for step in steps if step.run), (None, None))
        stacks.append(Stack(tuple(entry for step in steps for entry in step.entries), run, checkpoint))
    return stacks


def _entries(text: str, folder: Path) -> Iterator[AdapterEntry]:
    """What exists as it is written is that file, whatever `+` it has in its name."""
    pieces = text.split("+")
    while pieces:
        for count in range(len(pieces), 0, -1):
            path = str(folder / Path("+".join(pieces[:count])).expanduser())
            # With nothing left to try, the path is what it is, and reading it says what is wrong.
            entry = adapter_entry(path) if count == 1 else _existing(path)
            if count == 1 or (entry and entry.gguf.exists()):
                break
        if not pieces[0]:
            raise InputError(f"{text!r}: an adapter is missing beside the +; write a.gguf+b.gguf@0.5")
        assert entry is not None
        yield entry
        pieces = pieces[count:]


def _existing(path: str) -> AdapterEntry | None:
    try:
        return adapter_entry(path)
    except InputError:
        return None


def _of_training(entry: AdapterEntry) -> list[Stack]:
    """The checkpoints of a training output folder in the order of their steps, then its end; any other is itself."""
    folder = entry.gguf
    if step := _CHECKPOINT.fullmatch(folder.name):
        return [Stack((entry,), folder.parent, int(step[1]))]
    below = folder.iterdir() if folder.is_dir() else ()
    numbered = ((path, _CHECKPOINT.fullmatch(path.name)) for path in below)
    steps = sorted((int(step[1]), path) for path, step in numbered if step and path.is_dir())
    if not steps:
        return [Stack((entry,))]
    checkpoints = [Stack((AdapterEntry(gguf=path, scale=entry.scale),), folder, step) for step, path in steps]
    return checkpoints + ([Stack((entry,), folder)] if is_peft_folder(folder) else [])


# Names


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """As much of the end of each path as tells it from the others."""
    parts = {path: path.parts for path in paths}
    names = {}
    for path, mine in parts.items():
        others = [theirs for other, theirs in parts.items() if other != path]
        needed = next((n for n in range(1, len(mine)) if all(o[-n:] != mine[-n:] for o in others)), len(mine))
        names[path] = "/".join(mine[-needed:]) if needed < len(mine) else str(path)
    return names


def _name(name: str, scale: float) -> str:
    return name if scale == 1 else f"{name}@{scale:g}"
