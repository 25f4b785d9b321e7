import pytest

from loracheck.scoring.dialects.reasoning import without_reasoning


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("plain", "plain"),
        ("  <think>a</think> b ", "b"),
        ("a</think>b", "b"),
        ("a<think>b</think>c<think>d</think>e", "ace"),
        ("<think>a<think>b</think>c", "c"),
        ("a<think>b", "a"),
        ("<think>", ""),
        ("[THINK]a[/THINK]b", "b"),
        ("<|channel>thought\na<channel|>b", "b"),
        ("a<|end|>", "a<|end|>"),
        ("<think>a</think>b</think>c", "b</think>c"),
    ],
)
def test_only_the_answer_is_left(text, answer):
    assert without_reasoning(text) == answer
