"""Before the wait: what a plan has yet to compute, what that takes of the machine, and what of it lies idle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from loracheck import machine
from loracheck.ask import prompts_of
from loracheck.engine import Completion, Engine, Prompt, Settings, View
from loracheck.engine.child import ChildEngine
from loracheck.engine.identity import is_built_for_gpus
from loracheck.engine.stored import StoredEngine
from loracheck.errors import ModelError
from loracheck.machine import Memory
from loracheck.memory import Load
from loracheck.models.model import parts_of_model, read_model_header
from loracheck.pace import Stretch
from loracheck.plan import Plan
from loracheck.probes.probe import Answers
from loracheck.progress import QuietProgress
from loracheck.text import byte_size, counted

# As long as no tokenizer was at work: that of a prompt with tools in it, JSON and English.
_LETTERS_PER_TOKEN = 4.0
# What prompts have in common is read once, unless it is hardly worth it.
_WORTH = 32


@dataclass(frozen=True, slots=True)
class ViewAhead:
    """What one view is asked."""

    view: View
    prompts: tuple[Prompt, ...]
    kept: tuple[Completion | None, ...]
    """What the store has of its answers."""
    follows: int = 0
    """How many answers of the base it may have to read that are not there yet."""

    @property
    def missing(self) -> list[Prompt]:
        return [prompt for prompt, kept in zip(self.prompts, self.kept, strict=True) if kept is None]

    @property
    def most_new(self) -> int:
        return sum(prompt.max_new_tokens for prompt in self.prompts)

    def __str__(self) -> str:
        kept = [each for each in self.kept if each]
        letters, tokens = sum(len(each.text) for each in self.prompts), sum(each.prompt_tokens for each in kept)
        size = f"{tokens:,} tokens" if len(kept) == len(self.prompts) else f"{letters:,} characters"
        return (
            f"{self.view.name}: {len(self.prompts)} prompts, {size}, "
            f"at most {self.most_new:,} new tokens; in the store already: {len(kept)}"
        )


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a plan has yet to compute."""

    views: tuple[ViewAhead, ...]
    cases: int
    settings: Settings

    @property
    def answers(self) -> int:
        return sum(len(each.prompts) for each in self.views)

    @property
    def missing(self) -> int:
        return sum(len(each.missing) for each in self.views)

    @property
    def letters_per_token(self) -> float:
        """By the prompts whose answers are known; else as it mostly is."""
        known = [
            (len(prompt.text), kept.prompt_tokens)
            for each in self.views
            for prompt, kept in zip(each.prompts, each.kept, strict=True)
            if kept
        ]
        letters, tokens = sum(each[0] for each in known), sum(each[1] for each in known)
        return letters / tokens if tokens else _LETTERS_PER_TOKEN

    @property
    def stretches(self) -> list[Stretch]:
        """One for each view, as a progress bar counts them."""
        ratio = self.letters_per_token
        return [
            Stretch(
                len(each.missing),
                _tokens_to_read(each.missing, ratio),
                sum(prompt.max_new_tokens for prompt in each.missing),
                each.follows,
            )
            for each in self.views
            if each.prompts
        ]

    def __str__(self) -> str:
        scope = f"{counted(len(self.views), 'view')}, {counted(self.cases, 'case')}"
        if not self.missing:
            return f"{scope}: all {self.answers:,} answers are in the store"
        tokens = _about(sum(stretch.read for stretch in self.stretches))
        of = f"{self.missing:,} of " if self.missing < self.answers else ""
        return f"{scope}: {of}{self.answers:,} answers to compute, {tokens} tokens to read"


def look_ahead(plan: Plan, known: StoredEngine) -> Outlook:
    """Nothing is loaded, and nothing is asked."""
    answers = Answers()
    views = []
    for questions in plan.questions:
        view = questions.view
        prompts = tuple(prompts_of(plan, questions, answers))
        # A model that is yet to be quantized has answered nothing.
        kept = known.kept(view, prompts) if view.model.exists() else [None] * len(prompts)
        for prompt, completion in zip(prompts, kept, strict=True):
            if completion:
                answers.add(view, prompt, completion)
        unheard = [asked for asked in questions.follows if asked and not answers.find(plan.views.base, asked)]
        views.append(ViewAhead(view, prompts, tuple(kept), len(unheard)))
    # What the null adapters alone are asked is ours, and no case of anybody's.
    asked = {prompt.text for each in views if each.view == plan.views.tuned for prompt in each.prompts}
    return Outlook(tuple(views), len(asked), plan.settings)


