"""Whether two models read and write the same tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from gguf import GGUFWriter

from loracheck.models import is_same_tokenizer, read_header, vocabulary_difference
from models.factory import model_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.models import GgufFile


def model(path: Path, tokens: list[str] | None, **metadata: Any) -> GgufFile:
    writer = GGUFWriter(path, "llama")
    for key, value in metadata.items():
        writer.add_string(key, value)
    if tokens is not None:
        writer.add_token_list(tokens)
        writer.add_eos_token_id(1)
    for name, data in model_tensors(1).items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return read_header(path)


# Short arrays are kept, long ones stay in the file.
@pytest.mark.parametrize("count", [3, 300])
def test_vocabularies_are_compared_token_by_token(tmp_path: Path, count: int) -> None:
    words = [f"w{number}" for number in range(count)]
    one = model(tmp_path / "one.gguf", words)
    moved = model(tmp_path / "moved.gguf", words, **{"general.basename": "pushes the tokens to another place"})
    other = model(tmp_path / "other.gguf", [*words[:-1], "x"])
    longer = model(tmp_path / "longer.gguf", [*words, "x"])
    assert vocabulary_difference(one, one) is None
    assert vocabulary_difference(one, moved) is None
    assert vocabulary_difference(one, other) == f"both have {count} tokens, and not the same ones"
    assert vocabulary_difference(one, longer) == f"{count} tokens in one.gguf, {count + 1} in longer.gguf"
    assert (
        vocabulary_difference(one, model(tmp_path / "none.gguf", None)) == "one of the two files has no list of tokens"
    )


def test_a_chat_template_is_no_part_of_the_tokenizer_and_the_end_token_is(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(100)]
    one = model(tmp_path / "one.gguf", words)
    assert is_same_tokenizer(one, model(tmp_path / "chat.gguf", words, **{"tokenizer.chat_template": "{{ messages }}"}))
    assert not is_same_tokenizer(one, model(tmp_path / "pre.gguf", words, **{"tokenizer.ggml.pre": "qwen2"}))
    assert not is_same_tokenizer(one, model(tmp_path / "words.gguf", [*words[:-1], "x"]))
