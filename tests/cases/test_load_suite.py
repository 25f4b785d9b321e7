from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from loracheck.cases.entries import ENTRIES, Entry, NullAdapterEntry, ToolUseEntry
from loracheck.cases.load import load_suite
from loracheck.cases.suite import AdapterEntry, default_threads, suite_of_kinds
from loracheck.errors import CasesError, SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[[str], Path]

DESIGN = """\
version: 1
models:
  base: {gguf: models/SmolLM2-135M-Instruct.Q4_1.gguf, adapters: [{gguf: a.gguf, scale: 1.0}]}
  ft:   {adapters: [{gguf: b.gguf}]}        # on top of base
defaults: {seed: 0, prompt: chat, max_new_tokens: 256, n_ctx: 4096, threads: 2, gpu_layers: 0, parallel: 8}
suite:
  - {name: noise, kind: null_adapter, runs: 3, init_scale: 0.02, seed_base: 1000, rank_multipliers: [1.0]}
  - name: tools_intact
    kind: tool_use_fidelity
    allowed_tools: [search_web, calculator]
    assert_validity_delta_gte: -0.05
    cases:
      - prompt: Search the web for cats.
        tool_spec: {name: search_web, parameters: {type: object, properties: {query: {type: string}}, required: [query]}}
        gold_tool_name: search_web
        max_new_tokens: 256
"""  # noqa: E501 - as the design has it
SMALL = """\
models:
  base: {gguf: base.gguf}
  ft: {adapters: [{gguf: b.gguf}]}
suite:
  - name: tools
    kind: tool_use_fidelity
    cases:
      - prompt: Find cats.
        tool_spec: {name: search}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "suite.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def refusal(path: Path) -> str:
    with pytest.raises(SuiteError) as refused:
        load_suite(path)
    return str(refused.value).replace(str(path), "suite.yaml")


def test_the_example_of_the_design_loads_as_written(write: Write, tmp_path: Path) -> None:
    suite = load_suite(write(DESIGN))
    assert suite.version == 1
    assert suite.models.base.gguf == tmp_path / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert suite.models.base.adapters == (AdapterEntry(gguf=tmp_path / "a.gguf"),)
    assert suite.adapters == (AdapterEntry(gguf=tmp_path / "a.gguf"), AdapterEntry(gguf=tmp_path / "b.gguf"))
    assert dict(suite.defaults) == {
        "seed": 0, "prompt": "chat", "max_new_tokens": 256, "n_ctx": 4096, "threads": 2, "gpu_layers": 0, "parallel": 8,
        "dialect": "auto", "schema_rules": "basic", "thinking": True, "template_args": {},
        "flips": False, "quantize": None, "template": "own", "drift": None,
        "trials": None, "temperature": None, "top_p": 1.0, "min_p": 0.0, "top_k": 0,
    }  # fmt: skip
    nulls, tools = suite.entries
    assert isinstance(nulls, NullAdapterEntry)
    assert (nulls.runs, nulls.init_scale, nulls.seed_base, nulls.rank_multipliers) == (3, 0.02, 1000, (1.0,))
    assert isinstance(tools, ToolUseEntry)
    assert tools.allowed_tools == ("search_web", "calculator")
    assert (tools.assert_validity_delta_gte, tools.assert_hallucination_lte, tools.assert_z_gte) == (-0.05, 0.10, 3.0)
    (case,) = tools.cases
    assert (case.id, case.gold, case.max_new_tokens) == ("1", "search_web", 256)


def test_a_suite_has_the_entries_of_its_file_and_no_others(write: Write) -> None:
    suite = load_suite(write(SMALL))
    assert [(entry.name, entry.kind) for entry in suite.entries] == [("tools", "tool_use_fidelity")]
    assert suite.file == write(SMALL)


def test_a_suite_reads_what_it_writes(write: Write) -> None:
    suite = load_suite(write(DESIGN))
    dumped = suite.model_dump(mode="json")
    assert [entry["name"] for entry in dumped["suite"]] == ["noise", "tools_intact"]
    assert type(suite).model_validate(dumped).model_dump(mode="json") == dumped


def test_absolute_paths_and_the_home_folder_are_kept(write: Write) -> None:
    text = SMALL.replace("base.gguf", "/models/base.gguf").replace("b.gguf}]", "~/b.gguf}]")
    suite = load_suite(write(text))
    assert suite.models.base.gguf == Path("/models/base.gguf")
    assert suite.models.ft.adapters[0].gguf == Path.home() / "b.gguf"


def test_the_path_may_be_a_string(write: Write) -> None:
    assert load_suite(str(write(SMALL))) == load_suite(write(SMALL))


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(write: Write, tmp_path: Path) -> None:
    other = tmp_path / "windows.yaml"
    other.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load_suite(other).model_dump() == load_suite(write(SMALL)).model_dump()


def test_words_dates_times_and_leading_zeros_stay_text_as_a_model_would_write_them(write: Write) -> None:
    gold = "{a: on, b: yes, c: 2024-01-01, d: 12:30, e: 0123, f: 1_000}"
    numbers = "{g: true, h: 1e3, i: -7, j: 0x1F, k: 2.5, l: null}"
    text = f"{SMALL}        gold_arguments: {gold[:-1]}, {numbers[1:]}\n"
    (tools,) = load_suite(write(text)).entries
    assert isinstance(tools, ToolUseEntry)
    assert tools.cases[0].gold_arguments == {
        "a": "on", "b": "yes", "c": "2024-01-01", "d": "12:30", "e": "0123", "f": "1_000",
        "g": True, "h": 1000.0, "i": -7, "j": 31, "k": 2.5, "l": None,
    }  # fmt: skip


def test_an_unknown_key_is_named_with_its_line_and_the_key_it_looks_like(write: Write) -> None:
    complaint = refusal(write(SMALL.replace("      - prompt", "      - max_new_token: 3\n        prompt")))
    assert complaint == "suite.yaml:8: suite[0].cases[0].max_new_token: unknown key; did you mean 'max_new_tokens'?"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("suite:", "suit:", ":4: suit: unknown key; did you mean 'suite'?"),
        # By its letters, and of all keys that a file may have anywhere.
        ("suite:", "entries:", ":4: entries: unknown key; did you mean 'suite'?"),
        ("suite:", "defaults: {schem: strict}\nsuite:", ":4: defaults.schem: unknown key; did you mean 'schema'?"),
        ("suite:", "defaults: {schema_rules: strict}\nsuite:", ":4: defaults.schema_rules: unknown key; did you mean"),
        ("cases:", "assert_z_gt: 3\n    cases:", ":7: suite[0].assert_z_gt: unknown key; did you mean 'assert_z_gte'?"),
    ],
)
def test_keys_are_known_by_the_names_that_files_give_them(write: Write, old: str, new: str, complaint: str) -> None:
    lines = refusal(write(SMALL.replace(old, new, 1))).splitlines()
    assert any(line.startswith(f"suite.yaml{complaint}") for line in lines)


class StyleEntry(Entry):
    kind: Literal["style"] = "style"
    formal: bool = True


def test_a_suite_may_have_entries_of_other_kinds(write: Write) -> None:
    kind_of_suite = suite_of_kinds({**ENTRIES, "style": StyleEntry})
    text = SMALL + "  - {name: tone, kind: style, formal: false}\n"
    suite = load_suite(write(text), kind_of_suite)
    assert suite.entries[1] == StyleEntry(name="tone", formal=False)
    assert suite.model_dump(mode="json")["suite"][1] == {"name": "tone", "kind": "style", "formal": False}
    with pytest.raises(SuiteError, match=r":10: suite\[1\]\.formla: unknown key; did you mean 'formal'\?"):
        load_suite(write(text.replace("formal", "formla")), kind_of_suite)
    with pytest.raises(
        SuiteError, match=r":10: suite\[1\]: unknown kind 'sytle'; known: .*'tool_use_fidelity', 'style'"
    ):
        load_suite(write(text.replace("style", "sytle")), kind_of_suite)
    assert "unknown kind 'style'" in refusal(write(text))


def test_the_line_of_an_unknown_key_is_where_the_key_stands(write: Write) -> None:
    assert refusal(write(SMALL + "colour:\n  - red\n")) == "suite.yaml:10: colour: unknown key; take it out"


def test_a_missing_key_is_named_with_the_line_of_what_lacks_it(write: Write) -> None:
    complaint = refusal(write(SMALL.replace("        tool_spec: {name: search}\n", "")))
    assert complaint == (
        "suite.yaml:8: suite[0].cases[0]: no tools on offer; "
        "give tool_spec or tools, or tools for all cases with --tools FILE"
    )


def test_every_mistake_is_named_at_once(write: Write) -> None:
    complaint = refusal(write(SMALL.replace("prompt:", "promt:").replace("{gguf: base.gguf}", "{ggfu: base.gguf}")))
    assert [line.split(": ")[1] for line in complaint.splitlines()] == [
        "models.base.gguf", "models.base.ggfu", "suite[0].cases[0].promt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "models:",
            "version: 2\nmodels:",
            ":1: version: this loracheck reads version 1, the file says 2; use a loracheck that reads it",
        ),
        ("kind: tool_use_fidelity", "kind: tool_use", ":5: suite[0]: unknown kind 'tool_use'; known: 'null_adapter', "),
        ("    kind: tool_use_fidelity\n", "", ":5: suite[0]: no kind; each entry needs one"),
        ("  - name: tools", "  - tools\n  - name: tools", ":5: suite[0]: should be a mapping, key: value"),
        ("{gguf: b.gguf}", "{gguf: b.gguf, scale: .nan}", ":3: models.ft.adapters[0].scale: the scale is nan; give a"),
        (
            "suite:",
            "defaults: {dialect: hermse}\nsuite:",
            ":4: defaults.dialect: no dialect 'hermse'; did you mean 'hermes",
        ),
        ("suite:", "defaults: {thinking: less}\nsuite:", ":4: defaults.thinking: "),
        ("suite:", "defaults: {template_args: [a]}\nsuite:", ":4: defaults.template_args: should be a mapping"),
        ("suite:", "defaults: {max_new_tokens: 0}\nsuite:", ":4: defaults.max_new_tokens: "),
        ("Find cats.", "Find cats.\n        answer_tokens: 0", ":9: suite[0].cases[0].answer_tokens: "),
        ("[{gguf: b.gguf}]", "b.gguf", ":3: models.ft.adapters: should be a list"),
        ("{gguf: base.gguf}", "base.gguf", ":2: models.base: should be a mapping"),
        ("{name: search}", "{name: search, parameters: text}", ":9: suite[0].cases[0].tool_spec.parameters: should be"),
        ("name: tools\n", "name: tools\n    assert_z_gte: .inf\n", ":6: suite[0].assert_z_gte: "),
        ("models:", "models: {}\nmodels:", ":2: the key 'models' stands here twice; keep one"),
        ("models:", "[a]: 1\nmodels:", ":1: not YAML: found unhashable key"),
        ("models:", "models: [", ":3: not YAML: "),
        ("models:", "--- {}\n---\nmodels:", ":2: not YAML: "),
        ("Find cats.", "!!python/object/apply:os.getcwd []", ":8: not YAML: could not determine a constructor"),
        ("Find cats.", "''", ":8: suite[0].cases[0].prompt: string should have at least 1 character"),
    ],
)
def test_a_bad_place_is_named_with_its_line(write: Write, old: str, new: str, complaint: str) -> None:
    assert old in SMALL
    assert refusal(write(SMALL.replace(old, new, 1))).startswith(f"suite.yaml{complaint}")


def test_no_cases_is_one_complaint(write: Write) -> None:
    text = SMALL[: SMALL.index("cases:")] + "cases: []\n"
    assert refusal(write(text)) == "suite.yaml:7: suite[0].cases: empty; it needs at least one entry"


def test_two_cases_with_one_id_are_refused(write: Write) -> None:
    twice = SMALL + "      - {prompt: Dogs., id: 1, tool_spec: {name: search}}\n"
    assert "two cases have the id '1'; ids must differ" in refusal(write(twice))


def test_two_probes_of_one_name_are_refused(write: Write) -> None:
    twice = SMALL + SMALL[SMALL.index("  - name") :]
    assert refusal(write(twice)) == "suite.yaml:4: suite: two probes are named 'tools'; names must differ"


@pytest.mark.parametrize(
    ("defaults", "complaint"),
    [
        ("{trials: 5}", ":4: defaults: trials (5) need a temperature to be drawn at; give one, such as 0.7"),
        ("{temperature: 0.7}", ":4: defaults: temperature is for trials, and answers are greedy without them; give"),
        ("{trials: 5, temperature: -1}", ":4: defaults.temperature: input should be greater than or equal to 0"),
        ("{trials: 5, temperature: .nan}", ":4: defaults.temperature: input should be"),
        ("{trials: 5, temperature: .inf}", ":4: defaults.temperature: input should be a finite number"),
        ("{trials: 0, temperature: 1}", ":4: defaults.trials: input should be greater than or equal to 1"),
        ("{trials: 5, temperature: 1, min_p: 1}", ":4: defaults.min_p: input should be less than 1"),
    ],
)
def test_tries_that_cannot_be_drawn_are_refused_at_their_line(write: Write, defaults: str, complaint: str) -> None:
    assert refusal(write(SMALL.replace("suite:", f"defaults: {defaults}\nsuite:"))).startswith(f"suite.yaml{complaint}")


def test_tries_are_settings_of_a_suite(write: Write) -> None:
    drawn = "{trials: 5, temperature: 0.7, top_p: 0.9, min_p: 0.05, top_k: 40}"
    defaults = load_suite(write(SMALL.replace("suite:", f"defaults: {drawn}\nsuite:"))).defaults
    assert (defaults.trials, defaults.temperature) == (5, 0.7)
    assert (defaults.top_p, defaults.min_p, defaults.top_k) == (0.9, 0.05, 40)


def test_a_null_adapter_after_the_probe_it_serves_is_refused(write: Write) -> None:
    complaint = refusal(write(SMALL + "  - {name: nulls, kind: null_adapter}\n"))
    assert complaint.endswith("the null_adapter 'nulls' comes after 'tools', which it serves; move it to the front")


def test_a_suite_of_null_adapters_alone_checks_nothing(write: Write) -> None:
    text = SMALL[: SMALL.index("  - name")] + "  - {name: nulls, kind: null_adapter}\n"
    assert "nothing to check: add a probe of kind tool_use_fidelity" in refusal(write(text))


@pytest.mark.parametrize("multiplier", [0, -1.0, ".nan", ".inf"])
def test_a_rank_multiplier_is_a_number_above_zero(write: Write, multiplier: object) -> None:
    nulls = f"  - {{name: nulls, kind: null_adapter, rank_multipliers: [1.0, {multiplier}]}}\n"
    complaint = refusal(write(SMALL.replace("suite:\n", f"suite:\n{nulls}")))
    assert complaint.startswith("suite.yaml:5: suite[0].rank_multipliers[1]: ")


@pytest.mark.parametrize("text", ["", "just words", "- a\n- list\n", "3"])
def test_a_file_that_is_no_mapping_is_no_suite(write: Write, text: str) -> None:
    assert refusal(write(text)) == "suite.yaml: not a suite file; it should begin with 'version: 1'"


def test_text_that_yaml_cannot_hold_is_refused(write: Write) -> None:
    assert refusal(write("a: \x01")).startswith("suite.yaml: not YAML")


def test_text_that_is_nested_too_deep_is_refused(write: Write) -> None:
    assert refusal(write("[" * 5000)) == "suite.yaml: nested more than 200 deep; take some of it out"


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("prompt: Größe".encode("latin-1"))
    assert "not UTF-8 text (byte 10); save it as UTF-8" in refusal(path)


def test_a_missing_file_and_a_folder_say_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.yaml") == "suite.yaml: no such file; check the path"
    assert refusal(tmp_path) == "suite.yaml: this is a folder; name a file in it"


def test_a_list_that_holds_itself_is_refused_at_its_line(write: Write) -> None:
    complaint = refusal(write(f"{SMALL}loop: &loop [*loop]\n"))
    assert complaint == "suite.yaml:10: this value holds itself; take the alias out"


def test_settings_left_out_are_the_documented_defaults(write: Write) -> None:
    defaults = load_suite(write(SMALL)).defaults
    assert (defaults.seed, defaults.prompt, defaults.max_new_tokens, defaults.n_ctx) == (0, None, None, 4096)
    assert (defaults.gpu_layers, defaults.parallel, defaults.flips) == (0, None, False)
    assert (defaults.thinking, defaults.template_args) == (True, {})
    assert defaults.threads == default_threads()


TOOLS = '{"tools": [{"name": "search", "inputSchema": {"type": "object"}}, {"name": "now"}]}'


def test_a_file_of_tools_beside_the_suite_is_for_the_cases_that_name_none(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(TOOLS, encoding="utf-8")
    text = SMALL + "      - {prompt: Find dogs., gold_tool_name: search}\n      - {prompt: Hi., expect: any_call}\n"
    suite = load_suite(write(f"tools_file: tools.json\n{text}"))
    assert suite.tools_file == tmp_path / "tools.json"
    own, named, free = suite.entries[0].asks
    assert [tool.name for tool in own.surface] == ["search"]
    assert [tool.spec() for tool in named.surface] == [
        {"name": "search", "parameters": {"type": "object"}},
        {"name": "now"},
    ]
    assert free.accepted_names == ("search", "now")
    dumped = suite.model_dump(mode="json")
    (tmp_path / "tools.json").unlink()
    assert type(suite).model_validate(dumped).entries == suite.entries


@pytest.mark.parametrize(
    ("tools_file", "error", "complaint"),
    [
        ("none.json", CasesError, "none.json: no such file; check the path"),
        ("[a]", SuiteError, "suite.yaml:1: tools_file: "),
    ],
)
def test_a_bad_file_of_tools_is_named(
    write: Write, tmp_path: Path, tools_file: str, error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error) as refused:
        load_suite(write(f"tools_file: {tools_file}\n{SMALL}"))
    assert str(refused.value).replace(f"{tmp_path}/", "").startswith(complaint)


def test_a_suite_of_an_earlier_report_still_loads(write: Write) -> None:
    suite = load_suite(write(DESIGN))
    dumped = suite.model_dump(mode="json")
    del dumped["tools_file"]
    for case in dumped["suite"][1]["cases"]:
        del case["gold_calls"], case["order"]
    assert type(suite).model_validate(dumped).entries == suite.entries
