from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fake_quantizer import FakeQuantizer, fake_quantizer
from loracheck.checking import check
from loracheck.engine import Fingerprint
from loracheck.engine.fake import FakeEngine
from loracheck.errors import EngineError, InputError, ModelError
from loracheck.results import differences
from loracheck.store import Store
from loracheck.sweeping.axes import build_cells
from loracheck.sweeping.building import build, judge_sweep_again
from loracheck.sweeping.results import Sweep
from loracheck.sweeping.running import sweep, sweep_store
from models.factory import lora_tensors, write_adapter, write_model
from suite_factory import Files, call, make_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.engine import Prompt, View

HARMLESS = 0.04
CASES = [make_case(number) for number in range(1, 11)]


def harm(view: View) -> int:
    """How many of the cases a view gets wrong: ten times the scale of its last adapter."""
    return round(10 * view.adapters[-1].scale) if view.name == "adapter" else 0


def growing_harm(view: View, prompt: Prompt) -> str:
    if not prompt.id.startswith("case"):
        return "no idea"
    return "I cannot." if int(prompt.id.removeprefix("case")) <= harm(view) else call()


def run(files: Files, engine: FakeEngine | None = None, store: Store | None = None, **axes: Any) -> Sweep:
    given = {"base": files.base, "adapter": files.adapter, "cases": CASES, "null": False}
    cells = build_cells(**{**given, **axes})
    with sweep_store(no_cache=True) as temporary:
        return sweep(cells, engine=engine or FakeEngine(growing_harm), store=store or temporary)


def verdicts(found: Sweep) -> list[str]:
    return [cell.verdict for cell in found.cells]


def test_each_cell_is_the_check_it_would_be_alone(files: Files) -> None:
    cells = build_cells(base=files.base, adapter=files.adapter, cases=CASES, scale=[0.2, 1])
    with sweep_store(no_cache=True) as store:
        found = sweep(cells, engine=FakeEngine(growing_harm), store=store)
    for cell, swept in zip(cells, found.cells, strict=True):
        alone = check(cell.suite, engine=FakeEngine(growing_harm))
        assert swept.report is not None
        assert list(differences(alone, swept.report)) == []
        assert swept.report.provenance == alone.provenance
        assert swept.verdict == alone.verdict


def test_what_cells_share_is_asked_once(files: Files, tmp_path: Path) -> None:
    """A base's answers for all its cells, and null adapters for all adapters of one shape and scale."""
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(seed=5))
    engine = FakeEngine(growing_harm)
    run(files, engine, adapter=[files.adapter, other], scale=[0.5, 1], null=True, null_runs=2)
    asked = [name for name, _ in engine.asked]
    assert asked.count("base") == len(CASES)
    assert asked.count("adapter") == 4 * len(CASES)
    # Two scales, two null adapters each, two sentinels: the second adapter adds none.
    assert sum(name.startswith("null") for name in asked) == 2 * 2 * 2


def test_a_killed_sweep_goes_on_where_it_was(files: Files, tmp_path: Path) -> None:
    left = 13

    def dying(view: View, prompt: Prompt) -> str:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return growing_harm(view, prompt)

    first, second = FakeEngine(dying, name="same"), FakeEngine(growing_harm, name="same")
    with Store(tmp_path / "store") as store, pytest.raises(KeyboardInterrupt):
        run(files, first, store, scale=[0.5, 1])
    with Store(tmp_path / "store") as store:
        found = run(files, second, store, scale=[0.5, 1])
    # The one it died of had no answer.
    assert len(first.asked) - 1 + len(second.asked) == 3 * len(CASES)
    assert list(differences(found.cells[1].report, run(files, scale=[0.5, 1]).cells[1].report)) == []


def test_scale_0_is_skipped_without_asking_and_drawn_at_the_bases_values(files: Files) -> None:
    engine = FakeEngine(lambda view, prompt: "no" if prompt.id == "case1" else growing_harm(view, prompt))
    found = run(files, engine, scale=[0, 1])
    assert verdicts(found) == ["skip", "fail"]
    bare = found.cells[0]
    assert not bare.has_effect
    assert bare.reason == "nothing is on that the base has not"
    assert (bare.figures.valid_calls, bare.figures.right_calls) == (0.9, 0.9)
    assert bare.figures.valid_calls_ci_95 is not None
    assert found.cells[1].figures.valid_calls == 0
    assert [name for name, _ in engine.asked].count("adapter") == len(CASES)


def test_an_adapter_without_effect_is_a_skipped_cell(files: Files) -> None:
    found = run(files, FakeEngine(growing_harm, inert=True))
    assert verdicts(found) == ["skip"]
    assert found.verdict == "skip"
    assert "bitwise equal" in str(found.cells[0].reason)


