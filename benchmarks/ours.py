"""loracheck's engine and store. Usage: ours.py MODEL COUNT [cold|everyday]"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from cases import ADAPTER, MAX_NEW_TOKENS, peak_mb, prompts, tell
from loracheck.cases.suite import default_threads
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine
from loracheck.engine.native import llama_cpp
from loracheck.engine.stored import StoredEngine
from loracheck.store import Store

in_decode = 0.0


def timed_decode(ctx: object, batch: object, decode=llama_cpp.llama_decode) -> int:
    """llama_decode with a clock around it; fetching logits waits for nothing on a CPU."""
    global in_decode
    began = time.perf_counter()
    status = decode(ctx, batch)
    in_decode += time.perf_counter() - began
    return status


def answer_all(engine: StoredEngine, view: View, work: list[Prompt]) -> int:
    return sum(len(completion.tokens) for _, completion in engine.answer(view, work))


def main() -> None:
    model, count, mode = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    settings = Settings(threads=default_threads())
    work = [Prompt(str(i), text, MAX_NEW_TOKENS) for i, text in enumerate(prompts(count))]
    base, tuned = View("base", model), View("adapter", model, (AdapterUse(ADAPTER),))
    llama_cpp.llama_decode = timed_decode
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "answers.sqlite") as store:
        if mode == "everyday":
            # A first check of some other adapter has left the base's answers in the store.
            with LlamaEngine(settings) as engine:
                answer_all(StoredEngine(store, engine), base, work)
        global in_decode
        in_decode = 0.0
        began = time.perf_counter()
        with LlamaEngine(settings) as engine:
            tokens = sum(answer_all(StoredEngine(store, engine), view, work) for view in (base, tuned))
        seconds = time.perf_counter() - began
    tell(seconds=seconds, peak_mb=peak_mb(), tokens=tokens, outside_decode=1 - in_decode / seconds)


if __name__ == "__main__":
    main()
