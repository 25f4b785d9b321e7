from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.models import ChatTemplate, ModelInfo, chat_template, describe, parts_of_model, read_header, read_model
from models.factory import N_EMBD, N_VOCAB, model_tensors, write_model
from real import BASE, needs_base

if TYPE_CHECKING:
    from pathlib import Path


def test_a_model_is_described_by_its_header(tmp_path: Path) -> None:
    extra = [("add_string", "general.license", "mit")]
    path = write_model(tmp_path / "m.gguf", extra=extra)
    assert describe(path) == ModelInfo(
        path=path,
        size=path.stat().st_size,
        architecture="llama",
        name="toy base",
        quantization="F16",
        tensor_types={"F16": 6, "F32": 3},
        parameters=sum(data.size for data in model_tensors().values()),
        n_ctx_train=512,
        n_layers=2,
        n_embd=N_EMBD,
        n_vocab=N_VOCAB,
        template=None,
        license="mit",
        parts=1,
    )


def test_the_chat_template_comes_with_its_tokens(tmp_path: Path) -> None:
    extra = [("add_string", "tokenizer.chat_template", "{{ bos_token }}")]
    template = chat_template(read_header(write_model(tmp_path / "m.gguf", extra=extra)))
    assert template == ChatTemplate("{{ bos_token }}", bos_token="<1>", eos_token="<99>")
    assert chat_template(read_header(write_model(tmp_path / "bare.gguf"))) is None


def test_the_template_for_tools_is_taken_where_there_is_one(tmp_path: Path) -> None:
    extra = [
        ("add_string", "tokenizer.chat_template", "plain"),
        ("add_string", "tokenizer.chat_template.tool_use", "tools"),
    ]
    template = chat_template(read_header(write_model(tmp_path / "m.gguf", extra=extra)))
    assert template is not None
    assert template.source == "tools"


def test_a_split_model_has_all_its_parts_the_given_one_first(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for path in (*parts, tmp_path / "m-00001-of-00004.gguf", tmp_path / "other-00002-of-00003.gguf"):
        path.touch()
    assert parts_of_model(parts[0]) == parts
    assert parts_of_model(parts[1]) == [parts[1], parts[0], parts[2]]
    parts[2].unlink()
    assert parts_of_model(parts[0]) == parts[:2]


def test_a_model_in_one_file_is_its_only_part(tmp_path: Path) -> None:
    assert parts_of_model(tmp_path / "m.gguf") == [tmp_path / "m.gguf"]


@needs_base
def test_the_demo_model_is_described() -> None:
    info = read_model(BASE)
    assert (info.architecture, info.quantization, info.license) == ("llama", "Q4_1", "apache-2.0")
    assert (info.n_layers, info.n_embd, info.n_vocab, info.n_ctx_train) == (30, 576, 49152, 8192)
    assert info.parameters == 134_515_008
    template = chat_template(read_header(BASE))
    assert template is not None
    assert (template.bos_token, template.eos_token) == ("<|im_start|>", "<|im_end|>")
