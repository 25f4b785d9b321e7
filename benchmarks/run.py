"""`make bench`: loracheck against what people use today, every figure beside a baseline measured in the same run.

The page goes to docs/benchmark.md and to standard output; with --quick only to standard output. TORCH_PYTHON names a
Python that has torch, transformers, peft and gguf; without it those rows are left out.
"""

from __future__ import annotations

import math
import os
import sys
import traceback
from argparse import ArgumentParser
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from page import Page, seconds
from runs import HERE, Contender, Runs, in_turns

from cases import noise_adapters, of_length, required, that_expect_a_call, with_one_surface, write_work
from loracheck.demo import adapter_file
from loracheck.engine.native import capture_log, llama_cpp

DOCUMENT = HERE.parent / "docs" / "benchmark.md"
NEW_TOKENS = 64
CASES = 32
SMOLLM2, SMOLLM2_F16, QWEN = "SmolLM2-135M Q4_1", "SmolLM2-135M F16", "Qwen2.5-Coder-0.5B Q4_K_M"


@dataclass
class Bench:
    folder: Path
    page: Page
    quick: bool

    def take_turns(
        self, contenders: dict[str, Contender], times: int | None = None, python: str = sys.executable
    ) -> list[Runs]:
        """Run them in turns; whoever fails is named on the page."""
        runs = in_turns(times or self.page.times, contenders, python)
        self.page.note(*(failure for those in runs for failure in those.failures))
        return runs

    def take_one(self, name: str, contender: Contender, times: int | None = None, python: str = sys.executable) -> Runs:
        (runs,) = self.take_turns({name: contender}, times, python)
        return runs

    def ours(self, store: str, *works: Path) -> Contender:
        """loracheck, on a new store in every turn; two that name the same store share it."""
        return lambda turn: ("ours.py", self.folder / f"{store}-{turn}.sqlite", *works)

    def measure_rates(self, model: str, path: Path, adapter: Path) -> None:
        self.page.rates[model] = self.take_one(f"rates of {model}", always("rates.py", path, adapter), times=1)

    def surface_work(self, count: int, model: Path) -> Path:
        return write_work(
            self.folder / f"{model.stem}-{count}.json",
            base=model,
            adapter=adapter_file("toolcaller"),
            cases=with_one_surface(count),
            null=False,
            max_new_tokens=NEW_TOKENS,
        )


def always(*command: object) -> Contender:
    """The same command in every turn."""
    return lambda _: command


def smollm2(bench: Bench) -> None:
    page, base, toolcaller = bench.page, required("smollm2", "toolcaller"), adapter_file("toolcaller")
    bench.measure_rates(SMOLLM2, base, toolcaller)
    work = bench.surface_work(CASES, base)
    theirs, ours, again = bench.take_turns(
        {
            f"{SMOLLM2}, sequential": always("sequential.py", work),
            f"{SMOLLM2}, loracheck": bench.ours("smollm2", work),
            f"{SMOLLM2}, loracheck once more": bench.ours("smollm2", work),
        }
    )
    page.speed(f"{SMOLLM2}, {CASES} cases, no nulls", ours.check(0), theirs, 1.6, SMOLLM2)
    page.seconds("the same check a second time", again.check(0), 0.4)
    page.row("the same, with the start of Python", seconds(again.median("process_seconds")))
    if any(run["imported_llama_cpp"] or run["checks"][0]["asked"] for run in again.figures):
        page.note("The second time, llama.cpp was imported or asked, and it should not have been.")
    outside = bench.take_one("time outside llama_decode", always("outside_decode.py", work), times=1)
    page.share(f"time outside llama_decode, {SMOLLM2}, run once", outside, 0.03)
    page.row("the part of it before the first llama_decode", seconds(outside.median("before")))
    torch_python = os.environ.get("TORCH_PYTHON")
    if torch_python and not bench.quick:
        torch = bench.take_one("PyTorch + PEFT", always("torch_peft.py", work), times=1, python=torch_python)
        page.speed(f"{SMOLLM2}, {CASES} cases; baseline: PyTorch + PEFT in float32, run once", ours.check(0), torch)
        page.memory("peak memory of the same", ours, torch)


