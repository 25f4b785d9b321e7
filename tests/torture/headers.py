"""The damaged headers of the fast tests again, under other seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.demo import adapter_file
from loracheck.errors import InputError
from loracheck.models import check_fits, read_adapter, read_model_header, write_null
from real import BASE
from torture.damage import damaged, first_layer, subject
from torture.running import Tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def headers(place: Path, share: float) -> Iterator[Tried]:
    base = read_model_header(BASE)
    whole = {
        "chatty": adapter_file("chatty"),
        "null": write_null(adapter_file("chatty"), place / "null.gguf", seed=1),
        "model": first_layer(BASE, place / "first-layer.gguf"),
    }
    sound = [(name, subject(path)) for name, path in whole.items()]
    path = place / "damaged.gguf"
    for number in range(round(2000 * share)):
        name, one = sound[number % len(sound)]
        bad = damaged(one, 1_000_000 + number)
        path.write_bytes(bad.content)
        try:
            if name == "model":
                read_model_header(path)
            else:
                check_fits(read_adapter(path), base)
        except InputError:
            yield Tried("refused")
        except Exception as error:  # whatever it is, it is what we are looking for
            yield Tried("crashed", f"{name}, {bad.what}: {error!r}")
        else:
            wrong = bad.broken and not bad.what.startswith("dim ")
            yield Tried("taken", f"{name}, {bad.what}: taken for whole" if wrong else None)
