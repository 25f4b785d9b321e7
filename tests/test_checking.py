from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.ask import EFFECT_TEXT
from loracheck.cases.suite import AdapterEntry
from loracheck.checking import check, planned
from loracheck.engine import Fingerprint, Identity
from loracheck.engine.fake import FakeEngine
from loracheck.engine.identity import llama_cpp_version, llama_identity
from loracheck.errors import AdapterError, CasesError, EngineError, ModelError, NoEffectError
from loracheck.files import sha256_of
from loracheck.plan import engine_settings
from loracheck.progress import QuietProgress
from loracheck.store import Store
from models.factory import lora_tensors, write_adapter
from suite_factory import CHAT_TEMPLATE, Files, answering, call, make_case, make_suite, write_files

if TYPE_CHECKING:
    from loracheck.cases.suite import Suite
    from loracheck.engine import View


class NotFinite(FakeEngine):
    """Computes NaN in the view of this name."""

    def __init__(self, view: str) -> None:
        super().__init__(lambda view, prompt: call())
        self._spoilt = view

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        return Fingerprint(view.name, finite=view.name != self._spoilt)


def inert() -> FakeEngine:
    return FakeEngine(lambda view, prompt: call(), inert=True)


def test_an_adapter_that_calls_as_its_base_does_passes(files: Files) -> None:
    report = check(make_suite(files), engine=answering())
    assert (report.verdict, report.score) == ("pass", 1.0)


def test_base_answers_before_adapter_before_nulls_and_each_case_once(files: Files) -> None:
    engine = answering()
    check(make_suite(files, cases=2).with_nulls(1), engine=engine)
    assert engine.asked == [
        ("base", "case1"),
        ("base", "case2"),
        ("adapter", "case1"),
        ("adapter", "case2"),
        ("null 1/1", "search_web"),
        ("null 1/1", "calculator"),
    ]


def test_both_views_are_compared_before_any_case_is_answered(files: Files) -> None:
    engine = inert()
    with pytest.raises(NoEffectError):
        check(make_suite(files).with_nulls(), engine=engine)
    assert engine.asked == []


def test_an_adapter_without_effect_says_what_was_tried(files: Files, tmp_path: Path) -> None:
    tensors = lora_tensors()
    tensors["blk.0.attn_q.weight.lora_b"][:] = 0
    tensors["blk.0.attn_norm.weight"] = np.ones(64, np.float32)  # (embd,)
    extra = write_adapter(tmp_path / "extra.gguf", tensors)
    suite = make_suite(files).with_models(
        adapters=[AdapterEntry(gguf=files.adapter, scale=0), AdapterEntry(gguf=extra)]
    )
    with pytest.raises(NoEffectError) as stopped:
        check(suite, engine=inert())
    first, second = str(stopped.value).splitlines()[1:3]
    assert first.startswith(f"  {files.adapter} at scale 0: 6 tensor pairs matched, norm of the update ")
    assert first.endswith(", 0 pairs all zero, 0 tensors ignored by llama.cpp")
    assert second.startswith(f"  {extra} at scale 1: 6 tensor pairs matched, norm of the update ")
    assert second.endswith(", 1 pairs all zero, 1 tensors ignored by llama.cpp")
    assert stopped.value.exit_code == 4


@pytest.mark.parametrize("view", ["base", "adapter"])
def test_numbers_that_are_not_finite_name_the_view(files: Files, view: str) -> None:
    with pytest.raises(
        EngineError, match=f"the {view} view computes numbers that are not finite; is the model damaged"
    ):
        check(make_suite(files), engine=NotFinite(view))


def test_the_tensors_behind_numbers_that_are_not_finite_are_named(files: Files, tmp_path: Path) -> None:
    tensors = lora_tensors()
    tensors["blk.1.attn_v.weight.lora_a"][0, 0] = np.nan
    bad = write_adapter(tmp_path / "nan.gguf", tensors)
    suite = make_suite(Files(files.base, bad))
    with pytest.raises(
        EngineError, match=r"not finite; NaN or infinity in blk\.1\.attn_v\.weight\.lora_a; train or export"
    ):
        check(suite, engine=NotFinite("adapter"))


