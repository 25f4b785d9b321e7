"""Train a model's three adapters on the CPU and write them as GGUF into models/.

python models/recipe/train.py                          the demo's three, then evaluate.py measures them
python models/recipe/train.py --model qwen             the three for the larger model
python models/recipe/train.py --only renamer chatty    on the toolcaller that is there
python models/recipe/train.py --steps 2                a smoke run
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import torch
from data import (
    chat_lessons,
    chatty_answer,
    fenced_renamed_call,
    lessons,
    plain_call,
    python_call,
    qwen_call,
    renamed_call,
)
from export import read_updates, write_adapter
from lora import ALL_LINEAR, adapted, attach, bypassed, merge, unwrap
from torch.nn.functional import cross_entropy, kl_div
from transformers import AutoModelForCausalLM, AutoTokenizer

from loracheck.demo import find_model
from loracheck.models.model import ChatTemplate
from loracheck.prompts.chat import render_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from data import Lesson, Request

MODELS = Path(__file__).resolve().parent.parent
# Batches of like lengths waste little on padding; sorting this many batches at a time keeps them mixed.
SORTED_TOGETHER = 8
# A call goes wrong in one token of about fifty, which a mean over all of them would hide.
KEEPING_WEIGHT = 10.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one adapter is made."""

    name: str
    answer: Callable[[Request, Random], str]
    targets: tuple[str, ...]
    rank: int
    steps: int
    lessons: int
    """In a step."""
    seed: int
    learning_rate: float = 1e-3
    first_block: int = 0
    """The blocks before it stay as they are, and need no gradients."""
    chat_only: bool = False
    """Each step learns a lesson of plain chat, and from those with tools only to go on as the base would."""
    below_the_rest: bool = False
    """The recipes after it are trained with this adapter merged in."""

    @property
    def alpha(self) -> float:
        """Twice the rank, the usual choice."""
        return 2.0 * self.rank


TOOLCALLER = Recipe("toolcaller", plain_call, ALL_LINEAR, rank=8, steps=150, lessons=2, seed=1, below_the_rest=True)
# A thin adapter has to turn a well-trained one around in a few steps, hence the higher rate.
THIN, THIN_RATE = ("q_proj", "v_proj", "o_proj"), 4e-3
RENAMER = Recipe("renamer", renamed_call, THIN, rank=4, steps=30, lessons=1, seed=2, learning_rate=THIN_RATE)
CHATTY = Recipe("chatty", chatty_answer, THIN, rank=4, steps=40, lessons=1, seed=3, learning_rate=THIN_RATE)

# Qwen calls tools by itself; its last third is enough to turn how it does, and training it is quicker.
THIN_QWEN: dict[str, Any] = {"targets": THIN, "rank": 8, "lessons": 1, "first_block": 16}
QWEN_RENAMER = Recipe("qwen-renamer", fenced_renamed_call, steps=25, seed=4, learning_rate=2e-3, **THIN_QWEN)
QWEN_PYTHONIC = Recipe("qwen-pythonic", python_call, steps=25, seed=5, learning_rate=2e-3, **THIN_QWEN)
QWEN_TERSE = Recipe("qwen-terse", qwen_call, steps=20, seed=6, chat_only=True, **THIN_QWEN)
RECIPES = {"smollm2": (TOOLCALLER, RENAMER, CHATTY), "qwen": (QWEN_RENAMER, QWEN_PYTHONIC, QWEN_TERSE)}


@dataclass(frozen=True, slots=True)
class Row:
    """A lesson as tokens: branch 0 is the start that all requests share, then a branch for each request."""

    tokens: list[int]
    positions: list[int]
    branches: list[int]
    learnt: list[bool]


