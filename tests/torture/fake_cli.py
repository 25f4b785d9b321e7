"""loracheck's command line with canned answers instead of llama.cpp, slow ones or under a mad clock on demand."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import TYPE_CHECKING

from loracheck.cli.main import run
from loracheck.engine.fake import FakeEngine

if TYPE_CHECKING:
    from loracheck.engine import Prompt, View

_YEAR_NS = 365 * 24 * 3600 * 10**9


def _reply(view: View, prompt: Prompt) -> str:
    time.sleep(float(os.environ.get("TORTURE_PAUSE", "0")))
    rng = random.Random(f"{view.name} {prompt.id}")
    if rng.random() < 0.1:
        return "I would rather not. " * 10
    return json.dumps({"name": "say", "arguments": {"word": f"{rng.random()} {prompt.id} " * 4}})


def _let_the_clock_jump(seed: str) -> None:
    rng, real = random.Random(seed), time.time_ns
    time.time_ns = lambda: real() + rng.randrange(-_YEAR_NS, _YEAR_NS)
    time.time = lambda: time.time_ns() / 1e9


if __name__ == "__main__":
    if "TORTURE_CLOCK" in os.environ:
        _let_the_clock_jump(os.environ["TORTURE_CLOCK"])
    # Every run has the same engine, as far as the store can tell.
    sys.exit(run(engine=FakeEngine(_reply, name="canned")))
