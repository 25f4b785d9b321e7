"""An engine whose views are computed by the workers of a cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loracheck.cluster.pool import Group, Pool, Recipes, model_file
from loracheck.cluster.tasks import Carried, Done, Task, Who
from loracheck.engine import AdapterUse, Completion, Fingerprint, Identity, NullAdapter, Prompt, Settings, View
from loracheck.engine.identity import llama_identity, view_identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Future


class ClusterEngine:
    """Asks workers of one kind. One for each cell, so that it can say who answered; the pool is shared.

    One question is one task: a view with all its prompts.
    """

    def __init__(
        self,
        pool: Pool,
        group: Group,
        hash_of: Callable[[Path], str],
        recipes: Recipes,
        what_for: str,
    ) -> None:
        """`what_for` are words for people who want to know what a worker does."""
        self._pool, self._group, self._hash_of, self._recipes, self._what_for = pool, group, hash_of, recipes, what_for
        self._carried: dict[Path, Future[bytes]] = {}
        self._open = ExitStack()
        self.machines: set[str] = set()
        self.load_seconds = 0.0

    def __enter__(self) -> ClusterEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def who(self) -> Who:
        """One of the workers that it asks, for all of them."""
        return self._group.who

    def identity(self) -> Identity:
        """That of the workers: as if they were this machine where they compute the same."""
        who = self.who
        ours = llama_identity(self._pool.settings)
        files = tuple((path.name, self._hash_of(path)) for path in ours.files)
        if dict(who.facts) == dict(ours.facts) and who.files == files:
            return ours
        return Identity({**who.facts, "files": [list(file) for file in who.files]})

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        done = self._ask("answer", view, tuple(prompts), [asdict(prompt) for prompt in prompts])
        yield from done.value

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        done = self._ask("fingerprint", view, text, text)
        assert isinstance(done.value, Fingerprint)
        return done.value

    def close(self) -> None:
        """The pool is somebody else's; the adapters that it carries for this cell are not."""
        self._carried.clear()
        self._open.close()

    def _ask(self, what: str, view: View, question: Any, spelled: Any) -> Done:
        task = Task(
            view=view.name,
            model=model_file(view.model, self._hash_of, self._recipes),
            adapters=tuple(map(self._carry, view.adapters)),
            width=view.width,
            settings=self._pool.settings,
            timeout=self._pool.timeout,
            digest=self._group.digest,
            open_engine=self._pool.open_engine,
        )
        about = [task.digest, view_identity(view, self._hash_of), spelled]
        key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        contents = [self._carried[_file_of(use)] for use in view.adapters]
        done = self._pool.ask(what, task, question, contents, key, f"{self._what_for}, {view.name}")
        self.machines.add(done.machine)
        self.load_seconds += done.load_seconds
        return done

    def _carry(self, use: AdapterUse) -> Carried:
        path = _file_of(use)
        sha256 = self._hash_of(path)
        if path not in self._carried:
            self._carried[path] = self._open.enter_context(self._pool.carrying(path, sha256))
        return Carried(sha256, use.scale, None if isinstance(use.source, Path) else use.source)


@contextmanager
def one_engine(
    pool: Pool, settings: Settings, timeout: float, model: Path, hash_of: Callable[[Path], str], what_for: str
) -> Iterator[ClusterEngine]:
    """The workers that compute alike, the most there are, for work that is not made of cells."""
    pool.meet(settings, timeout, [model_file(model, hash_of, {})], lambda _: None)
    with ClusterEngine(pool, pool.groups[0], hash_of, {}, what_for) as engine:
        yield engine


def _file_of(use: AdapterUse) -> Path:
    if isinstance(use.source, Path):
        return use.source
    return use.source.like if isinstance(use.source, NullAdapter) else use.source.of
