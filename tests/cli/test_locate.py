from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from locating.harmful_engine import HarmfulEngine
from loracheck.models import read_lora
from models.factory import lora_tensors, write_adapter
from suite_factory import Files, answering, make_case

if TYPE_CHECKING:
    from pathlib import Path


def in_down(name: str) -> float:
    return float("ffn_down" in name)


@pytest.fixture
def many_cases(tmp_path: Path) -> Path:
    path = tmp_path / "many.jsonl"
    lines = [make_case(number).model_dump_json(exclude_unset=True) for number in range(1, 13)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def on(files: Files, many_cases: Path) -> list[Any]:
    return ["locate", "--base", files.base, "--adapter", files.adapter, "--cases", many_cases, "--no-null"]


@pytest.fixture
def _harmful(use_engine: Any) -> None:
    use_engine(HarmfulEngine(in_down, lambda number: 0.5 if number % 2 else 1e9))


@pytest.mark.usefixtures("_harmful")
def test_a_mended_adapter_ends_with_0_and_is_written(loracheck: Any, on: list[Any], tmp_path: Path) -> None:
    mended, page, out, summary = (tmp_path / name for name in ("m.gguf", "w.html", "w.json", "w.md"))
    done = loracheck(*on, "--write", mended, "--html", page, "--json", out, "--markdown", summary)
    assert done.code == 0
    assert done.out.startswith("FAIL → PASS")
    assert "Without ffn_down (" in done.out
    assert {pair.module for pair in read_lora(mended).pairs} == {"attn_q", "attn_v"}
    assert json.loads(out.read_text("utf-8"))["written"]["written"]
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert "ffn&#95;down" in summary.read_text("utf-8")


@pytest.mark.usefixtures("_harmful")
def test_progress_names_the_views_on_standard_error(loracheck: Any, on: list[Any]) -> None:
    assert "without ffn_down" in loracheck(*on).err
    assert loracheck(*on, "-q").err == ""


def test_a_pass_ends_with_0_and_nothing_is_located(
    loracheck: Any, use_engine: Any, on: list[Any], tmp_path: Path
) -> None:
    use_engine(answering())
    done = loracheck(*on, "--write", tmp_path / "mended.gguf")
    assert done.code == 0
    assert "there is nothing to locate" in done.out
    assert not (tmp_path / "mended.gguf").exists()


def test_what_cannot_be_mended_ends_with_1(loracheck: Any, use_engine: Any, on: list[Any], tmp_path: Path) -> None:
    class NeverRight(HarmfulEngine):
        def harm_of(self, view: Any) -> float:
            return 0.0 if view.name == "base" else 1.0

    use_engine(NeverRight(in_down, lambda _: 0.5))
    done = loracheck(*on, "--write", tmp_path / "mended.gguf")
    assert done.code == 1
    assert "nothing that was tried passes on all cases" in " ".join(done.out.split())
    assert not (tmp_path / "mended.gguf").exists()


def test_ctrl_c_ends_with_130_says_what_is_kept_and_leaves_no_file(
    loracheck: Any, use_engine: Any, on: list[Any], tmp_path: Path
) -> None:
    class StoppedInTheLastCheck(HarmfulEngine):
        def answer(self, view: Any, prompts: Any) -> Any:
            for answer in super().answer(view, prompts):
                if any(str(use.source).endswith(".part") for use in view.adapters):
                    raise KeyboardInterrupt
                yield answer

    use_engine(StoppedInTheLastCheck(in_down, lambda number: 0.5 if number % 2 else 1e9))
    done = loracheck(*on, "--write", tmp_path / "mended.gguf", "--html", tmp_path / "where.html")
    assert done.code == 130
    assert "answers are kept in the store; run the same command again to go on." in done.err
    assert not [path for path in tmp_path.iterdir() if "mended" in path.name or path.suffix == ".html"]


def test_an_adapter_with_one_pair_is_bad_input(loracheck: Any, use_engine: Any, on: list[Any], files: Files) -> None:
    use_engine(answering())
    write_adapter(files.adapter, {name: data for name, data in lora_tensors().items() if "blk.0.attn_q" in name})
    done = loracheck(*on)
    assert done.code == 2
    assert "there are no parts to tell apart" in done.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--write", "nowhere/mended.gguf"], "the folder does not exist"),
        (["--html", "nowhere/page.html"], "the folder does not exist"),
        (["--budget", "2"], "--budget"),
        (["--no-null", "--null-runs", "2"], "exclude each other"),
        (["--plan"], "No such option"),
    ],
)
def test_bad_usage_is_said_before_anything_is_asked(
    loracheck: Any, use_engine: Any, on: list[Any], options: list[str], complaint: str
) -> None:
    engine = answering()
    use_engine(engine)
    done = loracheck(*on, *options)
    assert done.code == 2
    assert complaint in done.err
    assert not engine.asked


def test_without_files_it_says_what_to_give(loracheck: Any) -> None:
    done = loracheck("locate")
    assert done.code == 2
    assert "--base MODEL.gguf and --adapter ADAPTER.gguf" in done.err


def test_every_setting_of_a_check_is_taken(loracheck: Any) -> None:
    from loracheck.cli.check import check
    from loracheck.cli.locate import locate

    only_of_check = {
        "like", "only_plan", "fail_on", "verbose", "junit_file", "badge_file", "candidate", "quantize", "template",
        "drift", "flips", "trials", "temperature", "top_p", "min_p", "top_k",
    }  # fmt: skip
    assert {option.name for option in check.params} - {option.name for option in locate.params} == only_of_check
