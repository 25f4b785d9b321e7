"""Quantizing, fetching, the cache, and files that cannot be read."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cli.messages.rows import Row
from fake_quantizer import fake_quantizer
from fetch.known_file import Told, known
from loracheck.errors import EngineError

if TYPE_CHECKING:
    from cli.messages.rows import Prepare, World

QUANTIZE = "quantize base.gguf --to Q4_0 -o new.gguf -q"


def quantizer(*, free: int = 10**9, **settings: Any) -> Prepare:
    def prepare(world: World) -> None:
        fake = fake_quantizer()
        for name, value in settings.items():
            setattr(fake, name, value)
        world.patch.setattr("loracheck.quantized.ChildQuantizer", fake)
        world.patch.setattr("loracheck.quantized._free", lambda path: free)

    return prepare


def disk_fills_up(world: World) -> None:
    left = [10**9, 0]

    def stop() -> None:
        raise EngineError("llama.cpp was stopped")

    quantizer(expected=(10**8, 0), halfway=staticmethod(stop))(world)
    world.patch.setattr("loracheck.quantized._free", lambda path: left.pop(0))


def read_only(world: World) -> None:
    quantizer()(world)

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    world.patch.setattr("loracheck.quantized.only_here", refuse)


def cache_is_a_file(world: World) -> None:
    quantizer()(world)
    world.patch.setenv("LORACHECK_CACHE", str(world.folder / "cases.jsonl"))


def no_folder_for_quantized(world: World) -> None:
    quantizer()(world)
    world.write("../cache/quantized", "")


def on_windows(world: World) -> None:
    quantizer()(world)
    world.patch.setattr("loracheck.windows.sys", SimpleNamespace(platform="win32"))


def fetched(*sources: Told, **cached: bytes) -> Prepare:
    """The demo's model is small, comes from these sources, and may be on this machine already."""

    def prepare(world: World) -> None:
        model = known(*sources)
        world.patch.setattr("loracheck.demo.MODELS", {"smollm2": model})
        world.patch.setattr("loracheck.fetch.checkout_folder", lambda: world.folder)
        for content in cached.values():
            world.write(model.name, content)

    return prepare


def no_cache_folder(world: World) -> None:
    fetched(Told())(world)
    cache_is_a_file(world)


def silent_pipe(world: World) -> None:
    os.mkfifo(world.folder / "pipe.jsonl")
    # Somebody holds it open, and writes nothing.
    holder = os.open(world.folder / "pipe.jsonl", os.O_RDWR)
    world.patch.setattr("loracheck.files.PATIENCE_SECONDS", 0.01)
    world.closing.callback(os.close, holder)


def broken_disk(world: World) -> None:
    class Digest:
        def update(self, chunk: bytes) -> None:
            raise OSError(5, "Input/output error")

    world.patch.setattr("loracheck.files.hashlib.sha256", Digest)


def stuck(world: World) -> None:
    world.patch.setenv("LORACHECK_CACHE", str(world.folder / "cache"))
    world.write("cache/converted/a.gguf", "")

    def refuse(path: Any, **_: object) -> None:
        raise OSError(1, "Operation not permitted")

    world.patch.setattr(type(world.folder), "unlink", refuse)


ROWS = [
    Row(
        "quantize base.gguf --to Q2_K_S -o new.gguf", "Q2_K_S needs an importance matrix, without which llama.cpp does"
    ),
    Row(
        "quantize base.gguf --to NVFP4 -o new.gguf",
        "NVFP4 is none that llama.cpp's quantizer can make; give one of F32",
    ),
    Row("quantize base.gguf --to Q4_KM -o new.gguf", "'--to': no quantization 'Q4_KM'; did you mean 'Q4_K_M'?"),
    Row("quantize there.gguf --to Q4_0 -o new.gguf", "there.gguf: there is no such file; check the path"),
    Row("quantize base.gguf --to Q4_0 -o there/a.gguf", "there/a.gguf: the folder there does not exist; make it first"),
    Row(
        "quantize base.gguf --to Q4_0 -o pipe",
        "pipe: this is not a regular file",
        lambda w: os.mkfifo(w.folder / "pipe"),
    ),
    Row("quantize base.gguf --to Q4_0 -o base.gguf", "base.gguf: this is the model that is to be quantized; write to"),
    Row(
        "quantize base.gguf --to Q4_0 -o adapter.gguf",
        "adapter.gguf: there is such a file already; --force replaces it",
    ),
    Row(QUANTIZE, "bytes are needed, and 5 are free there; free some, or write it elsewhere", quantizer(free=5)),
    Row(QUANTIZE, "new.gguf: the disk is full after ", disk_fills_up),
    Row(QUANTIZE, "new.gguf: cannot be written: Read-only file system; free some, or write it elsewhere", read_only),
    Row(QUANTIZE, "llama.cpp wrote a broken file: ", quantizer(keeps=0.5), code=3),
    Row(
        "check -q --base base.gguf --quantize Q4_0",
        "cannot be made: File exists; LORACHECK_CACHE moves it",
        no_folder_for_quantized,
    ),
    Row(QUANTIZE, "quantizing a model does not work on Windows yet; use WSL", on_windows),
    # The demo's models
    Row("demo -q", "small.gguf is not on this machine and could not be fetched:", fetched(Told(stops=[]))),
    Row("demo -q", "; remove it and try again", fetched(Told(), there=bytes(3000))),
    Row("demo -q", "; LORACHECK_CACHE moves it", no_cache_folder),
    # Files
    Row("cache clear", ": cannot be removed: Operation not permitted; remove it by hand", stuck),
    Row(
        "cases show pipe.jsonl",
        "pipe.jsonl: nothing came out of this pipe for 0.01 s; does anything write",
        silent_pipe,
    ),
    Row("cases show a\0b.jsonl", "; is it there, and may you read it?"),
    Row(
        "inspect adapter.gguf",
        "adapter.gguf: cannot read the file: Input/output error; is it there, and may",
        broken_disk,
    ),
]
