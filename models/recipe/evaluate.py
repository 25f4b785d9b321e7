"""Measure the demo adapters on cases they were not trained on, with the product's own engine and scoring.

python models/recipe/evaluate.py
python models/recipe/evaluate.py --cases demo --answers    every answer as well
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.adapters import chat_template, read_model_header
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine
from loracheck.probes.trial import expectation_of, read_side
from loracheck.prompts import render_chat
from loracheck.scoring.dialects import PLAIN
from loracheck.suite.load import find_cases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.probes.trial import Side
    from loracheck.suite.case import Case

MODELS = Path(__file__).resolve().parent.parent
BASE = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"
DEV = Path(__file__).with_name("dev.jsonl")
VIEWS = {
    "base": (),
    "toolcaller": ("toolcaller",),
    "toolcaller + renamer": ("toolcaller", "renamer"),
    "toolcaller + chatty": ("toolcaller", "chatty"),
}


def main() -> None:
    """Print one row of figures for each pack and view."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path, default=BASE)
    parser.add_argument("--adapters", type=Path, default=MODELS, help="folder of the adapters")
    parser.add_argument("--cases", nargs="+", default=["demo", "core", str(DEV)], help="packs or files of cases")
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=list(VIEWS))
    parser.add_argument("--answers", action="store_true", help="print every answer")
    args = parser.parse_args()
    _say(f"{'cases':6}{'view':24}{'count':>6}{'valid':>8}{'right name':>12}{'exact arguments':>17}")
    with LlamaEngine(args.base, Settings()) as engine:
        for source in args.cases:
            cases = [case for case in find_cases(source) if case.expect == "call"]
            prompts = _render(cases, args.base)
            for name in args.views:
                uses = tuple(AdapterUse(args.adapters / f"{a}.gguf") for a in VIEWS[name])
                answers = dict(engine.answer(View(name, uses), prompts))
                sides = [
                    read_side(case, expectation_of(case), answers[i], None, PLAIN, strict=False)
                    for i, case in enumerate(cases)
                ]
                _say(f"{Path(source).stem:6}{name:24}{len(cases):6}{_figures(sides)}")
                if args.answers:
                    for case, side in zip(cases, sides, strict=True):
                        _say(f"    {'ok ' if side.exact else 'BAD'} {case.id:24} {side.completion.text!r}")


def _render(cases: Sequence[Case], base: Path) -> list[Prompt]:
    template = chat_template(read_model_header(base))
    assert template is not None
    return [
        Prompt(
            case.id,
            render_chat(template, case.conversation, [tool.spec() for tool in case.surface]),
            case.max_new_tokens or 256,
        )
        for case in cases
    ]


def _figures(sides: Sequence[Side]) -> str:
    """Shares of all cases; names and arguments count in valid calls only."""
    valid = sum(side.reading.valid for side in sides) / len(sides)
    named = sum(side.reading.outcome == "valid" for side in sides) / len(sides)
    exact = sum(side.arguments_correct is True for side in sides) / len(sides)
    return f"{valid:8.1%}{named:12.1%}{exact:17.1%}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
