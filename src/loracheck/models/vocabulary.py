"""Whether two models read and write the same tokens, by what their files say."""

from __future__ import annotations

from loracheck.models.gguf_file import GgufFile

_TOKENS = "tokenizer.ggml.tokens"


def vocabulary_difference(one: GgufFile, other: GgufFile) -> str | None:
    """How the two lists of tokens differ, in words; None where a token's number means the same to both."""
    if one is other or one.array_hash(_TOKENS) == other.array_hash(_TOKENS):
        return None
    counts = [header.array_length(_TOKENS) for header in (one, other)]
    if None in counts:
        return "one of the two files has no list of tokens"
    if counts[0] == counts[1]:
        return f"both have {counts[0]:,} tokens, and not the same ones"
    return f"{counts[0]:,} tokens in {one.path.name}, {counts[1]:,} in {other.path.name}"


def is_same_tokenizer(one: GgufFile, other: GgufFile) -> bool:
    """Whether both make the same tokens of a text, and end an answer at the same ones."""
    return one is other or _tokenizer(one) == _tokenizer(other)


def _tokenizer(header: GgufFile) -> dict[str, object]:
    return {
        key: header.array_hash(key) or value
        for key, value in header.metadata.items()
        if key.startswith("tokenizer.") and not key.startswith("tokenizer.chat_template")
    }
