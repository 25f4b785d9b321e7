"""adapter_config.json: what can be honoured, and what is refused by name with nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.errors import AdapterError
from loracheck.models.peft import convert, is_peft_folder
from models.peft_factory import write_base, write_peft

if TYPE_CHECKING:
    from pathlib import Path


def test_a_peft_folder_is_known_by_its_config(tmp_path: Path) -> None:
    assert is_peft_folder(write_peft(tmp_path / "peft"))
    assert not is_peft_folder(tmp_path)
    assert not is_peft_folder(tmp_path / "none")
    assert not is_peft_folder(tmp_path / "peft" / "adapter_config.json")


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("peft_type", "LOKR", "only LORA adapters"),
        ("peft_type", None, "only LORA adapters"),
        ("use_dora", True, "train without use_dora"),
        ("lora_bias", True, "train without lora_bias"),
        ("bias", "lora_only", "train with bias='none'"),
        ("modules_to_save", ["lm_head"], "train without modules_to_save"),
        ("trainable_token_indices", [3], "single trained tokens"),
        ("target_parameters", ["mlp.experts.gate_up_proj"], "use target_modules alone"),
        ("layer_replication", [[0, 2], [1, 2]], "repeated layers"),
        ("fan_in_fan_out", True, "GPT-2"),
        ("init_lora_weights", "pissa_niter_4", "path_initial_model_for_weight_conversion"),
        ("init_lora_weights", "olora", "path_initial_model_for_weight_conversion"),
        ("invocation_string", "<go>", "alora_invocation_tokens"),
        ("use_qalora", True, "not known here"),
        ("kasa_config", {"beta": 1}, "not known here"),
        ("use_something_new", True, "not known here"),
        ("lora_alpha", "much", "valid number"),
        ("lora_alpha", float("nan"), "less than or equal to"),
        ("lora_alpha", 1e300, "less than or equal to"),
        ("r", 0, "greater than or equal to 1"),
        ("rank_pattern", {"q_proj": -1}, "greater than or equal to 1"),
        ("alora_invocation_tokens", [-1], "greater than or equal to 0"),
    ],
)
def test_a_setting_that_cannot_be_kept_is_named(refusal: Any, key: str, value: Any, complaint: str) -> None:
    message = refusal(**{key: value})
    assert "adapter_config.json: " in message
    assert key in message
    assert complaint in message


def test_a_newer_version_of_peft_may_add_numbers_and_names(tmp_path: Path) -> None:
    peft = write_peft(tmp_path / "peft", new_group_size=16, new_library="some.core", new_config=None, new_list=[])
    convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


@pytest.mark.parametrize("pattern", ["(", "*_proj", "[z-a]"])
def test_a_pattern_that_is_none_is_named(refusal: Any, pattern: str) -> None:
    assert f"the pattern {pattern!r} is no regular expression" in refusal(alpha_pattern={pattern: 4})


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"r": 1' + b"0" * 5000 + b"}"])
def test_a_config_that_is_no_json_object_is_named(tmp_path: Path, content: bytes) -> None:
    peft = write_peft(tmp_path / "peft")
    (peft / "adapter_config.json").write_bytes(content)
    with pytest.raises(AdapterError, match=r"adapter_config\.json: "):
        convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("adapter_model.bin", "safe_serialization=True"),
        ("adapter_model.safetensors.index.json", "split over several files"),
        ("README.md", "there is no adapter_model.safetensors here"),
    ],
)
def test_weights_in_another_form_are_refused_with_the_way_out(tmp_path: Path, name: str, complaint: str) -> None:
    peft = write_peft(tmp_path / "peft")
    (peft / "adapter_model.safetensors").rename(peft / name)
    with pytest.raises(AdapterError, match="peft") as caught:
        convert(peft, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    assert complaint in str(caught.value)


def test_a_folder_without_a_config_is_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"there is no adapter_config\.json here"):
        convert(tmp_path, write_base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
