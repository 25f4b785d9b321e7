"""The demo's base models: what is known of them, and `python -m loracheck.demo`, which fetches them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from loracheck import demo
from loracheck.fetch.hub import HubFile
from loracheck.fetch.wheels import Wheel, Wheels
from loracheck.files import sha256_of
from package_index import PackageIndex
from real import BASE, QWEN, needs_base

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b"GGUF of a kind"
KNOWN = dict(demo.MODELS)


@pytest.fixture
def small_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The models are a few bytes and on the package index, and this checkout has none."""
    sources = (Wheels((Wheel("small==1", "small.gguf", len(CONTENT)),)),)
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    for name, model in KNOWN.items():
        small = replace(model, size=len(CONTENT), sha256=sha256, sources=sources)
        monkeypatch.setitem(demo.MODELS, name, small)
    monkeypatch.setattr("loracheck.fetch.checkout_folder", lambda: tmp_path / "checkout" / "models")


@pytest.fixture
def package_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_models: None) -> PackageIndex:
    return PackageIndex(tmp_path / "index", monkeypatch)


@pytest.mark.parametrize(("words", "name"), [((), "smollm2"), (("smollm2",), "smollm2"), (("qwen",), "qwen")])
def test_run_as_a_module_it_prints_the_path_and_progress_apart(
    package_index: PackageIndex,
    cache_folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    name: str,
) -> None:
    package_index.offer("small==1", "small.gguf", CONTENT)
    demo.main(*words)
    demo.main(*words)
    printed = capsys.readouterr()
    file = KNOWN[name].name
    assert printed.out == f"{cache_folder / 'models' / file}\n" * 2
    assert printed.err == f"fetching {file} (Apache-2.0)\n  100%\n"
    assert demo.find_model(name) == cache_folder / "models" / file
    assert package_index.asked == ["small==1"]


def test_run_as_a_module_a_failure_is_a_message_and_no_traceback(
    package_index: PackageIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[1] == (
        "Error: SmolLM2-135M-Instruct.Q4_1.gguf is not on this machine and could not be fetched:"
    )


def test_run_as_a_module_an_interrupt_is_a_message_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(model: object) -> Path:
        raise KeyboardInterrupt("7 bytes are kept.")

    monkeypatch.setattr(demo, "find_or_fetch", interrupted)
    with pytest.raises(SystemExit) as ended:
        demo.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted. 7 bytes are kept.\n"


def test_run_as_a_module_it_knows_no_other_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main("llama")
    assert ended.value.code == 2
    assert "invalid choice: 'llama'" in capsys.readouterr().err


@pytest.mark.parametrize("model", KNOWN.values(), ids=lambda model: model.name)
def test_every_source_has_the_whole_file(model: demo.ModelFile) -> None:
    assert model.sources
    for source in model.sources:
        if isinstance(source, Wheels):
            assert sum(wheel.size for wheel in source.wheels) == model.size
        else:
            assert isinstance(source, HubFile)
            assert source.name == model.name


@needs_base
def test_the_known_size_and_hash_are_those_of_smollm2() -> None:
    assert (BASE.stat().st_size, sha256_of(BASE)) == (KNOWN["smollm2"].size, KNOWN["smollm2"].sha256)


@pytest.mark.qwen
def test_the_known_size_and_hash_are_those_of_qwen(qwen_model: Path) -> None:
    assert qwen_model == QWEN
    assert (qwen_model.stat().st_size, sha256_of(qwen_model)) == (KNOWN["qwen"].size, KNOWN["qwen"].sha256)
