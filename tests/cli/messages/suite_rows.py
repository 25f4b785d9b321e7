"""What can be wrong with a suite file, and with what stands in place of one."""

from __future__ import annotations

from cli.messages.rows import Row, as_json, file, probe, suite
from loracheck.cases.yaml_text import MAX_SPELT_OUT

RUN = "check my.yaml -q"
NULLS = {"name": "nulls", "kind": "null_adapter"}
CALL = {"name": "search_web", "arguments": {"query": "x"}}


def models(base: object = None, ft: object = None) -> dict[str, object]:
    own = {"gguf": "base.gguf"} if base is None else base
    return {"base": own, "ft": {"adapters": [{"gguf": "adapter.gguf"}]} if ft is None else ft}


def case(**changes: object) -> dict[str, object]:
    return probe()["cases"][0] | changes  # type: ignore[no-any-return]


ROWS = [
    # In place of a suite
    Row(
        "check base.gguf",
        "base.gguf: this is a model, not a suite file; "
        "`loracheck check --base base.gguf --adapter ADAPTER.gguf` checks an adapter on it",
    ),
    Row(
        "check adapter.gguf",
        "adapter.gguf: this is a LoRA adapter, not a suite file; "
        "`loracheck check --base MODEL.gguf --adapter adapter.gguf` checks it",
    ),
    Row("sweep adapter.gguf", "adapter.gguf: this is a LoRA adapter, not a suite file"),
    Row("locate adapter.gguf", "adapter.gguf: this is a LoRA adapter, not a suite file"),
    Row("check peft", "peft: this is a PEFT adapter folder, not a suite file; `loracheck check --base MODEL.gguf"),
    Row(
        "check report.json",
        "report.json: this is a report of loracheck, not a suite file; `loracheck report report.json` shows it, "
        "`loracheck check --like report.json` runs it again",
    ),
    Row(
        "check cases.jsonl",
        "cases.jsonl: this is a file of cases, not a suite file; "
        "`loracheck check --base MODEL.gguf --adapter ADAPTER.gguf --cases cases.jsonl` asks them",
    ),
    Row("check my.yaml", "my.yaml: not a suite file; it should begin with 'version: 1'", file("my.yaml", "- a\n- b\n")),
    Row("check there.yaml", "there.yaml: no such file; check the path"),
    Row("check .", ".: this is a folder; name a file in it"),
    Row("check my.yaml", "my.yaml: not UTF-8 text (byte 0); save it as UTF-8", file("my.yaml", b"\xff\xfe")),
    Row("check my.yaml", "my.yaml: larger than 1 MB", file("my.yaml", "#" * (2**20 + 1))),
    # YAML
    Row(
        RUN,
        "my.yaml:3: not YAML: expected the node content, but found '<stream end>'; mend it here or above",
        file("my.yaml", "version: 1\nmodels: [\n"),
    ),
    Row(
        RUN,
        "my.yaml: not YAML: unacceptable character #x0000: special characters are not allowed; take it out",
        file("my.yaml", "version: \x00"),
    ),
    Row(
        RUN,
        "my.yaml: nested more than 200 deep; take some of it out",
        file("my.yaml", "version: 1\nsuite: " + "[" * 1200),
    ),
    Row(RUN, "my.yaml:2: the key 'version' stands here twice; keep one", file("my.yaml", "version: 1\nversion: 1\n")),
    Row(RUN, "my.yaml:1: this value holds itself; take the alias out", file("my.yaml", "a: &a [*a]\n")),
    Row(RUN, "my.yaml:1: a number of more than 3000 digits; put it in quotes", file("my.yaml", f"a: {'9' * 3001}\n")),
    Row(
        RUN, "my.yaml:1: nested more than 200 deep; take some of it out", file("my.yaml", "a: " + "[" * 210 + "]" * 210)
    ),
    Row(
        RUN,
        f"larger than {MAX_SPELT_OUT // 2**20} MB with its aliases spelt out; use fewer of them",
        file(
            "my.yaml",
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
        ),
    ),
    # Keys
    Row(RUN, "my.yaml:1: entries: unknown key; did you mean 'suite'?", suite(entries=[probe()], suite=None)),
    Row(RUN, "modles: unknown key; did you mean 'models'?", suite(modles=1)),
    Row(RUN, "threads: unknown key; it belongs in defaults", suite(threads=2)),
    Row(RUN, "defaults.thread: unknown key; did you mean 'threads'?", suite(defaults={"thread": 2})),
    Row(RUN, "defaults.schema_rules: unknown key; did you mean 'schema'?", suite(defaults={"schema_rules": "strict"})),
    Row(RUN, "defaults.dialetc: unknown key; did you mean 'dialect'?", suite(defaults={"dialetc": "hermes"})),
    Row(
        RUN, "suite[0].allowed_tool: unknown key; did you mean 'allowed_tools'?", suite(suite=[probe(allowed_tool=[])])
    ),
    Row(RUN, "suite[0].qwertz: unknown key; take it out", suite(suite=[probe(qwertz=[])])),
    Row(
        RUN,
        "suite[0].cases[0].tool_specs: unknown key; did you mean 'tool_spec'?",
        suite(suite=[probe(cases=[case(tool_specs=1)])]),
    ),
    Row(RUN, "models.base.adapter: unknown key; did you mean 'adapters'?", suite(models=models({"adapter": []}))),
    Row(RUN, "suite: missing; this key is needed", suite(suite=None)),
    Row(RUN, "suite: empty; it needs at least one entry", suite(suite=[])),
    Row(RUN, "models: should be a mapping, key: value", suite(models=[])),
    Row(RUN, "suite[0]: no kind; each entry needs one", suite(suite=[{"name": "a"}])),
    Row(
        RUN,
        "suite[0]: unknown kind 'tool_use_fidelty'; known: 'null_adapter', 'tool_use_fidelity'; "
        "did you mean 'tool_use_fidelity'?",
        suite(suite=[probe(kind="tool_use_fidelty")]),
    ),
    Row(
        RUN, "defaults.prompt: input should be 'chat' or 'raw'; did you mean 'raw'?", suite(defaults={"prompt": "rew"})
    ),
    Row(RUN, "defaults.dialect: no dialect 'hermse'; did you mean 'hermes'?", suite(defaults={"dialect": "hermse"})),
    Row(RUN, "defaults.dialect: no dialect 'x'; give auto or one of", suite(defaults={"dialect": "x"})),
    Row(RUN, "defaults.threads: input should be greater than or equal to 1", suite(defaults={"threads": 0})),
    Row(
        RUN, "version: this loracheck reads version 1, the file says 2; use a loracheck that reads it", suite(version=2)
    ),
    # What the entries must be together
    Row(RUN, "suite: two probes are named 'tools'; names must differ", suite(suite=[probe(), probe()])),
    Row(
        RUN,
        "suite: the null_adapter 'nulls' comes after 'tools', which it serves; move it to the front",
        suite(suite=[probe(), NULLS]),
    ),
    Row(RUN, "suite: nothing to check: add a probe of kind tool_use_fidelity", suite(suite=[NULLS])),
    Row(
        RUN,
        "suite[0]: assert_exact_arguments_gte needs cases with gold_arguments; add some, or take it out",
        suite(suite=[probe(assert_exact_arguments_gte=0.5)]),
    ),
    Row(
        RUN,
        "assert_abstention_gte needs cases with expect: no_call; add some, or take it out",
        suite(suite=[probe(assert_abstention_gte=0.5)]),
    ),
    Row(
        RUN,
        "assert_all_calls_gte needs cases with gold_calls; add some, or take it out",
        suite(suite=[probe(assert_all_calls_gte=0.5)]),
    ),
    Row(
        RUN,
        "assert_pass_hat_k_delta_gte needs cases that expect a call; add some, or take it out",
        suite(suite=[probe(assert_pass_hat_k_delta_gte=0.5, cases=[case(expect="no_call")])]),
    ),
    Row(
        RUN,
        "my.yaml: tools: assert_pass_hat_k_delta_gte needs trials and a temperature; give both, or take it out",
        suite(suite=[probe(assert_pass_hat_k_delta_gte=0.5)]),
    ),
    Row(
        "check my.yaml -q --cases cases.jsonl",
        "cases.jsonl: these cases do not fit the suite: assert_all_calls_gte needs cases with gold_calls",
        suite(suite=[probe(assert_all_calls_gte=0.5, cases=[case(gold_calls=[CALL])])]),
    ),
    # Settings
    Row(
        RUN,
        "defaults: trials (3) need a temperature to be drawn at; give one, such as 0.7",
        suite(defaults={"trials": 3}),
    ),
    Row(
        RUN,
        "defaults: top_p is for trials, and answers are greedy without them; give trials as well",
        suite(defaults={"top_p": 0.5}),
    ),
    Row(
        RUN,
        "defaults.template_args: a value that is not JSON; give text, numbers",
        file("my.yaml", "version: 1\nmodels: {base: {gguf: b}}\ndefaults: {template_args: {a: .nan}}\nsuite: [{}]\n"),
    ),
    Row("check my.yaml --trials 3", "trials (3) need a temperature to be drawn at; give one, such as 0.7", suite()),
    Row(
        RUN,
        "models.ft.adapters[0].scale: the scale is inf; give a number such as 1.0",
        file("my.yaml", "models: {base: {gguf: b}, ft: {adapters: [{gguf: a, scale: .inf}]}}\nsuite: []\n"),
    ),
    # Models
    Row(
        RUN,
        "my.yaml: models.ft: nothing to check; give it adapters, or a gguf of its own, or say what to quantize to",
        suite(models=models(ft={})),
    ),
    Row(
        RUN,
        "my.yaml: models.ft: a candidate and quantize exclude each other",
        suite(models=models(ft={"gguf": "base.gguf"}), defaults={"quantize": "Q4_0"}),
    ),
    Row(
        RUN,
        "my.yaml: defaults.quantize: no quantization 'Q4_KM'; did you mean 'Q4_K_M'?",
        suite(models=models(ft={}), defaults={"quantize": "Q4_KM"}),
    ),
    Row(RUN, "there.gguf: there is no such file; check the path", suite(models=models({"gguf": "there.gguf"}))),
    Row(RUN, "there.json: no such file; check the path", suite(tools_file="there.json")),
    Row(
        "check --base base.gguf --adapter adapter.gguf -q --schema strict --cases my.jsonl",
        "; mend it, or leave out the strict schema",
        as_json("my.jsonl", case(id="a", tool_spec={"name": "t", "parameters": {"type": "objekt"}})),
    ),
]
