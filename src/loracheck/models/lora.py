"""A LoRA adapter by its header alone: its tensors in pairs by llama.cpp's own rules, and whether they fit a base."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from loracheck.errors import AdapterError
from loracheck.file_kinds import MODEL
from loracheck.models.gguf_file import GgufFile, TensorInfo, read_header
from loracheck.models.identify import is_lora, is_model, what_it_is
from loracheck.models.model import split_count

_A, _B = ".lora_a", ".lora_b"
OTHER_BASE = "was it trained on another base?"


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
class LoraFile:
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
    header: GgufFile = field(repr=False)

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


def read_lora(path: Path) -> LoraFile:
    """What the header tells about a LoRA file; AdapterError when it is not one. The tensors' data is not read."""
    header = read_header(path, AdapterError)
    if not is_lora(header):
        fix = MODEL.way_for(path) if is_model(header) else "name a LoRA adapter in GGUF format"
        _fail(path, f"this is {what_it_is(header)}, not a LoRA adapter; {fix}")
    architecture = header.text("general.architecture")
    if not architecture:
        _fail(path, "general.architecture is missing; export the adapter again")
    halves, ignored = _halves(header)
    pairs = tuple(Pair(name, both[_A], both[_B]) for name, both in sorted(halves.items()) if len(both) == 2)
    for pair in pairs:
        _check_halves(path, pair)
    ignored += [half.name for pair in pairs if not pair.used for half in (pair.a, pair.b)]
    return LoraFile(
        path=path,
        size=header.size,
        architecture=architecture,
        name=header.text("general.name"),
        alpha=_alpha(header),
        tensor_count=len(header.tensors),
        pairs=pairs,
        unpaired=tuple(sorted(half.name for both in halves.values() if len(both) == 1 for half in both.values())),
        ignored=tuple(sorted(ignored)),
        alora="adapter.alora.invocation_tokens" in header.metadata,
        header=header,
    )


def _halves(header: GgufFile) -> tuple[dict[str, dict[str, TensorInfo]], list[str]]:
    """The halves that there are for each tensor of the base, and the names of tensors that llama.cpp ignores."""
    halves: dict[str, dict[str, TensorInfo]] = {}
    ignored: list[str] = []
    for tensor in header.tensors:
        suffix = next((end for end in (_A, _B) if tensor.name.endswith(end)), None)
        if suffix:
            halves.setdefault(tensor.name.removesuffix(suffix), {})[suffix] = tensor
        elif tensor.name.endswith("_norm.weight"):
            ignored.append(tensor.name)
        else:
            _fail(
                header.path,
                f"{tensor.name} is neither {_A} nor {_B}, and llama.cpp refuses it; "
                "export the adapter without fully trained modules (modules_to_save)",
            )
    return halves, ignored


def _check_halves(path: Path, pair: Pair) -> None:
    rank_of_a = pair.a.dim(0) if pair.flipped else pair.a.dim(1)
    stacks = [tuple(half.dim(index) for index in (2, 3)) for half in (pair.a, pair.b)]
    if not pair.a.nbytes or not pair.b.nbytes:
        _fail(path, f"{pair.name} is empty; export the adapter again")
    if rank_of_a != pair.rank or stacks[0] != stacks[1]:
        shapes = f"A is {spell(pair.a.dims)}, B is {spell(pair.b.dims)}"
        _fail(path, f"the halves of {pair.name} do not fit together: {shapes}; export the adapter again")


def _alpha(header: GgufFile) -> float | None:
    key = "adapter.lora.alpha"
    if key not in header.metadata:
        return None
    alpha, kind = header.metadata[key], header.kinds[key]
    # Any other kind, even a float64, makes llama.cpp abort the whole process.
    if kind != "FLOAT32" or not isinstance(alpha, float):
        _fail(header.path, f"{key} is stored as {kind}, llama.cpp needs FLOAT32; export the adapter again")
    if not math.isfinite(alpha):
        _fail(header.path, f"{key} is {alpha}; export the adapter again")
    return alpha


def check_fits(adapter: LoraFile, model: GgufFile) -> None:
    """AdapterError unless llama.cpp can apply every pair of the adapter to this base."""
    architecture = model.text("general.architecture")
    if adapter.architecture != architecture:
        sides = f"the adapter is for {adapter.architecture}, the base {model.path.name} is {architecture}"
        _fail(adapter.path, f"{sides}; {OTHER_BASE}")
    if adapter.unpaired:
        half = adapter.unpaired[0]
        _fail(adapter.path, f"{half} is only half of a pair, and llama.cpp refuses it; export the adapter again")
    tensors = {tensor.name: tensor for tensor in model.tensors}
    # The other parts of a split model may well have what this one has not.
    whole = split_count(model) == 1
    for pair in adapter.pairs:
        _check_types(adapter.path, pair)
        if pair.name in tensors:
            _check_dims(adapter.path, pair, tensors[pair.name])
        elif whole:
            _fail(adapter.path, _why_missing(pair.name))
        if pair.flipped and "output.weight" not in tensors and whole:
            # llama.cpp uses the one tensor for input and output, multiplies the input's A by the
            # output's vector, and aborts the process on their shapes.
            _fail(
                adapter.path,
                f"{pair.name} cannot be adapted on this base, whose output layer is the same "
                "tensor: llama.cpp would abort; train the adapter without embed_tokens",
            )


def _check_types(path: Path, pair: Pair) -> None:
    for half in (pair.a, pair.b):
        # Of the types that can be read here, the one that llama.cpp has no kernel for: it would crash.
        if half.type == "F64":
            _fail(path, f"{half.name} is stored as F64, which llama.cpp cannot use; export it as F16 or F32")


def _check_dims(path: Path, pair: Pair, base: TensorInfo) -> None:
    # Dims 2 and 3 count experts. llama.cpp does not compare those, and then reads past the end.
    needed = tuple(base.dim(index) for index in range(4))
    if pair.dims != needed:
        _fail(path, f"{pair.name} is {spell(pair.dims)}, the base needs {spell(needed)}; {OTHER_BASE}")


def _why_missing(name: str) -> str:
    if name == "output.weight":
        return "the base has no output.weight, its output layer is token_embd.weight; train the adapter without lm_head"
    return f"the base has no {name}; {OTHER_BASE}"


def spell(dims: tuple[int, ...]) -> str:
    """Dims as people write them: 576x1536, without the ones that ggml adds at the end."""
    shown = list(dims)
    while len(shown) > 2 and shown[-1] == 1:
        shown.pop()
    return "x".join(map(str, shown))


def _fail(path: Path, what: str) -> NoReturn:
    raise AdapterError(f"{path}: {what}")
