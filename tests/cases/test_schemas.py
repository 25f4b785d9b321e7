from __future__ import annotations

from loracheck.cases.case import Case
from loracheck.cases.load import find_bad_schema, load_pack, pack_names
from suite_factory import SEARCH, make_case


def test_the_first_bad_schema_is_named_with_its_case_and_tool() -> None:
    bad = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "float"}}}}
    tools = Case.model_validate({"id": "sum", "prompt": "Add.", "tools": [SEARCH, bad], "gold_tool_name": "add"})
    complaint = find_bad_schema([make_case(), tools, make_case(2, tool_spec=bad)])
    assert complaint is not None
    assert complaint.startswith("case 'sum', tool 'add': parameters: properties.a.type: 'float' is not valid")


def test_a_remote_reference_is_named_and_not_fetched() -> None:
    remote = {"name": "f", "parameters": {"$ref": "https://example.invalid/schema.json"}}
    complaint = find_bad_schema([make_case(tool_spec=remote)])
    assert complaint is not None
    assert complaint.startswith(
        "case 'case1', tool 'f': parameters: $ref 'https://example.invalid/schema.json' is not in it"
    )


def test_good_schemas_and_tools_without_one_are_nothing_to_speak_of() -> None:
    assert find_bad_schema([make_case(), make_case(2, tool_spec={"name": "now"})]) is None


def test_the_built_in_packs_have_good_schemas() -> None:
    assert [find_bad_schema(load_pack(name)) for name in pack_names()] == [None] * len(pack_names())
