"""Tensor by tensor, byte by byte the output of llama.cpp's own converter.

LLAMA_CPP_SOURCE names a llama.cpp checkout, LLAMA_CPP_PYTHON an interpreter that has what its converter needs (torch,
transformers). Scaling rules that llama.cpp's converter does not know (rsLoRA, alpha_pattern) are in test_convert.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loracheck.models import read_header
from loracheck.models.peft import convert
from loracheck.models.peft.updates import ARCHITECTURES
from models.factory import N_EMBD, N_FF, N_VOCAB
from models.peft_factory import HEADS, KV_HEADS, LAYERS, MODULES, every_module, write_base, write_peft

SOURCE = os.environ.get("LLAMA_CPP_SOURCE")
PYTHON = os.environ.get("LLAMA_CPP_PYTHON", sys.executable)

# The class that Transformers calls the model by, and its name in GGUF.
CLASSES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
    "SmolLM3ForCausalLM": "smollm3",
    "GraniteForCausalLM": "granite",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "Phi3ForCausalLM": "phi3",
}


def test_every_architecture_that_can_be_converted_is_compared() -> None:
    assert set(CLASSES.values()) == set(MODULES) == set(ARCHITECTURES)


@pytest.mark.skipif(not SOURCE, reason="LLAMA_CPP_SOURCE does not name a llama.cpp checkout")
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("dtype", "outtype"), [("BF16", "f32"), ("F32", "f16")])
def test_the_tensors_are_those_of_llama_cpps_converter(tmp_path: Path, name: str, dtype: str, outtype: str) -> None:
    config = {
        "architectures": [name],
        "model_type": name.removesuffix("ForCausalLM").lower(),
        "vocab_size": N_VOCAB,
        "hidden_size": N_EMBD,
        "intermediate_size": N_FF,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": N_EMBD // HEADS,
        "max_position_embeddings": 512,
    }
    transformers = tmp_path / "transformers"
    transformers.mkdir()
    (transformers / "config.json").write_text(json.dumps(config), encoding="utf-8")
    peft = write_peft(tmp_path / "peft", every_module(CLASSES[name]), dtype)
    theirs, ours = tmp_path / "theirs.gguf", tmp_path / "ours.gguf"
    script = Path(SOURCE or "") / "convert_lora_to_gguf.py"
    command = [PYTHON, script, peft, "--base", transformers, "--outfile", theirs, "--outtype", outtype]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    convert(peft, write_base(tmp_path / "base.gguf", CLASSES[name]), ours, outtype)
    assert contents(ours) == contents(theirs)


def contents(path: Path) -> dict[str, Any]:
    header = read_header(path)
    raw = path.read_bytes()
    facts: dict[str, Any] = {key: header.metadata[key] for key in ("general.architecture", "adapter.lora.alpha")}
    for tensor in header.tensors:
        start = header.data_offset + tensor.offset
        facts[tensor.name] = (tensor.dims, tensor.type, raw[start : start + tensor.nbytes])
    return facts
