from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loracheck.errors import InputError
from loracheck.sweeping.axes import Cell, build_cells, confirm_number, in_words, read_stack, short_names
from models.factory import write_adapter
from suite_factory import Files, make_case

SUITE = """\
models: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf, scale: 0.5}]}}
suite:
  - {name: tools, kind: tool_use_fidelity, cases: [{prompt: Find cats., tool_spec: {name: search_web}}]}
"""


def cells_of(files: Files, **axes: Any) -> tuple[Cell, ...]:
    given = {"base": files.base, "adapter": files.adapter, "cases": [make_case()]}
    return build_cells(**{**given, **axes})


def training_run(folder: Path, *steps: int, final: bool = True) -> Path:
    """A training output folder with a checkpoint for each of the steps."""
    for below in [folder / f"checkpoint-{step}" for step in steps] + [folder] * final:
        below.mkdir(parents=True, exist_ok=True)
        (below / "adapter_config.json").write_text("{}")
    return folder


def scales(cell: Cell) -> list[float]:
    return [entry.scale for entry in cell.suite.models.ft.adapters]


def test_every_combination_is_a_cell_and_those_of_one_base_stand_together(files: Files, tmp_path: Path) -> None:
    other = write_adapter(tmp_path / "other.gguf")
    cells = cells_of(files, base=[files.base, "b.gguf"], adapter=[files.adapter, other], scale=[0.5, 1])
    assert [(cell.base, cell.adapter, cell.scale) for cell in cells] == [
        ("base.gguf", "adapter.gguf", 0.5),
        ("base.gguf", "adapter.gguf", 1.0),
        ("base.gguf", "other.gguf", 0.5),
        ("base.gguf", "other.gguf", 1.0),
        ("b.gguf", "adapter.gguf", 0.5),
        ("b.gguf", "adapter.gguf", 1.0),
        ("b.gguf", "other.gguf", 0.5),
        ("b.gguf", "other.gguf", 1.0),
    ]
    assert in_words(cells) == "8 cells: 2 bases × 2 adapters × 2 scales"


def test_a_scale_multiplies_the_scales_of_the_stack_under_test_and_no_others(files: Files) -> None:
    stack = f"{files.adapter}+{files.adapter}@0.5"
    (cell,) = cells_of(files, adapter=stack, base_adapter=f"{files.adapter}@0.75", scale=0.5)
    assert scales(cell) == [0.5, 0.25]
    assert [entry.scale for entry in cell.suite.models.base.adapters] == [0.75]
    assert cell.adapter == "adapter.gguf + adapter.gguf@0.5"


def test_the_same_place_twice_is_one_cell(files: Files) -> None:
    assert len(cells_of(files, adapter=[files.adapter, files.adapter], scale=[1, 1.0, 0.5])) == 2


def test_a_training_output_folder_is_its_checkpoints_by_number_then_the_final_adapter(tmp_path: Path) -> None:
    run = training_run(tmp_path / "outputs", 100, 20, 3)
    stacks = read_stack(f"{run}/@0.5", Path())
    assert [stack.checkpoint for stack in stacks] == [3, 20, 100, None]
    assert [stack.entries[0].gguf.name for stack in stacks][-1] == "outputs"
    assert {stack.run for stack in stacks} == {run}
    assert {stack.entries[0].scale for stack in stacks} == {0.5}


def test_without_a_final_adapter_only_the_checkpoints_are_taken(tmp_path: Path) -> None:
    run = training_run(tmp_path / "outputs", 1, 2, final=False)
    (run / "checkpoint-best").mkdir()
    (run / "checkpoint-9").write_text("no folder")
    assert [stack.checkpoint for stack in read_stack(str(run), Path())] == [1, 2]


def test_a_peft_folder_without_checkpoints_is_itself(tmp_path: Path) -> None:
    (stack,) = read_stack(str(training_run(tmp_path / "mine")), Path())
    assert (stack.run, stack.checkpoint) == (None, None)


def test_what_exists_as_it_is_written_is_that_file(tmp_path: Path) -> None:
    for name in ("c++.gguf", "a+b.gguf", "half@0.5.gguf", "a"):
        (tmp_path / name).touch()
    names = {
        "c++.gguf": ["c++.gguf@1"],
        "a+b.gguf": ["a+b.gguf@1"],
        "c++.gguf@0.5+a": ["c++.gguf@0.5", "a@1"],
        "a+c++.gguf": ["a@1", "c++.gguf@1"],
        "half@0.5.gguf+a@2": ["half@0.5.gguf@1", "a@2"],
        "none.gguf+nothing.gguf@0.25": ["none.gguf@1", "nothing.gguf@0.25"],
    }
    for text, expected in names.items():
        (stack,) = read_stack(text, tmp_path)
        assert [f"{entry.gguf.name}@{entry.scale:g}" for entry in stack.entries] == expected


@pytest.mark.parametrize(("text", "message"), [("a.gguf+", "missing beside the +"), ("a.gguf@half", "not a scale")])
def test_a_stack_that_cannot_be_read_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_stack(text, tmp_path)


@pytest.mark.parametrize("scale", [float("nan"), float("inf")])
def test_a_scale_is_a_finite_number(files: Files, scale: float) -> None:
    with pytest.raises(InputError, match="is not a finite number"):
        cells_of(files, scale=[scale])


def test_axes_come_from_the_suite_file_and_what_is_given_wins_axis_by_axis(files: Files, tmp_path: Path) -> None:
    write_adapter(tmp_path / "b.gguf")
    section = "sweep: {adapters: [adapter.gguf, adapter.gguf+b.gguf@0.5], scales: [0.25, 1]}\n"
    (tmp_path / "tools.yaml").write_text(SUITE + section)
    cells = build_cells(tmp_path / "tools.yaml")
    assert [(cell.adapter, cell.scale) for cell in cells] == [
        ("adapter.gguf", 0.25),
        ("adapter.gguf", 1.0),
        ("adapter.gguf + b.gguf@0.5", 0.25),
        ("adapter.gguf + b.gguf@0.5", 1.0),
    ]
    assert cells[0].suite.models.ft.adapters[0].gguf == tmp_path / "adapter.gguf"
    assert [cell.scale for cell in build_cells(tmp_path / "tools.yaml", scale=2)] == [2, 2]


def test_a_suite_file_without_a_sweep_has_its_own_models_as_the_one_place_on_each_axis(
    files: Files, tmp_path: Path
) -> None:
    (tmp_path / "tools.yaml").write_text(SUITE)
    cells = build_cells(tmp_path / "tools.yaml", scale=[0.5, 1])
    assert [scales(cell) for cell in cells] == [[0.25], [0.5]]
    assert {cell.adapter for cell in cells} == {"adapter.gguf@0.5"}


def test_more_than_200_cells_take_a_yes(files: Files) -> None:
    cells = cells_of(files, scale=[number / 100 for number in range(1, 202)])
    with pytest.raises(InputError, match="201 cells, each a whole check; more than 200 take --yes"):
        confirm_number(cells, yes=False)
    confirm_number(cells, yes=True)
    confirm_number(cells[:200], yes=False)


def test_names_are_as_long_as_it_takes_to_tell_files_apart() -> None:
    paths = [Path("/x/one/checkpoint-1"), Path("/x/two/checkpoint-1"), Path("other.gguf")]
    assert list(short_names(paths).values()) == ["one/checkpoint-1", "two/checkpoint-1", "other.gguf"]
    assert short_names([Path("a.gguf"), Path("x/a.gguf")]) == {Path("a.gguf"): "a.gguf", Path("x/a.gguf"): "x/a.gguf"}
