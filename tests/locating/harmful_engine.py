"""An engine whose adapter does known harm, pair by pair, however it is applied: as a file, at a scale or in parts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.engine import AdapterPart, Completion, Trace
from loracheck.engine.fake import FakeEngine
from loracheck.models import read_lora
from suite_factory import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from loracheck.engine import Prompt, View


class HarmfulEngine(FakeEngine):
    """Each case has a number and breaks when the harm that is applied is more than `bears` says for it."""

    def __init__(
        self,
        harm: Callable[[str], float],
        bears: Callable[[int], float],
        *,
        name: str | None = None,
        traces: bool = True,
    ) -> None:
        super().__init__(self._call, name=name)
        self._harm = harm
        self._bears = bears
        self._traces = traces
        self.views: list[View] = []

    def harm_of(self, view: View) -> float:
        total = 0.0
        for use in view.adapters:
            if isinstance(use.source, AdapterPart):
                names: Sequence[str] = use.source.pairs
            elif isinstance(use.source, Path):
                lora = read_lora(use.source)
                names = [pair.name for pair in lora.pairs]
                # What a factor has been folded into.
                total += use.scale * ((lora.alpha or 8.0) / 8.0 - 1.0) * sum(map(self._harm, names))
            else:
                continue
            total += use.scale * sum(map(self._harm, names))
        return total

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        self.views.append(view)
        for index, completion in super().answer(view, prompts):
            yield index, self._traced(view, prompts[index], completion) if self._traces else completion

    def _call(self, view: View, prompt: Prompt) -> str:
        number = int(prompt.id.removeprefix("case"))
        return call(query=str(number)) if self.harm_of(view) <= self._bears(number) else "I would rather talk."

    def _traced(self, view: View, prompt: Prompt, completion: Completion) -> Completion:
        """The likelier the wrong token, the more harm."""
        if not (prompt.traced or prompt.follow):
            return completion
        tokens = prompt.follow.tokens if prompt.follow else completion.tokens
        places = len(tokens) + 1
        right = 1.0 / (1.1 + self.harm_of(view))
        trace = Trace(
            tokens=tokens,
            ends=tuple(range(1, places)),
            candidates=((0, 1),) * places,
            log_probs=((math.log(right), math.log(1 - right)),) * places,
            top=("a",) * places,
        )
        return Completion(completion.text, completion.tokens, completion.prompt_tokens, completion.truncated, trace)
