"""Measure the demo adapters on cases they were not trained on, with the product's own engine and scoring.

python models/recipe/evaluate.py
python models/recipe/evaluate.py --cases demo --answers    every answer as well
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.cases.load import find_cases
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine
from loracheck.models import chat_template, read_model_header
from loracheck.probes.reading import expectation_of
from loracheck.prompts.chat import render_chat
from loracheck.scoring import Answer, read_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.cases.case import Case
    from loracheck.scoring import Reading

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
    with LlamaEngine(Settings()) as engine:
        for source in args.cases:
            cases = [case for case in find_cases(source) if case.expect == "call"]
            prompts = _render(cases, args.base)
            for name in args.views:
                uses = tuple(AdapterUse(args.adapters / f"{a}.gguf") for a in VIEWS[name])
                answers = dict(engine.answer(View(name, args.base, uses), prompts))
                readings = [
                    read_answer(expectation_of(case), Answer(answers[i].text, answers[i].truncated), None)
                    for i, case in enumerate(cases)
                ]
                _say(f"{Path(source).stem:6}{name:24}{len(cases):6}{_figures(readings)}")
                if args.answers:
                    for i, (case, reading) in enumerate(zip(cases, readings, strict=True)):
                        _say(f"    {'ok ' if reading.exact else 'BAD'} {case.id:24} {answers[i].text!r}")


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


def _figures(readings: Sequence[Reading]) -> str:
    """Shares of all cases; names and arguments count in valid calls only."""
    valid = sum(reading.valid for reading in readings) / len(readings)
    named = sum(reading.outcome == "valid" for reading in readings) / len(readings)
    exact = sum(reading.arguments_correct is True for reading in readings) / len(readings)
    return f"{valid:8.1%}{named:12.1%}{exact:17.1%}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
