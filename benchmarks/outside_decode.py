"""How much of a check is not llama.cpp computing. The engine runs in this process, to be watched. Usage: WORK"""

from __future__ import annotations

import sys
import time

from contender import read_work, tell

from loracheck.checking import check
from loracheck.engine.llama import LlamaEngine
from loracheck.engine.native import llama_cpp
from loracheck.plan import engine_settings
from loracheck.probes import suite_type


class Clock:
    """`llama_decode` with a clock around it; fetching logits waits for nothing on a CPU."""

    def __init__(self) -> None:
        self._decode = llama_cpp.llama_decode
        self.seconds = 0.0
        self.first: float | None = None

    def __call__(self, ctx: object, batch: object) -> int:
        began = time.perf_counter()
        self.first = self.first or began
        status: int = self._decode(ctx, batch)
        self.seconds += time.perf_counter() - began
        return status


def main() -> None:
    suite = suite_type().model_validate(read_work(sys.argv[1]).suite)
    clock = llama_cpp.llama_decode = Clock()
    began = time.perf_counter()
    with LlamaEngine(engine_settings(suite.defaults)) as engine:
        check(suite, engine=engine)
    seconds = time.perf_counter() - began
    tell(seconds=seconds, share=1 - clock.seconds / seconds, before=(clock.first or began) - began)


if __name__ == "__main__":
    main()
