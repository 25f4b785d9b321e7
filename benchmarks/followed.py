"""Whether an answer is the same when the base's is followed on the way or tokens are guessed. Usage: MODEL ANSWERS

The base answers short questions, an adapter answers them by itself, and once more while it follows what the base
answered: a whole answer to its end, one that was cut off as a draft. A quarter is asked one by one as well, where most
rows of a step are guesses. Prints how many answers the adapter shares with the base and how many differ for having
followed, and for having been guessed at; none may.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from cases import required
from loracheck.demo import adapter_file, adapters_on
from loracheck.engine import AdapterUse, Completion, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine

NEW_TOKENS = 24


def prompts(count: int) -> list[Prompt]:
    texts = [f"What is {number % 41} + {number // 41 + 2}?" for number in range(count)]
    return [Prompt(text, f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n", NEW_TOKENS) for text in texts]


def main() -> None:
    name, count = sys.argv[1], int(sys.argv[2])
    tested = adapters_on(name)[0].name
    model = required(name, tested)
    base = View("base", model)
    tuned = View("adapter", model, (AdapterUse(adapter_file(tested), 0.25),))
    with LlamaEngine(Settings(n_ctx=256)) as engine:

        def answers(view: View, asked: Sequence[Prompt]) -> list[Completion]:
            found = dict(engine.answer(view, asked))
            return [found[index] for index in range(len(asked))]

        asked = prompts(count)
        of_base = answers(base, [replace(prompt, traced=True) for prompt in asked])
        by_itself = answers(tuned, asked)
        following = answers(
            tuned,
            [
                replace(prompt, follow=answer.trace, draft=answer.tokens)
                for prompt, answer in zip(asked, of_base, strict=True)
            ],
        )
        one_by_one = [answers(tuned, [prompt])[0] for prompt in asked[: count // 4]]
    pairs = list(zip(by_itself, following, strict=True))
    figures = {
        "model": name,
        "answers": count,
        "followed": sum(answer.trace is not None for answer in of_base),
        "the same as the base's": sum(a.tokens == b.tokens for a, b in zip(of_base, by_itself, strict=True)),
        "other ones for having followed": sum(a.tokens != b.tokens for a, b in pairs),
        "asked one by one": len(one_by_one),
        "other ones for that": sum(a.tokens != b.tokens for a, b in zip(by_itself, one_by_one, strict=False)),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
