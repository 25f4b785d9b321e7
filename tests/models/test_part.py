from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.errors import AdapterError
from loracheck.models.lora import read_lora
from loracheck.models.measure import read_adapter, tensor_data
from loracheck.models.part import layer_of, write_part
from models.factory import lora_tensors, write_adapter

if TYPE_CHECKING:
    from pathlib import Path

Q, DOWN = "blk.0.attn_q.weight", "blk.1.ffn_down.weight"


def stored_bytes(path: Path) -> dict[str, tuple[str, bytes]]:
    header = read_lora(path).header
    content = path.read_bytes()
    starts = {tensor.name: header.data_offset + tensor.offset for tensor in header.tensors}
    return {
        tensor.name: (tensor.type, content[starts[tensor.name] : starts[tensor.name] + tensor.nbytes])
        for tensor in header.tensors
    }


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0"])
def test_a_part_has_its_pairs_byte_for_byte_and_no_other(tmp_path: Path, kind: str) -> None:
    # Rows of 32 and more, as blocks of quantized numbers need.
    tensors = lora_tensors(rank=32, dtype=np.float16 if kind == "F16" else np.float32)
    whole = write_adapter(tmp_path / "whole.gguf", tensors, quantized="Q8_0" if kind == "Q8_0" else None)
    part = write_part(whole, tmp_path / "part.gguf", (Q, DOWN))
    kept = [f"{name}.{half}" for name in (Q, DOWN) for half in ("lora_a", "lora_b")]
    before = stored_bytes(whole)
    assert stored_bytes(part) == {name: before[name] for name in kept}
    assert {kind for kind, _ in stored_bytes(part).values()} == {kind}
    assert (read_lora(part).alpha, read_lora(part).architecture) == (8.0, "llama")


def test_all_pairs_together_are_the_whole_adapter(tmp_path: Path) -> None:
    whole = write_adapter(tmp_path / "whole.gguf")
    names = [pair.name for pair in read_lora(whole).pairs]
    assert stored_bytes(write_part(whole, tmp_path / "all.gguf", names)) == stored_bytes(whole)


@pytest.mark.parametrize("alpha", [8.0, 0.0, None])
def test_a_factor_makes_the_update_so_many_times_as_strong(tmp_path: Path, alpha: float | None) -> None:
    whole = write_adapter(tmp_path / "whole.gguf", lora_tensors(dtype=np.float16), alpha=alpha)
    names = [pair.name for pair in read_lora(whole).pairs]
    weaker = read_adapter(write_part(whole, tmp_path / "weaker.gguf", names, factor=0.35))
    for name, norm in read_adapter(whole).pair_norms.items():
        assert weaker.pair_norms[name] == pytest.approx(0.35 * (norm or 0), rel=1e-6)


def test_where_alpha_takes_the_factor_the_numbers_stay_as_they_are(tmp_path: Path) -> None:
    whole = write_adapter(tmp_path / "whole.gguf")
    weaker = write_part(whole, tmp_path / "weaker.gguf", (Q,), factor=0.5)
    assert read_lora(weaker).alpha == 4.0
    (pair,) = read_lora(weaker).pairs
    (same,) = (each for each in read_lora(whole).pairs if each.name == Q)
    for half, as_before in ((pair.a, same.a), (pair.b, same.b)):
        ours, theirs = (
            tensor_data(read_lora(path).header, each) for path, each in ((weaker, half), (whole, as_before))
        )
        assert (ours == theirs).all()


def test_an_activated_lora_stays_one(tmp_path: Path) -> None:
    extra = [("add_array", "adapter.alora.invocation_tokens", [5, 6])]
    whole = write_adapter(tmp_path / "whole.gguf", extra=extra)
    assert read_lora(write_part(whole, tmp_path / "part.gguf", (Q,))).alora


def test_a_pair_that_is_not_there_is_named(tmp_path: Path) -> None:
    whole = write_adapter(tmp_path / "whole.gguf")
    with pytest.raises(AdapterError, match=r"whole\.gguf: the adapter has no pair for blk\.7\.attn_q\.weight"):
        write_part(whole, tmp_path / "part.gguf", (Q, "blk.7.attn_q.weight"))


def test_a_part_never_goes_over_the_adapter_it_is_taken_from(tmp_path: Path) -> None:
    whole = write_adapter(tmp_path / "whole.gguf")
    before = whole.read_bytes()
    with pytest.raises(Exception, match="the new adapter is made from this file"):
        write_part(whole, whole, (Q,))
    assert whole.read_bytes() == before


def test_layers_are_numbered_and_the_output_has_none(tmp_path: Path) -> None:
    tensors = lora_tensors(layers=1) | {
        "output.weight.lora_a": np.ones((4, 64), np.float32),
        "output.weight.lora_b": np.ones((100, 4), np.float32),
    }
    pairs = read_lora(write_adapter(tmp_path / "whole.gguf", tensors)).pairs
    assert {pair.module: layer_of(pair) for pair in pairs} == {
        "attn_q": 0,
        "attn_v": 0,
        "ffn_down": 0,
        "output": None,
    }
