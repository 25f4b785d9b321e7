"""The kinds of probe a suite may hold: a new one is a new file, and one line below."""

from __future__ import annotations

from typing import Any

from loracheck.cases.suite import Suite, suite_of_kinds
from loracheck.probes.null_adapter import NullAdapterProbe
from loracheck.probes.probe import Probe, Words
from loracheck.probes.tool_use_fidelity import ToolUseProbe

_ALL: tuple[Probe[Any], ...] = (
    NullAdapterProbe(),
    ToolUseProbe(),
)

KINDS: dict[str, Probe[Any]] = {probe.kind: probe for probe in _ALL}


def suite_type() -> type[Suite]:
    """The suite file with entries of every kind there is."""
    return suite_of_kinds({kind: probe.entry for kind, probe in KINDS.items()})


def words_of(kind: str) -> Words:
    """How to read a report of this kind; one that is not known here has its message and no more."""
    return KINDS.get(kind) or Words()
