"""loracheck as it is used: checks one after the other, each with an engine of its own. Usage: STORE WORK..."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from contender import peak_mb, read_work, tell
from limit import Listener

from loracheck.cases.suite import Suite
from loracheck.checking import check
from loracheck.engine import Engine
from loracheck.engine.child import ChildEngine
from loracheck.plan import engine_settings
from loracheck.probes import suite_type
from loracheck.store import Store


def main() -> None:
    store_path, *works = sys.argv[1:]
    suites = [suite_type().model_validate(read_work(work).suite) for work in works]
    checks = [checked(suite, ChildEngine(engine_settings(suite.defaults)), Path(store_path)) for suite in suites]
    # llama.cpp runs in a child, so the memory of both counts.
    child_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    memory = peak_mb() + child_mb
    imported = "llama_cpp" in sys.modules
    tell(
        peak_mb=memory,
        imported_llama_cpp=imported,
        checks=[
            {"seconds": seconds, "needed": listener.needed(suite.models.base.gguf), "asked": len(listener.heard)}
            for suite, (seconds, listener) in zip(suites, checks, strict=True)
        ],
    )


def checked(suite: Suite, engine: Engine, store_path: Path) -> tuple[float, Listener]:
    """How long a check took, and what it asked."""
    listener = Listener(engine)
    began = time.perf_counter()
    try:
        with Store(store_path) as store:
            check(suite, engine=listener, store=store)
    finally:
        listener.close()
    return time.perf_counter() - began, listener


if __name__ == "__main__":
    main()
