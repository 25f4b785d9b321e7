"""How fast this machine reads prompts and writes answers, bare and with an adapter. Usage: MODEL ADAPTER"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contender import tell

from loracheck.cases.suite import default_threads
from loracheck.engine.llama_context import LlamaContext
from loracheck.engine.native import capture_log, last_words, llama_cpp
from loracheck.engine.rows import Rows
from loracheck.models.padded import write_padded
from loracheck.pace import no_tick

PROMPT = tuple(range(100, 612))
"""512 tokens; which ones makes no difference to the time."""
BATCHES = (60, 256, 512)
WIDTHS = (1, 2, 4, 8, 12, 16, 24, 32)
READS, STEPS = 2, 6
"""How often each is tried; the fastest counts, as nothing but the machine itself is to be in the way."""


def fastest(tries: int, work: Callable[[int], object]) -> float:
    seconds = []
    for attempt in range(tries):
        began = time.perf_counter()
        work(attempt)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def opened(model: Any, adapters: list[Any], n_ctx: int, width: int, most: int) -> LlamaContext:
    ctx = LlamaContext(
        model,
        llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model)),
        n_ctx=n_ctx,
        width=width,
        rows=Rows(width, width),
        most=most,
        threads=default_threads(),
        tick=no_tick,
        flash=True,
    )
    ctx.set_adapters(adapters, [1.0] * len(adapters))
    return ctx


def reading_rate(model: Any, adapters: list[Any], batch: int) -> float:
    ctx = opened(model, adapters, len(PROMPT), width=1, most=batch)

    def read(_: int) -> None:
        ctx.clear()
        for start in range(0, len(PROMPT), batch):
            ctx.read(0, PROMPT, start, min(start + batch, len(PROMPT)))

    seconds = fastest(READS, read)
    ctx.close()
    return len(PROMPT) / seconds


def writing_rate(model: Any, adapters: list[Any], width: int) -> float:
    ctx = opened(model, adapters, n_ctx=256, width=width, most=64)
    seconds = fastest(STEPS, lambda place: ctx.step([[token] for token in PROMPT[:width]], [place] * width))
    ctx.close()
    return width / seconds


def main() -> None:
    model_path, adapter_path = sys.argv[1:]
    capture_log()
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(model_path), llama_cpp.llama_model_default_params())
    assert model, last_words()
    with TemporaryDirectory() as folder:
        # As the engine loads it.
        path = write_padded(Path(adapter_path), Path(folder) / "padded.gguf") or adapter_path
        adapter = llama_cpp.llama_adapter_lora_init(model, os.fsencode(path))
    assert adapter, last_words()
    tell(
        **{
            view: {
                "read": {batch: reading_rate(model, adapters, batch) for batch in BATCHES},
                "written": {width: writing_rate(model, adapters, width) for width in WIDTHS},
            }
            for view, adapters in (("bare", []), ("adapter", [adapter]))
        }
    )


if __name__ == "__main__":
    main()
