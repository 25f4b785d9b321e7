"""What a LoRA adapter file holds, and how large the change is that it makes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.adapters.gguf_file import read_header
from loracheck.adapters.identify import is_lora, is_model, what_it_is
from loracheck.adapters.pairs import collect_pairs
from loracheck.errors import AdapterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from loracheck.adapters.gguf_file import GgufFile
    from loracheck.adapters.pairs import Pair


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    path: Path
    size: int
    architecture: str
    name: str | None
    alpha: float | None
    """None when the file does not say: llama.cpp then scales by 1, as it does for 0."""
    tensor_count: int
    pairs: tuple[Pair, ...]
    """Sorted by the name of the base tensor they change."""
    unpaired: tuple[str, ...]
    """Halves without their other half. llama.cpp refuses such a file."""
    ignored: tuple[str, ...]
    """Tensors that llama.cpp reads past without a word, and pairs that it loads and never uses."""
    alora: bool
    """An activated LoRA, meant to be switched on only after certain tokens."""
    pair_norms: Mapping[str, float | None]
    """The Frobenius norm of each pair's scaled update; None where it is not finite."""
    update_norm: float | None
    """The same over all pairs that llama.cpp uses."""
    max_abs: float | None
    """The largest number in any A or B; None where one is not finite, or there is none."""
    non_finite: tuple[str, ...]
    zero_pairs: tuple[str, ...]
    """Pairs that change nothing because their A or their B is all zeros."""

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({pair.rank for pair in self.pairs}))

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(sorted({half.type for pair in self.pairs for half in (pair.a, pair.b)}))

    @property
    def targets(self) -> dict[str, int]:
        """In how many layers each module, such as attn_q, is changed."""
        return dict(sorted(Counter(pair.module for pair in self.pairs).items()))


def read_adapter(path: Path) -> AdapterInfo:
    """Everything there is to know about a LoRA file; AdapterError when it is not one."""
    # Only files that are read in full need numpy.
    from loracheck.adapters.norms import measure

    header = read_lora_header(path)
    found = collect_pairs(header)
    alpha = lora_alpha(header)
    measures = {pair.name: measure(header, pair, alpha) for pair in found.pairs}
    norms = {name: measured.norm for name, measured in measures.items()}
    used = [norms[pair.name] for pair in found.pairs if pair.used]
    peaks = [measured.max_abs for measured in measures.values()]
    return AdapterInfo(
        path=path,
        size=header.size,
        architecture=header.text("general.architecture") or "",
        name=header.text("general.name"),
        alpha=alpha,
        tensor_count=len(header.tensors),
        pairs=found.pairs,
        unpaired=found.unpaired,
        ignored=found.ignored,
        alora="adapter.alora.invocation_tokens" in header.metadata,
        pair_norms=norms,
        update_norm=_total(used),
        max_abs=_largest(peaks),
        non_finite=tuple(name for each in measures.values() for name in each.non_finite),
        zero_pairs=tuple(name for name, measured in measures.items() if measured.is_zero),
    )


def read_lora_header(path: Path) -> GgufFile:
    """The header of a file that is a LoRA adapter by its own account."""
    header = read_header(path, AdapterError)
    if not is_lora(header):
        fix = "give it as --base" if is_model(header) else "name a LoRA adapter in GGUF format"
        raise AdapterError(f"{path}: this is {what_it_is(header)}, not a LoRA adapter; {fix}")
    if not header.text("general.architecture"):
        raise AdapterError(f"{path}: general.architecture is missing; export the adapter again")
    return header


def lora_alpha(header: GgufFile) -> float | None:
    key = "adapter.lora.alpha"
    if key not in header.metadata:
        return None
    alpha = header.metadata[key]
    # Any other kind, even a float64, makes llama.cpp abort the whole process.
    if header.kinds[key] != "FLOAT32" or not isinstance(alpha, float):
        raise AdapterError(
            f"{header.path}: {key} is stored as {header.kinds[key]}, llama.cpp needs FLOAT32; export the adapter again"
        )
    if not math.isfinite(alpha):
        raise AdapterError(f"{header.path}: {key} is {alpha}; export the adapter again")
    return alpha


def _total(norms: list[float | None]) -> float | None:
    finite = [norm for norm in norms if norm is not None]
    return math.hypot(*finite) if len(finite) == len(norms) else None


def _largest(peaks: list[float | None]) -> float | None:
    finite = [peak for peak in peaks if peak is not None]
    return max(finite, default=None) if len(finite) == len(peaks) else None
