"""The hand-written script: one `Llama` a view, one prompt after the other, its prefix cache on. Usage: WORK"""

from __future__ import annotations

import sys
import time

from contender import peak_mb, read_work, tell
from llama_cpp import Llama


def main() -> None:
    work = read_work(sys.argv[1])
    began = time.perf_counter()
    tokens = 0
    for lora in (None, work.adapter):
        llama = Llama(
            work.model,
            lora_path=lora,
            n_ctx=work.n_ctx,
            n_threads=work.threads,
            n_threads_batch=work.threads,
            verbose=False,
        )
        for text, longest in work.prompts:
            answer = llama.create_completion(text, max_tokens=longest, temperature=0.0)
            tokens += answer["usage"]["completion_tokens"]
        llama.close()
    tell(seconds=time.perf_counter() - began, peak_mb=peak_mb(), tokens=tokens)


if __name__ == "__main__":
    main()
