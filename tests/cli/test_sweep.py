from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from loracheck.engine.fake import FakeEngine
from models.factory import lora_tensors, write_adapter
from suite_factory import Files, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Done
    from loracheck.engine import Prompt, View


def broken_above_half(view: View, prompt: Prompt) -> str:
    return "I cannot." if view.name == "adapter" and view.adapters[-1].scale > 0.5 else call()


@pytest.fixture
def sweep(
    loracheck: Callable[..., Done], use_engine: Callable[[FakeEngine], None], files: Files, cases_file: Path
) -> Callable[..., Done]:
    """`loracheck sweep` on the toy files, with an adapter that breaks above scale 0.5."""
    use_engine(FakeEngine(broken_above_half))

    def sweep(*args: str | Path) -> Done:
        given = ("--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null")
        return loracheck("sweep", *given, *args)

    return sweep


def scales(*values: float) -> list[str]:
    return [word for value in values for word in ("--scale", str(value))]


def test_the_number_of_cells_is_said_first_then_the_words_and_the_table(sweep: Callable[..., Done]) -> None:
    done = sweep(*scales(0, 0.5, 1))
    assert done.err.startswith("3 cells: 1 base × 1 adapter × 3 scales\n")
    assert done.code == 1
    assert "adapter.gguf: the largest scale that passes is 0.5." in done.out
    rows = [line.split() for line in done.out.splitlines() if line.strip()[:1].isdigit()]
    assert [(row[0], row[1], row[2]) for row in rows[1:4]] == [
        ("0", "SKIP", "100.0%"),
        ("0.5", "PASS", "100.0%"),
        ("1", "FAIL", "0.0%"),
    ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (scales(0.25, 0.5), 0),
        (scales(0.25, 1), 1),
        ([*scales(0.25, 1), "--require", "any"], 0),
        ([*scales(0.75, 1), "--require", "any"], 1),
        (scales(0), 4),
        ([*scales(0), "--require", "any"], 4),
        (["--adapter", "none.gguf"], 3),
        (["--adapter", "none.gguf", "--scale", "0.25", "--require", "any"], 0),
        (["--base", "none.gguf"], 3),
    ],
)
def test_the_exit_code_is_the_gravest_thing_that_happened(
    sweep: Callable[..., Done], given: list[str], code: int
) -> None:
    assert sweep(*given).code == code


def test_an_input_error_of_all_cells_is_exit_code_2(
    loracheck: Callable[..., Done], files: Files, cases_file: Path
) -> None:
    done = loracheck("sweep", "--base", "none.gguf", "--adapter", files.adapter, "--cases", cases_file)
    assert (done.code, done.out) == (2, "")
    assert "none.gguf: there is no such file" in done.err


def test_an_engine_failure_in_one_cell_is_exit_code_3(
    loracheck: Callable[..., Done], use_engine: Callable[[FakeEngine], None], files: Files, cases_file: Path
) -> None:
    from loracheck.errors import EngineError

    def crash(view: View, prompt: Prompt) -> str:
        if view.name == "adapter" and view.adapters[0].scale == 1:
            raise EngineError("llama.cpp crashed (SIGSEGV)")
        return call()

    use_engine(FakeEngine(crash))
    given = ("--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null")
    done = loracheck("sweep", *given, *scales(0.5, 1))
    assert done.code == 3
    assert "ERROR  scale 1: llama.cpp crashed (SIGSEGV)" in done.out


def test_more_than_200_cells_take_yes(sweep: Callable[..., Done]) -> None:
    many = scales(*(number / 1000 for number in range(1, 202)))
    done = sweep(*many)
    assert (done.code, done.out) == (2, "")
    assert "201 cells" in done.err
    assert sweep(*many, "--yes", "-q").code == 0


