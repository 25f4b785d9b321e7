from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import loracheck
from loracheck.engine import AdapterPart, AdapterUse, NullAdapter, Settings, View, identity
from loracheck.engine.child import ChildEngine
from loracheck.engine.identity import llama_identity, view_identity
from loracheck.files import sha256_of
from models.factory import lora_tensors, write_adapter

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(loracheck.__file__).parent


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"weights")
    return path


def of_view(model: Path, *uses: AdapterUse) -> Any:
    return view_identity(View("any name", model, uses), sha256_of)


def of_null(model: Path, like: Path, **changes: Any) -> Any:
    return of_view(model, AdapterUse(replace(NullAdapter(like, seed=1000), **changes)))


def test_every_setting_has_a_part_in_it() -> None:
    settings = [Settings(), Settings(n_ctx=64), Settings(threads=1), Settings(gpu_layers=1), Settings(parallel=4)]
    seen = [llama_identity(each) for each in settings]
    assert all(seen.count(one) == 1 for one in seen)


def test_the_model_counts_by_content_and_not_by_path(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(b"weights")
    assert of_view(model) == of_view(copy)
    copy.write_bytes(b"other weights")
    assert of_view(model) != of_view(copy)


def test_every_part_of_a_split_model_counts(tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    before = of_view(first)
    second.write_bytes(b"changed")
    assert of_view(first) != before


def test_an_adapter_is_known_by_content_and_not_by_path(model: Path, tmp_path: Path) -> None:
    one, copy = tmp_path / "one.gguf", tmp_path / "copy.gguf"
    one.write_bytes(b"adapter")
    copy.write_bytes(b"adapter")
    assert of_view(model, AdapterUse(one)) == of_view(model, AdapterUse(copy))
    copy.write_bytes(b"retrained")
    assert of_view(model, AdapterUse(one)) != of_view(model, AdapterUse(copy))


def test_scale_and_order_of_a_stack_count(model: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.gguf", tmp_path / "two.gguf"
    one.write_bytes(b"one")
    two.write_bytes(b"two")
    assert of_view(model, AdapterUse(one, 1.0)) != of_view(model, AdapterUse(one, 0.5))
    assert of_view(model, AdapterUse(one), AdapterUse(two)) != of_view(model, AdapterUse(two), AdapterUse(one))
    assert of_view(model, AdapterUse(one)) != of_view(model, AdapterUse(one), AdapterUse(two))


def test_a_part_is_known_by_the_content_of_its_adapter_and_by_its_pairs(model: Path, tmp_path: Path) -> None:
    one, copy = tmp_path / "one.gguf", tmp_path / "copy.gguf"
    one.write_bytes(b"adapter")
    copy.write_bytes(b"adapter")

    def of_part(of: Path, *pairs: str) -> Any:
        return of_view(model, AdapterUse(AdapterPart(of, pairs)))

    assert of_part(one, "blk.0.attn_q.weight") == of_part(copy, "blk.0.attn_q.weight")
    assert of_part(one, "blk.0.attn_q.weight") != of_part(one, "blk.1.attn_q.weight")
    assert of_part(one, "blk.0.attn_q.weight") != of_view(model, AdapterUse(one))
    copy.write_bytes(b"retrained")
    assert of_part(one, "blk.0.attn_q.weight") != of_part(copy, "blk.0.attn_q.weight")


def test_null_adapters_of_one_shape_are_the_same_whatever_the_adapter_has_learned(model: Path, tmp_path: Path) -> None:
    one = write_adapter(tmp_path / "one.gguf", lora_tensors(seed=1), name="one")
    two = write_adapter(tmp_path / "two.gguf", lora_tensors(seed=2), name="two")
    assert of_null(model, one) == of_null(model, two)


def test_null_adapters_of_the_same_norms_are_others_when_the_adapter_has_learned_more(
    model: Path, tmp_path: Path
) -> None:
    one = write_adapter(tmp_path / "one.gguf", lora_tensors(seed=1))
    two = write_adapter(tmp_path / "two.gguf", lora_tensors(seed=2))
    copy = write_adapter(tmp_path / "copy.gguf", lora_tensors(seed=1))
    assert of_null(model, one, match="norm") != of_null(model, two, match="norm")
    assert of_null(model, one, match="norm") == of_null(model, copy, match="norm")


@pytest.mark.parametrize("changes", [{"seed": 1001}, {"init_scale": 0.03}, {"rank_multiplier": 2.0}, {"match": "norm"}])
def test_other_noise_is_another_identity(model: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    like = write_adapter(tmp_path / "a.gguf")
    assert of_null(model, like) != of_null(model, like, **changes)


@pytest.mark.parametrize(
    ("tensors", "rest"),
    [
        (lora_tensors(rank=8), {}),
        (lora_tensors(layers=1), {}),
        (lora_tensors(dtype=np.float16), {}),
        (lora_tensors(), {"alpha": 16.0}),
        (lora_tensors(), {"alpha": None}),
        (lora_tensors(), {"architecture": "qwen2"}),
    ],
)
def test_null_adapters_of_another_shape_are_another_identity(
    model: Path, tmp_path: Path, tensors: Any, rest: dict[str, Any]
) -> None:
    one = write_adapter(tmp_path / "one.gguf")
    two = write_adapter(tmp_path / "two.gguf", tensors, **rest)
    assert of_null(model, one) != of_null(model, two)


def test_llama_cpp_is_identified_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules makes any import of it fail.
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(identity, "find_spec", lambda _: None)
    files = llama_identity(Settings()).files
    assert files
    assert {file.parent for file in files} == {PACKAGE / "engine", PACKAGE / "models"}


def test_another_build_of_the_libraries_is_another_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    library = tmp_path / "libllama.so"
    library.write_bytes(b"one build")
    before = llama_identity(Settings())
    assert llama_identity(Settings()) == before
    # A file of it, so that its content counts.
    assert library in before.files
    (tmp_path / "libggml.so").write_bytes(b"one more")
    assert llama_identity(Settings()) != before


def test_whatever_code_of_ours_has_a_part_in_an_answer_is_a_part_of_its_identity(model: Path, tmp_path: Path) -> None:
    counted = set(ChildEngine(Settings()).identity().files)

    def noted(path: Path) -> str:
        counted.add(path)
        return ""

    null = AdapterUse(NullAdapter(write_adapter(tmp_path / "a.gguf"), seed=1))
    view_identity(View("null", model, (null,)), noted)
    at_work = {
        source
        for module in reached_from("loracheck.engine.worker", "loracheck.engine.llama")
        if (source := source_of(module)) and module.startswith(("loracheck.engine", "loracheck.models"))
    }
    assert {PACKAGE / "engine" / "decode.py", PACKAGE / "models" / "null.py", PACKAGE / "models" / "lora.py"} <= at_work
    assert at_work - counted == set()


def reached_from(*starts: str) -> set[str]:
    """Every module of ours that is imported on the way, read off the sources: llama.cpp itself is not wanted here."""
    reached: set[str] = set()
    ahead = list(starts)
    while ahead:
        module = ahead.pop()
        source = source_of(module)
        if source is None or module in reached:
            continue
        reached.add(module)
        package, _, _ = module.rpartition(".")
        ahead += [package, *imported_by(ast.parse(source.read_text("utf-8")))]
    return reached


def imported_by(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports of ours are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imported_by(node)


def source_of(module: str) -> Path | None:
    first, *rest = module.split(".")
    if first != "loracheck":
        return None
    place = PACKAGE.joinpath(*rest)
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)
