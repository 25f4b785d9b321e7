"""Two model files on the real engine: a merged adapter against the adapter itself, and a quantized base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.cases.load import load_pack
from loracheck.checking import check
from loracheck.errors import NoEffectError
from loracheck.store import FILE_NAME, Store
from loracheck.suites import build_suite
from merging import merge
from real import BASE, TOOLCALLER, needs_model

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine.child import ChildEngine

pytestmark = needs_model

CASES = load_pack("demo")[2:4]


def test_a_merged_adapter_answers_as_the_base_with_the_adapter_does_but_for_rounding(
    tmp_path: Path, shared_engine: ChildEngine
) -> None:
    # The base in F16, as if it had never been quantized.
    full = merge(BASE, None, tmp_path / "full.gguf", np.float16)
    merged = merge(BASE, TOOLCALLER, tmp_path / "merged.gguf", np.float16)
    suite = build_suite(base=full, base_adapter=TOOLCALLER, candidate=merged, cases=CASES)
    (probe,) = check(suite, engine=shared_engine).judged
    assert probe.verdict == "pass"
    assert [case.ft.text for case in probe.cases] == [case.base.text for case in probe.cases]
    drift = probe.comparison.drift
    assert drift is not None
    assert drift.cases == len(CASES)
    assert drift.changed == 0
    assert max(drift.worst_format or 0, drift.worst_values or 0) < 0.01


def test_a_copy_in_another_file_computes_the_same_and_has_no_effect(tmp_path: Path, shared_engine: ChildEngine) -> None:
    again = tmp_path / "again.gguf"
    data = bytearray(BASE.read_bytes())
    # Another name in its metadata, so that it is not the same file.
    place = data.index(b"general.name") + len(b"general.name") + 4 + 8
    data[place] ^= 1
    again.write_bytes(data)
    with pytest.raises(NoEffectError, match="bit for bit"):
        check(build_suite(base=BASE, candidate=again, cases=CASES[:1]), engine=shared_engine)


def test_an_adapter_on_the_quantized_base_is_split_three_ways(tmp_path: Path) -> None:
    # The base alone talks on and on.
    suite = build_suite(base=BASE, adapter=TOOLCALLER, quantize="Q8_0", cases=CASES, null=False, max_new_tokens=32)
    with Store(tmp_path / FILE_NAME) as store:
        report = check(suite, store=store)
        again = check(suite, store=store)
    (probe,) = report.judged
    evidence = probe.comparison
    assert (probe.verdict, evidence.subject) == ("pass", "adapter")
    assert evidence.split is not None
    assert evidence.split.both.validity_delta == evidence.validity_delta
    assert evidence.split.adapter.num_cases == len(CASES)
    # A second run finds the model in the cache and every answer in the store.
    assert again.timing["answers_computed"] == again.timing["load_seconds"] == 0
