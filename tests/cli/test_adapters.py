"""`inspect`, `convert` and `null`: commands about adapter files."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.files import sha256_of
from loracheck.models import read_adapter
from models.factory import N_EMBD, N_VOCAB, write_adapter, write_model
from models.peft_factory import lora, write_base, write_peft
from suite_factory import CHAT_TEMPLATE, Files, write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a conversion here is none that takes long."""
    monkeypatch.setattr("loracheck.cli.adapters._PATIENCE", 3600.0)


def table(out: str) -> dict[str, str]:
    return dict(line.split("  ", 1) for line in out.splitlines())


def test_null_writes_noise_of_the_same_shape_and_the_same_bytes_for_one_seed(
    loracheck: Any, files: Files, tmp_path: Path
) -> None:
    one, two, other = (tmp_path / name for name in ("one.gguf", "two.gguf", "other.gguf"))
    done = loracheck("null", "--like", files.adapter, "--seed", "7", "--scale", "0.5", "-o", one)
    assert (done.code, done.out, done.err) == (0, f"wrote {one}: noise sized by --scale 0.5\n", "")
    loracheck("null", "--like", files.adapter, "--seed", "7", "--scale", "0.5", "--rank-multiplier", "1.0", "-o", two)
    loracheck("null", "--like", files.adapter, "--seed", "8", "--scale", "0.5", "-o", other)
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    assert read_adapter(one).targets == read_adapter(files.adapter).targets


def test_null_can_match_the_size_of_the_adapters_update(loracheck: Any, files: Files, tmp_path: Path) -> None:
    done = loracheck("null", "--like", files.adapter, "--match", "norm", "-o", tmp_path / "null.gguf")
    said = f"wrote {tmp_path / 'null.gguf'}: noise sized by the update norms of {files.adapter}\n"
    assert (done.code, done.out, done.err) == (0, said, "")
    made, like = (read_adapter(path).update_norm for path in (tmp_path / "null.gguf", files.adapter))
    assert made == pytest.approx(like, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--seed", "-1"], "seed is -1; it must be a whole number, 0 or more"),
        (["--scale", "0"], "init_scale is 0.0; it must be a number above 0"),
        (["--rank-multiplier", "nan"], "rank_multiplier is nan; it must be a number above 0"),
        (["-o", "missing/null.gguf"], "the folder missing does not exist; make it first"),
        (["--like", "none.gguf"], "none.gguf: "),
        (["--seed", "many"], "'many' is not a valid integer"),
        (["--match", "size"], "no match 'size'; give one of scale, norm"),
    ],
)
def test_null_refuses_what_it_cannot_do(
    loracheck: Any, files: Files, monkeypatch: pytest.MonkeyPatch, change: list[str], said: str
) -> None:
    monkeypatch.chdir(files.base.parent)
    before = sorted(files.base.parent.iterdir())
    done = loracheck("null", "--like", files.adapter, "-o", "null.gguf", *change)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert sorted(files.base.parent.iterdir()) == before


def test_inspect_shows_an_adapter_as_a_table(loracheck: Any, files: Files) -> None:
    done = loracheck("inspect", files.adapter)
    facts = {key: value.strip() for key, value in table(done.out).items()}
    assert (done.code, done.err) == (0, "")
    assert facts["kind"] == "LoRA adapter"
    assert (facts["rank"], facts["alpha"], facts["architecture"]) == ("4", "8", "llama")
    assert facts["target modules"] == "attn_q ×2, attn_v ×2, ffn_down ×2"
    assert (facts["tensors"], facts["ignored tensors"]) == ("12", "none")
    assert facts["sha256"] == sha256_of(files.adapter)


def test_inspect_gives_the_same_facts_as_json(loracheck: Any, files: Files) -> None:
    facts = json.loads(loracheck("inspect", files.adapter, "--json").out)
    assert facts["target_modules"] == {"attn_q": 2, "attn_v": 2, "ffn_down": 2}
    assert facts["update_norm"] == read_adapter(files.adapter).update_norm
    assert (facts["rank"], facts["ignored_tensors"], facts["activated_lora"]) == ([4], [], False)


def test_inspect_shows_a_model(loracheck: Any, files: Files) -> None:
    facts = json.loads(loracheck("inspect", files.base, "--json").out)
    assert (facts["kind"], facts["layers"], facts["vocabulary"], facts["context"]) == ("model", 2, 100, 512)
    assert facts["chat_template"] is False
    assert "chat template" in table(loracheck("inspect", files.base).out)


def inspected(loracheck: Any, folder: Path, template: str | None) -> dict[str, Any]:
    facts = json.loads(loracheck("inspect", write_files(folder, template).base, "--json").out)
    assert isinstance(facts, dict)
    return facts