def smollm2_f16(bench: Bench) -> None:
    model = requantized(required("smollm2", "toolcaller"), bench.folder / "f16.gguf", llama_cpp.LLAMA_FTYPE_MOSTLY_F16)
    bench.measure_rates(SMOLLM2_F16, model, adapter_file("toolcaller"))
    work = bench.surface_work(CASES, model)
    theirs, ours = bench.take_turns(
        {
            f"{SMOLLM2_F16}, sequential": always("sequential.py", work),
            f"{SMOLLM2_F16}, loracheck": bench.ours("f16", work),
        }
    )
    bench.page.speed(f"{SMOLLM2_F16}, {CASES} cases, no nulls", ours.check(0), theirs, 2.0, SMOLLM2_F16)


def qwen_smoke(bench: Bench) -> None:
    page, base = bench.page, required("qwen", "qwen-terse")
    first, second = noise_adapters("qwen-terse", bench.folder, seeds=(1, 2))
    cases = that_expect_a_call("smoke")
    what = f"{QWEN}, {len(cases)} cases"
    shared: dict[str, Any] = {"base": base, "cases": cases, "max_new_tokens": NEW_TOKENS}
    bare = write_work(bench.folder / "qwen.json", adapter=first, null=False, **shared)
    with_nulls = write_work(bench.folder / "qwen-nulls.json", adapter=first, **shared)
    new_adapter = write_work(bench.folder / "qwen-new.json", adapter=second, **shared)
    bench.measure_rates(QWEN, base, first)
    contenders = {
        f"{what}, sequential": always("sequential.py", bare),
        f"{what}, loracheck": bench.ours("qwen", bare),
    }
    if not bench.quick:
        contenders[f"{what}, loracheck with nulls, then a new adapter"] = bench.ours("nulls", with_nulls, new_adapter)
    theirs, ours, *more = bench.take_turns(contenders)
    page.speed(f"{what}, no nulls", ours.check(0), theirs, 1.25, QWEN)
    for nulls in more:
        page.speed(f"{what}, with nulls; the baseline has none", nulls.check(0), theirs, 0.7, QWEN)
        page.speed(f"{what}, a new adapter of the same shape after that", nulls.check(1), theirs, 2.3, QWEN)
    page.memory(f"peak memory, {what}", ours, theirs, 1.3)


def qwen_core(bench: Bench) -> None:
    base = required("qwen", "qwen-terse")
    (adapter,) = noise_adapters("qwen-terse", bench.folder, seeds=(1,))
    work = write_work(bench.folder / "core.json", n_ctx=2048, base=base, adapter=adapter, cases="core")
    theirs, ours = bench.take_turns(
        {
            f"{QWEN}, pack core, sequential": always("sequential.py", work),
            f"{QWEN}, pack core, loracheck": bench.ours("core", work),
        },
        times=1,
    )
    bench.page.speed(
        f"{QWEN}, pack core, with nulls and drift, which the baseline has not; run once",
        ours.check(0),
        theirs,
        1.3,
        QWEN,
    )


def demo(bench: Bench) -> None:
    bench.page.seconds("`loracheck demo`, nothing in the store", bench.take_one("demo", always("demo_cold.py")), 75)


def growth(bench: Bench) -> None:
    base = required("smollm2", "toolcaller")
    _growth(bench, {f"{count} cases": (bench.surface_work(count, base), count) for count in (8, 32, 128)}, "a case")
    lengths = {}
    for tokens in (100, 1_000, 4_000):
        work = write_work(
            bench.folder / f"tokens-{tokens}.json",
            base=base,
            adapter=adapter_file("toolcaller"),
            cases=of_length(tokens),
            prompt="raw",
            null=False,
            max_new_tokens=NEW_TOKENS,
        )
        lengths[f"8 cases of {tokens:,} prompt tokens, half of them shared"] = (work, tokens)
    _growth(bench, lengths, "a prompt token")
    _growth_by_adapters(bench, base)


