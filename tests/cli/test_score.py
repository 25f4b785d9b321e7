from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from suite_factory import SEARCH, call

if TYPE_CHECKING:
    from pathlib import Path


def recorded(ft: str, **changes: Any) -> str:
    line = {
        "cases": [{"tool_spec": SEARCH, "gold_tool_name": "search_web"}],
        "base_outputs": [call()],
        "ft_outputs": [ft],
        "null_stats": None,
        "seed": 0,
        "allowed_tools": None,
    }
    return json.dumps(line | changes)


def results(out: str) -> list[str]:
    return [json.loads(line)["verdict"] for line in out.splitlines()]


def test_each_line_gives_one_line_of_json(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"\ufeff{recorded(call())}\n\n  \n{recorded('no')}\r\n", encoding="utf-8")
    done = loracheck("score", path)
    assert (done.code, results(done.out), done.err) == (0, ["pass", "fail"], "")


def test_a_bad_line_is_named_the_good_ones_are_scored_and_the_end_is_2(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    bad = ["{", "3", recorded("x", ft_outputs=[]), "[" * 100_000, recorded("x", null_stats=7), "9" * 5000]
    path.write_text("\n".join([recorded(call()), *bad, recorded("no")]), encoding="utf-8")
    done = loracheck("score", path)
    assert (done.code, results(done.out)) == (2, ["pass", "fail"])
    *named, total = done.err.splitlines()
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in named] == ["2", "3", "4", "5", "6", "7"]
    assert total == "6 bad lines"


def test_one_bad_line_is_counted_as_one(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text("{}", encoding="utf-8")
    assert loracheck("score", path).err.splitlines()[-1] == "1 bad line"


def test_a_dash_is_standard_input(spawn: Any) -> None:
    process = spawn("score", "-")
    out, err = process.communicate(f"{recorded(call())}\nbad\n")
    assert (process.returncode, results(out)) == (2, ["pass"])
    assert err.startswith("<stdin>:2: ")


def test_a_bad_line_cannot_rewrite_the_terminal(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(recorded("x", **{"\x1b[2J": 1}), encoding="utf-8")
    assert "\\x1b[2J is not a known key" in loracheck("score", path).err


def test_bytes_that_are_not_utf8_do_not_stop_the_others(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_bytes(b"\xff\xfe\n" + recorded(call()).encode())
    done = loracheck("score", path)
    assert (done.code, results(done.out)) == (2, ["pass"])


def test_a_missing_file_a_folder_and_no_file_end_with_2(loracheck: Any, tmp_path: Path) -> None:
    for args in ([tmp_path / "none.jsonl"], [tmp_path], []):
        done = loracheck("score", *args)
        assert (done.code, done.out) == (2, "")
        assert done.err


def test_an_empty_file_has_no_results(loracheck: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    done = loracheck("score", path)
    assert (done.code, done.out, done.err) == (0, "", "")
