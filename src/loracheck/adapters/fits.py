"""Whether an adapter fits a base: llama.cpp's own checks, with an answer a user can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from loracheck.adapters.model import parts_of
from loracheck.adapters.pairs import spell
from loracheck.errors import AdapterError

if TYPE_CHECKING:
    from loracheck.adapters.gguf_file import GgufFile, TensorInfo
    from loracheck.adapters.lora import AdapterInfo
    from loracheck.adapters.pairs import Pair

OTHER_BASE = "was it trained on another base?"


def check_fits(adapter: AdapterInfo, model: GgufFile) -> None:
    """AdapterError unless llama.cpp can apply every pair of the adapter to this base."""
    architecture = model.text("general.architecture")
    if adapter.architecture != architecture:
        _fail(
            adapter,
            f"the adapter is for {adapter.architecture}, the base {model.path.name} is {architecture}; {OTHER_BASE}",
        )
    if adapter.unpaired:
        _fail(
            adapter,
            f"{adapter.unpaired[0]} is only half of a pair, and llama.cpp refuses it; export the adapter again",
        )
    tensors = {tensor.name: tensor for tensor in model.tensors}
    for pair in adapter.pairs:
        _check_types(adapter, pair)
        if pair.name in tensors:
            _check_pair(adapter, pair, tensors[pair.name])
        elif parts_of(model) == 1:
            # The other parts of a split model may well have it.
            _fail(adapter, _why_missing(pair.name))
        if pair.flipped and "output.weight" not in tensors and parts_of(model) == 1:
            # llama.cpp uses the one tensor for input and output, multiplies the input's A by the
            # output's vector, and aborts the process on their shapes.
            _fail(
                adapter,
                f"{pair.name} cannot be adapted on this base, whose output layer is the same "
                "tensor: llama.cpp would abort; train the adapter without embed_tokens",
            )


def _check_pair(adapter: AdapterInfo, pair: Pair, base: TensorInfo) -> None:
    # Dims 2 and 3 count experts. llama.cpp does not compare those, and then reads past the end.
    needed = tuple(base.dim(index) for index in range(4))
    if pair.dims != needed:
        _fail(
            adapter,
            f"{pair.name} is {spell(pair.dims)}, the base needs {spell(needed)}; {OTHER_BASE}",
        )


def _check_types(adapter: AdapterInfo, pair: Pair) -> None:
    for half in (pair.a, pair.b):
        # Of the types that can be read here, the one that llama.cpp has no kernel for: it would crash.
        if half.type == "F64":
            _fail(adapter, f"{half.name} is stored as F64, which llama.cpp cannot use; export it as F16 or F32")


def _why_missing(name: str) -> str:
    if name == "output.weight":
        return "the base has no output.weight, its output layer is token_embd.weight; train the adapter without lm_head"
    return f"the base has no {name}; {OTHER_BASE}"


def _fail(adapter: AdapterInfo, what: str) -> NoReturn:
    raise AdapterError(f"{adapter.path}: {what}")
