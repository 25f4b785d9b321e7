"""Files into checked values, with errors that say file, line, place and fix."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from loracheck.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


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
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """Safe YAML in which `on`, `yes`, dates, 12:30 and 007 are words, as in JSON and mostly in YAML 1.2.

    An argument that a model writes as JSON must compare equal to the one in the file.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own attribute
        first: [resolver for resolver in resolvers if resolver[0].removeprefix(_TAG) not in _PLAIN]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


for _kind, _rule in _PLAIN.items():
    if _rule is not None:
        _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_rule[0]})$"), list(_rule[1]))


def read_text(path: Path, error: type[InputError]) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: a folder, not a file") from None
    except UnicodeDecodeError as bad:
        raise error(f"{path}: not UTF-8 text (byte {bad.start}); save it as UTF-8") from None
    except OSError as bad:
        raise error(f"{path}: {bad.strerror}") from None


class YamlFile:
    """A parsed YAML file that remembers on which line each value stands."""

    def __init__(self, path: Path, error: type[InputError]) -> None:
        self.path = path
        self._error = error
        text = read_text(path, error)
        try:
            self._node = yaml.compose(text, Loader=_Loader)
            self._refuse_duplicates(self._node, set())
            self.value: Any = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
        except yaml.MarkedYAMLError as bad:
            line = f":{bad.problem_mark.line + 1}" if bad.problem_mark else ""
            raise error(f"{path}{line}: not YAML: {bad.problem}") from None
        except yaml.YAMLError as bad:
            raise error(f"{path}: not YAML: {bad}") from None
        except (RecursionError, ValueError) as bad:
            raise error(f"{path}: not YAML we can read: {bad}") from None

    def validate(self, model: type[Model], **context: Any) -> Model:
        try:
            return model.model_validate(self.value, context=context)
        except ValidationError as bad:
            raise self._error(
                "\n".join(
                    f"{self.path}{self._line(place)}: {_complaint(place, detail, model)}"
                    for place, detail in _causes(bad, self.value)
                )
            ) from None

    def _line(self, place: list[int | str]) -> str:
        """`:12`, the line of the value at `place` or of the nearest thing around it."""
        node, line = self._node, 1
        for step in place:
            below = {key: (at, child) for key, at, child in _children(node)}
            if step not in below:
                break
            line, node = below[step]
        return f":{line}"

    def _refuse_duplicates(self, node: yaml.Node | None, seen: set[int]) -> None:
        if node is None or id(node) in seen:
            return
        seen.add(id(node))
        keys: set[object] = set()
        for key, line, child in _children(node):
            if key in keys:
                raise self._error(f"{self.path}:{line}: the key {key!r} stands here twice")
            keys.add(key)
            self._refuse_duplicates(child, seen)


def _children(node: yaml.Node | None) -> Iterator[tuple[object, int, yaml.Node]]:
    """Key or number, line, and what stands there. Keys that are no plain word are left for YAML to refuse."""
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key.value, key.start_mark.line + 1, child
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            yield number, child.start_mark.line + 1, child


def read_json_lines(path: Path, model: type[Model], error: type[InputError]) -> Iterator[tuple[int, Model]]:
    """Each line of a JSON-lines file as a `model`, with its line number; blank lines are skipped."""
    # Not splitlines(): that also cuts at U+2028 and its like, which JSON allows inside strings.
    for number, line in enumerate(read_text(path, error).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            yield number, model.model_validate(value)
        except ValidationError as bad:
            reasons = "; ".join(_complaint(place, detail, model) for place, detail in _causes(bad, value))
            raise error(f"{path}:{number}: {reasons}") from None
        except (ValueError, RecursionError) as bad:
            raise error(f"{path}:{number}: not a line of JSON: {bad}") from None


def _causes(bad: ValidationError, value: Any) -> list[tuple[list[int | str], ErrorDetails]]:
    """Each complaint with its place. A list is called too short when its items are bad: only the items are named."""
    found = [(_real_place(detail["loc"], value), detail) for detail in bad.errors()]
    return [
        (place, detail)
        for place, detail in found
        if detail["type"] != "too_short"
        or not any(len(other) > len(place) and other[: len(place)] == place for other, _ in found)
    ]


def _real_place(loc: tuple[int | str, ...], value: Any) -> list[int | str]:
    """A pydantic location without the steps that stand in no file, such as the tag of a union."""
    place: list[int | str] = []
    for depth, step in enumerate(loc):
        try:
            value = value[step]
        except (LookupError, TypeError):
            if depth < len(loc) - 1:
                continue
        place.append(step)
    return place


_PLAINLY = {
    "missing": "missing; this key is needed",
    "too_short": "empty; it needs at least one entry",
    "model_type": "should be a mapping, key: value",
    "dict_type": "should be a mapping, key: value",
    "tuple_type": "should be a list",
}


def _complaint(place: list[int | str], detail: ErrorDetails, model: type[BaseModel]) -> str:
    """One pydantic error as `place: what is wrong; the fix`."""
    where = ""
    for step in place:
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else step
    said = detail["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    if detail["type"] in _PLAINLY:
        said = _PLAINLY[detail["type"]]
    elif detail["type"] == "extra_forbidden":
        said = f"unknown key{_did_you_mean(str(place[-1]), model)}"
    elif detail["type"] == "union_tag_invalid":
        said = f"unknown kind {detail['ctx']['tag']!r}; known: {detail['ctx']['expected_tags']}"
    return f"{where}: {said}" if where else said


def _did_you_mean(word: str, model: type[BaseModel]) -> str:
    close = difflib.get_close_matches(word, _known_keys(model, set()), n=1)
    return f"; did you mean {close[0]!r}?" if close else "; take it out"


def _known_keys(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[str]:
    """Every key of a model and of the models inside it."""
    seen.add(model)
    keys = set(model.model_fields)
    for info in model.model_fields.values():
        for inner in _models_in(info.annotation):
            if inner not in seen:
                keys |= _known_keys(inner, seen)
    return keys


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models_in(argument)
