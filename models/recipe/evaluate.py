"""Measure a model's adapters on cases they were not trained on, with the product's own engine and scoring.

python models/recipe/evaluate.py
python models/recipe/evaluate.py --model qwen
python models/recipe/evaluate.py --model qwen --views qwen-pythonic --dialect pythonic
python models/recipe/evaluate.py --cases demo --answers    every answer as well
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.cases.load import find_cases
from loracheck.demo import MODELS, adapter_file, adapters_on, find_model
from loracheck.engine import AdapterUse, Prompt, Settings, View
from loracheck.engine.llama import LlamaEngine
from loracheck.models import chat_template, read_model_header
from loracheck.probes.reading import expectation_of
from loracheck.prompts.chat import render_chat
from loracheck.scoring import Answer, read_answer
from loracheck.scoring.dialects import DIALECTS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.cases.case import Case
    from loracheck.scoring import Reading

DEV = Path(__file__).with_name("dev.jsonl")


def main() -> None:
    """Print one row of figures for each pack and view."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=MODELS, default="smollm2")
    parser.add_argument("--base", type=Path, help="the model's file, when it is elsewhere")
    parser.add_argument("--adapters", type=Path, help="folder of the adapters, when it is another")
    parser.add_argument("--cases", nargs="+", default=["demo", "core", str(DEV)], help="packs or files of cases")
    parser.add_argument("--views", nargs="+", metavar="VIEW", help="these views only")
    parser.add_argument("--dialect", choices=DIALECTS, default=PLAIN, help="the way of writing calls that counts")
    parser.add_argument("--answers", action="store_true", help="print every answer")
    args = parser.parse_args()
    views = _views(args.model)
    if unknown := set(args.views or ()) - set(views):
        parser.error(f"--views {', '.join(sorted(unknown))}: --model {args.model} has {', '.join(views)}")
    base = args.base or find_model(args.model)
    if base is None:
        parser.error(f"the model is not here: `python -m loracheck.demo {args.model}` fetches it")
    _say(f"{'cases':6}{'view':24}{'count':>6}{'valid':>8}{'right name':>12}{'exact arguments':>17}")
    with LlamaEngine(Settings()) as engine:
        for source in args.cases:
            cases = [case for case in find_cases(source) if case.expect == "call"]
            prompts = _render(cases, base)
            for name in args.views or views:
                files = [args.adapters / f"{a}.gguf" if args.adapters else adapter_file(a) for a in views[name]]
                uses = tuple(map(AdapterUse, files))
                answers = dict(engine.answer(View(name, base, uses), prompts))
                readings = [
                    read_answer(expectation_of(case), Answer(answers[i].text, answers[i].truncated), None, args.dialect)
                    for i, case in enumerate(cases)
                ]
                _say(f"{Path(source).stem:6}{name:24}{len(cases):6}{_figures(readings)}")
                if args.answers:
                    for i, (case, reading) in enumerate(zip(cases, readings, strict=True)):
                        _say(f"    {'ok ' if reading.exact else 'BAD'} {case.id:24} {answers[i].text!r}")


def _views(model: str) -> dict[str, tuple[str, ...]]:
    """The base and each adapter on what it goes on, by the names of the adapters."""
    stacks = [tuple(filter(None, (adapter.on_top_of, adapter.name))) for adapter in adapters_on(model)]
    return {"base": (), **{" + ".join(stack): stack for stack in stacks}}


def _render(cases: Sequence[Case], base: Path) -> list[Prompt]:
    template = chat_template(read_model_header(base))
    assert template is not None
    return [
        Prompt(
            case.id,
            render_chat(template, case.conversation, [tool.spec() for tool in case.surface]),
            case.max_new_tokens or case.answer_tokens or 256,
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
