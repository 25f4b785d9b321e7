"""Hypothesis strategies for what a model or a user may hand in."""

from hypothesis import strategies as st

ANY_TEXT = st.text(st.characters())  # lone surrogates included

KEYS = st.sampled_from(["name", "arguments", "a", "b", "", "é", "type"]) | ANY_TEXT

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "1", "1.0", "true"])
    | ANY_TEXT
)

JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)

JSON_WITH_NAN = JSON | st.dictionaries(KEYS, JSON | st.just(float("nan")), max_size=4)

FRAGMENTS = st.sampled_from(
    [
        *'{}[]":,\\ \n',
        "```",
        "```json\n",
        "JSON",
        '"name"',
        '"arguments"',
        '"search_web"',
        '{"name": "search_web", "arguments": {"query": "x"}}',
        '{"name": "t", "arguments": {',
        "{}",
        "null",
        "NaN",
        "1e999",
        "-0",
        '"\\ud800"',
        "\ud800",
        "\ufeff",
        "\x00",
    ]
)

MODEL_TEXT = st.lists(FRAGMENTS, max_size=25).map("".join) | ANY_TEXT


def nested(depth: int, innermost: object = 1) -> dict[str, object]:
    """A dict `depth` levels deep, built without recursion."""
    value = innermost
    for _ in range(depth):
        value = {"k": value}
    return {"k": value}
