"""Files that should be GGUF and are not, are damaged, or do not fit each other."""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cli.messages.rows import Row, file
from loracheck.models import measure
from models.damaged_gguf import DAMAGED, gguf, string, tensor
from models.factory import lora_tensors, model_tensors, write_adapter, write_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.messages.rows import Prepare, World

INSPECT = "inspect x.gguf"
CHECK = "check -q --no-null --base base.gguf --adapter x.gguf"
CHECK_BASE = "check -q --no-null --base x.gguf --adapter adapter.gguf"
MODULE = "blk.0.attn_q.weight"


def adapter(changes: dict[str, np.ndarray | None] | None = None, **settings: Any) -> Prepare:
    """x.gguf; tensors that are None are taken out."""
    tensors = {**lora_tensors(), **(changes or {})}
    kept = {name: array for name, array in tensors.items() if array is not None}
    return lambda world: write_adapter(world.folder / "x.gguf", kept, **settings)


def embedding(world: World) -> None:
    """An adapter of the embedding, which is the output layer as well in this base."""
    halves = {"lora_a": np.ones((100, 4), np.float32), "lora_b": np.ones((64, 4), np.float32)}
    tensors = {f"token_embd.weight.{half}": array for half, array in halves.items()}
    write_adapter(world.folder / "x.gguf", tensors)


def pipe(world: World) -> None:
    os.mkfifo(world.folder / "x.gguf")


def not_ours(world: World) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    world.patch.setattr("loracheck.models.gguf_file.mmap.mmap", refuse)


def numbers(opened: Callable[[], object]) -> Prepare:
    """What opening a file for the numbers of a tensor comes to."""

    class Opened(type(Path())):  # type: ignore[misc]
        def open(self, *_: object, **__: object) -> object:
            return opened()

    def prepare(world: World) -> None:
        read = measure.read_stored
        world.patch.setattr(measure, "read_stored", lambda path, *more: read(Opened(path), *more))

    return prepare


def broken_disk() -> None:
    raise OSError(5, "Input/output error")


def quantized_as_nobody_reads(world: World) -> None:
    """Q8_K is a type that only llama.cpp computes with."""
    halves = [
        tensor(f"{MODULE}.lora_{half}".encode(), (256, 256), 15, 74752 * number) for number, half in enumerate("ab")
    ]
    facts = {"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora"}
    values = [string(key.encode()) + struct.pack("<I", 8) + string(value.encode()) for key, value in facts.items()]
    world.write("x.gguf", gguf(*values, tensors=tuple(halves), data=bytes(2 * 74752)))


def float64_alpha(world: World) -> None:
    write_adapter(world.folder / "x.gguf", alpha=None, extra=[("add_float64", "adapter.lora.alpha", 8.0)])


def other_vocabulary(world: World) -> None:
    world.patch.setattr("models.factory.N_VOCAB", 101)
    write_model(world.folder / "x.gguf")


def model(**settings: Any) -> Prepare:
    return lambda world: write_model(world.folder / "x.gguf", **settings)


