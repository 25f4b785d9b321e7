"""What is made sure of before any case is asked, and after the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.adapters import sha256_of
from loracheck.adapters.peft import converted, is_peft_folder
from loracheck.errors import CasesError, EngineError, InputError, NoEffectError
from loracheck.probes.tool_use_fidelity import ToolUseFidelityProbe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loracheck.adapters import AdapterInfo
    from loracheck.engine import Engine, View
    from loracheck.store import Store
    from loracheck.suite.suite import Suite

# Read by both views before any case is answered, to see whether the adapter computes anything at all.
EFFECT_TEXT = "Call the tool search_web to find the capital of France."


def with_converted_adapters(suite: Suite) -> Suite:
    """The suite with a GGUF file in the place of every PEFT folder."""
    base = suite.models.base.gguf
    return suite.with_adapter_files(lambda path: converted(path, base) if is_peft_folder(path) else path)


def confirm_schemas(suite: Suite) -> None:
    """With strict schemas, none of them may itself be invalid."""
    if suite.defaults.schema_rules == "strict":
        # It brings a library that nobody needs otherwise.
        from loracheck.suite.schemas import find_bad_schema

        for probe in suite.suite:
            complaint = find_bad_schema(probe.cases) if isinstance(probe, ToolUseFidelityProbe) else None
            if complaint is not None:
                raise CasesError(f"{probe.name}: {complaint}")


def confirm_effect(engine: Engine, base: View, ft: View, adapters: Sequence[AdapterInfo]) -> None:
    """An adapter that computes nothing is a common accident, and would pass every comparison with its base."""
    prints = []
    for view in (base, ft):
        found = engine.fingerprint(view, EFFECT_TEXT)
        if not found.finite:
            culprits = [name for adapter in adapters for name in adapter.non_finite]
            why = f"; NaN or infinity in {', '.join(culprits[:3])}" if culprits else ""
            raise EngineError(f"the {view.name} view computes numbers that are not finite{why}")
        prints.append(found.digest)
    if prints[0] == prints[1]:
        tried = "\n".join(
            f"  {adapter.path} at scale {use.scale:g}: {len(adapter.pairs)} tensor pairs matched, "
            f"norm of the update {_norm(adapter)}, {len(adapter.zero_pairs)} pairs all zero, "
            f"{len(adapter.ignored)} tensors ignored by llama.cpp"
            for adapter, use in zip(adapters, ft.adapters, strict=True)
        )
        raise NoEffectError(
            "the adapter has no effect: both views compute bitwise equal logits. Tried:\n"
            f"{tried}\n"
            "Was it exported before training, or trained on modules that llama.cpp does not adapt?"
        )


def confirm_unchanged(store: Store) -> None:
    """A verdict on a file that was written while it was used would be about no file at all."""
    for path in store.changed_files():
        if not path.is_file() or sha256_of(path) != store.sha256_of(path):
            raise InputError(f"{path}: the file changed while it was being checked; run the command again")


def warnings_about(adapters: Iterable[AdapterInfo]) -> Iterable[str]:
    for adapter in adapters:
        if adapter.ignored:
            yield (
                f"{adapter.path}: llama.cpp ignores {len(adapter.ignored)} of its tensors: "
                f"{', '.join(adapter.ignored[:4])}{' …' if len(adapter.ignored) > 4 else ''}"
            )
        if adapter.alora:
            yield f"{adapter.path}: an activated LoRA; it is applied to every token here"


def _norm(adapter: AdapterInfo) -> str:
    return "not finite" if adapter.update_norm is None else f"{adapter.update_norm:.3g}"
