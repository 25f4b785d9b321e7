"""An engine that workers of a cluster can open by its name, and that does what the environment tells it to."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.engine.fake import FakeEngine
from loracheck.errors import EngineError
from suite_factory import call

if TYPE_CHECKING:
    from loracheck.engine import Prompt, Settings, View

DEADLY, CRASHING = 0.66, 0.77
"""Scales at which it kills its worker, and at which llama.cpp would have crashed."""
LOG = "TOY_LOG"
"""A folder in which every answer leaves a file: its name is the view and the case."""
KILL_ONCE = "TOY_KILL_ONCE"
"""A file; when it is not there, it is made, and the worker that makes it dies."""


def reply(view: View, prompt: Prompt) -> str:
    scale = view.adapters[-1].scale if view.adapters else 0.0
    if LOG in os.environ:
        folder, who = Path(os.environ[LOG]), view.name.replace("/", " of ")
        (folder / f"{who} {scale:g} {prompt.id} {os.getpid()} {time.monotonic_ns()}").touch()
    if view.name == "adapter" and scale == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if view.name == "adapter" and scale == CRASHING:
        raise EngineError(f"llama.cpp crashed (SIGSEGV) while computing {view}")
    once = os.environ.get(KILL_ONCE)
    if once and view.name == "adapter" and prompt.id == "case2":
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    if not prompt.id.startswith("case"):
        return "no idea"
    return "I cannot." if view.name == "adapter" and scale > 0.5 else call()


class ToyEngine(FakeEngine):
    """Adapters are told apart by their content: on a worker they have other paths."""

    def __init__(self, settings: Settings, *, timeout: float) -> None:
        super().__init__(reply, name=f"toy with {settings.threads} threads")