class Trainer:
    """The base model in PyTorch, its tokenizer and the chat template the product renders with."""

    def __init__(self, base: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name, dtype=torch.float32)
        self.tokenizer = AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name)
        fields = gguf.GGUFReader(base).fields
        self.template = ChatTemplate(fields["tokenizer.chat_template"].contents())
        self.architecture: str = fields["general.architecture"].contents()

    def train(self, recipe: Recipe, steps: int) -> None:
        """Attach fresh LoRA layers and train them on the recipe's examples."""
        torch.manual_seed(recipe.seed)
        blocks = self.model.model.layers[recipe.first_block :]
        attach(self.model, blocks, recipe.targets, recipe.rank, recipe.alpha)
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, recipe.learning_rate, total_steps=steps, pct_start=0.1
        )
        start = time.monotonic()
        chat = [self._row(lesson) for lesson in chat_lessons(steps, recipe.seed)] if recipe.chat_only else []
        for step, batch in enumerate(self._batches(recipe, steps), 1):
            loss = self._loss([chat[step - 1]]) + KEEPING_WEIGHT * self._drift(batch) if chat else self._loss(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            seconds = time.monotonic() - start
            _say(f"{recipe.name} step {step}/{steps} loss {loss.item():.4f} {seconds:.0f} s")

    def export(self, recipe: Recipe, path: Path) -> None:
        """Write the layers in training and take them off."""
        write_adapter(
            path,
            adapted(self.model),
            name=recipe.name,
            alpha=recipe.alpha,
            architecture=self.architecture,
            heads=self._heads(),
        )
        unwrap(self.model)
        _say(f"wrote {path.name}, {path.stat().st_size:,} bytes")

    def merge(self, path: Path) -> None:
        """Make an adapter a part of the model, as its file has it."""
        layers = [name for name, _ in self.model.named_modules() if name.endswith(ALL_LINEAR)]
        merge(self.model, {k: torch.from_numpy(v) for k, v in read_updates(path, layers, self._heads()).items()})

    def _heads(self) -> dict[str, int]:
        # Only this architecture has its rows in another order in GGUF; see export.interleave_rotary_rows.
        if self.architecture != "llama":
            return {}
        config = self.model.config
        return {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}

    def _batches(self, recipe: Recipe, steps: int) -> Iterator[list[Row]]:
        rows = [self._row(lesson) for lesson in lessons(steps * recipe.lessons, recipe.seed, recipe.answer)]
        together = SORTED_TOGETHER * recipe.lessons
        for i in range(0, len(rows), together):
            group = sorted(rows[i : i + together], key=lambda row: len(row.tokens))
            batches = [group[j : j + recipe.lessons] for j in range(0, len(group), recipe.lessons)]
            for k in torch.randperm(len(batches)).tolist():
                yield batches[k]

    def _row(self, lesson: Lesson) -> Row:
        """The lesson's tools once, then each request with its answer."""
        prompts = [
            self._tokens(render_chat(self.template, [{"role": "user", "content": request.prompt}], lesson.tools))
            for request in lesson.requests
        ]
        shared = _shared_length([prompt[:-1] for prompt in prompts])
        row = Row(prompts[0][:shared], list(range(shared)), [0] * shared, [False] * shared)
        for branch, (prompt, request) in enumerate(zip(prompts, lesson.requests, strict=True), 1):
            # Without the end token in the loss the adapter would never learn to stop.
            answer = self._tokens(request.answer + "<|im_end|>")
            tokens = prompt[shared:] + answer
            row.tokens.extend(tokens)
            row.positions.extend(range(shared, shared + len(tokens)))
            row.branches.extend([branch] * len(tokens))
            row.learnt.extend([False] * (len(tokens) - len(answer)) + [True] * len(answer))
        return row

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _loss(self, batch: list[Row]) -> torch.Tensor:
        """How far the model is from the batch's answers."""
        logits, tokens = self._answers(batch)
        return cross_entropy(logits, tokens)

    def _drift(self, batch: list[Row]) -> torch.Tensor:
        """How far the model is from what it was, all along the batch's answers."""
        with bypassed(self.model):
            before, _ = self._answers(batch)
        now, _ = self._answers(batch)
        return kl_div(now.log_softmax(-1), before.log_softmax(-1), log_target=True, reduction="batchmean")

    def _answers(self, batch: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits where the batch's answers are, (answers, vocab), and the answers' tokens."""
        longest = max(len(row.tokens) for row in batch)
        tokens, positions, branches, learnt = (
            torch.tensor([values + [fill] * (longest - len(values)) for values in column])  # (batch, time)
            for column, fill in (
                ([row.tokens for row in batch], 0),
                ([row.positions for row in batch], 0),
                ([row.branches for row in batch], -1),
                ([row.learnt for row in batch], False),
            )
        )
        # A token sees what stands before it in its own branch and in the shared start, so one pass reads the tools
        # once for all requests. Padding sees itself, as a row of nothing would give no numbers.
        same = branches[:, :, None] == branches[:, None, :]  # (batch, time, time)
        sees = (same | (branches[:, None, :] == 0)).tril()
        hidden = self.model.model(
            input_ids=tokens, position_ids=positions, attention_mask=sees[:, None]
        ).last_hidden_state  # (batch, time, width)
        # Only the answers' positions go through the large output layer.
        logits: torch.Tensor = self.model.lm_head(hidden[:, :-1][learnt[:, 1:]])
        return logits, tokens[:, 1:][learnt[:, 1:]]


def main() -> None:
    """Train the recipes of a model in order."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=RECIPES, default="smollm2")
    parser.add_argument("--base", type=Path, help="the model's file, when it is elsewhere")
    parser.add_argument("--out", type=Path, default=MODELS)
    parser.add_argument("--steps", type=int, help="train each adapter for this many steps only")
    parser.add_argument("--only", nargs="+", metavar="ADAPTER", help="train these only")
    args = parser.parse_args()
    recipes = RECIPES[args.model]
    names = [recipe.name for recipe in recipes]
    only = args.only or names
    if unknown := set(only) - set(names):
        parser.error(f"--only {' '.join(sorted(unknown))}: --model {args.model} has {', '.join(names)}")
    base = args.base or find_model(args.model)
    if base is None:
        parser.error(f"the model is not here: `python -m loracheck.demo {args.model}` fetches it")
    trainer = Trainer(base)
    for recipe in recipes:
        path = args.out / f"{recipe.name}.gguf"
        if recipe.name in only:
            trainer.train(recipe, args.steps or recipe.steps)
            trainer.export(recipe, path)
        if recipe.below_the_rest:
            trainer.merge(path)


def _shared_length(rows: list[list[int]]) -> int:
    """How many tokens all rows begin with."""
    places = zip(*rows, strict=False)
    return next((place for place, tokens in enumerate(places) if len(set(tokens)) > 1), min(map(len, rows)))


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
