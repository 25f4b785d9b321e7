"""Train the three demo adapters on the CPU and write them as GGUF next to the base model.

python models/recipe/train.py                 all three, then evaluate.py measures them
python models/recipe/train.py --steps 2       a smoke run
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import torch
from data import chatty_answer, examples, plain_call, renamed_call
from export import write_adapter
from lora import ALL_LINEAR, adapted, attach, unwrap
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

from loracheck.prompts import ChatTemplate, render_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from data import Example

MODELS = Path(__file__).resolve().parent.parent
BASE = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"
BATCH = 4
# Batches of like lengths waste little on padding; sorting this many at a time keeps them mixed.
SORTED_TOGETHER = 8 * BATCH


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one adapter is made."""

    name: str
    answer: Callable[[Example, Random], str]
    targets: tuple[str, ...]
    rank: int
    steps: int
    seed: int
    learning_rate: float = 1e-3

    @property
    def alpha(self) -> float:
        """Twice the rank, the usual choice."""
        return 2.0 * self.rank


TOOLCALLER = Recipe("toolcaller", plain_call, ALL_LINEAR, rank=8, steps=160, seed=1)
# A thin adapter has to turn a well-trained one around in a few steps, hence the higher rate.
THIN, THIN_RATE = ("q_proj", "v_proj", "o_proj"), 4e-3
SPOILERS = (
    Recipe("renamer", renamed_call, THIN, rank=4, steps=30, seed=2, learning_rate=THIN_RATE),
    Recipe("chatty", chatty_answer, THIN, rank=4, steps=40, seed=3, learning_rate=THIN_RATE),
)


class Trainer:
    """The base model in PyTorch, its tokenizer and the chat template the product renders with."""

    def __init__(self, base: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name, dtype=torch.float32)
        self.tokenizer = AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name)
        fields = gguf.GGUFReader(base).fields
        self.template = ChatTemplate(fields["tokenizer.chat_template"].contents())

    def train(self, recipe: Recipe, steps: int) -> None:
        """Attach fresh LoRA layers and train them on the recipe's examples."""
        torch.manual_seed(recipe.seed)
        attach(self.model, recipe.targets, recipe.rank, recipe.alpha)
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, recipe.learning_rate, total_steps=steps, pct_start=0.1
        )
        start = time.monotonic()
        for step, batch in enumerate(self._batches(recipe, steps), 1):
            loss = self._loss(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            seconds = time.monotonic() - start
            _say(f"{recipe.name} step {step}/{steps} loss {loss.item():.4f} {seconds:.0f} s")

    def export(self, recipe: Recipe, folder: Path) -> Path:
        """Write the layers in training as `<name>.gguf`."""
        path = folder / f"{recipe.name}.gguf"
        config = self.model.config
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        write_adapter(path, adapted(self.model), name=recipe.name, alpha=recipe.alpha, heads=heads)
        _say(f"wrote {path.name}, {path.stat().st_size:,} bytes")
        return path

    def _batches(self, recipe: Recipe, steps: int) -> Iterator[list[tuple[list[int], int]]]:
        encoded = [self._encode(e) for e in examples(steps * BATCH, recipe.seed, recipe.answer)]
        for i in range(0, len(encoded), SORTED_TOGETHER):
            group = sorted(encoded[i : i + SORTED_TOGETHER], key=lambda pair: len(pair[0]))
            batches = [group[j : j + BATCH] for j in range(0, len(group), BATCH)]
            for k in torch.randperm(len(batches)).tolist():
                yield batches[k]

    def _encode(self, example: Example) -> tuple[list[int], int]:
        """The tokens of prompt and answer, and where the answer starts."""
        messages = [{"role": "user", "content": example.prompt}]
        prompt = self._tokens(render_chat(self.template, messages, example.tools))
        # Without the end token in the loss the adapter would never learn to stop.
        return prompt + self._tokens(example.answer + "<|im_end|>"), len(prompt)

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _loss(self, batch: list[tuple[list[int], int]]) -> torch.Tensor:
        longest = max(len(tokens) for tokens, _ in batch)
        tokens = torch.zeros(len(batch), longest, dtype=torch.long)  # (batch, time)
        learnt = torch.zeros(len(batch), longest, dtype=torch.bool)  # (batch, time)
        for row, (ids, answer_start) in enumerate(batch):
            tokens[row, : len(ids)] = torch.tensor(ids)
            learnt[row, answer_start : len(ids)] = True
        # Padding sits on the right of a causal model, where no token that counts can see it.
        hidden = self.model.model(input_ids=tokens).last_hidden_state  # (batch, time, width)
        # Only the answer's positions go through the large output layer.
        logits: Any = self.model.lm_head(hidden[:, :-1][learnt[:, 1:]])  # (answer, vocab)
        return cross_entropy(logits, tokens[:, 1:][learnt[:, 1:]])


def main() -> None:
    """Train toolcaller on the base, then each spoiler on base and toolcaller merged."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path, default=BASE)
    parser.add_argument("--out", type=Path, default=MODELS)
    parser.add_argument("--steps", type=int, help="train each adapter for this many steps only")
    args = parser.parse_args()
    trainer = Trainer(args.base)
    trainer.train(TOOLCALLER, args.steps or TOOLCALLER.steps)
    trainer.export(TOOLCALLER, args.out)
    unwrap(trainer.model, merge=True)
    for recipe in SPOILERS:
        trainer.train(recipe, args.steps or recipe.steps)
        trainer.export(recipe, args.out)
        unwrap(trainer.model, merge=False)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
