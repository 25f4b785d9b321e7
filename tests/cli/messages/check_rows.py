"""What a check, a sweep or a search finds out only on the way: prompts, effects, clusters, files that change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cli.messages.rows import Row, suite
from locating.harmful_engine import HarmfulEngine
from loracheck.engine import Fingerprint
from loracheck.engine.fake import FakeEngine
from loracheck.prompts.chat import render_chat
from loracheck.prompts.facts import examine
from loracheck.prompts.rendering import Rendered
from models.factory import lora_tensors, write_adapter, write_model
from suite_factory import CHAT_TEMPLATE, call, make_case

if TYPE_CHECKING:
    from cli.messages.rows import Prepare, World

FILES = "--base base.gguf --adapter adapter.gguf --no-null -q"
CHECK = f"check {FILES}"
CHAT = "check --base chat.gguf --adapter adapter.gguf --no-null -q --cases cases.jsonl"
THINKS = CHAT_TEMPLATE + "{% if enable_thinking is not defined or enable_thinking %}<think>{% endif %}"
TWO = "--adapter adapter.gguf --adapter adapter.gguf"


def chat(template: str, *, in_this_process: bool = False) -> Prepare:
    """chat.gguf, with this chat template; a process of its own hides where an error was raised."""

    def prepare(world: World) -> None:
        write_model(world.folder / "chat.gguf", extra=[("add_string", "tokenizer.chat_template", template)])
        if in_this_process:
            world.patch.setattr("loracheck.prompts.stored.render_apart", _render_here)

    return prepare


def _render_here(template: Any, asked: Any, *, no_thinking: bool = False) -> Rendered:
    used, facts = examine(template, no_thinking=no_thinking)
    return Rendered([render_chat(used, messages, tools, facts.shows_tools) for messages, tools in asked], facts)


def impatient(world: World) -> None:
    chat("{% for n in range(99999) %}{% for m in range(99999) %}{% endfor %}{% endfor %}")(world)
    world.patch.setattr("loracheck.prompts.rendering.SECONDS", 0.1)
    world.patch.setattr("loracheck.prompts.rendering.SECONDS_A_PROMPT", 0)


def killed(world: World) -> None:
    chat(CHAT_TEMPLATE)(world)
    world.patch.setattr(
        "loracheck.prompts.rendering.serving", lambda *_: [os.environ.get("SHELL", "/bin/sh"), "-c", "exit 7"]
    )


def inert(world: World) -> None:
    world.engine = FakeEngine(lambda view, prompt: call(), inert=True)


def not_finite(world: World) -> None:
    tensors = {name: np.full_like(array, np.nan) for name, array in lora_tensors().items()}
    write_adapter(world.folder / "adapter.gguf", tensors)
    world.patch.setattr(world.engine, "fingerprint", lambda view, text: Fingerprint("", finite=not view.adapters))


def rewritten(world: World) -> None:
    """Somebody trains on while the adapter is being checked."""
    world.patch.setattr("loracheck.store.Store.changed_files", lambda store: [Path("adapter.gguf")])
    world.patch.setattr("loracheck.checking.sha256_of", lambda path: "another")


def unknown_to_llama_cpp(world: World) -> None:
    """No engine is given, so that llama.cpp would be asked."""
    world.engine = None  # type: ignore[assignment]
    world.patch.setattr(
        "loracheck.checking.why_not_known",
        lambda model: f"{model}: the installed llama.cpp does not know; take another",
    )


def one_place(world: World) -> None:
    tensors = {name: array for name, array in lora_tensors().items() if name.startswith("blk.0.attn_q")}
    write_adapter(world.folder / "adapter.gguf", tensors)


def full_disk_for_the_mended(world: World) -> None:
    """The search finds what to leave out, and the disk is full."""

    def no_room(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    world.engine = HarmfulEngine(lambda name: float("ffn_down" in name), lambda number: 0.5 if number % 2 else 1e9)
    world.write("many.jsonl", "\n".join(make_case(n).model_dump_json(exclude_unset=True) for n in range(1, 13)))
    world.patch.setattr("loracheck.locating.write_part", no_room)


def without_dask(world: World) -> None:
    world.patch.setattr("loracheck.cluster.opening.find_spec", lambda name: None)


def nobody_answers(world: World) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("connection refused")

    world.patch.setattr("distributed.Client", refuse)


def one_gpu(world: World) -> None:
    world.patch.setattr("loracheck.cluster.plugins.count_gpus", lambda: 1)


ROWS = [
    # Prompts
    Row(f"{CHECK} --prompt chat", "base.gguf: the model has no chat template; use --prompt raw"),
    Row(
        f"{CHECK} --no-thinking",
        "base.gguf: no chat template is used, for prompts are sent as bare text; leave out --no-thinking",
    ),
    Row(CHAT, "chat.gguf: the model's chat template is 1,000,001 characters long, 1,000,000 at", chat("a" * 1_000_001)),
    Row(CHAT, "chat.gguf: the model's chat template failed: no; use --prompt raw", chat("{{ raise_exception('no') }}")),
    Row(CHAT, "chat.gguf: the model's chat template took longer than 0 s; use --prompt raw", impatient),
    Row(CHAT, "chat.gguf: the model's chat template ended its process with code 7; use --prompt raw", killed),
    Row(
        f"{CHAT} --template-arg tools=1",
        "chat.gguf: the template argument tools is set by loracheck itself; take it out",
        chat(CHAT_TEMPLATE, in_this_process=True),
    ),
    Row(
        f"{CHAT} --template-arg enable_thinkin=false",
        "chat.gguf: the model's chat template never reads enable_thinkin; did you mean 'enable_thinking'?",
        chat(THINKS, in_this_process=True),
    ),
    Row(
        f"{CHAT} --no-thinking",
        "chat.gguf: thinking cannot be switched off: the model's chat template reads no variable that is known for it; "
        "leave out --no-thinking, or name the variable with --template-arg",
        chat(CHAT_TEMPLATE, in_this_process=True),
    ),
    Row(
        f"{CHAT} --no-thinking --template-arg enable_thinking=true",
        "chat.gguf: --no-thinking sets enable_thinking=false, and the template argument enable_thinking says "
        "otherwise; give one of them",
        chat(THINKS, in_this_process=True),
    ),
    # Effects
    Row(CHECK, "Was it exported before training, or trained on modules that llama.cpp does not adapt?", inert, code=4),
    Row(
        "check -q --base base.gguf --candidate base.gguf",
        "the candidate is its base: the same model with the same adapters, by content; was another file meant?",
        code=4,
    ),
    Row(
        "check -q --base base.gguf --candidate other.gguf",
        "the candidate has no effect: from the same prompts it computes bit for bit what its base computes; was an",
        lambda world: (write_model(world.folder / "other.gguf", extra=[("add_string", "a", "b")]), inert(world)),
        code=4,
    ),
    Row(
        CHECK,
        "the adapter view computes numbers that are not finite; NaN or infinity in blk.0.attn_q.weight.lora_a",
        not_finite,
        code=3,
    ),
    Row(CHECK, "adapter.gguf: the file changed while it was being checked; run the command again", rewritten),
    Row(CHECK, "base.gguf: the installed llama.cpp does not know", unknown_to_llama_cpp),
    # Sweeps
    Row(f"sweep {FILES} --scale nan", "the scale nan is not a finite number; give one such as 0.5"),
    Row(
        "sweep -q --base base.gguf --adapter adapter.gguf+",
        "'adapter.gguf+': an adapter is missing beside the +; write a.gguf+b.gguf@0.5",
    ),
    Row(
        "sweep -q --base base.gguf --base peft-base.gguf --quantize Q4_0",
        "quantize takes one base, and there are several; give the quantized files as bases instead",
    ),
    Row(
        f"sweep {FILES} " + " ".join(f"--scale {number}" for number in range(201)),
        "201 cells, each a whole check; more than 200 take --yes (in Python, yes=True)",
    ),
    Row(
        "sweep my.yaml -q",
        "my.yaml: sweep.quantize: no quantization 'Q4_KM'; did you mean 'Q4_K_M'?",
        suite(sweep={"quantize": ["Q4_KM"]}),
    ),
    Row("sweep -q --base base.gguf --adapter base.gguf", "base.gguf: this is a model (llama, 9 tensors), not a LoRA"),
    # Searches
    Row(
        f"locate -q --base base.gguf {TWO}",
        "locate looks into one adapter, and there are 2: adapter.gguf, adapter.gguf; those that should stay",
    ),
    Row(
        "locate my.yaml -q",
        "locate looks into an adapter on the base's own file; take out quantize",
        suite(defaults={"quantize": "Q4_0"}),
    ),
    Row(f"locate {FILES} --budget 2", "'--budget': 2 is not in the range x>=6"),
    Row(
        f"locate {FILES}",
        "adapter.gguf: the adapter changes only blk.0.attn_q.weight: there are no parts to",
        one_place,
    ),
    Row(
        f"locate {FILES} --write adapter.gguf",
        "adapter.gguf: the new adapter is made from this file; write it to another",
    ),
    Row(
        f"locate {FILES} --cases many.jsonl --write new.gguf",
        "new.gguf: cannot write the file: No space left on device; write it elsewhere, or make room there",
        full_disk_for_the_mended,
    ),
    # Clusters
    Row(f"sweep {FILES} --workers 2", "a cluster takes Dask: pip install 'loracheck[cluster]'", without_dask),
    Row(
        f"sweep {FILES} --cluster tcp://host:1", "no Dask scheduler answers at tcp://host:1: connection", nobody_answers
    ),
    Row(
        f"locate {FILES} --workers 2 --gpu-layers -1",
        "--workers 2: there are 1 GPUs, and each worker takes one of its own; give --workers 1",
        one_gpu,
    ),
]
