"""An engine in front of another: what the store has is not asked again, and nothing is loaded before it is needed."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from loracheck.engine import Completion, Fingerprint, Trace
from loracheck.engine.identity import view_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from loracheck.engine import Engine, Prompt, View
    from loracheck.store import Store

# Raise it when an entry's `about` or value below changes its meaning.
_VERSION = 1


class StoredEngine:
    """Gives stored completions first, then asks `load()`, called once and only if need be, for the others.

    An answer does not depend on the others of its batch, so old and new ones may be mixed.
    """

    def __init__(self, store: Store, load: Callable[[], Engine], identity: Mapping[str, Any]) -> None:
        """`identity` is whatever tells this engine's answers from another's, apart from view and prompt."""
        self._store = store
        self._load = load
        self._identity = {"version": _VERSION, **identity}
        self._engine: Engine | None = None
        self.load_seconds = 0.0
        self.from_store = 0
        """Answers that the store had."""
        self.computed = 0
        """Answers that the engine gave."""

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        abouts = self._about(view, [{"prompt": prompt.text, "limit": prompt.max_new_tokens} for prompt in prompts])
        missing: list[tuple[int, Prompt]] = []
        for index, (prompt, about) in enumerate(zip(prompts, abouts, strict=True)):
            found = self._store.get("answer", about)
            if found is None:
                missing.append((index, prompt))
                continue
            completion = _completion(found)
            if _asks_for_trace(prompt, completion):
                kept = self._store.get("trace", {**about, "follow": _followed(prompt)})
                if kept is None:
                    known = None if completion.truncated else completion.tokens
                    missing.append((index, replace(prompt, known=known)))
                    continue
                completion = replace(completion, trace=_trace(kept["trace"]))
            self.from_store += 1
            yield index, completion
        if not missing:
            return
        for place, completion in self._inner().answer(view, [prompt for _, prompt in missing]):
            index, prompt = missing[place]
            self.computed += 1
            # Kept before anybody sees it, one by one: whoever kills this process loses what is in flight, no more.
            self._keep("answer", abouts[index], asdict(replace(completion, trace=None)))
            if _asks_for_trace(prompt, completion):
                trace = completion.trace and asdict(completion.trace)
                self._keep("trace", {**abouts[index], "follow": _followed(prompt)}, {"trace": trace})
            yield index, completion

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        (about,) = self._about(view, [{"text": text}])
        found = self._store.get("fingerprint", about)
        if found is not None:
            return Fingerprint(found["digest"], found["finite"])
        computed = self._inner().fingerprint(view, text)
        self._keep("fingerprint", about, asdict(computed))
        return computed

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _inner(self) -> Engine:
        if self._engine is None:
            started = time.perf_counter()
            self._engine = self._load()
            self.load_seconds = time.perf_counter() - started
        return self._engine

    def _about(self, view: View, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """All that each answer depends on."""
        if not self._store.is_on:
            return [{} for _ in asked]
        shared = {**self._identity, "adapters": view_identity(view, self._store.sha256_of)}
        return [{**shared, **one} for one in asked]

    def _keep(self, kind: str, about: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        # A file written anew since it was hashed may or may not be what the engine has loaded.
        if self._store.is_on and not self._store.changed_files():
            self._store.put(kind, about, value)


def _asks_for_trace(prompt: Prompt, completion: Completion) -> bool:
    return prompt.follow is not None or (prompt.traced and not completion.truncated)


def _followed(prompt: Prompt) -> Any:
    return prompt.follow and [prompt.follow.tokens, prompt.follow.candidates]


def _completion(found: Mapping[str, Any]) -> Completion:
    return Completion(found["text"], tuple(found["tokens"]), found["prompt_tokens"], found["truncated"], stored=True)


def _trace(found: Mapping[str, Any] | None) -> Trace | None:
    return None if found is None else Trace(**{name: _as_tuples(value) for name, value in found.items()})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
