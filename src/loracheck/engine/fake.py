"""An engine with canned answers, for tests that need no model: ours and yours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

from loracheck.engine import Completion, Fingerprint, Identity, Prompt, View


class FakeEngine:
    """Answers with `reply(view, prompt)` and traces nothing. Adapters change what a view computes unless `inert`.

    Engines of the same `name` stand for each other: what a store has from one is not asked of the next. Without a name
    each is one of its kind.
    """

    load_seconds = 0.0

    def __init__(self, reply: Callable[[View, Prompt], str], *, name: str | None = None, inert: bool = False) -> None:
        self._reply = reply
        # A store outlives the process: nothing that another one may come to as well.
        self._name = name or uuid4().hex
        self._inert = inert
        self.asked: list[tuple[str, str]] = []
        """(view name, prompt id) of every prompt whose answer was not known, in order."""
        self.closed = False

    def identity(self) -> Identity:
        return Identity({"engine": "fake", "name": self._name})

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
        seen = text if self._inert else f"{view.model}{view.adapters}{text}"
        return Fingerprint(hashlib.sha256(seen.encode()).hexdigest(), finite=True)

    def close(self) -> None:
        self.closed = True