def test_an_input_error_of_one_cell_is_an_error_in_its_place(files: Files, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, or so it says")
    found = run(files, adapter=[files.adapter, broken, tmp_path / "none.gguf"], scale=HARMLESS)
    assert verdicts(found) == ["pass", "error", "error"]
    assert "broken.gguf" in str(found.cells[1].reason)
    assert "none.gguf: there is no such file" in str(found.cells[2].reason)


def test_an_input_error_that_all_cells_share_ends_the_sweep_before_anything_is_asked(
    files: Files, tmp_path: Path
) -> None:
    engine = FakeEngine(growing_harm)
    with pytest.raises(ModelError, match=r"none\.gguf: there is no such file"):
        run(files, engine, base=tmp_path / "none.gguf", scale=[0.5, 1])
    with pytest.raises(InputError, match=r"one\.gguf.*\n.*two\.gguf"):
        run(files, engine, adapter=[tmp_path / "one.gguf", tmp_path / "two.gguf"])
    assert engine.asked == []


class Crashing(FakeEngine):
    """Dies of one adapter file, or of one model file."""

    def __init__(self, poison: Path) -> None:
        super().__init__(growing_harm)
        self._poison = poison
        self.deaths = 0

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        if self._poison in (view.model, *(use.source for use in view.adapters)):
            self.deaths += 1
            raise EngineError(f"llama.cpp crashed (SIGSEGV) while computing {view}\n  llama.cpp: its last words")
        return super().fingerprint(view, text)


def test_a_poisoned_adapter_is_one_error_cell_and_the_others_go_on(files: Files, tmp_path: Path) -> None:
    poison = write_adapter(tmp_path / "poison.gguf", lora_tensors(seed=1))
    other = write_adapter(tmp_path / "other.gguf", lora_tensors(seed=2))
    found = run(files, Crashing(poison), adapter=[files.adapter, poison, other], scale=HARMLESS)
    assert verdicts(found)[1] == "error"
    assert "SIGSEGV" in str(found.cells[1].reason)
    assert found.cells[0].passed
    assert found.cells[2].passed
    assert found.verdict == "error"


def test_a_base_that_cannot_be_loaded_is_tried_once(files: Files, tmp_path: Path) -> None:
    heavy = write_model(tmp_path / "heavy.gguf")
    engine = Crashing(heavy)
    found = run(files, engine, base=[heavy, files.base], scale=[HARMLESS, 0.02, 0.01])
    assert engine.deaths == 1
    assert verdicts(found)[:3] == ["error"] * 3
    assert verdicts(found)[3:] == ["pass"] * 3


def test_a_file_that_changes_while_it_is_checked_spoils_its_own_cell(files: Files, tmp_path: Path) -> None:
    retrained = write_adapter(tmp_path / "retrained.gguf", lora_tensors(seed=1))

    def training_goes_on(view: View, prompt: Prompt) -> str:
        if any(use.source == retrained for use in view.adapters):
            write_adapter(retrained, lora_tensors(seed=2))
        return growing_harm(view, prompt)

    found = run(files, FakeEngine(training_goes_on), adapter=[retrained, files.adapter], scale=HARMLESS)
    assert verdicts(found)[0] == "error"
    assert "changed while it was being checked" in str(found.cells[0].reason)
    assert found.cells[1].passed


def test_without_a_cache_nothing_is_left_behind(files: Files, cache_folder: Path) -> None:
    engine = FakeEngine(growing_harm)
    run(files, engine, scale=[0.5, 1])
    assert [name for name, _ in engine.asked].count("base") == len(CASES)
    assert list(cache_folder.iterdir()) == []


def test_the_words_say_which_scale_is_the_largest_that_passes_and_that_harm_grows(files: Files) -> None:
    found = run(files, scale=[0, 0.5, 1])
    assert found.findings[0] == "adapter.gguf: no scale passes."
    assert found.curves[0].shape == "falls"
    assert "the curve falls monotonely" in found.findings[1]


def test_best_is_the_largest_scale_of_the_best_score(files: Files) -> None:
    found = run(files, FakeEngine(lambda view, prompt: call()), scale=[0.5, 1, 0.25])
    best = found.best()
    assert best is not None
    assert best.scale == 1
    assert run(files, scale=1).best() is None


def test_other_limits_judge_the_saved_answers_of_every_cell_again(files: Files) -> None:
    found = run(files, scale=[HARMLESS, 1])
    again = judge_sweep_again(found, {"assert_validity_delta_gte": -1.0})
    assert found.cells[1].verdict == "fail"
    assert again.cells[1].figures.valid_calls_floor == 0
    assert again.cells[1].figures.valid_calls == found.cells[1].figures.valid_calls


def test_a_saved_sweep_is_read_back_as_it_was(files: Files) -> None:
    found = run(files, scale=[0, 0.5, 1])
    assert Sweep.model_validate(found.model_dump(mode="json")) == found


# Quantizations


@pytest.fixture
def quantizer(monkeypatch: pytest.MonkeyPatch) -> type[FakeQuantizer]:
    """Every type is a file of its own."""
    made = fake_quantizer()

    def quantize(self: FakeQuantizer, model: Path, out: Path, file_type: int) -> Iterator[int]:
        made.made.append((model, out))
        write_model(out, extra=[("add_uint32", "toy.type", file_type)])
        out.write_bytes(out.read_bytes()[: int(out.stat().st_size * made.keeps)])
        yield out.stat().st_size

    monkeypatch.setattr(made, "quantize", quantize)
    monkeypatch.setattr("loracheck.quantized.ChildQuantizer", made)
    return made


def harm_by_size(view: View, prompt: Prompt) -> str:
    """Q8_0 does no harm, whatever is smaller does."""
    is_small = "Q4" in view.model.name or "Q2" in view.model.name
    return "I cannot." if is_small and prompt.id in ("case1", "case2") else call()


def test_a_quantization_is_the_quantized_file_with_the_adapter_against_the_unquantized_base(
    files: Files, quantizer: type[FakeQuantizer]
) -> None:
    engine = FakeEngine(harm_by_size)
    found = run(files, engine, quantize=["q8_0", "Q4_K_M"], scale=[0, 1])
    assert [(cell.quantization, cell.scale) for cell in found.cells] == [
        (None, 0),
        (None, 1),
        ("Q8_0", 0),
        ("Q8_0", 1),
        ("Q4_K_M", 0),
        ("Q4_K_M", 1),
    ]
    assert verdicts(found) == ["skip", "pass", "pass", "pass", "fail", "fail"]
    assert len(quantizer.made) == 2
    asked = [name for name, _ in engine.asked]
    assert asked.count("base") == len(CASES)
    for cell in found.cells[2:]:
        assert cell.report is not None
        assert cell.report.provenance.model.path == str(files.base)
        assert cell.report.provenance.settings["quantize"] == cell.quantization


def test_the_words_name_the_smallest_quantization_that_passes(
    files: Files, quantizer: type[FakeQuantizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(files, FakeEngine(harm_by_size), quantize=["Q8_0", "Q4_K_M"])
    sizes = {None: 900, "Q8_0": 500, "Q4_K_M": 300}
    cells = [cell.model_copy(update={"size_bytes": sizes[cell.quantization]}) for cell in found.cells]
    again = build(cells, {})
    assert again.findings[0] == "adapter.gguf: the smallest quantization that passes is Q8_0 (500 B)."
    assert again.curves[0].axis == "quantization"
    assert [again.cells[number].quantization for number in again.curves[0].cells] == [None, "Q8_0", "Q4_K_M"]


def test_a_sweep_over_quantizations_needs_no_adapter(files: Files, quantizer: type[FakeQuantizer]) -> None:
    found = run(files, FakeEngine(harm_by_size), adapter=(), quantize=["Q8_0", "Q4_K_M"])
    assert verdicts(found) == ["skip", "pass", "fail"]
    assert {cell.adapter for cell in found.cells} == {"no adapter"}


def test_without_a_cache_quantized_files_are_gone_afterwards(
    files: Files, quantizer: type[FakeQuantizer], cache_folder: Path
) -> None:
    cells = build_cells(base=files.base, adapter=files.adapter, cases=CASES, null=False, quantize="Q8_0")
    with sweep_store(no_cache=True) as store:
        sweep(cells, engine=FakeEngine(harm_by_size), store=store, no_cache=True)
    assert not [out for _, out in quantizer.made if out.exists()]
    assert list(cache_folder.iterdir()) == []


def test_a_file_that_cannot_be_quantized_spoils_its_own_cells(files: Files, quantizer: type[FakeQuantizer]) -> None:
    quantizer.keeps = 0.5
    found = run(files, FakeEngine(harm_by_size), quantize="Q8_0")
    assert verdicts(found) == ["pass", "error"]
    assert "llama.cpp wrote a broken file" in str(found.cells[1].reason)


def test_a_quantization_that_is_none_is_refused_before_anything_is_made(
    files: Files, quantizer: type[FakeQuantizer]
) -> None:
    with pytest.raises(InputError, match=r"no quantization 'Q4_KM'; did you mean"):
        run(files, quantize="Q4_KM")
    with pytest.raises(InputError, match="quantize takes one base, and there are several"):
        run(files, base=[files.base, "other.gguf"], quantize="Q8_0")
    assert quantizer.made == []
