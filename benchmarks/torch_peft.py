"""PyTorch + PEFT in float32, one prompt after the other. Usage: WORK; needs torch, transformers, peft, gguf."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gguf
import torch
from contender import peak_mb, read_work, tell
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

MODULES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def load_adapter(model: torch.nn.Module, adapter: gguf.GGUFReader) -> None:
    """Put the GGUF adapter's weights into the PEFT model, q and k rows back in the order transformers has them."""
    config = model.config
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    weights = dict(model.named_parameters())
    for tensor in adapter.tensors:
        _, layer, module, _, half = tensor.name.split(".")
        value = torch.from_numpy(tensor.data.astype("float32"))  # A (r, in) or B (out, r)
        if half == "lora_b" and module in heads:
            rows, rank = value.shape
            value = value.view(heads[module], rows // heads[module] // 2, 2, rank).transpose(1, 2).reshape(rows, rank)
        matrix = {"lora_a": "lora_A", "lora_b": "lora_B"}[half]
        weights[f"base_model.model.model.layers.{layer}.{MODULES[module]}.{matrix}.default.weight"].data.copy_(value)


def main() -> None:
    work = read_work(sys.argv[1])
    path = Path(work.model)
    began = time.perf_counter()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    base = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    adapter = gguf.GGUFReader(work.adapter)
    alpha = adapter.fields["adapter.lora.alpha"].contents()
    lora = LoraConfig(r=8, lora_alpha=alpha, target_modules=[name.split(".")[1] for name in MODULES.values()])
    model = get_peft_model(base, lora).eval()
    load_adapter(model, adapter)
    tokens = 0
    for adapter_on in (False, True):
        for text, longest in work.prompts:
            inputs = tokenizer(text, return_tensors="pt", add_special_tokens=False)
            with torch.inference_mode():
                if adapter_on:
                    output = generate(model, inputs, longest)
                else:
                    with model.disable_adapter():
                        output = generate(model, inputs, longest)
            tokens += output.shape[1] - inputs["input_ids"].shape[1]
    tell(seconds=time.perf_counter() - began, peak_mb=peak_mb(), tokens=tokens)


def generate(model: torch.nn.Module, inputs: dict[str, torch.Tensor], longest: int) -> torch.Tensor:
    return model.generate(**inputs, max_new_tokens=longest, do_sample=False)


if __name__ == "__main__":
    main()
