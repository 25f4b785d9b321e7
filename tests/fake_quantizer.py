"""In place of llama.cpp's quantizer: the model itself, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class FakeQuantizer:
    """Copies the model in two halves, and calls `halfway` in between; a test sets it on the class."""

    made: list[tuple[Path, Path]]
    halfway: Callable[[], object]
    expected: tuple[int, int]
    keeps: float

    def __init__(self, *, threads: int, timeout: float) -> None: ...

    def __enter__(self) -> FakeQuantizer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def expect(self, model: Path, file_type: int) -> tuple[int, int]:
        return self.expected

    def quantize(self, model: Path, out: Path, file_type: int) -> Iterator[int]:
        content = model.read_bytes()
        self.made.append((model, out))
        out.write_bytes(content[: len(content) // 2])
        yield len(content) // 2
        type(self).halfway()
        out.write_bytes(content[: int(len(content) * self.keeps)])
        yield len(content)


def fake_quantizer() -> type[FakeQuantizer]:
    """A class of its own for each test."""
    fields = {"made": [], "halfway": staticmethod(lambda: None), "expected": (1000, 0), "keeps": 1.0}
    return type("FakeQuantizer", (FakeQuantizer,), fields)
