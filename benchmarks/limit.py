"""How fast the work could be done on this machine at best: what it takes, over the best rates measured (rates.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from loracheck.engine import Completion, Engine, Fingerprint, Identity, Prompt, View

Needed = dict[str, dict[str, int]]
"""Tokens by view, `bare` or `adapter`, and by what is done with them: `read` in batches or `written` one by one."""
Rates = dict[str, dict[str, dict[str, float]]]
"""Tokens a second, by the same, and then by the size of a batch or the width of a step."""


def limit_seconds(needed: Needed, rates: Rates) -> float:
    return sum(
        tokens / max(rates[view][verb].values())
        for view, tokens_of in needed.items()
        for verb, tokens in tokens_of.items()
    )


@dataclass
class Listener:
    """An engine in front of another that remembers what was asked and answered."""

    engine: Engine
    heard: list[tuple[View, list[tuple[Prompt, Completion]]]] = field(default_factory=list)

    @property
    def load_seconds(self) -> float:
        return self.engine.load_seconds

    def identity(self) -> Identity:
        return self.engine.identity()

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        answered: list[tuple[Prompt, Completion]] = []
        self.heard.append((view, answered))
        for index, completion in self.engine.answer(view, prompts):
            answered.append((prompts[index], completion))
            yield index, completion

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        return self.engine.fingerprint(view, text)

    def close(self) -> None:
        self.engine.close()

    def needed(self, model: Path) -> Needed:
        """What no schedule can do without.

        A prefix that prompts share is read once. Where the base's answer is read to measure drift, that is read too,
        and an answer that turns out to be the same need not be written.
        """
        needed = {view: {"read": 0, "written": 0} for view in ("bare", "adapter")}
        for view, answered in self.heard:
            of_view = needed["adapter" if view.adapters else "bare"]
            of_view["read"] += tokens_after_sharing(model, [prompt.text for prompt, _ in answered])
            for prompt, completion in answered:
                followed = prompt.follow.tokens if prompt.follow else None
                of_view["read"] += len(followed or ())
                if completion.tokens not in (followed, prompt.known):
                    of_view["written"] += len(completion.tokens)
        return needed


def tokens_after_sharing(model: Path, texts: Sequence[str]) -> int:
    """How many tokens there are to read when every shared prefix is read once."""
    if not texts:
        return 0
    # Not at the top: a check whose answers are all in the store does without llama.cpp, and ours.py tells whether.
    from llama_cpp import Llama

    llama = Llama(str(model), vocab_only=True, verbose=False)
    total = 0
    before: list[int] = []
    for tokens in sorted(llama.tokenize(text.encode(), special=True) for text in texts):
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(tokens, before, strict=False))
        total += len(tokens) - len(list(shared))
        before = tokens
    llama.close()
    return total
