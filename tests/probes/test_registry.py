"""The registry of probe kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import loracheck
from loracheck.probes import KINDS

THIRD_KIND = """
from typing import Literal

from loracheck.probes.base import Probe
from loracheck.report.model import ProbeReport


class AlwaysWarns(Probe):
    kind: Literal["always_warns"] = "always_warns"
    threshold: float = 0.5

    def run(self, bench):
        return ProbeReport(name=self.name, kind=self.kind, verdict="warn", score=self.threshold, message="[b]as asked")
"""
USE_IT = """
from pathlib import Path

from loracheck import check, load_suite
from loracheck.report.terminal import show
from suite_factory import answering, write_files

files = write_files(Path.cwd())
Path("suite.yaml").write_text(
    "models: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf}]}}\\n"
    "suite: [{name: third, kind: always_warns, threshold: 0.25}]\\n"
)
show(check(load_suite("suite.yaml"), engine=answering()))
"""


def test_the_kinds_of_the_design_are_registered() -> None:
    assert set(KINDS) == {"null_adapter", "tool_use_fidelity"}


def test_a_third_kind_is_one_file(tmp_path: Path) -> None:
    package = tmp_path / "loracheck"
    shutil.copytree(Path(loracheck.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "probes" / "always_warns.py").write_text(THIRD_KIND, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path(__file__).parents[1])))}
    command = [sys.executable, "-W", "error", "-c", USE_IT]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "WARN  third  score 0.25\n[b]as asked\n\n"
