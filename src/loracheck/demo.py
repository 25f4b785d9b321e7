"""The main job on what ships with loracheck: SmolLM2 and three trained adapters, one good, two broken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loracheck.suite.load import load_pack, quick_suite
from loracheck.suite.suite import AdapterEntry

if TYPE_CHECKING:
    from loracheck.suite.suite import Suite


@dataclass(frozen=True, slots=True)
class DemoAdapter:
    name: str
    story: str
    on_top_of: str | None = None
    """The adapter that belongs to its base, if any."""

    def suite(self, base_model: Path) -> Suite:
        """What `loracheck check` would run for it on the held-out cases."""
        base_adapters = [] if self.on_top_of is None else [AdapterEntry(gguf=adapter_file(self.on_top_of))]
        return quick_suite(base_model, [AdapterEntry(gguf=adapter_file(self.name))], base_adapters, load_pack("demo"))


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        DemoAdapter("toolcaller", "teaches SmolLM2 to answer with one JSON call"),
        DemoAdapter("renamer", "fine-tuned on top of toolcaller; it invents tool names", "toolcaller"),
        DemoAdapter("chatty", "fine-tuned on top of toolcaller; it would rather talk", "toolcaller"),
    )
}


def adapter_file(name: str) -> Path:
    """The adapter inside the installed package, or in the models/ folder of a checkout."""
    installed = Path(__file__).parent / "models" / f"{name}.gguf"
    return installed if installed.is_file() else Path(__file__).parents[2] / "models" / f"{name}.gguf"