def outlook_in_words(outlook: Outlook, *, is_llama_cpp: bool) -> Iterator[str]:
    """A line each, for people; ModelError when the machine is too small for it."""
    yield str(outlook)
    # Whoever else answers does so elsewhere.
    if is_llama_cpp and outlook.missing:
        yield from filter(None, (about_memory(outlook), about_gpu(outlook.settings)))


def announce(outlook: Outlook, engine: Engine, progress: QuietProgress) -> None:
    """Say what will be computed, and let the progress hear of it; ModelError when the machine is too small."""
    for line in outlook_in_words(outlook, is_llama_cpp=isinstance(engine, ChildEngine)):
        progress.say(line)
    progress.run(outlook.stretches)
    if isinstance(engine, ChildEngine):
        engine.listener = progress.spend


# What it takes of the machine


def about_memory(outlook: Outlook, has: Memory | None = None) -> str | None:
    """What will be needed and what is free; ModelError when it is more than there is at all.

    None where it cannot be told: on a GPU, whose memory is its own, or with nothing to compute.
    """
    if outlook.settings.gpu_layers:
        return None
    has = has or machine.memory()
    largest = max(_loads(outlook), key=lambda load: load.need.whole, default=None)
    if largest is None:
        return None
    need, where = largest.need, "this container" if has.is_limited else "this machine"
    if has.total is not None and need.least > has.total:
        fitting = largest.fitting(has.total)
        fix = f"{fitting.options} would fit" if fitting else "take a smaller quantization of it, or a larger machine"
        raise ModelError(
            f"{largest.header.path}: needs {need} of memory, and {where} has {byte_size(has.total)} in all; {fix}"
        )
    if has.free is None:
        return f"memory: {need}"
    if need.whole > has.free:
        fitting = largest.fitting(has.free)
        less = f"; {fitting.options}: {byte_size(fitting.need.whole)}" if fitting else ""
        return f"warning: about {byte_size(need.whole)} of memory needed, {byte_size(has.free)} free{less}"
    return f"memory: {need}, {byte_size(has.free)} free"


def about_gpu(settings: Settings) -> str | None:
    """A card that is there and not used; None where there is none, or where it is."""
    card = None if settings.gpu_layers else machine.graphics_card()
    if card is None:
        return None
    if is_built_for_gpus():
        return f"{card}: not used; --gpu-layers -1 puts the model on it"
    return f"{card}: not used, this llama.cpp is for the CPU alone; see loracheck doctor"


def _loads(outlook: Outlook) -> Iterator[Load]:
    """What each model is opened for, view by view."""
    headers = {}
    for each in outlook.views:
        model, missing = each.view.model, each.missing
        if not missing or not model.exists():
            continue
        if model not in headers:
            headers[model] = read_model_header(model)
        adapters = {
            use.source for other in outlook.views for use in other.view.adapters if isinstance(use.source, Path)
        }
        yield Load(
            header=headers[model],
            size=_size(parts_of_model(model)),
            adapters=_size(adapters),
            jobs=len(missing),
            prompt=round(max(len(prompt.text) for prompt in missing) / outlook.letters_per_token),
            answer=max(prompt.max_new_tokens for prompt in missing),
            settings=outlook.settings,
            width=each.view.width,
        )


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def _tokens_to_read(prompts: Sequence[Prompt], letters_per_token: float) -> float:
    """Prompts that begin alike are read together as far as they do, and those of several tries are the same."""
    texts = sorted({prompt.text for prompt in prompts})
    followed = sum(len(prompt.follow.tokens) for prompt in prompts if prompt.follow)
    tokens = sum(map(len, texts)) / letters_per_token + followed
    for one, other in pairwise(texts):
        shared = _shared(one, other) / letters_per_token
        tokens -= shared if shared >= _WORTH else 0
    return tokens


def _shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike, found by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _about(tokens: float) -> str:
    """To two figures: it is an estimate."""
    digits = max(0, len(f"{tokens:.0f}") - 2)
    rounded = round(tokens, -digits)
    return f"about {rounded / 1e6:.1f} million" if rounded >= 1e6 else f"about {rounded:,.0f}"