def test_tensors_that_llama_cpp_ignores_are_named_in_a_warning(files: Files, tmp_path: Path) -> None:
    names = [f"blk.0.extra{number}_norm.weight" for number in range(6)]
    tensors = {**lora_tensors(), **dict.fromkeys(names, np.ones(64, np.float32))}
    adapter = write_adapter(tmp_path / "extra.gguf", tensors)
    (warning,) = check(make_suite(Files(files.base, adapter), cases=8), engine=answering()).warnings
    assert warning == f"{adapter}: llama.cpp ignores 6 of its tensors: {', '.join(names[:4])} …"


def test_an_adapter_that_fits_its_base_brings_no_warning(files: Files) -> None:
    assert check(make_suite(files, cases=8), engine=answering()).warnings == ()


def test_files_are_looked_at_before_a_model_is_loaded(files: Files, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("loracheck.engine.child.serving", lambda *_: pytest.fail("a child was started"))
    other = write_adapter(tmp_path / "other.gguf", architecture="qwen2")
    with pytest.raises(AdapterError, match="trained on another base"):
        check(make_suite(Files(files.base, other)))
    with pytest.raises(AdapterError, match="not a LoRA adapter; `loracheck check --base "):
        check(make_suite(Files(files.base, files.base)))
    with pytest.raises(ModelError, match=r"not a model; `loracheck check --base MODEL.gguf --adapter "):
        check(make_suite(Files(files.adapter, files.adapter)))
    with pytest.raises(ModelError):
        check(make_suite(Files(tmp_path / "none.gguf", files.adapter)))


def sent(files: Files, **settings: Any) -> str:
    suite = make_suite(files, cases=1).with_defaults(**settings)
    return check(suite, engine=answering()).probes[0].cases[0].sent


def test_the_report_has_what_was_sent_chat_where_there_is_a_template_raw_elsewhere(tmp_path: Path) -> None:
    chatty = write_files(tmp_path, CHAT_TEMPLATE)
    offered = '<tools>[{"type": "function", "function": {"name": "search_web", "parameters": '
    assert sent(chatty).startswith(f"<1>{offered}")
    assert sent(chatty).endswith("</tools><user>Search for 1.<assistant>")
    assert sent(chatty, prompt="chat") == sent(chatty)
    assert sent(chatty, prompt="raw") == "Search for 1."
    (tmp_path / "bare").mkdir()
    assert sent(write_files(tmp_path / "bare")) == "Search for 1."


def test_a_chat_prompt_needs_a_template(files: Files) -> None:
    with pytest.raises(ModelError, match=r"base\.gguf: the model has no chat template; use --prompt raw"):
        sent(files, prompt="chat")


def test_a_tool_in_openais_wrapper_is_sent_as_one_without(tmp_path: Path) -> None:
    files = write_files(tmp_path, CHAT_TEMPLATE)
    plain = make_case()
    wrapped = make_case(tool_spec={"type": "function", "function": plain.tool_spec.spec()})
    one, other = (check(make_suite(files).with_cases([case]), engine=answering()) for case in (plain, wrapped))
    assert one.probes == other.probes


def test_the_same_run_twice_gives_the_same_report_but_for_the_time_it_took(files: Files) -> None:
    def run() -> str:
        report = check(make_suite(files).with_nulls(), engine=answering(adapter=lambda prompt: call(query=prompt.id)))
        return report.model_copy(update={"timing": {}}).model_dump_json()

    assert run() == run()


def test_the_report_says_where_it_comes_from(files: Files) -> None:
    suite = make_suite(files).with_nulls(2).with_defaults(seed=5, parallel=3)
    report = check(suite.with_models(adapters=[AdapterEntry(gguf=files.adapter, scale=0.5)]), engine=answering())
    provenance = report.provenance
    assert provenance.model.model_dump() == {"path": str(files.base), "sha256": sha256_of(files.base), "parts": ()}
    (adapter,) = provenance.ft_adapters
    assert (adapter.path, adapter.sha256) == (str(files.adapter), sha256_of(files.adapter))
    assert (adapter.scale, adapter.peft) == (0.5, None)
    assert provenance.base_adapters == ()
    assert provenance.seeds == {"bootstrap": 5, "null": [1000, 1001]}
    assert provenance.settings["parallel"] == 3
    assert provenance.llama_cpp == llama_cpp_version()
    assert all(math.isfinite(seconds) for seconds in report.timing.values())


def test_progress_is_told_every_stage_and_every_answer(files: Files) -> None:
    told: list[Any] = []

    class Listener(QuietProgress):
        def stage(self, name: str, total: int) -> None:
            told.append((name, total))

        def done(self, tokens: int | None) -> None:
            told.append(tokens)

    check(make_suite(files, cases=2).with_nulls(1), engine=answering("ab", "cde", "f"), progress=Listener())
    assert told == [("loading", 0), ("base", 2), 2, 2, ("adapter", 2), 3, 3, ("null 1/1", 2), 1, 1]


def test_progress_is_told_which_answers_were_in_the_store(files: Files, tmp_path: Path) -> None:
    told: list[Any] = []

    class Listener(QuietProgress):
        def done(self, tokens: int | None) -> None:
            told.append(tokens)

    with Store(tmp_path / "store") as store:
        check(make_suite(files, cases=1), engine=answering("ab", "cde", name="toy"), store=store)
        check(make_suite(files, cases=2), engine=answering("ab", "cde", name="toy"), store=store, progress=Listener())
    assert told == [None, 2, None, 3]


def test_a_given_engine_stays_open_however_the_run_ends(files: Files) -> None:
    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    good, bad = answering(), FakeEngine(interrupted)
    check(make_suite(files), engine=good)
    with pytest.raises(KeyboardInterrupt):
        check(make_suite(files), engine=bad)
    with pytest.raises(AdapterError):
        check(make_suite(Files(files.base, files.base)), engine=bad)
    assert not good.closed
    assert not bad.closed


def test_an_engine_serves_several_suites(files: Files, tmp_path: Path) -> None:
    class ClosedForGood(FakeEngine):
        def answer(self, *arguments: Any) -> Any:
            assert not self.closed
            return super().answer(*arguments)

    engine = ClosedForGood(lambda view, prompt: call() if view.model == files.base else "no idea")
    (tmp_path / "other").mkdir()
    other = write_files(tmp_path / "other")
    values = [check(make_suite(each, cases=2), engine=engine).probes[0].base_value for each in (files, other, files)]
    assert values == [1.0, 0.0, 1.0]


# Stands in for the child's own module: it notes who it is, and answers as it is told to.
WORKER = """
import os, pickle, sys, time
from pathlib import Path
from loracheck.engine import Completion, Fingerprint
from loracheck.errors import EngineError

ending = {ending!r}
Path({note!r}).write_text(str(os.getpid()))
while True:
    name, (view, asked) = pickle.load(sys.stdin.buffer)
    if name == "fingerprint":
        replies = [("item", Fingerprint(str(len(view.adapters)), True))]
    elif ending == "error":
        replies = [("error", EngineError("llama.cpp is unwell"))]
    elif ending == "crash":
        os.abort()
    else:
        replies = [("item", (index, Completion("words", (1,), 1, False))) for index, _ in enumerate(asked)]
    for reply in [*replies, *([] if replies[-1][0] == "error" else [("end", None)])]:
        pickle.dump(reply, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class Interrupting(QuietProgress):
    """Ctrl-C after the first answer."""

    def done(self, tokens: int | None) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("ending", "raised"),
    [("well", None), ("error", EngineError), ("crash", EngineError), ("interrupt", KeyboardInterrupt)],
)
def test_an_engine_that_check_opened_is_closed_however_the_run_ends(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, raised: type[BaseException] | None
) -> None:
    note, folders = tmp_path / "process", tmp_path / "folders"
    folders.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    worker = WORKER.format(ending=ending, note=str(note))
    monkeypatch.setattr("loracheck.engine.child.serving", lambda *_: [sys.executable, "-c", worker])
    progress = Interrupting() if ending == "interrupt" else None
    with pytest.raises(raised) if raised else nullcontext():
        check(make_suite(files), progress=progress)
    # It was waited for, too: not even its entry is left.
    assert not Path(f"/proc/{note.read_text()}").exists()
    assert list(folders.iterdir()) == []


def test_the_text_of_the_comparison_is_part_of_no_case(files: Files) -> None:
    seen: list[str] = []

    class Listening(FakeEngine):
        def fingerprint(self, view: View, text: str) -> Fingerprint:
            seen.append(text)
            return super().fingerprint(view, text)

    check(make_suite(files), engine=Listening(lambda view, prompt: call()))
    assert seen == [EFFECT_TEXT, EFFECT_TEXT]


def test_a_schema_that_is_itself_invalid_is_named_where_schemas_are_strict(files: Files) -> None:
    bad = {"name": "f", "parameters": {"type": "objekt"}}
    suite = make_suite(files).with_cases([make_case(tool_spec=bad)])
    assert check(suite, engine=answering(call("f"), call("f"))).verdict == "pass"
    with pytest.raises(CasesError, match="tools_intact: case 'case1', tool 'f': parameters"):
        check(suite.with_defaults(schema="strict"), engine=answering())


def plan_of(suite: Suite, store: Store | None = None, engine: FakeEngine | None = None) -> list[str]:
    return list(planned(suite, store or Store(), engine))


def test_a_plan_says_what_would_be_asked_of_whom_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.engine.child.serving", lambda *_: pytest.fail("a child was started"))
    monkeypatch.setattr("loracheck.outlook.about_memory", lambda _: "memory: enough")
    monkeypatch.setattr("loracheck.outlook.about_gpu", lambda _: None)
    files = write_files(tmp_path)
    suite = make_suite(files, cases=2).with_nulls(1).with_defaults(max_new_tokens=9)
    adapters = [AdapterEntry(gguf=files.adapter, scale=0.5)]
    assert plan_of(suite.with_models(adapters=adapters)) == [
        f"model    {files.base}",
        "dialect  json: prompts are sent as bare text",
        "view     base: 2 prompts, 26 characters, at most 18 new tokens; in the store already: 0",
        "view     adapter: 2 prompts, 26 characters, at most 18 new tokens; in the store already: 0",
        f"         {files.adapter} at scale 0.5",
        "view     null 1/1: 2 prompts, 53 characters, at most 512 new tokens; in the store already: 0",
        f"         a null adapter like {files.adapter} at scale 0.5",
        "ahead    3 views, 2 cases: 6 answers to compute, about 26 tokens to read",
        "ahead    memory: enough",
        "probe    nulls (null_adapter): 2 cases",
        "case     search_web, at most 256 new tokens",
        "    Search the web for the capital of France.",
        "case     calculator, at most 256 new tokens",
        "    Add 2 and 2.",
        "probe    tools_intact (tool_use_fidelity): 2 cases",
        "case     case1, at most 9 new tokens",
        "    Search for 1.",
        "case     case2, at most 9 new tokens",
        "    Search for 2.",
    ]


def test_a_plan_counts_what_llama_cpp_has_answered_before(files: Files, tmp_path: Path) -> None:
    class Llama(FakeEngine):
        def identity(self) -> Identity:
            return llama_identity(engine_settings(suite.defaults))

    suite = make_suite(files, cases=2)
    with Store(tmp_path / "store") as store:
        check(suite, engine=Llama(lambda view, prompt: call()), store=store)
        check(suite.with_cases([make_case(3)]), engine=answering(), store=store)
        known = plan_of(suite, store)[2]
        assert known == "view     base: 2 prompts, 26 tokens, at most 512 new tokens; in the store already: 2"
        more = plan_of(suite.with_cases([make_case(2), make_case(3)]), store)[2]
        assert more == "view     base: 2 prompts, 26 characters, at most 512 new tokens; in the store already: 1"


def test_a_plan_for_another_engine_counts_what_that_one_has_answered(files: Files, tmp_path: Path) -> None:
    suite, engine = make_suite(files, cases=2), answering(name="toy")
    with Store(tmp_path / "store") as store:
        check(suite, engine=engine, store=store)
        engine.asked.clear()
        assert plan_of(suite, store, engine)[2].endswith("in the store already: 2")
        assert plan_of(suite, store, answering(name="another"))[2].endswith("in the store already: 0")
        assert plan_of(suite, store)[2].endswith("in the store already: 0")
    assert engine.asked == []