def test_every_form_is_written_and_the_csv_has_no_timings(sweep: Callable[..., Done], tmp_path: Path) -> None:
    forms = {"json": "json", "html": "html", "markdown": "md", "csv": "csv", "junit": "xml"}
    outputs = [word for form, ending in forms.items() for word in (f"--{form}", str(tmp_path / f"out.{ending}"))]
    sweep(*scales(0, 0.5, 1), *outputs)
    saved = json.loads((tmp_path / "out.json").read_text())
    assert (saved["kind"], saved["schema_version"], len(saved["cells"])) == ("sweep", 1, 3)
    assert (tmp_path / "out.html").read_text("utf-8").startswith("<!doctype html>")
    assert "| 0.5 | ✅ PASS | 100.0% |" in (tmp_path / "out.md").read_text("utf-8")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    assert [(row["scale"], row["verdict"], row["valid_calls"]) for row in rows] == [
        ("0", "skip", "1.0"),
        ("0.5", "pass", "1.0"),
        ("1", "fail", "0.0"),
    ]
    assert not [name for name in rows[0] if "second" in name or "stored" in name]
    suite = ET.parse(tmp_path / "out.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }


def test_the_same_sweep_again_gives_the_same_csv(sweep: Callable[..., Done], tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        sweep(*scales(0.5, 1), "--csv", tmp_path / name)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_each_cell_links_to_its_report_in_the_folder(sweep: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    sweep(*scales(0, 0.5, 1), "--reports", tmp_path / "cells", "--html", tmp_path / "pages" / "sweep.html")
    names = {path.name for path in (tmp_path / "cells").iterdir()}
    assert names == {f"00{n}-scale-{scale}.{end}" for n, scale in ((2, "0.5"), (3, "1")) for end in ("html", "json")}
    page = (tmp_path / "pages" / "sweep.html").read_text("utf-8")
    assert 'href="../cells/003-scale-1.html"' in page
    assert "scale-0." not in page.replace("scale-0.5", "")


def test_a_folder_that_is_not_there_is_said_before_the_work(sweep: Callable[..., Done], tmp_path: Path) -> None:
    done = sweep("--reports", tmp_path / "no" / "cells")
    assert done.code == 2
    assert "the folder above it does not exist" in done.err


def test_a_step_summary_and_annotations_in_github_actions(
    sweep: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = sweep(*scales(0.5, 1))
    assert "::error title=fail%3A scale 1::" in done.out
    assert "loracheck sweep, 2 cells: 1 pass, 1 fail" in (tmp_path / "summary.md").read_text("utf-8")


def test_report_shows_a_saved_sweep_in_every_form_and_by_other_limits(
    sweep: Callable[..., Done], loracheck: Callable[..., Done], tmp_path: Path
) -> None:
    saved = tmp_path / "sweep.json"
    printed = sweep(*scales(0.5, 1), "--json", saved).out
    assert loracheck("report", saved).out == printed
    assert loracheck("report", saved, "--format", "csv").out.startswith("base,quantization,adapter,scale,")
    assert loracheck("report", saved, "--format", "html").out.startswith("<!doctype html>")
    assert json.loads(loracheck("report", saved, "--format", "json").out) == json.loads(saved.read_text())
    lenient = loracheck("report", saved, "--limit", "assert_validity_delta_gte=-1", "--limit", "assert_z_gte=-9")
    assert lenient.code == 0
    assert "FAIL" not in lenient.out


def test_csv_is_a_form_of_a_sweep_alone(
    loracheck: Callable[..., Done],
    use_engine: Callable[[FakeEngine], None],
    files: Files,
    tmp_path: Path,
    cases_file: Path,
) -> None:
    use_engine(FakeEngine(broken_above_half))
    given = ("--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--json", tmp_path / "one.json")
    loracheck("check", *given)
    done = loracheck("report", tmp_path / "one.json", "--format", "csv")
    assert done.code == 2
    assert "--format csv is for a sweep" in done.err


def test_diff_compares_two_sweeps_cell_by_cell(
    sweep: Callable[..., Done],
    loracheck: Callable[..., Done],
    use_engine: Callable[[FakeEngine], None],
    tmp_path: Path,
) -> None:
    sweep(*scales(0.25, 0.5, 2), "--json", tmp_path / "a.json")
    use_engine(FakeEngine(lambda view, prompt: "no" if view.adapters and view.adapters[0].scale > 0.3 else call()))
    sweep(*scales(0.25, 0.5, 3), "--json", tmp_path / "b.json", "--reports", tmp_path / "cells")
    outputs = ("--json", tmp_path / "diff.json", "--html", tmp_path / "diff.html")
    done = loracheck("diff", tmp_path / "a.json", tmp_path / "b.json", *outputs)
    assert done.code == 1
    assert "B is worse than A in 1 of 2 cells." in done.out
    assert "cells in A alone: scale 2" in done.out
    assert "scale 0.5, worse: tools_intact: valid calls" in done.out
    cells = json.loads((tmp_path / "diff.json").read_text())["cells"]
    assert [(cell["scale"], bool(cell["worse"])) for cell in cells] == [(0.25, False), (0.5, True)]
    assert "B is worse than A in 1 of 2 cells" in (tmp_path / "diff.html").read_text("utf-8")
    assert loracheck("diff", tmp_path / "a.json", tmp_path / "a.json").code == 0
    mixed = loracheck("diff", tmp_path / "a.json", next((tmp_path / "cells").glob("*.json")))
    assert mixed.code == 2
    assert "a sweep and a single report" in mixed.err


def test_a_check_like_a_sweep_says_what_the_file_is(
    sweep: Callable[..., Done], loracheck: Callable[..., Done], tmp_path: Path
) -> None:
    sweep("--json", tmp_path / "sweep.json")
    done = loracheck("check", "--like", tmp_path / "sweep.json")
    assert done.code == 2
    assert "what a sweep found, not a single report" in done.err


def test_a_sweep_edited_by_hand_is_refused_with_its_place(
    sweep: Callable[..., Done], loracheck: Callable[..., Done], tmp_path: Path
) -> None:
    sweep("--json", tmp_path / "sweep.json")
    whole: dict[str, Any] = json.loads((tmp_path / "sweep.json").read_text())
    for change, message in (
        ({"schema_version": 99}, "a sweep of schema version 99; this loracheck reads 1"),
        ({"cells": [{"base": 1}]}, "not a whole report: cells.0.base"),
    ):
        (tmp_path / "edited.json").write_text(json.dumps(whole | change))
        done = loracheck("report", tmp_path / "edited.json")
        assert done.code == 2
        assert message in done.err


def test_an_interrupt_leaves_no_files_and_says_what_is_kept(
    loracheck: Callable[..., Done],
    use_engine: Callable[[FakeEngine], None],
    files: Files,
    cases_file: Path,
    tmp_path: Path,
) -> None:
    def stop(view: View, prompt: Prompt) -> str:
        if view.name == "adapter" and view.adapters[0].scale == 1 and prompt.id == "case3":
            raise KeyboardInterrupt
        return call()

    use_engine(FakeEngine(stop, name="same"))
    given = ("--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null", *scales(0.5, 1))
    outputs = ("--json", tmp_path / "out.json", "--reports", tmp_path / "cells")
    before = {path.name for path in tmp_path.iterdir()}
    done = loracheck("sweep", *given, *outputs)
    assert done.code == 130
    assert "10 answers are kept in the store" in done.err
    assert {path.name for path in tmp_path.iterdir()} == before
    again = FakeEngine(broken_above_half, name="same")
    use_engine(again)
    assert loracheck("sweep", *given, *outputs).code == 1
    assert len(again.asked) == 2


def test_stacks_and_alternatives_are_told_apart(sweep: Callable[..., Done], files: Files, tmp_path: Path) -> None:
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(seed=3))
    done = sweep("--adapter", other, "--adapter", f"{files.adapter}+{other}@0.5", "--scale", "0.5")
    assert done.err.startswith("3 cells: 1 base × 3 adapters × 1 scale\n")
    assert "adapter.gguf + other.gguf@0.5" in " ".join(done.out.split())


def test_a_cluster_and_workers_exclude_each_other(sweep: Callable[..., Done]) -> None:
    done = sweep("--cluster", "tcp://127.0.0.1:9", "--workers", "2")
    assert done.code == 2
    assert "--cluster and --workers exclude each other" in done.err


def test_workers_without_dask_are_refused_before_anything_is_read(
    sweep: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.cluster.opening.find_spec", lambda _: None)
    done = sweep("--workers", "2")
    assert (done.code, done.out) == (2, "")
    assert "pip install 'loracheck[cluster]'" in done.err
