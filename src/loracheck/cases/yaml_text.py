"""YAML with the values that JSON has, and no more of them than the file could hold if it spelt them out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import yaml

from loracheck.scoring.parse import MAX_NESTING
from loracheck.text import cut

MAX_SPELT_OUT = 64 * 2**20
# What a value costs beside its letters.
_NODE_BYTES = 32
# More cannot be written in decimal, hexadecimal ones among them.
_MAX_DIGITS = 3000
TOO_DEEP = f"nested more than {MAX_NESTING} deep; take some of it out"

# What PyYAML, which reads YAML 1.1, would take for more than words, and what is left of that.
_PLAIN = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))"
        r"|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    "timestamp": None,
}
_JSON_KINDS = ("null", "bool", "int", "float", "str", "seq", "map")
_TAG = "tag:yaml.org,2002:"


class BadYamlError(Exception):
    """What is wrong, and on which line where that is known."""

    def __init__(self, why: str, mark: yaml.Mark | None = None) -> None:
        super().__init__(cut(why, 300))
        self.line = None if mark is None else mark.line + 1


class _Loader(yaml.SafeLoader):
    """Safe YAML in which `on`, `yes`, dates, 12:30 and 007 are words, as in JSON and mostly in YAML 1.2.

    An argument that a model writes as JSON must compare equal to the one in the file.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own attribute
        first: [resolver for resolver in resolvers if resolver[0].removeprefix(_TAG) not in _PLAIN]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012 - and this
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(_TAG) in _JSON_KINDS
    }


for _kind, _rule in _PLAIN.items():
    if _rule is not None:
        _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_rule[0]})$"), list(_rule[1]))


def parse_yaml(text: str) -> tuple[yaml.Node | None, Any]:
    """The one document in the text, as nodes that know their lines and as a value. BadYamlError for everything else."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        _measure(node, {})
        return node, loader.construct_document(node)
    except yaml.MarkedYAMLError as bad:
        raise BadYamlError(f"not YAML: {bad.problem}; mend it here or above", bad.problem_mark) from None
    except yaml.YAMLError as bad:
        # The first line says what is wrong, and the others where in a text that has no lines.
        raise BadYamlError(f"not YAML: {str(bad).splitlines()[0]}; take it out") from None
    except RecursionError:
        raise BadYamlError(TOO_DEEP) from None
    except ValueError as bad:
        raise BadYamlError(f"not YAML we can read: {bad}; write it otherwise") from None


def children(node: yaml.Node | None) -> Iterator[tuple[object, yaml.Mark, yaml.Node]]:
    """Key or number, place, and what stands there. Keys that are no plain word are left for YAML to refuse."""
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key.value, key.start_mark, child
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            yield number, child.start_mark, child


def _measure(node: yaml.Node, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Bytes and depth of a value with every alias spelt out, as later steps do; BadYamlError when it is a monster.

    Nine lines of nine aliases to the line before are half a billion values.
    """
    if id(node) in known:
        measured = known[id(node)]
        if measured is None:
            raise BadYamlError("this value holds itself; take the alias out", node.start_mark)
        return measured
    known[id(node)] = None
    _refuse_duplicates(node)
    size, depth = _NODE_BYTES, 0
    nodes: Iterable[yaml.Node] = ()
    if isinstance(node, yaml.ScalarNode):
        size += len(node.value)
        if node.tag == f"{_TAG}int" and len(node.value) > _MAX_DIGITS:
            raise BadYamlError(f"a number of more than {_MAX_DIGITS} digits; put it in quotes", node.start_mark)
    else:
        nodes = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
    for inner in nodes:
        more, below = _measure(inner, known)
        size, depth = size + more, max(depth, below + 1)
    if size > MAX_SPELT_OUT:
        raise BadYamlError(
            f"larger than {MAX_SPELT_OUT // 2**20} MB with its aliases spelt out; use fewer of them", node.start_mark
        )
    if depth > MAX_NESTING:
        raise BadYamlError(TOO_DEEP, node.start_mark)
    known[id(node)] = size, depth
    return size, depth


def _refuse_duplicates(node: yaml.Node) -> None:
    seen: set[object] = set()
    for key, mark, _ in children(node):
        if key in seen:
            raise BadYamlError(f"the key {key!r} stands here twice; keep one", mark)
        seen.add(key)
