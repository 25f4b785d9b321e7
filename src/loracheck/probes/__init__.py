"""The kinds of probe a suite may hold. A new kind is one new file here with one `Probe` class in it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from loracheck.probes.base import Probe

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

KINDS: dict[str, type[Probe]] = {str(probe.model_fields["kind"].default): probe for probe in Probe.__subclasses__()}
