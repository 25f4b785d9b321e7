"""An engine in front of another: what the store has is not asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from loracheck.engine import Completion, Engine, Fingerprint, Identity, Prompt, Trace, View
from loracheck.engine.identity import view_identity
from loracheck.store import Store

# Raise it when an entry's `about` or value below changes its meaning.
_VERSION = 3


class StoredEngine:
    """Gives stored completions first, then asks the engine behind it, which is somebody else's to close.

    An answer does not depend on the others of its batch, so old and new ones may be mixed.
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._shared: dict[str, Any] | None = None
        self._views: dict[View, dict[str, Any]] = {}
        """What the answers of each view depend on; the same for the whole run, as the hashes of files are."""
        self._found: dict[tuple[View, Prompt], Completion] = {}
        """What `kept` found, so that it is looked up once."""

    @property
    def load_seconds(self) -> float:
        return self._engine.load_seconds

    def identity(self) -> Identity:
        return self._engine.identity()

    def kept(self, view: View, prompts: Sequence[Prompt]) -> list[Completion | None]:
        """What the store has, with nothing asked; None where an answer is missing, or the trace of it."""
        found = [self._find(*each) for each in zip(prompts, self._about_prompts(view, prompts), strict=True)]
        whole = [each if isinstance(each, Completion) else None for each in found]
        self._found.update({(view, prompt): each for prompt, each in zip(prompts, whole, strict=True) if each})
        return whole

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        abouts = self._about_prompts(view, prompts)
        missing: list[tuple[int, Prompt]] = []
        for index, (prompt, about) in enumerate(zip(prompts, abouts, strict=True)):
            found = self._found.pop((view, prompt), None) or self._find(prompt, about)
            if isinstance(found, Completion):
                yield index, found
            else:
                missing.append((index, self._with_more_than_asked(view, found)))
        if not missing:
            return
        for place, completion in self._engine.answer(view, [prompt for _, prompt in missing]):
            index, prompt = missing[place]
            # Kept before anybody sees it, one by one: whoever kills this process loses what is in flight, no more. The
            # trace first, for an answer that lacks it is asked again.
            if _asks_for_trace(prompt, completion):
                trace = completion.trace and asdict(completion.trace)
                self._keep("trace", {**abouts[index], "follow": _followed(prompt)}, {"trace": trace})
            bare = replace(completion, trace=None)
            self._keep("answer", abouts[index], asdict(bare))
            yield index, completion if _asks_for_trace(prompts[index], completion) else bare

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        (about,) = self._about(view, [{"text": text}])
        kept = self._store.get("fingerprint", about)
        if kept is not None:
            return Fingerprint(kept["digest"], kept["finite"])
        computed = self._engine.fingerprint(view, text)
        self._keep("fingerprint", about, asdict(computed))
        return computed

    def close(self) -> None:
        """Nothing of its own is open."""

    def _find(self, prompt: Prompt, about: Mapping[str, Any]) -> Completion | Prompt:
        """The answer, with its trace where that is asked for; else what is left to ask."""
        kept = self._store.get("answer", about)
        if kept is None:
            return prompt
        completion = _completion(kept)
        if not _asks_for_trace(prompt, completion):
            return completion
        kept_trace = self._store.get("trace", {**about, "follow": _followed(prompt)})
        if kept_trace is None:
            if prompt.follow is None:
                # What a view expects at its own answer comes of generating it, or of reading it where that is the same.
                return replace(prompt, draft=completion.tokens)
            return replace(prompt, known=None if completion.truncated else completion.tokens)
        return replace(completion, trace=_trace(kept_trace["trace"]))

    def _with_more_than_asked(self, view: View, prompt: Prompt) -> Prompt:
        """An adapter that is checked today is another one's base tomorrow, and then its answers need their traces.

        While an answer is generated they cost next to nothing.
        """
        is_made = any(not isinstance(use.source, Path) for use in view.adapters)
        if is_made or prompt.follow or prompt.attempt or not self._store.is_on:
            return prompt
        return replace(prompt, traced=True)

    def _about_prompts(self, view: View, prompts: Sequence[Prompt]) -> list[dict[str, Any]]:
        return self._about(view, [_about_prompt(prompt) for prompt in prompts])

    def _about(self, view: View, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """All that each answer depends on."""
        if not self._store.is_on:
            return [{} for _ in asked]
        if self._shared is None:
            identity = self._engine.identity()
            files = [[path.name, self._store.sha256_of(path)] for path in identity.files]
            self._shared = {"version": _VERSION, "engine": dict(identity.facts), "files": files}
        if view not in self._views:
            self._views[view] = {**self._shared, **view_identity(view, self._store.sha256_of)}
        shared = self._views[view]
        return [{**shared, **one} for one in asked]

    def _keep(self, kind: str, about: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        # A file written anew since it was hashed may or may not be what the engine has loaded.
        if self._store.is_on and not self._store.changed_files():
            self._store.put(kind, about, value)


def _about_prompt(prompt: Prompt) -> dict[str, Any]:
    drawn = {"try": asdict(prompt.attempt)} if prompt.attempt else {}
    return {"prompt": prompt.text, "limit": prompt.max_new_tokens, **drawn}


def _asks_for_trace(prompt: Prompt, completion: Completion) -> bool:
    return prompt.follow is not None or (prompt.traced and not completion.truncated)


def _followed(prompt: Prompt) -> Any:
    return prompt.follow and [prompt.follow.tokens, prompt.follow.candidates]


def _completion(kept: Mapping[str, Any]) -> Completion:
    return Completion(kept["text"], tuple(kept["tokens"]), kept["prompt_tokens"], kept["truncated"], stored=True)


def _trace(kept: Mapping[str, Any] | None) -> Trace | None:
    return None if kept is None else Trace(**{name: _as_tuples(value) for name, value in kept.items()})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
