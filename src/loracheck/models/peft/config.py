"""A PEFT adapter folder: its files, how strong the adapter is, and what in it a GGUF file has no place for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loracheck.errors import AdapterError
from loracheck.file_kinds import PEFT, misplaced
from loracheck.files import MAY_YOU, sha256_of
from loracheck.text import cut

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"

_UNREADABLE = {
    f"{WEIGHTS}.index.json": "the weights are split over several files; save the adapter with PEFT itself, as one",
    "adapter_model.bin": "the weights are a Python pickle, which can run code when it is opened; "
    "save them as safetensors: model.save_pretrained(folder, safe_serialization=True)",
}

_REFUSED = {
    "use_dora": "DoRA rescales whole rows of the base, which llama.cpp's adapters cannot; train without use_dora",
    "lora_bias": "llama.cpp's adapters have no biases; train without lora_bias",
    "modules_to_save": "modules trained in full have no place in a GGUF adapter; train without modules_to_save",
    "trainable_token_indices": "single trained tokens have no place in a GGUF adapter; train without them",
    "target_parameters": "adapted parameters (such as fused experts) cannot be converted; use target_modules alone",
    "layer_replication": "the adapter is for a base with repeated layers; merge it into that base instead",
    "fan_in_fan_out": "the weights are stored the other way round, as for GPT-2; only Linear layers can be converted",
    "invocation_string": "an activated LoRA needs alora_invocation_tokens; add the tokens of the string",
}
# Switches and tables that change how an adapter is trained or saved, not what its weights mean.
_HARMLESS = {
    *("auto_mapping", "inference_mode", "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
    *("loftq_config", "eva_config", "corda_config", "lora_ga_config", "velora_config", "megatron_config"),
    *("runtime_config", "ensure_weight_tying", "init_lora_weights"),
}
# The others (pissa, olora, corda, loftq, lora_ga) take something out of the base's own weights.
_INITS = (None, True, False, "gaussian", "eva", "orthogonal", "mica")

_Number = TypeVar("_Number", int, float)
_Rank = Annotated[int, Field(ge=1)]
_Alpha = Annotated[float, Field(ge=-1e6, le=1e6)]


def is_peft_folder(path: Path) -> bool:
    return (path / CONFIG).is_file()


def config_file(folder: Path) -> Path:
    if wrong := misplaced(folder, "a PEFT adapter folder", PEFT):
        raise AdapterError(wrong)
    if not is_peft_folder(folder):
        raise AdapterError(f"{folder}: there is no {CONFIG} here; name the folder that PEFT saved the adapter to")
    return folder / CONFIG


def weights_file(folder: Path) -> Path:
    if (folder / WEIGHTS).is_file():
        return folder / WEIGHTS
    for name, why in _UNREADABLE.items():
        if (folder / name).exists():
            raise AdapterError(f"{folder / name}: {why}")
    raise AdapterError(f"{folder}: there is no {WEIGHTS} here; save the adapter again, or finish the download")


def source_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that a conversion reads, by the file's name."""
    return {file.name: sha256_of(file, AdapterError) for file in (config_file(folder), weights_file(folder))}


class PeftConfig(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    r: _Rank = 8
    lora_alpha: _Alpha = 8.0
    use_rslora: bool | None = False
    rank_pattern: dict[str, _Rank] | None = None
    alpha_pattern: dict[str, _Alpha] | None = None
    alora_invocation_tokens: list[Annotated[int, Field(ge=0, lt=2**31)]] | None = None

    def rank(self, module: str) -> int:
        return _for_module(self.rank_pattern or {}, module, self.r)

    def alpha(self, module: str) -> float:
        """The alpha that gives PEFT's own scaling once llama.cpp divides it by the rank."""
        alpha = _for_module(self.alpha_pattern or {}, module, self.lora_alpha)
        # PEFT divides by the rank, and rsLoRA by its square root.
        return alpha * self.rank(module) ** 0.5 if self.use_rslora else alpha


def read_config(folder: Path) -> PeftConfig:
    """The settings that matter to a converter; AdapterError for any that it cannot honour."""
    path = config_file(folder)
    try:
        settings = json.loads(path.read_bytes())
    except OSError as problem:
        raise AdapterError(f"{path}: cannot read the file: {problem.strerror}; {MAY_YOU}") from problem
    except (ValueError, RecursionError) as problem:
        raise AdapterError(f"{path}: this is not JSON ({problem}); save the adapter again") from None
    if not isinstance(settings, dict):
        raise AdapterError(f"{path}: this is not a PEFT config but a JSON {type(settings).__name__}; save it again")
    _refuse(path, settings)
    try:
        config = PeftConfig.model_validate(settings)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise AdapterError(
            f"{path}: {place} is {_shown(first['input'])}: {first['msg']}; mend it, or save the adapter again"
        ) from None
    for pattern in (*(config.rank_pattern or {}), *(config.alpha_pattern or {})):
        try:
            re.compile(pattern)
        except re.error as problem:
            raise AdapterError(
                f"{path}: the pattern {pattern!r} is no regular expression: {problem}; mend it"
            ) from None
    return config


def _refuse(path: Path, settings: Mapping[str, Any]) -> None:
    def fail(key: str, why: str) -> NoReturn:
        raise AdapterError(f"{path}: {key} is {_shown(settings.get(key))}: {why}")

    if settings.get("peft_type") != "LORA":
        fail("peft_type", "only LORA adapters have a form that llama.cpp loads; train a LoRA")
    if settings.get("bias") not in (None, "none"):
        fail("bias", "llama.cpp's adapters have no biases; train with bias='none'")
    if settings.get("init_lora_weights") not in _INITS:
        fail(
            "init_lora_weights",
            "this way to start changes the base's own weights, and the adapter is wrong on the real base; "
            "save it with path_initial_model_for_weight_conversion",
        )
    for key, value in settings.items():
        if key == "invocation_string" and settings.get("alora_invocation_tokens"):
            continue
        if key in _REFUSED and value:
            fail(key, _REFUSED[key])
        # A newer PEFT's numbers and names do nothing until one of its switches is on.
        on = value is True or (isinstance(value, (dict, list)) and value)
        if on and key not in _HARMLESS and key not in PeftConfig.model_fields:
            fail(key, "this may change what the weights mean, and is not known here; remove it if it does not")


def _for_module(patterns: Mapping[str, _Number], module: str, default: _Number) -> _Number:
    """PEFT's own rule: the first pattern that matches the end of the module's name."""
    for pattern, value in patterns.items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default


def _shown(value: object) -> str:
    return cut(json.dumps(value, default=str), 80)
