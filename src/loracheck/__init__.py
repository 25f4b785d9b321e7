"""Does this LoRA adapter still call tools the way its base does?

>>> from loracheck import check, load_suite
>>> report = check(load_suite("tools.yaml"))
>>> report.verdict
'pass'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loracheck.checking import check
    from loracheck.report.model import Report
    from loracheck.suite.load import load_cases, load_suite, quick_suite

__all__ = ["Report", "check", "load_cases", "load_suite", "quick_suite"]

_HOMES = {
    "Report": "loracheck.report.model",
    "check": "loracheck.checking",
    "load_cases": "loracheck.suite.load",
    "load_suite": "loracheck.suite.load",
    "quick_suite": "loracheck.suite.load",
}


def __getattr__(name: str) -> Any:
    # Imported when first used, so that `loracheck --help` need not wait for pydantic and jinja2.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
