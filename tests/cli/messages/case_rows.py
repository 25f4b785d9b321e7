"""What can be wrong with files of cases and tools, and with importing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli.messages.rows import Row, as_json, case_lines, case_list, file
from suite_factory import SEARCH

if TYPE_CHECKING:
    from cli.messages.rows import World

SHOW = "cases show my.jsonl"
SHOW_LIST = "cases show my-cases.yaml"
SHOW_YAML = "cases show my.yaml"
WITH_TOOLS = "cases show my.jsonl --tools my.json"
IMPORT = "cases import my.jsonl -o new.jsonl"
OTHER = {"name": "other_tool"}
TALK = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}], "tools": [SEARCH]}
DEEP = "[" * 300 + "]" * 300


def full_disk(world: World) -> None:
    as_json("my.jsonl", TALK)(world)

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    world.patch.setattr("loracheck.cases.importers.write_atomically", no_room)


def little_memory(world: World) -> None:
    world.patch.setattr("loracheck.cases.read.MAX_JSON_LINES", 10)
    case_lines({})(world)


ROWS = [
    # In place of cases
    Row("cases show smoek", "smoek: no such file, and no built-in pack; the packs are core, smoke, demo; did you mean"),
    Row("cases check there.jsonl", "there.jsonl: no such file; check the path"),
    Row("cases show base.gguf", "base.gguf: this is a model, not a file of cases; `loracheck check --base base.gguf"),
    Row("cases show report.json", "report.json: this is a report of loracheck, not a file of cases; `loracheck report"),
    Row("cases show my.yaml", "my.yaml: this is a suite file, not a file of cases; `loracheck check my.yaml` reads it"),
    Row(
        "check --base base.gguf --adapter adapter.gguf --cases adapter.gguf",
        "adapter.gguf: this is a LoRA adapter, not a file of cases; `loracheck check --base MODEL.gguf --adapter",
    ),
    Row(
        SHOW_YAML, "my.yaml: not a list of cases; begin each with a dash: - prompt: …", file("my.yaml", "prompt: Hi.\n")
    ),
    Row(SHOW_YAML, "my.yaml: no cases in it; write some, or name another file", file("my.yaml", "[]\n")),
    Row(SHOW, "my.jsonl: no cases in it; write some, or name another file", file("my.jsonl", "\n")),
    Row(SHOW, "my.jsonl: two cases have the id 'a'; ids must differ", case_lines({"id": "a"}, {"id": "a"})),
    Row(SHOW, "my.jsonl:1: not a line of JSON: ", file("my.jsonl", "{no")),
    Row(SHOW, "nested more than 200 deep; take some of it out", file("my.jsonl", f'{{"prompt": {DEEP}}}')),
    Row(SHOW, "my.jsonl: larger than 0 MB, the most that is read of such a file; give a smaller one", little_memory),
    Row("cases show core --id nine", "core: no case has the id 'nine'; `loracheck cases show core` lists them"),
    # A case
    Row(
        SHOW_LIST,
        "my-cases.yaml:1: [0]: give either prompt or messages",
        case_list({"messages": [{"role": "user", "content": "a"}]}),
    ),
    Row(
        SHOW_LIST,
        "messages: the last one must be the user's or a tool's, for the model to answer",
        case_list({"prompt": None, "messages": [{"role": "system", "content": "a"}]}),
    ),
    Row(SHOW_LIST, "my-cases.yaml:1: [0]: give either tool_spec or tools", case_list({"tools": [SEARCH]})),
    Row(
        SHOW_LIST,
        "no tools on offer; give tool_spec or tools, or tools for all cases with --tools",
        case_list({"tool_spec": None}),
    ),
    Row(
        SHOW_LIST,
        "my-cases.yaml:1: [0]: gold_tool_name: no tool 'search_wep' on offer; did you mean 'search_web'?",
        case_list({"tool_spec": None, "tools": [SEARCH, OTHER], "gold_tool_name": "search_wep"}),
    ),
    Row(
        SHOW_LIST,
        "gold_tool_name: 2 tools on offer, which of them should be called; give one of search_web, other_tool",
        case_list({"tool_spec": None, "tools": [SEARCH, OTHER]}),
    ),
    Row(
        SHOW_LIST,
        "give either gold_calls or gold_tool_name and gold_arguments",
        case_list({"gold_calls": [{"name": "search_web"}], "gold_tool_name": "search_web"}),
    ),
    Row(
        SHOW_LIST,
        "expect: no_call has no gold_tool_name or gold_arguments; take them out",
        case_list({"expect": "no_call", "gold_tool_name": "search_web"}),
    ),
    Row(
        SHOW_LIST,
        "gold_calls: empty; list the calls, or say expect: no_call if there should",
        case_list({"gold_calls": []}),
    ),
    Row(SHOW_LIST, "order: strict is for gold_calls; give them, or take it out", case_list({"order": "strict"})),
    Row(
        SHOW_LIST,
        "my-cases.yaml:1: [0]: gold_calls[0].name: no tool 'search_wep' on offer; did you mean 'search_web'?",
        case_list({"gold_calls": [{"name": "search_wep"}]}),
    ),
    Row(
        SHOW_LIST, "tools: two tools are named 'search_web'; names must differ", case_list({"tools": [SEARCH, SEARCH]})
    ),
    Row(
        SHOW_LIST,
        "my-cases.yaml:1: [0].expect: input should be 'call', 'no_call' or 'any_call'; did you",
        case_list({"expect": "no-call"}),
    ),
    Row(
        SHOW_LIST,
        "my-cases.yaml:11: [0].tool_specs: unknown key; did you mean 'tool_spec'?",
        case_list({"tool_specs": SEARCH}),
    ),
    # Tools
    Row("cases show core --tools base.gguf", "base.gguf: this is a model, not a list of tools; `loracheck check"),
    Row(
        WITH_TOOLS,
        "my.json: no list of tools; it should be one, or have one under 'tools'",
        as_json("my.json", {"a": 1}),
    ),
    Row(WITH_TOOLS, "my.json:1: not JSON: ", file("my.json", "{no")),
    Row(WITH_TOOLS, "my.json: not JSON that we can read: NaN is no JSON; ", file("my.json", "[NaN]")),
    Row(WITH_TOOLS, "my.json: not JSON that we can read: nested more than 200 deep; take", file("my.json", DEEP)),
    Row(WITH_TOOLS, "my.json: [0].name: missing; this key is needed", as_json("my.json", [{}])),
    Row(
        WITH_TOOLS,
        "nextCursor: the server has more tools than these; put all of them into one list",
        as_json("my.json", {"tools": [SEARCH], "nextCursor": "2"}),
    ),
    # Import
    Row("cases import there.jsonl -o new.jsonl", "there.jsonl: no such file; check the path"),
    Row(
        "cases import tools.json -o new.jsonl --format opnai",
        "Invalid value for '--format': no format 'opnai'; did you mean 'openai'?",
    ),
    Row(f"{IMPORT} --limit 1 --sample 1", "--limit and --sample exclude each other; give one of them"),
    Row("cases import cases.jsonl -o cases.jsonl", "-o cases.jsonl: this is the file to import; name another"),
    Row("cases import cases.jsonl -o there/new.jsonl", "-o there/new.jsonl: the folder does not exist; make it first"),
    Row(
        IMPORT,
        "my.jsonl: no known format: its first record has the keys a; a record needs one of messages (openai)",
        as_json("my.jsonl", {"a": 1}),
    ),
    Row(IMPORT, "my.jsonl: no known format: it has no records; a record needs one of", file("my.jsonl", "")),
    Row(
        f"{IMPORT} --answers a",
        "a: the format openai has its answers in my.jsonl itself; leave",
        as_json("my.jsonl", TALK),
    ),
    Row(IMPORT, "my.jsonl: no record could be used; the reasons are above", as_json("my.jsonl", {"messages": []})),
    Row(
        "cases show my.jsonl",
        "my.jsonl: read as openai, and no record could be used; `loracheck cases import` says why",
        as_json("my.jsonl", {"messages": [{"role": "assistant", "content": "a"}]}),
    ),
    Row(
        IMPORT,
        "my.jsonl:2: not a JSON array: , or ] should stand here; mend it",
        file("my.jsonl", json.dumps([TALK])[:-1] + "\n{}"),
    ),
    Row(IMPORT, "my.jsonl:1: not JSON: ", file("my.jsonl", "[{no")),
    Row(
        IMPORT,
        "new.jsonl: cannot write the file: No space left on device; write it elsewhere, or make room there",
        full_disk,
    ),
]
