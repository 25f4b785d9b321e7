"""An adapter's tensors sorted into pairs by llama.cpp's own rules (its llama-adapter.cpp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.errors import AdapterError

if TYPE_CHECKING:
    from loracheck.adapters.gguf_file import GgufFile, TensorInfo

_A, _B = ".lora_a", ".lora_b"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two halves that change one tensor of the base: W + scale * B @ A."""

    name: str
    """The base tensor's name, such as blk.0.attn_q.weight."""
    a: TensorInfo
    b: TensorInfo

    @property
    def flipped(self) -> bool:
        """Token embeddings are looked up by row, so their A is stored the other way round."""
        return self.name.endswith("token_embd.weight")

    @property
    def rank(self) -> int:
        return self.b.dim(0)

    @property
    def dims(self) -> tuple[int, ...]:
        """The dims, in ggml's order, that the base tensor must have."""
        rest = tuple(self.b.dim(index) for index in (2, 3))
        ends = (self.b.dim(1), self.a.dim(1)) if self.flipped else (self.a.dim(0), self.b.dim(1))
        return (*ends, *rest)

    @property
    def used(self) -> bool:
        """Whether llama.cpp ever multiplies by it: norms and biases have no place for an update."""
        return self.name.endswith(".weight") and not self.name.endswith("_norm.weight")

    @property
    def module(self) -> str:
        """The short name without layer and suffix: attn_q, ffn_down, token_embd."""
        parts = self.name.removesuffix(".weight").split(".")
        return ".".join(parts[2:] if parts[0] == "blk" and len(parts) > 2 else parts)


@dataclass(frozen=True, slots=True)
class Tensors:
    pairs: tuple[Pair, ...]
    unpaired: tuple[str, ...]
    ignored: tuple[str, ...]


def collect_pairs(header: GgufFile) -> Tensors:
    halves: dict[str, dict[str, TensorInfo]] = {}
    ignored: list[str] = []
    for tensor in header.tensors:
        suffix = next((end for end in (_A, _B) if tensor.name.endswith(end)), None)
        if suffix:
            halves.setdefault(tensor.name.removesuffix(suffix), {})[suffix] = tensor
        elif tensor.name.endswith("_norm.weight"):
            ignored.append(tensor.name)
        else:
            raise AdapterError(
                f"{header.path}: {tensor.name} is neither {_A} nor {_B}, and llama.cpp refuses it; "
                "export the adapter without fully trained modules (modules_to_save)"
            )
    pairs = tuple(Pair(name, half[_A], half[_B]) for name, half in sorted(halves.items()) if len(half) == 2)
    for pair in pairs:
        _check_halves(header, pair)
        if not pair.used:
            ignored += [pair.a.name, pair.b.name]
    unpaired = [half.name for both in halves.values() if len(both) == 1 for half in both.values()]
    return Tensors(pairs, tuple(sorted(unpaired)), tuple(sorted(ignored)))


def _check_halves(header: GgufFile, pair: Pair) -> None:
    rank_of_a = pair.a.dim(0) if pair.flipped else pair.a.dim(1)
    stacks = [tuple(half.dim(index) for index in (2, 3)) for half in (pair.a, pair.b)]
    if not pair.a.nbytes or not pair.b.nbytes:
        raise AdapterError(f"{header.path}: {pair.name} is empty; export the adapter again")
    if rank_of_a != pair.rank or stacks[0] != stacks[1]:
        raise AdapterError(
            f"{header.path}: the halves of {pair.name} do not fit together: "
            f"A is {spell(pair.a.dims)}, B is {spell(pair.b.dims)}; export the adapter again"
        )


def spell(dims: tuple[int, ...]) -> str:
    """Dims as people write them: 576x1536, without the ones that ggml adds at the end."""
    shown = list(dims)
    while len(shown) > 2 and shown[-1] == 1:
        shown.pop()
    return "x".join(map(str, shown))
