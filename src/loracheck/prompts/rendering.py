"""Chat templates in a process of their own: a stranger's program may never end, or never have enough memory."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from threading import Thread
from typing import Any

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.processes import serving
from loracheck.prompts.chat import WAY_OUT, Asked, render_chat
from loracheck.prompts.facts import Facts, examine

# An ordinary prompt takes a few milliseconds, and the child a tenth of a second to start.
SECONDS = 10.0
SECONDS_A_PROMPT = 0.02
MEMORY = 2**29
# All prompts together.
MAX_LETTERS = 256_000_000
_GLANCE_SECONDS = 0.25
_TOO_MUCH_MEMORY = f"the model's chat template needs more than {MEMORY // 2**20} MB of memory; {WAY_OUT}"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What came of a chat template."""

    prompts: list[str]
    facts: Facts


def render_apart(template: ChatTemplate, asked: Sequence[Asked], *, no_thinking: bool = False) -> Rendered:
    """`examine`, and `render_chat` for all that is asked, in a child process with limits on time, memory and output."""
    seconds = SECONDS + SECONDS_A_PROMPT * len(asked)
    with subprocess.Popen(  # noqa: S603 - ourselves
        serving("loracheck.prompts.rendering", seconds),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The terminal's Ctrl-C is for us.
        start_new_session=True,
    ) as child:
        try:
            _send(child, pickle.dumps((template, asked, no_thinking)))
            replies, complaint = _listen(child, seconds)
        finally:
            child.kill()
    if child.returncode:
        raise ModelError(f"the model's chat template {_ended(child.returncode, complaint)}; {WAY_OUT}")
    # Not pickles: a template that broke out of its sandbox could have written them.
    lines = [json.loads(line) for line in replies.splitlines()]
    if "error" in lines[-1]:
        raise ModelError(lines[-1]["error"])
    return Rendered([line["prompt"] for line in lines[1:]], Facts.from_json(lines[0]["facts"]))


def _send(child: subprocess.Popen[bytes], request: bytes) -> None:
    """Write the request beside listening: it is longer than a pipe holds, and the child takes its time to start.

    `communicate` would do that too, but it forgets what is left to write once its timeout has passed.
    """
    pipe, child.stdin = child.stdin, None
    assert pipe is not None

    def write() -> None:
        # A child that has ended does not read on.
        with contextlib.suppress(OSError), pipe:
            pipe.write(request)

    Thread(target=write, daemon=True).start()


def _listen(child: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    limit = time.monotonic() + seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=_GLANCE_SECONDS)
        if time.monotonic() > limit:
            raise ModelError(f"the model's chat template took longer than {seconds:.0f} s; {WAY_OUT}")
        if sys.platform == "darwin" and _resident_bytes(child.pid) > MEMORY:
            raise ModelError(_TOO_MUCH_MEMORY)


def _resident_bytes(pid: int) -> int:
    """What a process has in memory. For macOS, which does not hold a process to its limit."""
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False)  # noqa: S603, S607
    return int(said.stdout or 0) * 1024


def _ended(code: int, complaint: bytes) -> str:
    words = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f"ended its process with code {code}" + (f" ({words[:200]})" if words else "")


def serve(seconds: float) -> None:
    """The child: one request from standard input, a line of JSON for the facts and for each prompt, or for an error."""
    template, asked, no_thinking = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    _limit(seconds)
    letters = 0
    try:
        template, facts = examine(template, no_thinking=no_thinking)
        _reply(facts=asdict(facts))
        for messages, tools in asked:
            prompt = render_chat(template, messages, tools, facts.shows_tools)
            letters += len(prompt)
            if letters > MAX_LETTERS:
                raise ModelError(f"the model's chat template writes more than {MAX_LETTERS:,} characters; {WAY_OUT}")
            _reply(prompt=prompt)
    except ModelError as error:
        _reply(error=str(error))
    except MemoryError:
        _reply(error=_TOO_MUCH_MEMORY)
    sys.stdout.flush()
    # Tidying up after a template may take as long as the template.
    os._exit(0)


def _reply(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def _limit(seconds: float) -> None:
    """Where the system can: no more memory than this, and no going on for ever once the parent is gone."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CPU, int(seconds) + 1), (resource.RLIMIT_AS, MEMORY)):
        # A limit that is there already, and lower, is as good.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
