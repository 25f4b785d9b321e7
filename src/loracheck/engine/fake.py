"""An engine with canned answers, for tests that need no model: ours and yours."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from loracheck.engine import Completion, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from loracheck.engine import Prompt, View


class FakeEngine:
    """Answers with `reply(view, prompt)` and traces nothing. Adapters change what a view computes unless `inert`."""

    def __init__(self, reply: Callable[[View, Prompt], str], *, inert: bool = False) -> None:
        self._reply = reply
        self._inert = inert
        self.asked: list[tuple[str, str]] = []
        """(view name, prompt id) of every prompt whose answer was not known, in order."""

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            if prompt.known is not None:
                text = bytes(prompt.known).decode("utf-8", "replace")
                yield index, Completion(text, prompt.known, len(prompt.text), truncated=False)
                continue
            self.asked.append((view.name, prompt.id))
            words = self._reply(view, prompt)
            tokens = tuple(words.encode("utf-8", "replace"))
            cut = tokens[: prompt.max_new_tokens]
            text = words if cut == tokens else bytes(cut).decode("utf-8", "replace")
            yield index, Completion(text, cut, len(prompt.text), truncated=cut != tokens)

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        seen = text if self._inert else f"{view.adapters}{text}"
        return Fingerprint(hashlib.sha256(seen.encode()).hexdigest(), finite=True)

    def close(self) -> None:
        pass