def _growth(bench: Bench, works: dict[str, tuple[Path, int]], unit: str) -> None:
    """Checks that differ in size, against the first of them."""
    first = math.nan
    for what, (work, size) in works.items():
        runs = bench.take_one(what, bench.ours(work.stem, work), times=1).check(0)
        time = runs.median("seconds")
        first = time / size if math.isnan(first) else first
        relative, limit = time / size / first, runs.limit(bench.page.rates[SMOLLM2])
        bench.page.growth(what, time, relative, unit, memory=runs.median("peak_mb"), limit=limit)


def _growth_by_adapters(bench: Bench, base: Path) -> None:
    """Checks of one adapter after the other on one store, which has the base's answers from the first on."""
    cases = with_one_surface(8)
    works = [
        write_work(
            path.with_suffix(".json"), base=base, adapter=path, cases=cases, null=False, max_new_tokens=NEW_TOKENS
        )
        for path in noise_adapters("toolcaller", bench.folder, seeds=range(1, 11))
    ]
    runs = bench.take_one("10 adapters", bench.ours("adapters", *works), times=1)
    checks = [runs.check(number) for number in range(len(works))]
    times = list(accumulate(check.median("seconds") for check in checks))
    limits = list(accumulate(check.limit(bench.page.rates[SMOLLM2]) for check in checks))
    for count in (1, 2, 5, 10):
        time = times[count - 1]
        what = f"{count} adapter{'s' * (count > 1)} on one base, {len(cases)} cases"
        bench.page.growth(what, time, time / times[0] / count, "an adapter", limit=limits[count - 1])


def sweeps(bench: Bench) -> None:
    """Ten adapters on one base: as one sweep, as ten checks without a store, and by two workers."""
    base = required("smollm2", "toolcaller")
    works = [
        write_work(
            bench.folder / f"sweep-{path.stem}.json",
            base=base,
            adapter=path,
            cases=with_one_surface(8),
            max_new_tokens=NEW_TOKENS,
        )
        for path in noise_adapters("toolcaller", bench.folder, seeds=range(21, 31))
    ]
    # Two cores of this machine, however many it has: as one engine's threads, or a worker for each.
    separately, together, wide, apart = bench.take_turns(
        {
            "10 adapters, 10 checks without a store": always("sweeping.py", "separately", 0, 2, *works),
            "10 adapters, one sweep": always("sweeping.py", "here", 0, 2, *works),
            "10 adapters, one worker with two threads": always("sweeping.py", "workers", 1, 2, *works),
            "10 adapters, two workers with one thread each": always("sweeping.py", "workers", 2, 1, *works),
        },
        times=1,
    )
    page = bench.page
    page.speed("a sweep over 10 adapters on one base; baseline: 10 checks without a store", together, separately, 1.8)
    page.speed("the same by two workers with one thread; baseline: one worker with two threads", apart, wide)


def requantized(model: Path, path: Path, file_type: int) -> Path:
    capture_log()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = file_type, True
    if llama_cpp.llama_model_quantize(os.fsencode(model), os.fsencode(path), params):
        raise RuntimeError(f"llama.cpp could not requantize {model.name}")
    return path


SECTIONS = {
    "SmolLM2": smollm2,
    "Qwen": qwen_smoke,
    "F16": smollm2_f16,
    "the demo": demo,
    "growth": growth,
    "sweeps": sweeps,
    "the pack core": qwen_core,
}
"""What matters most comes first: the page is written after each of them."""
QUICK = ("SmolLM2", "Qwen")


def main() -> None:
    parser = ArgumentParser(description="Measure loracheck's speed and memory.")
    parser.add_argument("--quick", action="store_true", help="a few rows, run once, in five minutes; writes no file")
    quick = parser.parse_args().quick
    page = Page(times=1 if quick else 3, missing=[*(QUICK if quick else SECTIONS)])
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder), page, quick)
        for name in tuple(page.missing):
            try:
                SECTIONS[name](bench)
            except FileNotFoundError as missing:
                page.note(f"{name}: left out; {missing}")
            except Exception as error:
                # Whatever it was, the figures of the other sections took their time.
                traceback.print_exc()
                page.note(f"{name}: failed; {error}")
            page.missing.remove(name)
            if not quick:
                DOCUMENT.write_text(str(page), encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
