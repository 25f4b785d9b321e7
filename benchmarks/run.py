"""`make bench`: loracheck against what people use today, every figure a ratio to a baseline measured in the same run.

TORCH_PYTHON names a Python that has torch, transformers, peft and gguf; without it that row is left out. The table goes
to standard output and to docs/benchmark.md.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import ADAPTER, BASE
from loracheck.cases.suite import default_threads
from loracheck.engine.identity import llama_cpp_version
from loracheck.engine.native import capture_log, llama_cpp
from loracheck.scoring import score_recorded

HERE = Path(__file__).parent
CASES = 32
Figures = dict[str, float]


def contender(script: str, *arguments: object, python: str = sys.executable) -> Figures:
    """One contender in a process of its own, so that nobody inherits memory or warm caches."""
    print(f"  {script} {' '.join(map(str, arguments[1:]))}", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent / 'src'}:{HERE}", "TOKENIZERS_PARALLELISM": "false"}
    # Ours to set for ourselves only: see engine/native.py.
    environment.pop("GOMP_SPINCOUNT", None)
    done = subprocess.run(
        [python, str(HERE / script), *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{script} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def quantized(folder: Path, name: str, number: int) -> Path:
    capture_log()
    path = folder / f"{name}.gguf"
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = number, True
    if llama_cpp.llama_model_quantize(str(BASE).encode(), str(path).encode(), params):
        raise SystemExit(f"could not make {name}")
    return path


def scoring_seconds(cases: int) -> float:
    case = {"prompt": "p", "tool_spec": {"name": "t", "parameters": {"required": ["q"]}}, "gold_tool_name": "t"}
    answer = 'Sure! {"name": "t", "arguments": {"q": "cats and dogs", "n": [1, 2, 3]}}'
    line = {"cases": [case] * cases, "base_outputs": [answer] * cases, "ft_outputs": [answer] * cases}
    began = time.perf_counter()
    score_recorded(line)
    return time.perf_counter() - began


def machine() -> str:
    name = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    return f"{name}, {os.cpu_count()} cores, {platform.system()}; {default_threads()} threads"


def main() -> None:
    rows: list[tuple[str, str, str, str]] = []

    def row(what: str, ours: str, baseline: str, ratio: str) -> None:
        rows.append((what, ours, baseline, ratio))
        print(f"{what}: {ours} | {baseline} | {ratio}", file=sys.stderr, flush=True)

    def compare(what: str, ours: Figures, theirs: Figures) -> None:
        ratio = theirs["seconds"] / ours["seconds"]
        row(what, f"{ours['seconds']:.1f} s", f"{theirs['seconds']:.1f} s", f"{ratio:.2f}x faster")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = {"Q4_1": BASE, "Q8_0": quantized(folder, "Q8_0", 7), "F16": quantized(folder, "F16", 1)}
        for quantization, model in models.items():
            theirs = contender("sequential.py", model, CASES)
            cold = contender("ours.py", model, CASES, "cold")
            compare(f"cold store, {quantization}, against sequential llama-cpp-python", cold, theirs)
            if quantization == "Q4_1":
                everyday = contender("ours.py", model, CASES, "everyday")
                compare("a new adapter after a first check, Q4_1, against the same", everyday, theirs)
                outside = cold["outside_decode"]
                row("time outside llama_decode, Q4_1", f"{outside:.1%}", "of the run", "")
                torch_python = os.environ.get("TORCH_PYTHON")
                if torch_python:
                    torch = contender("torch_peft.py", model, CASES, python=torch_python)
                    compare("cold store, Q4_1, against PyTorch + PEFT in float32", cold, torch)
                    share = cold["peak_mb"] / torch["peak_mb"]
                    row("peak memory", f"{cold['peak_mb']:.0f} MB", f"{torch['peak_mb']:.0f} MB", f"{share:.2f} of it")
        first: Figures | None = None
        for count in (8, 32, 128):
            figures = contender("ours.py", BASE, count, "cold")
            first = first or figures
            growth = (figures["seconds"] / count) / (first["seconds"] / 8)
            row(
                f"growth, Q4_1, {count} cases",
                f"{figures['seconds']:.1f} s, {figures['peak_mb']:.0f} MB",
                "8 cases",
                f"{growth:.2f} of its time a case, {figures['peak_mb'] / first['peak_mb']:.2f} of its memory",
            )
    row("scoring 10,000 recorded cases", f"{scoring_seconds(10_000):.2f} s", "limit 2 s", "")
    table = "\n".join(
        [
            "# Benchmark",
            "",
            "Written by `make bench`. Every ratio is against a baseline measured in the same run.",
            "",
            f"Machine: {machine()}. llama-cpp-python {llama_cpp_version()}. {CASES} cases that share a surface of 6 "
            f"tools, base and adapter view ({ADAPTER.name}), 64 new tokens at most, loading included.",
            "",
            "| what | loracheck | baseline | ratio |",
            "| --- | --- | --- | --- |",
            *(f"| {' | '.join(cells)} |" for cells in rows),
            "",
        ]
    )
    print(table)
    (HERE.parent / "docs" / "benchmark.md").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