ROWS = [
    *(Row(INSPECT, complaint, file("x.gguf", content)) for content, complaint in DAMAGED),
    Row(
        INSPECT,
        "x.gguf: k is 67108865 bytes long; it is damaged: download or write it again",
        file("x.gguf", gguf(string(b"k") + struct.pack("<I", 8) + struct.pack("<Q", 2**26 + 1) + bytes(2**26 + 1))),
    ),
    Row("inspect there.gguf", "there.gguf: there is no such file; check the path"),
    Row("inspect .", ".: this is a folder; name the file in it, such as adapter.gguf"),
    Row(INSPECT, "x.gguf: the file is empty; download or write it again", file("x.gguf", b"")),
    Row(INSPECT, "x.gguf: this is not a regular file; name a GGUF file on disk", pipe),
    Row("inspect base.gguf", "base.gguf: cannot read the file: Permission denied; is it there, and may you", not_ours),
    Row(INSPECT, "x.gguf: this is a web page, not the file; the download link was wrong", file("x.gguf", b"<html>")),
    Row(INSPECT, "x.gguf: this is a JSON file; name the GGUF file", file("x.gguf", b'{"a": 1}')),
    Row(INSPECT, "x.gguf: this is a text file; name the GGUF file", file("x.gguf", b"my notes")),
    Row("inspect cases.jsonl", "cases.jsonl: this is a file of cases; `loracheck check --base MODEL.gguf"),
    # Adapters
    Row(CHECK, "x.gguf: this is an adapter of type 'other', not a LoRA adapter; name a", adapter(adapter_type="other")),
    Row(CHECK, "x.gguf: general.architecture is missing; export the adapter again", adapter(architecture="")),
    Row(
        CHECK,
        "x.gguf: lm_head is neither .lora_a nor .lora_b, and llama.cpp refuses it; export the adapter without",
        adapter({"lm_head": np.ones(4, np.float32)}),
    ),
    Row(
        CHECK,
        f"{MODULE} is empty; export the adapter again",
        adapter({f"{MODULE}.lora_a": np.ones((4, 0), np.float32)}),
    ),
    Row(
        CHECK,
        f"x.gguf: the halves of {MODULE} do not fit together: A is 64x3, B is 4x64; export the adapter again",
        adapter({f"{MODULE}.lora_a": np.ones((3, 64), np.float32)}),
    ),
    Row(CHECK, "x.gguf: adapter.lora.alpha is stored as FLOAT64, llama.cpp needs FLOAT32; export", float64_alpha),
    Row(CHECK, "x.gguf: adapter.lora.alpha is inf; export the adapter again", adapter(alpha=float("inf"))),
    Row(
        CHECK,
        "x.gguf: the adapter is for qwen2, the base base.gguf is llama; was it trained on another base?",
        adapter(architecture="qwen2"),
    ),
    Row(
        CHECK,
        f"x.gguf: {MODULE}.lora_a is only half of a pair, and llama.cpp refuses it; export the adapter again",
        adapter({f"{MODULE}.lora_b": None}),
    ),
    Row(
        CHECK,
        "x.gguf: the base has no blk.2.attn_q.weight; was it trained on another base?",
        lambda world: write_adapter(world.folder / "x.gguf", lora_tensors(layers=3)),
    ),
    Row(
        CHECK,
        f"x.gguf: {MODULE} is 64x32, the base needs 64x64; was it trained on another base?",
        adapter({f"{MODULE}.lora_b": np.ones((32, 4), np.float32)}),
    ),
    Row(
        CHECK,
        f"x.gguf: {MODULE}.lora_a is stored as F64, which llama.cpp cannot use; export it as F16 or F32",
        adapter({f"{MODULE}.lora_a": np.ones((4, 64), np.float64)}),
    ),
    Row(CHECK, "x.gguf: token_embd.weight cannot be adapted on this base, whose output layer is the same", embedding),
    Row("inspect adapter.gguf", "adapter.gguf: the file changed while it was being read; run", numbers(io.BytesIO)),
    Row("inspect adapter.gguf", "adapter.gguf: cannot read blk.0.attn_q.weight.lora_a: Input", numbers(broken_disk)),
    Row(INSPECT, "is stored as Q8_K, which cannot be read here; convert it as F16 or F32", quantized_as_nobody_reads),
    # Models
    Row(
        CHECK_BASE,
        "x.gguf: this is a multimodal projector (mmproj), not a model; name a model in",
        model(architecture="clip"),
    ),
    Row(
        CHECK_BASE,
        "adapter.gguf: blk.0.attn_q.weight is 64x64, the base needs 64x32; was it trained on another base?",
        model(tensors={**model_tensors(), MODULE: np.zeros((32, 64), np.float16)}),
    ),
    Row(
        "check -q --base base.gguf --candidate x.gguf --drift",
        "x.gguf: drift can only be measured where both models have one vocabulary: ",
        other_vocabulary,
    ),
]
