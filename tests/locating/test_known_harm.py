"""On the real model: adapters whose harm is known, since they were put together for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from locating.known_harm import put_together
from loracheck.cases.load import load_pack
from loracheck.engine import AdapterPart, AdapterUse, Settings, View
from loracheck.engine.child import ChildEngine
from loracheck.errors import AdapterError
from loracheck.locating import Located, locate
from loracheck.models import read_lora
from loracheck.store import Store
from loracheck.suites import build_suite
from models.factory import write_adapter
from real import BARE, BASE, TOOLCALLER, TUNED, needs_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = needs_model

SHORT = ("play_music_2", "get_weather_2", "search_web_1", "get_stock_price_1")
CASES = [case for case in load_pack("demo") if case.id in SHORT]
# A band or a kind of renamer's breaks nothing alone as it is.
STRONG_KIND, STRONG_BAND = 2.0, 4.0
TEXT = "Call the tool search_web to find the capital of France."


@pytest.fixture(scope="module")
def engine() -> Iterator[ChildEngine]:
    child = ChildEngine(Settings(threads=2))
    yield child
    child.close()


@pytest.fixture
def locate_in(engine: ChildEngine, shared_cache: Path, tmp_path: Path) -> Callable[..., Located]:
    def locate_in(strength: Callable[[int, str], float], write: Path | None = None) -> Located:
        adapter = put_together(tmp_path / "put-together.gguf", strength)
        suite = build_suite(
            base=BASE, adapter=adapter, base_adapter=TOOLCALLER, cases=CASES, null=False, max_new_tokens=28
        )
        with Store(shared_cache / "answers.sqlite") as store:
            return locate(suite, engine=engine, store=store, write=write, budget=18)

    return locate_in


def removed(located: Located) -> frozenset[str]:
    assert located.found is not None
    assert located.found.part is not None
    return located.found.part.mend.removed


@pytest.mark.slow
def test_harm_in_one_band_of_layers_is_found_there_and_mended(
    locate_in: Callable[..., Located], tmp_path: Path
) -> None:
    located = locate_in(lambda layer, _: STRONG_BAND if 15 <= layer <= 21 else 0.0, tmp_path / "mended.gguf")
    assert located.ending == "part"
    assert {located.grid.places[name].layer for name in removed(located)} <= set(range(15, 22))
    assert located.exit_code == 0
    assert located.writing is not None
    assert (located.report.verdict, located.writing.report.verdict) == ("fail", "pass")
    kept = {pair.name for pair in read_lora(tmp_path / "mended.gguf").pairs}
    assert kept == located.grid.whole - removed(located)


@pytest.mark.slow
def test_harm_in_one_kind_of_module_is_found_there(locate_in: Callable[..., Located]) -> None:
    located = locate_in(lambda _, module: STRONG_KIND if module == "attn_output" else 0.0)
    assert located.ending in ("part", "several_parts")
    assert {located.grid.places[name].module for name in removed(located)} == {"attn_output"}
    assert located.exit_code == 0


@pytest.mark.slow
def test_harm_that_is_spread_evenly_is_carried_by_no_single_part(locate_in: Callable[..., Located]) -> None:
    located = locate_in(lambda *_: 1.0)
    assert located.ending == "spread"
    assert located.found is not None
    assert located.found.scale is not None
    assert located.found.mended is not None


@pytest.mark.slow
def test_of_two_separate_harms_both_are_left_out(locate_in: Callable[..., Located]) -> None:
    def two(layer: int, module: str) -> float:
        second = layer >= 22 and module == "attn_output"
        return 2 * STRONG_BAND if second or 8 <= layer <= 14 else 0.0

    located = locate_in(two)
    left_out = {(place.layer or 0) // 15 for name, place in located.grid.places.items() if name in removed(located)}
    assert left_out == {0, 1}
    assert located.exit_code == 0


def test_all_parts_of_an_adapter_on_a_bare_base_compute_bitwise_what_the_whole_does() -> None:
    from loracheck.engine.llama import LlamaEngine

    names = [pair.name for pair in read_lora(TOOLCALLER).pairs]
    # Single tensors, and the rest in whole kinds: every part is an adapter to load.
    kinds: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        kinds.setdefault(name if place % 10 == 0 else name.split(".", 2)[2], []).append(name)
    parts = View("parts", BASE, tuple(AdapterUse(AdapterPart(TOOLCALLER, tuple(part))) for part in kinds.values()))
    half = View("half", BASE, parts.adapters[::2])
    with LlamaEngine(Settings(threads=2)) as engine:
        digests = [engine.fingerprint(view, TEXT).digest for view in (TUNED, parts, half, BARE)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_a_part_that_llama_cpp_refuses_alone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loracheck.engine.llama import LlamaEngine

    def write_garbage(of: Path, out: Path, names: tuple[str, ...]) -> Path:
        return write_adapter(out, architecture="qwen2")

    monkeypatch.setattr("loracheck.engine.adapters.write_part", write_garbage)
    part = AdapterUse(AdapterPart(TOOLCALLER, ("blk.3.attn_q.weight",)))
    with (
        LlamaEngine(Settings(threads=2)) as engine,
        pytest.raises(AdapterError, match=r"toolcaller\.gguf: llama\.cpp refuses blk\.3\.attn_q\.weight as an adapter"),
    ):
        engine.fingerprint(View("part", BASE, (part,)), TEXT)
