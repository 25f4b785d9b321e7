"""The hand-written script: one `Llama` a view, one prompt after the other, its prefix cache on. Usage: MODEL COUNT"""

from __future__ import annotations

import sys
import time

from llama_cpp import Llama

from cases import ADAPTER, MAX_NEW_TOKENS, peak_mb, prompts, tell
from loracheck.cases.suite import default_threads


def main() -> None:
    model, texts = sys.argv[1], prompts(int(sys.argv[2]))
    began = time.perf_counter()
    tokens = 0
    for lora in (None, str(ADAPTER)):
        llama = Llama(
            model,
            lora_path=lora,
            n_ctx=1024,
            n_threads=default_threads(),
            n_threads_batch=default_threads(),
            verbose=False,
        )
        for text in texts:
            answer = llama.create_completion(text, max_tokens=MAX_NEW_TOKENS, temperature=0.0)
            tokens += answer["usage"]["completion_tokens"]
        llama.close()
    tell(seconds=time.perf_counter() - began, peak_mb=peak_mb(), tokens=tokens)


if __name__ == "__main__":
    main()
