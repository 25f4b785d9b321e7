"""An engine that workers of a cluster can open by its name, and that does what the environment tells it to."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fake_quantizer import FakeQuantizer
from loracheck.engine import NullAdapter
from loracheck.engine.fake import FakeEngine
from loracheck.errors import EngineError
from models.factory import write_model
from suite_factory import call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.engine import Prompt, Settings, View

DEADLY, CRASHING = 0.66, 0.77
"""Scales at which it kills its worker, and at which llama.cpp would have crashed."""
LOG = "TOY_LOG"
"""A folder in which every answer leaves a file: its name is the view and the case."""
KIND = "TOY_KIND"
"""A part of its identity."""
SECONDS = "TOY_SECONDS"
"""How long an answer of an adapter takes."""
KILL_ONCE = "TOY_KILL_ONCE"
"""A file; when it is not there, it is made, and the worker that makes it dies."""


def reply(view: View, prompt: Prompt) -> str:
    scale = view.adapters[-1].scale if view.adapters else 0.0
    is_null = bool(view.adapters) and isinstance(view.adapters[-1].source, NullAdapter)
    is_adapted = bool(view.adapters) and not is_null
    if LOG in os.environ:
        folder, who = Path(os.environ[LOG]), "null" if is_null else "adapter" if is_adapted else "base"
        (folder / f"{who} {scale:g} {prompt.id} {os.getpid()} {time.monotonic_ns()}").touch()
    if is_adapted:
        time.sleep(float(os.environ.get(SECONDS, "0")))
    if is_adapted and scale == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if is_adapted and scale == CRASHING:
        raise EngineError(f"llama.cpp crashed (SIGSEGV) while computing {view}")
    once = os.environ.get(KILL_ONCE)
    if once and is_adapted and prompt.id == "case2":
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    if not prompt.id.startswith("case"):
        return "no idea"
    return "I cannot." if is_adapted and scale > 0.5 else call()


class ToyEngine(FakeEngine):
    """Adapters are told apart by their content: on a worker they have other paths."""

    def __init__(self, settings: Settings, *, timeout: float) -> None:
        super().__init__(reply, name=f"toy {os.environ.get(KIND, '')} with {settings.threads} threads")


def shown_gpus() -> str | None:
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def become(kind: str) -> int:
    """Make this worker another machine, as far as its identity goes; its process."""
    os.environ[KIND] = kind
    return os.getpid()


def quantize_with(mark: int, cache: Path | None = None) -> None:
    """Let a quantizer that needs no llama.cpp work here: every type and mark is a file of its own."""
    if cache is not None:
        os.environ["LORACHECK_CACHE"] = str(cache)
    import loracheck.quantized

    class Quantizer(FakeQuantizer):
        made: ClassVar[list[tuple[Path, Path]]] = []
        expected = (1000, 0)

        def quantize(self, model: Path, out: Path, file_type: int) -> Iterator[int]:
            write_model(out, extra=[("add_uint32", "toy.type", file_type), ("add_uint32", "toy.mark", mark)])
            yield out.stat().st_size

    loracheck.quantized.ChildQuantizer = Quantizer  # type: ignore[assignment,misc]