def test_inspect_says_what_is_asked_of_a_model_through_its_chat_template(loracheck: Any, tmp_path: Path) -> None:
    switch = "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    facts = inspected(loracheck, tmp_path, CHAT_TEMPLATE + switch + '{# <tool_call>{"name" #}')
    assert (facts["chat_template"], facts["asked_dialect"], facts["tools_shown"]) == (True, "hermes", True)
    assert facts["asked_because"] == "the chat template writes <tool_call>"
    assert (facts["thinking"], facts["thinking_off"], facts["thinking_less"]) == (True, "enable_thinking=false", None)
    assert facts["template_defects"] == ["it leaves out the calls of earlier turns"]
    rows = {
        key.strip(): value.strip() for key, value in table(loracheck("inspect", tmp_path / "base.gguf").out).items()
    }
    assert (rows["thinking"], rows["thinking off"], rows["thinking less"]) == ("yes", "enable_thinking=false", "–")


def test_inspect_tells_less_thinking_from_none(loracheck: Any, tmp_path: Path) -> None:
    facts = inspected(loracheck, tmp_path, "Reasoning: {{ reasoning_effort }}" + CHAT_TEMPLATE)
    assert (facts["thinking"], facts["thinking_off"], facts["thinking_less"]) == (True, None, 'reasoning_effort="low"')


def test_inspect_names_a_template_that_hides_the_tools_and_one_that_fails(loracheck: Any, tmp_path: Path) -> None:
    hides = inspected(loracheck, tmp_path, "{{ messages[0].content }}")
    assert (hides["tools_shown"], hides["asked_dialect"], hides["template_defects"]) == (False, "json", [])
    fails = inspected(loracheck, tmp_path, "{{ raise_exception('not today') }}")
    assert (fails["tools_shown"], fails["asked_dialect"], fails["thinking"]) == (None, None, None)
    (defect,) = fails["template_defects"]
    assert defect.startswith("the model's chat template failed: not today")


def test_inspect_of_a_model_without_a_template_leaves_it_at_that(loracheck: Any, tmp_path: Path) -> None:
    facts = inspected(loracheck, tmp_path, None)
    assert (facts["chat_template"], facts["asked_dialect"], facts["template_defects"]) == (False, None, [])


def test_a_template_for_tools_alone_is_a_template(loracheck: Any, tmp_path: Path) -> None:
    extra = [("add_string", "tokenizer.chat_template.tool_use", CHAT_TEMPLATE)]
    facts = json.loads(loracheck("inspect", write_model(tmp_path / "m.gguf", extra=extra), "--json").out)
    assert (facts["chat_template"], facts["tools_shown"]) == (True, True)


def test_inspect_cannot_rewrite_the_terminal(loracheck: Any, tmp_path: Path) -> None:
    evil = write_adapter(tmp_path / "evil.gguf", name="\x1b[2J\u202eevil")
    out = loracheck("inspect", evil).out
    assert "\\x1b[2J\\u202eevil" in out
    assert "\x1b" not in out


def test_inspect_names_what_is_wrong_with_a_file(loracheck: Any, files: Files, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("notes", encoding="utf-8")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(files.adapter.read_bytes()[:-200])
    for path in (text, cut, tmp_path, tmp_path / "none.gguf"):
        done = loracheck("inspect", path)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"Error: {path}: ")


def test_convert_says_what_it_wrote(loracheck: Any, tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft", rank_pattern={}), write_base(tmp_path / "base.gguf")
    for extra, dtype in (((), "F32"), (("--outtype", "f16"), "F16")):
        out = tmp_path / "out.gguf"
        done = loracheck("convert", peft, "--base", base, "-o", out, *extra)
        assert done.out == f"wrote {out}: 14 pairs, rank 4, alpha 8, {out.stat().st_size:,} bytes\n"
        assert (done.code, done.err) == (0, "")
        assert read_adapter(out).dtypes == (dtype,)


def test_convert_names_what_it_leaves_out(loracheck: Any, tmp_path: Path) -> None:
    tensors = lora("lm_head", (N_VOCAB, N_EMBD))
    tensors["base_model.model.lm_head.base_layer.weight"] = np.zeros((N_VOCAB, N_EMBD))  # (vocab, embd)
    peft, base = write_peft(tmp_path / "peft", tensors), write_base(tmp_path / "base.gguf", tied=False)
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert done.code == 0
    assert done.err == "left out base_model.model.lm_head.base_layer.weight: a copy of the base's own weights\n"


def test_convert_refuses_by_name_and_writes_nothing(loracheck: Any, tmp_path: Path) -> None:
    peft, base = write_peft(tmp_path / "peft", use_dora=True), write_base(tmp_path / "base.gguf")
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {peft / 'adapter_config.json'}: use_dora is true: ")
    assert not (tmp_path / "out.gguf").exists()


def test_convert_speaks_up_when_it_takes_long(loracheck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loracheck.models.peft import convert

    def slow(*args: Any) -> Any:
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        return convert(*args)

    monkeypatch.setattr("loracheck.cli.adapters._PATIENCE", 0.0)
    monkeypatch.setattr("loracheck.models.peft.convert", slow)
    peft, base = write_peft(tmp_path / "peft"), write_base(tmp_path / "base.gguf")
    done = loracheck("convert", peft, "--base", base, "-o", tmp_path / "out.gguf")
    assert (done.code, done.err) == (0, f"converting {peft} ...\n")


def test_convert_shows_examples(loracheck: Any) -> None:
    assert "loracheck convert my-adapter --base model.gguf -o my-adapter.gguf" in loracheck("convert", "--help").out
