"""What of a report others may see: a list of fields, and of texts only the words that loracheck itself uses.

Whatever is not listed is left out, so a field that is new is private until somebody lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_args

from loracheck.file_types import FILE_TYPES
from loracheck.probes import KINDS
from loracheck.probes.null_adapter import NO_ADAPTER
from loracheck.probes.tool_use_fidelity import NO_CALL_ASKED, NO_NULL_PROBE
from loracheck.results import (
    NullAdapterEvidence,
    Verdict,
)
from loracheck.scoring import Evidence, Limits, NullSample, Outcome, statistics, tries
from loracheck.scoring.certainty import Grade
from loracheck.scoring.dialects import DIALECTS
from loracheck.scoring.evidence import (
    Abstention,
    BothRates,
    Certainty,
    Cost,
    DialectUse,
    Drift,
    Flips,
    NullStats,
    PairedTests,
    Power,
    SeveralCalls,
    Split,
    Subject,
    TemplatesDiffer,
)
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.several import Matched
from loracheck.scoring.tries import TriedRate, Tries
from loracheck.sweeping.results import Figures

_HASH = re.compile(r"[0-9a-f]{64}")
_RANK = re.compile(r"rank_\d+(\.\d+)?(e[+-]\d+)?")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*")
PEFT_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_MACHINES = tuple(
    f"{system} {processor}"
    for system in ("Linux", "Darwin", "Windows")
    for processor in ("x86_64", "AMD64", "aarch64", "arm64", "ARM64")
)

SETTINGS = (
    "seed", "prompt", "dialect", "thinking", "schema", "max_new_tokens", "n_ctx", "threads", "gpu_layers", "parallel",
    "flips", "quantize", "template", "drift", "trials", "temperature", "top_p", "min_p", "top_k",
)  # fmt: skip
SEEDS = ("bootstrap", "tries", "null")
TIMINGS = ("load_seconds", "total_seconds", "answers_from_store", "answers_computed")
LIMITS = tuple(field.name for field in fields(Limits))

# The words that may stand in a field that is kept, as a value or as a key.
_WORDS = frozenset(
    (
        *get_args(Outcome), *get_args(Verdict), *get_args(Grade), *get_args(Subject), *LIMITS, *SETTINGS, *SEEDS,
        *TIMINGS, *DIALECTS, *FILE_TYPES.values(), *KINDS, *_MACHINES, *PEFT_FILES,
        "base", "ft", "auto", "chat", "raw", "basic", "strict", "own", "sentinels", "cases", "scale", "norm",
        statistics.METHOD, tries.METHOD, NO_ADAPTER, NO_CALL_ASKED, NO_NULL_PROBE,
    )
)  # fmt: skip

_RATES = (
    "json_valid_rate_base", "json_valid_rate_ft", "validity_delta", "mean_arg_disagreement", "hallucination_rate",
    "num_cases", "num_arg_pairs_compared",
)  # fmt: skip

# What is kept of each part: numbers, flags, words of ours, and parts that are listed here themselves.
KEPT: dict[type, tuple[str, ...]] = {
    Evidence: (
        *_RATES, "z_by_rank", "null", "outcomes", "transitions", "paired", "power", "grade", "certainty", "flips",
        "hallucination_rate_base", "exact_arguments_base", "exact_arguments_ft", "strict", "abstention", "several",
        "tries", "limits", "subject", "other_model", "split", "drift", "templates", "dialect", "weight",
    ),
    NullStats: ("mean", "std", "n", "rates", "usable", "why", "base_z", "p_value", "on", "match", "samples"),
    NullSample: ("valid", "cases"),
    PairedTests: ("validity", "exact_call"),
    PairedTest: ("both", "lost", "gained", "neither", "mcnemar_p", "delta", "interval_95", "method"),
    Power: (
        "detectable_drop", "inconclusive", "cases_even_odds", "cases_needed", "fails_from", "failing_drop",
        "flip_rate", "chance_of_fail", "chance_of_fail_by_names",
    ),
    Flips: ("answers", "outcomes", "cases", "width", "rounded_alike"),
    Certainty: ("grade", "interval_95"),
    Limits: LIMITS,
    BothRates: ("base", "ft"),
    Abstention: ("base", "ft", "cases"),
    SeveralCalls: (
        "cases", "right_base", "right_ft", "missing_base", "missing_ft", "extra_base", "extra_ft",
        "wrong_arguments_base", "wrong_arguments_ft", "paired",
    ),
    Tries: ("cases", "tries", "valid", "exact", "all_right", "method"),
    TriedRate: (
        "base", "ft", "delta", "interval_95", "variance_between_cases", "variance_within_cases", "better", "worse",
        "same", "sign_p", "pass_at_base", "pass_at_ft", "pass_all_base", "pass_all_ft",
    ),
    Split: ("quantization", "adapter", "both"),
    Cost: (*_RATES, "paired"),
    Drift: (
        "cases", "positions", "kl_format", "kl_values", "worst_format", "worst_values", "changed_format",
        "changed_values", "changed",
    ),
    TemplatesDiffer: ("prompts", "cases", "position"),
    DialectUse: ("name", "ft_name", "spoken", "read_as", "base_counts", "ft_counts", "base_drift", "ft_drift"),
    NullAdapterEvidence: ("on", "match", "init_scale", "seeds", "valid_by_rank", "cases_per_run"),
    Matched: ("pairs", "right_arguments", "missing", "extra", "right"),
    Figures: (
        "cases", "valid_calls", "valid_calls_base", "valid_calls_ci_95", "valid_calls_floor", "wrong_names",
        "wrong_names_base", "wrong_names_ci_95", "wrong_names_ceiling", "right_calls", "right_calls_base",
        "exact_arguments", "exact_arguments_base", "drift_format", "drift_values",
    ),
}  # fmt: skip

_Part = TypeVar("_Part")


def public_part(part: _Part) -> _Part:
    """A part with nothing but what is kept of its kind."""
    kept: _Part = type(part)(**{name: public(getattr(part, name)) for name in KEPT[type(part)]})
    return kept


def public(value: Any) -> Any:
    """None for whatever is not known to be harmless."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if _is_ours(value) else None
    if isinstance(value, Mapping):
        return {key: public(item) for key, item in value.items() if _is_ours(key)}
    if isinstance(value, list | tuple):
        return type(value)(map(public, value))
    return public_part(value) if type(value) in KEPT else None


def _is_ours(text: Any) -> bool:
    return isinstance(text, str) and (text in _WORDS or _RANK.fullmatch(text) is not None)


def only(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: public(values[name]) for name in names if name in values}


def version_of(text: str | None) -> str | None:
    """The numbers of a version, without what a build adds to them."""
    known = _VERSION.match(text or "")
    return known[0] if known else None


def sha256_of(text: str | None) -> str | None:
    return text if text and _HASH.fullmatch(text) else None
