from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck import load_suite
from loracheck.provenance import provenance_of
from suite_factory import Files, make_suite

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

SUITE = """\
models:
  base: {{gguf: {base}}}
  ft: {{adapters: [{{gguf: {adapter}}}]}}
suite:
  - {{name: tools, kind: tool_use_fidelity, cases: [{{prompt: Find cats., tool_spec: {{name: search}}}}]}}
"""


def provenance(file: Path, base: object, adapter: object) -> dict[str, Any]:
    file.parent.mkdir(exist_ok=True)
    file.write_text(SUITE.format(base=base, adapter=adapter), "utf-8")
    return provenance_of(load_suite(file).without_nulls(), lambda path: "")


def test_a_report_names_its_suite_file(files: Files, tmp_path: Path) -> None:
    said = provenance(tmp_path / "suite.yaml", "base.gguf", "adapter.gguf")
    assert (said["suite_file"], said["outside_suite_folder"]) == (str(tmp_path / "suite.yaml"), [])


def test_files_from_outside_the_suites_folder_are_shown_where_they_are(files: Files, tmp_path: Path) -> None:
    said = provenance(tmp_path / "suites" / "suite.yaml", "../base.gguf", files.adapter)
    assert said["outside_suite_folder"] == [str(tmp_path.resolve() / name) for name in ("base.gguf", "adapter.gguf")]


def test_a_link_inside_the_folder_to_a_file_outside_is_outside(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "mine.gguf").symlink_to(files.adapter)
    (folder / "base.gguf").write_bytes(files.base.read_bytes())
    said = provenance(folder / "suite.yaml", "base.gguf", "mine.gguf")
    assert said["outside_suite_folder"] == [str(files.adapter.resolve())]


def test_a_suite_without_a_file_has_no_folder_to_leave(files: Files) -> None:
    said = provenance_of(make_suite(files), lambda path: "")
    assert (said["suite_file"], said["outside_suite_folder"]) == (None, [])
