"""What an engine is: a view and prompts in, completions out, all of it plain data.

Only this package knows llama.cpp, and only `native.py` imports it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "TIMEOUT",
    "AdapterPart",
    "AdapterSource",
    "AdapterUse",
    "Completion",
    "Engine",
    "Fingerprint",
    "Identity",
    "NullAdapter",
    "Prompt",
    "Sampling",
    "Settings",
    "Trace",
    "Try",
    "View",
]

TIMEOUT = 600.0
"""Seconds that one batch may take: it takes one on a laptop, and minutes with the largest models."""


@dataclass(frozen=True, slots=True)
class NullAdapter:
    """Random noise in the shape of a real adapter. The engine makes the file when it needs it."""

    like: Path
    seed: int
    init_scale: float = 0.02
    rank_multiplier: float = 1.0
    match: Literal["scale", "norm"] = "scale"


@dataclass(frozen=True, slots=True)
class AdapterPart:
    """Some pairs of an adapter, applied alone. The engine makes the file when it needs it."""

    of: Path
    pairs: tuple[str, ...]
    """The names of the base's tensors that they change."""


AdapterSource = Path | NullAdapter | AdapterPart


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """An adapter, from a file, made of noise or a part of another, and how strongly it is applied."""

    source: AdapterSource
    scale: float = 1.0

    def __str__(self) -> str:
        if isinstance(self.source, AdapterPart):
            return f"parts of {self.source.of}"
        if isinstance(self.source, NullAdapter):
            return f"a null adapter like {self.source.like}"
        return str(self.source)


@dataclass(frozen=True, slots=True)
class View:
    """A model file with a stack of adapters on it; none is the bare model. Its name is for people alone."""

    name: str = field(compare=False)
    model: Path
    adapters: tuple[AdapterUse, ...] = ()
    width: int | None = None
    """How many rows a decode step has; None for as many as the engine's settings say."""

    def __str__(self) -> str:
        # Parts of one adapter are many, and named once.
        adapters = dict.fromkeys(map(str, self.adapters))
        return f"the {self.name} view ({', '.join(adapters) or 'no adapter'})"


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
class Sampling:
    """How a token is drawn."""

    temperature: float
    """Under 1, likely tokens become likelier; over 1, less so."""
    top_p: float = 1.0
    """Only the likeliest tokens that together reach this probability; 1 for all."""
    min_p: float = 0.0
    """Only tokens at least this likely, compared with the likeliest; 0 for all."""
    top_k: int = 0
    """Only so many of the likeliest tokens; 0 for all."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature is {self.temperature}; it must be a number above 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; it must be above 0 and at most 1")
        if not 0 <= self.min_p < 1:
            raise ValueError(f"min_p is {self.min_p}; it must be at least 0 and under 1")
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}; it must be a count of tokens, or 0 for all of them")


@dataclass(frozen=True, slots=True)
class Try:
    """One of several answers to a prompt, each drawn with a luck of its own."""

    sampling: Sampling
    seed: int
    number: int
    """From 0 on."""


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
    """The view's own whole answer, where that is known: it is not generated again when another is to be traced."""
    attempt: Try | None = None
    """Which of several answers to draw; None for the greedy one. What is drawn is not traced."""
    draft: tuple[int, ...] = ()
    """What it may answer, such as another view's answer: it saves time as far as it is right, and changes nothing."""

    @property
    def question(self) -> tuple[str, int, Try | None]:
        """All that a view's answer depends on."""
        return self.text, self.max_new_tokens, self.attempt


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. `truncated` means it was cut by its token limit or the context, not ended by the model."""

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
    """How a model is run."""

    n_ctx: int = 4096
    threads: int = 2
    gpu_layers: int = 0
    parallel: int | None = None
    """How many cases are decoded in step; None for as many as suit the model."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whatever tells an engine's answers from another's, apart from view and prompt."""

    facts: Mapping[str, Any]
    """Plain data, as JSON has it."""
    files: tuple[Path, ...] = ()
    """Files whose content is a part of it."""


class Engine(Protocol):
    """Answers prompts under any view. Whoever opens an engine closes it; until then it may serve several plans."""

    @property
    def load_seconds(self) -> float:
        """How long loading models took so far."""
        ...

    def identity(self) -> Identity:
        """Who answers. Nothing is loaded to tell."""
        ...

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index of the prompt, its completion) as answers finish, in any order."""
        ...

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        """Evaluate one short text, to compare views without generating."""
        ...

    def close(self) -> None: ...
