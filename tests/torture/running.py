"""The command line in processes of its own, each in a folder with a cache and a place for temporary files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

TESTS = Path(__file__).parents[1]
VERDICTS, REFUSALS = (0, 1), (2, 3, 4)

# Where others use the cores as well, threads that wait for each other cost more than they bring.
ALONE = ("--threads", "1")


@dataclass(frozen=True, slots=True)
class Tried:
    how: str
    """How it ended, in a word or two, to be counted."""
    lost: str | None = None
    """What went wrong."""


@dataclass(frozen=True, slots=True)
class Done:
    code: int | None
    """None where it had to be stopped."""
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """Why no user should ever see such an end; None when it is a verdict, or a refusal with a message."""
        if self.code is None:
            return "it hung"
        if "Traceback" in self.out + self.err:
            return f"a traceback, exit code {self.code}: {self.err[-600:]}"
        if self.code not in (*VERDICTS, *REFUSALS):
            return f"exit code {self.code}: {self.err[-600:]}"
        if self.code in REFUSALS and "Error: " not in self.err:
            return f"exit code {self.code} without a message: {self.err[-600:]}"
        return None

    @property
    def how(self) -> str:
        return {None: "hung", 0: "pass", 1: "fail"}.get(self.code, f"exit {self.code}")


def folder(path: Path) -> Path:
    """A new place to run in."""
    for name in ("cache", "tmp"):
        (path / name).mkdir(parents=True)
    return path


def start(place: Path, *args: str | Path, fake: bool = False, env: Any = None, **how: Any) -> subprocess.Popen[str]:
    """`fake` has canned answers in llama.cpp's place."""
    module = "torture.fake_cli" if fake else "loracheck"
    own = {"LORACHECK_CACHE": str(place / "cache"), "TMPDIR": str(place / "tmp"), "PYTHONPATH": str(TESTS)}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, args)],
        text=True,
        errors="replace",
        cwd=place,
        env={**os.environ, **own, **(env or {})},
        **{**streams, **how},
    )


def finish(process: subprocess.Popen[str], seconds: float = 180) -> Done:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Done(None, out or "", err or "")
    return Done(process.returncode, out or "", err or "")


def loracheck(place: Path, *args: str | Path, **how: Any) -> Done:
    return finish(start(place, *args, **how))


def findings(report: Path, *, but: Iterable[str] = ("timing",)) -> dict[str, Any]:
    """A report without what may differ from run to run."""
    found: dict[str, Any] = json.loads(report.read_text())
    return {key: value for key, value in found.items() if key not in but}


def write_cases(path: Path, count: int) -> Path:
    tool = {"name": "say", "parameters": {"type": "object", "properties": {"word": {"type": "string"}}}}
    lines = ({"id": f"c{n}", "prompt": f"Say a word of {n} letters.", "tool_spec": tool} for n in range(1, count + 1))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def leftovers(place: Path, seconds: float = 2.0) -> str | None:
    """Processes and temporary files that outlive the run in `place`; they get a moment to go."""
    until = time.monotonic() + seconds
    while True:
        alive, files = workers(place), list((place / "tmp").iterdir())
        if not alive and not files:
            return None
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    left = [file.relative_to(place / "tmp").as_posix() for file in (place / "tmp").rglob("*")]
    return f"left behind: {len(alive)} processes, {left}"


def memory_of(pids: Iterable[int]) -> int:
    """Their resident memory in kB; 0 when they are gone."""
    return sum(int(_ps("rss=", "-p", str(pid)).strip() or 0) for pid in pids)


def workers(place: Path) -> list[int]:
    """Those of the run in `place`: a worker's command names the folder for its temporary files."""
    lines = (line.split(maxsplit=1) for line in _ps("pid=,args=", "-A", "-ww").splitlines())
    return [int(line[0]) for line in lines if len(line) == 2 and "worker.serve" in line[1] and str(place) in line[1]]


def _ps(columns: str, *args: str) -> str:
    return subprocess.run(["ps", "-o", columns, *args], capture_output=True, text=True, errors="replace").stdout
