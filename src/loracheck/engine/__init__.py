"""What an engine is: a view and prompts in, completions out, all of it plain data.

Only this package knows llama.cpp, and only `native.py` imports it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "MOST",
    "TIMEOUT",
    "AdapterUse",
    "Completion",
    "Engine",
    "Fingerprint",
    "Noise",
    "Prompt",
    "Settings",
    "Trace",
    "View",
    "default_threads",
]

MOST = 10_000_000
"""No setting is larger than this, far more than any model takes: llama.cpp would read it as something else."""

TIMEOUT = 600.0
"""Seconds that one batch may take: it takes one on a laptop, and minutes with the largest models."""


@dataclass(frozen=True, slots=True)
class Noise:
    """A random adapter shaped like a real one. The engine makes the file when it needs it."""

    like: Path
    seed: int
    init_scale: float = 0.02
    rank_multiplier: float = 1.0
    match: Literal["scale", "norm"] = "scale"


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """An adapter, from a file or from noise, and how strongly it is applied."""

    source: Path | Noise
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class View:
    """The one loaded model with a stack of adapters on it; none is the bare model."""

    name: str
    adapters: tuple[AdapterUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """What a view expects at each place of a whole answer, the place after its last token included."""

    tokens: tuple[int, ...]
    ends: tuple[int, ...]
    """Where each token's bytes end in the answer's text."""
    candidates: tuple[tuple[int, ...], ...]
    """At each place, the tokens that the view which wrote the answer found likeliest."""
    log_probs: tuple[tuple[float, ...], ...]
    """What this view gives them."""
    top: tuple[str, ...]
    """The token this view finds likeliest, as text."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to answer. `id` is the case it comes from, for messages."""

    id: str
    text: str
    max_new_tokens: int
    traced: bool = False
    """Whether the completion should carry a trace of its own answer, if that is a whole one."""
    follow: Trace | None = None
    """Another view's answer to be traced instead."""
    known: tuple[int, ...] | None = None
    """The view's whole answer, where that is known: it is then traced without being generated again."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A greedy answer. `truncated` means it was cut by its token limit or the context, not ended by the model."""

    text: str
    tokens: tuple[int, ...]
    prompt_tokens: int
    truncated: bool
    trace: Trace | None = None
    """As the prompt asked for it; None where the engine can't read an answer again."""
    stored: bool = field(default=False, compare=False)
    """Known from an earlier run."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a view computes for one text: equal digests mean bitwise equal logits."""

    digest: str
    finite: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """How the model is run. `parallel` is the decode width, which is part of what makes answers repeatable."""

    n_ctx: int = 4096
    threads: int = 2
    gpu_layers: int = 0
    parallel: int = 8


class Engine(Protocol):
    """Answers prompts under a view."""

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index of the prompt, its completion) as answers finish, in any order."""
        ...

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        """Evaluate one short text, to compare views without generating."""
        ...

    def close(self) -> None: ...


def default_threads() -> int:
    """All cores of a small machine, half of a large one, where the other half are hyper-threads."""
    cores = os.cpu_count() or 1
    return cores if cores <= 4 else cores // 2
