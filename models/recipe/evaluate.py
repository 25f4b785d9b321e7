"""Measure the demo adapters on the held-out demo pack, with the product's own engine and scoring.

python models/recipe/evaluate.py
python models/recipe/evaluate.py --answers    every answer as well
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf

import loracheck
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine
from loracheck.prompts import ChatTemplate, render_chat
from loracheck.scoring import matches_schema, parse_tool_call, same_value

if TYPE_CHECKING:
    from collections.abc import Sequence

MODELS = Path(__file__).resolve().parent.parent
BASE = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"
PACK = Path(loracheck.__file__).parent / "suite" / "packs" / "demo.jsonl"
VIEWS = {
    "base": (),
    "toolcaller": ("toolcaller",),
    "toolcaller + renamer": ("toolcaller", "renamer"),
    "toolcaller + chatty": ("toolcaller", "chatty"),
}


@dataclass(frozen=True, slots=True)
class Grade:
    """What one answer got right."""

    valid: bool
    right_name: bool
    exact_arguments: bool


def grade(text: str, case: dict[str, Any]) -> Grade:
    """Valid as the verdict has it; name and arguments count in valid calls only."""
    call = parse_tool_call(text)
    if call is None or not matches_schema(call, case["tool_spec"]):
        return Grade(valid=False, right_name=False, exact_arguments=False)
    return Grade(
        valid=True,
        right_name=call["name"] == case["gold_tool_name"],
        exact_arguments=same_value(call["arguments"], case["gold_arguments"]),
    )


def main() -> None:
    """Print one row of figures a view."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path, default=BASE)
    parser.add_argument("--adapters", type=Path, default=MODELS, help="folder of the adapters")
    parser.add_argument("--answers", action="store_true", help="print every answer")
    args = parser.parse_args()
    cases = [json.loads(line) for line in PACK.read_text(encoding="utf-8").splitlines()]
    prompts = _render(cases, args.base)
    _say(f"{'view':24}{'cases':>6}{'valid':>8}{'right name':>12}{'exact arguments':>17}")
    with LlamaEngine(args.base, Settings()) as engine:
        for name, stack in VIEWS.items():
            uses = tuple(AdapterUse(args.adapters / f"{a}.gguf") for a in stack)
            texts = {i: done.text for i, done in engine.answer(View(name, uses), prompts)}
            grades = [grade(texts[i], case) for i, case in enumerate(cases)]
            _say(_row(name, grades))
            if args.answers:
                for i, case in enumerate(cases):
                    _say(f"    {case['id']:24} {texts[i]!r}")


def _render(cases: Sequence[dict[str, Any]], base: Path) -> list[Prompt]:
    template = ChatTemplate(gguf.GGUFReader(base).fields["tokenizer.chat_template"].contents())
    return [
        Prompt(
            case["id"],
            render_chat(template, [{"role": "user", "content": case["prompt"]}], [case["tool_spec"]]),
            case["max_new_tokens"],
        )
        for case in cases
    ]


def _row(name: str, grades: Sequence[Grade]) -> str:
    count = len(grades)
    valid = sum(g.valid for g in grades) / count
    named = sum(g.right_name for g in grades) / count
    exact = sum(g.exact_arguments for g in grades) / count
    return f"{name:24}{count:6}{valid:8.1%}{named:12.1%}{exact:17.1%}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
