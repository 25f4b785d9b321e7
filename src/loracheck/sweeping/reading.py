"""The plan of each cell, and the quantized models that some of them need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

from loracheck.checking import candidate, confirm_known
from loracheck.errors import InputError, LoracheckError
from loracheck.plan import Plan, read
from loracheck.store import Store
from loracheck.sweeping.axes import Cell

Tell: TypeAlias = "Callable[[str], None] | None"


class Reading:
    """The plan of each cell, or what is wrong with it."""

    def __init__(self, store: Store, *, is_llama_cpp: bool) -> None:
        self._store, self._is_llama_cpp = store, is_llama_cpp

    def plan(self, cell: Cell, quantized: Path | None = None) -> Plan | LoracheckError:
        try:
            plan = read(cell.suite, self._store, quantized)
            if self._is_llama_cpp:
                confirm_known(plan)
        except LoracheckError as error:
            return error
        return plan

    def with_candidate(self, cell: Cell, plan: Plan | LoracheckError, quantizing: Quantizing) -> Plan | LoracheckError:
        """The plan with the quantized model in it, where the cell asks for one: that is made now."""
        if cell.quantization is None or isinstance(plan, LoracheckError):
            return plan
        quantized = quantizing.file(cell)
        return self.plan(cell, quantized) if isinstance(quantized, Path) else quantized


class Quantizing:
    """Quantized models, each made once and there until the sweep is over."""

    def __init__(self, made: ExitStack, store: Store, timeout: float, tell: Tell, *, no_cache: bool) -> None:
        self._made, self._store, self._timeout, self._tell, self._no_cache = made, store, timeout, tell, no_cache
        self._files: dict[tuple[Path, str | None], Path | LoracheckError] = {}

    def file(self, cell: Cell) -> Path | LoracheckError:
        key = (cell.suite.models.base.gguf, cell.quantization)
        if key not in self._files:
            making = candidate(cell.suite, self._store, self._timeout, self._tell, no_cache=self._no_cache)
            try:
                path = self._made.enter_context(making)
            except LoracheckError as error:
                self._files[key] = error
            else:
                assert path is not None
                self._files[key] = path
        return self._files[key]

    @property
    def recipes(self) -> dict[Path, tuple[Path, str]]:
        """How each quantized file is made."""
        made = ((path, base, kind) for (base, kind), path in self._files.items() if isinstance(path, Path) and kind)
        return {path: (base, kind) for path, base, kind in made}


def raise_what_all_share(results: Sequence[object]) -> None:
    """When no cell can be checked because of its input, there is no sweep to show."""
    errors = [result for result in results if isinstance(result, InputError)]
    if len(errors) < len(results):
        return
    messages = list(dict.fromkeys(map(str, errors)))
    raise errors[0] if len(messages) == 1 else InputError("\n".join(messages[:10]))
