"""PEFT folders that cannot be converted, and adapters that cannot be written."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cli.messages.rows import Row
from models.damaged_gguf import gguf, string, tensor
from models.factory import lora_tensors, write_adapter, write_model
from models.peft_factory import base_tensors, every_module, lora, write_base, write_peft

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cli.messages.rows import Prepare, World

CONVERT = "convert x --base peft-base.gguf -o new.gguf"
NULL = "null --like x.gguf -o new.gguf"
Q_PROJ = "model.layers.0.self_attn.q_proj"
WEIGHTS = "x/adapter_model.safetensors"
TEXT_ARCHITECTURE = string(b"general.architecture") + struct.pack("<I", 8) + string(b"llama")
CONFIG = "x/adapter_config.json"


def peft(tensors: Mapping[str, np.ndarray] | None = None, **config: Any) -> Prepare:
    return lambda world: write_peft(world.folder / "x", tensors, **config)


def with_more(*names: str) -> Prepare:
    """Every module, and these tensors."""
    return peft(every_module() | {f"base_model.model.{name}": np.ones((4, 4), np.float32) for name in names})


def on_base(write: Callable[[World], object], **config: Any) -> Prepare:
    """A sound folder, and another base."""

    def prepare(world: World) -> None:
        write_peft(world.folder / "x", **config)
        write(world)

    return prepare


def weights(header: object, data: bytes = b"") -> Prepare:
    """A folder whose safetensors file is this."""
    spelled = header if isinstance(header, bytes) else json.dumps(header).encode()

    def prepare(world: World) -> None:
        write_peft(world.folder / "x")
        world.write(WEIGHTS, len(spelled).to_bytes(8, "little") + spelled + data)

    return prepare


def too_short(world: World) -> None:
    write_peft(world.folder / "x")
    world.write(WEIGHTS, (512).to_bytes(8, "little") + b"{}")


def entry(shape: list[int], start: int, end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def config(content: str) -> Prepare:
    def prepare(world: World) -> None:
        write_peft(world.folder / "x")
        world.write(CONFIG, content)

    return prepare


def without(name: str, instead: str | None = None) -> Prepare:
    def prepare(world: World) -> None:
        write_peft(world.folder / "x")
        (world.folder / name).unlink()
        if instead:
            world.write(instead, "")

    return prepare


def unreadable(name: str) -> Prepare:
    """Reading this file fails, as on a broken disk."""

    def prepare(world: World) -> None:
        write_peft(world.folder / "x")
        path_type = type(world.folder)
        opened, read = path_type.open, path_type.read_bytes

        def failing(method: Callable[..., Any]) -> Callable[..., Any]:
            def fail(path: Any, *args: Any, **options: Any) -> Any:
                if path == Path(name):
                    raise OSError(5, "Input/output error")
                return method(path, *args, **options)

            return fail

        world.patch.setattr(path_type, "open", failing(opened))
        world.patch.setattr(path_type, "read_bytes", failing(read))

    return prepare


def full_disk(world: World) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    world.patch.setattr("loracheck.models.write_lora._write", no_room)


def cache_is_a_file(world: World) -> None:
    world.patch.setenv("LORACHECK_CACHE", str(world.folder / "cases.jsonl"))


def adapter(changes: Mapping[str, np.ndarray | None] | None = None, **settings: Any) -> Prepare:
    tensors = {**lora_tensors(), **(changes or {})}
    kept = {name: array for name, array in tensors.items() if array is not None}
    return lambda world: write_adapter(world.folder / "x.gguf", kept, **settings)


def filled(value: float) -> Prepare:
    return adapter({name: np.full_like(array, value) for name, array in lora_tensors().items()})


ROWS = [
    # The folder
    Row(
        CONVERT,
        "x: there is no adapter_config.json here; name the folder that PEFT saved",
        lambda w: (w.folder / "x").mkdir(),
    ),
    Row(CONVERT, "x: there is no adapter_model.safetensors here; save the adapter again, or finish", without(WEIGHTS)),
    Row(CONVERT, "the weights are a Python pickle", without(WEIGHTS, "x/adapter_model.bin")),
    Row(CONVERT, f"{CONFIG}: this is not JSON (", config("{no")),
    Row(CONVERT, f"{CONFIG}: this is not a PEFT config but a JSON list; save it again", config("[]")),
    Row(CONVERT, f"{CONFIG}: cannot read the file: Input/output error; is it", unreadable(CONFIG)),
    Row(CONVERT, f'{CONFIG}: peft_type is "IA3": only LORA adapters have a form', peft(peft_type="IA3")),
    Row(CONVERT, f'{CONFIG}: bias is "all": llama.cpp\'s adapters have no biases; train with', peft(bias="all")),
    Row(
        CONVERT,
        'init_lora_weights is "pissa": this way to start changes the base\'s own',
        peft(init_lora_weights="pissa"),
    ),
    Row(CONVERT, f"{CONFIG}: use_dora is true: DoRA rescales whole rows of the base", peft(use_dora=True)),
    Row(CONVERT, "new_switch is true: this may change what the weights mean, and is not known", peft(new_switch=True)),
    Row(CONVERT, f"{CONFIG}: r is 0: Input should be greater than or equal to 1; mend it, or save", peft(r=0)),
    Row(CONVERT, "the pattern '(' is no regular expression: ", peft(rank_pattern={"(": 4})),
    Row(CONVERT, "x: lora_alpha is 0, so the adapter changes nothing; train with another", peft(lora_alpha=0)),
    # The safetensors file
    Row(CONVERT, f"{WEIGHTS}: its header of 512 bytes does not fit in 10 bytes; it is damaged", too_short),
    Row(CONVERT, f"{WEIGHTS}: its header is not JSON; it is damaged: save or download it again", weights(b"{no")),
    Row(CONVERT, f"{WEIGHTS}: its header is not a table of tensors", weights([])),
    Row(CONVERT, f"{WEIGHTS}: its header names a tensor twice", weights(b'{"a": 1, "a": 2}')),
    Row(CONVERT, f"{WEIGHTS}: the entry of 'a' is malformed", weights({"a": 1})),
    Row(
        CONVERT,
        f"{WEIGHTS}: a is stored as I8; save the adapter as F32, F16 or BF16",
        weights({"a": entry([1], 0, 1, "I8")}),
    ),
    Row(CONVERT, f"{WEIGHTS}: 'a' has 3 bytes, which is not F32 of shape [1]", weights({"a": entry([1], 0, 3)})),
    Row(CONVERT, "the tensor 'a' starts at byte ", weights({"a": entry([1], 4, 8)}, bytes(8))),
    Row(CONVERT, f"{WEIGHTS}: its tensors end at byte ", weights({"a": entry([1], 0, 4)}, bytes(8))),
    Row(CONVERT, f"{WEIGHTS}: cannot read the file: Input/output error", unreadable(WEIGHTS)),
    # The pairs
    Row(CONVERT, "x: the adapter has no LoRA pairs; train it and save it again", peft({})),
    Row(
        CONVERT,
        "x: model.nothing is no part of the base peft-base.gguf (llama, 2 layers); was it",
        peft(lora("model.nothing", (4, 4))),
    ),
    Row(
        CONVERT,
        f"x: {Q_PROJ} has no lora_B; save the adapter again",
        peft({f"base_model.model.{Q_PROJ}.lora_A.weight": np.ones((4, 64), np.float32)}),
    ),
    Row(
        CONVERT,
        f"x: {Q_PROJ} has an A of [4, 64] and a B of [64, 3], which do not fit; save the adapter again",
        peft(lora(Q_PROJ, (64, 64)) | {f"base_model.model.{Q_PROJ}.lora_B.weight": np.ones((64, 3), np.float32)}),
    ),
    Row(CONVERT, f"x: {Q_PROJ} has rank 4, adapter_config.json says 8; save the two together", peft(r=8)),
    Row(
        CONVERT,
        f"{Q_PROJ}.lora_A.weight is also there as base_model.model.{Q_PROJ}.lora_A.weight; save the adapter again",
        peft(every_module() | {f"{Q_PROJ}.lora_A.weight": np.ones((4, 64), np.float32)}),
    ),
    Row(
        CONVERT,
        "x: model.norm.weight is a norm, whose change llama.cpp would ignore; train without",
        with_more("model.norm.weight"),
    ),
    Row(
        CONVERT,
        "x: lm_head was trained in full and has no place in a GGUF adapter",
        with_more("lm_head.base_layer.weight"),
    ),
    Row(
        CONVERT,
        f"x: {Q_PROJ} is 64x32, the base's blk.0.attn_q.weight is 64x64; was it trained on another base?",
        peft(lora(Q_PROJ, (32, 64))),
    ),
    Row(
        CONVERT,
        "cannot change token_embd.weight this way; was it trained on another base?",
        peft(lora("model.embed_tokens", (100, 64))),
    ),
    Row(
        CONVERT,
        "model.embed_tokens cannot be adapted on this base, whose output layer is the same tensor; train without",
        peft(
            {
                "base_model.model.model.embed_tokens.lora_embedding_A": np.ones((4, 100), np.float32),
                "base_model.model.model.embed_tokens.lora_embedding_B": np.ones((64, 4), np.float32),
            }
        ),
    ),
    Row(
        CONVERT,
        "changes blk.0.attn_q.weight, and so does ",
        peft(lora(Q_PROJ, (64, 64)) | lora("model.language_model.layers.0.self_attn.q_proj", (64, 64))),
    ),
    # The base of the conversion
    Row(
        CONVERT,
        "x: model.layers.0.self_attn.k_proj would be blk.0.attn_k.weight, which the base does not have; was it",
        on_base(
            lambda w: write_model(w.folder / "peft-base.gguf", extra=[("add_uint32", "llama.attention.head_count", 4)])
        ),
    ),
    Row(
        CONVERT,
        "peft-base.gguf: llama.attention.head_count is not one number; download or convert the model again",
        on_base(lambda w: write_model(w.folder / "peft-base.gguf", base_tensors())),
    ),
    Row(
        CONVERT,
        "rows for 7 heads; was it trained on another base?",
        on_base(lambda w: write_base(w.folder / "peft-base.gguf", heads=(7, 7))),
    ),
    Row(
        CONVERT,
        "peft-base.gguf: PEFT adapters for mamba cannot be converted here, only those for",
        on_base(lambda w: write_model(w.folder / "peft-base.gguf", architecture="mamba")),
    ),
    Row(
        CONVERT,
        "peft-base.gguf: llama.block_count is None; download or convert the model again",
        on_base(lambda w: w.write("peft-base.gguf", gguf(TEXT_ARCHITECTURE, tensors=(tensor(),), data=bytes(32)))),
    ),
    Row(
        f"{CONVERT} --outtype f16",
        "has numbers too large for f16; convert with --outtype f32",
        peft({name: np.full_like(array, 1e6) for name, array in every_module().items()}),
    ),
    # Where it goes
    Row(
        "convert peft --base peft-base.gguf -o there/new.gguf",
        "there/new.gguf: the folder there does not exist; make it",
    ),
    Row(
        "null --like adapter.gguf -o adapter.gguf",
        "adapter.gguf: the new adapter is made from this file; write it to another",
    ),
    Row(
        "null --like adapter.gguf -o pipe",
        "pipe: this is not a regular file; name the file to write",
        lambda w: os.mkfifo(w.folder / "pipe"),
    ),
    Row(
        "null --like adapter.gguf -o new.gguf",
        "new.gguf: cannot write the file: No space left on device; write it elsewhere, or make room there",
        full_disk,
    ),
    Row("check -q --base peft-base.gguf --adapter peft", "cannot be made: ", cache_is_a_file),
    # Null adapters
    Row("null --like adapter.gguf -o new.gguf --seed -1", "seed is -1; it must be a whole number, 0 or more"),
    Row(
        "null --like adapter.gguf -o new.gguf --rank-multiplier 0",
        "rank_multiplier is 0.0; it must be a number above 0",
    ),
    Row("null --like adapter.gguf -o new.gguf --scale 1e9", "makes noise of 1e+09; it must be between 1e-06 and 1000"),
    Row(
        NULL,
        "x.gguf: blk.0.attn_q.weight.lora_b is only half of a pair; export the",
        adapter({"blk.0.attn_q.weight.lora_a": None}),
    ),
    Row(NULL, "x.gguf: the adapter has no LoRA pairs; export it again", adapter(dict.fromkeys(lora_tensors()))),
    Row(
        f"{NULL} --match norm",
        "x.gguf: the update of blk.0.attn_q.weight is not finite, so no null",
        filled(float("nan")),
    ),
    Row(f"{NULL} --match norm", "and F16 holds 1000; is the adapter broken?", filled(1e9)),
]
