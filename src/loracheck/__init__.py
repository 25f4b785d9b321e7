"""Does this LoRA adapter still call tools the way its base does?

>>> import loracheck
>>> report = loracheck.check(base="model.gguf", adapter="mine.gguf@0.5", cases="smoke")
>>> report.passed, report.verdict, report.score
>>> report.save("out.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loracheck.api import Located as Located
    from loracheck.api import Report as Report
    from loracheck.api import Sweep as Sweep
    from loracheck.api import check as check
    from loracheck.api import diff as diff
    from loracheck.api import locate as locate
    from loracheck.api import read_report as read_report
    from loracheck.api import read_sweep as read_sweep
    from loracheck.api import sweep as sweep
    from loracheck.cases.load import load_cases as load_cases
    from loracheck.engine.fake import FakeEngine as FakeEngine
    from loracheck.errors import *  # noqa: F403
    from loracheck.suites import load_suite as load_suite

_ERRORS = ("Loracheck", "Input", "Suite", "Cases", "Model", "Adapter", "Report", "Engine", "NoEffect")
_HOMES = {
    **dict.fromkeys(
        ("Located", "Report", "Sweep", "check", "diff", "locate", "read_report", "read_sweep", "sweep"), "loracheck.api"
    ),
    "load_cases": "loracheck.cases.load",
    "load_suite": "loracheck.suites",
    "FakeEngine": "loracheck.engine.fake",
    **dict.fromkeys((f"{kind}Error" for kind in _ERRORS), "loracheck.errors"),
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    # Imported when first used, so that `import loracheck` and `loracheck --help` need not wait for pydantic.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
