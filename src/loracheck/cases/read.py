"""Files into checked values, with errors that say file, line, place and fix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loracheck.cases import did_you_mean
from loracheck.cases.case import Tool
from loracheck.cases.yaml_text import TOO_DEEP, BadYamlError, children, parse_yaml
from loracheck.errors import CasesError, InputError
from loracheck.files import MAX_BYTES, read_text, too_large
from loracheck.scoring.parse import MAX_NESTING
from loracheck.text import cut

Model = TypeVar("Model", bound=BaseModel)

# YAML takes ten seconds and more to parse when it is as large as this.
MAX_YAML = 2**20
MAX_JSON_LINES = 64 * 2**20
TOO_MUCH_YAML = "put the cases in a file of JSON lines, which may be larger, and name it with --cases"
_MOST_COMPLAINTS = 20
_LONGEST_COMPLAINT = 300


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text. It is read once and handed on, because a pipe can be read only once."""

    path: Path
    """What to call it in messages."""
    text: str
    tools: tuple[Tool, ...] = ()
    """What is on offer in those of its cases that name no tools."""


def read_text_file(path: Path, most: int = MAX_BYTES, tools: tuple[Tool, ...] = ()) -> TextFile:
    """A file of cases, ours or others', of `most` bytes at the most."""
    return TextFile(path, read_text(path, CasesError, most), tools)


class JsonFile:
    """A parsed JSON file."""

    def __init__(self, path: Path, error: type[InputError]) -> None:
        self.path = path
        self._error = error
        try:
            self.value = _DECODER.decode(read_text(path, error, MAX_JSON_LINES))
            _confirm_shallow(self.value)
        except json.JSONDecodeError as bad:
            fix = "mend it; the name of a YAML file ends in .yaml"
            raise error(f"{path}:{bad.lineno}: not JSON: {bad.msg}; {fix}") from None
        except (ValueError, RecursionError) as bad:
            raise error(f"{path}: not JSON that we can read: {_reason(bad)}") from None

    def validate(self, model: type[Model], **context: Any) -> Model:
        try:
            return model.model_validate(self.value, context=context)
        except ValidationError as bad:
            complaints = _complaints(bad, self.value, model, lambda _: f"{self.path}: ")
            raise self._error("\n".join(complaints)) from None


class YamlFile:
    """A parsed YAML file that remembers on which line each value stands."""

    def __init__(self, path: Path, error: type[InputError], if_too_large: str = TOO_MUCH_YAML) -> None:
        self.path = path
        self._error = error
        try:
            self._node, self.value = parse_yaml(read_text(path, error, MAX_YAML, if_too_large))
        except BadYamlError as bad:
            raise error(f"{path}{f':{bad.line}' if bad.line else ''}: {bad}") from None

    def validate(self, model: type[Model], **context: Any) -> Model:
        try:
            # In a file a key has one name: that of the file's format, not that of the field in Python.
            return model.model_validate(self.value, context=context, by_alias=True, by_name=False)
        except ValidationError as bad:
            complaints = _complaints(bad, self.value, model, lambda place: f"{self.path}{self._line(place)}: ")
            raise self._error("\n".join(complaints)) from None

    def _line(self, place: list[int | str]) -> str:
        """`:12`, the line of the value at `place` or of the nearest thing around it."""
        node, line = self._node, 1
        for step in place:
            below = {key: (mark.line + 1, child) for key, mark, child in children(node)}
            if step not in below:
                break
            line, node = below[step]
        return f":{line}"


def read_json_lines(file: TextFile, model: type[Model]) -> Iterator[Model]:
    """Each line of a JSON-lines file as a `model`; blank lines are skipped. CasesError names the lines that are bad."""
    # What was read while the format was still unknown may be more. The first half spares a huge text the second.
    if len(file.text) > MAX_JSON_LINES or len(file.text.encode()) > MAX_JSON_LINES:
        raise CasesError(too_large(file.path, MAX_JSON_LINES))
    bad_lines: list[str] = []
    for number, line in _numbered_lines(file.text):
        try:
            value = json.loads(line)
            _confirm_shallow(value)
            yield model.model_validate(value, context={"tools": file.tools})
        except ValidationError as bad:
            bad_lines.append(f"{file.path}:{number}: {'; '.join(_complaints(bad, value, model))}")
        except (ValueError, RecursionError) as bad:
            bad_lines.append(f"{file.path}:{number}: not a line of JSON: {_reason(bad)}")
        if len(bad_lines) > _MOST_COMPLAINTS:
            bad_lines[-1] = "and so on"
            break
    if bad_lines:
        raise CasesError("\n".join(bad_lines))


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """All but the blank ones."""
    # Not splitlines(): that also cuts at U+2028 and its like, which JSON allows inside strings.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _confirm_shallow(value: Any, left: int = MAX_NESTING) -> None:
    if left < 0:
        raise ValueError(TOO_DEEP)
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _confirm_shallow(child, left - 1)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of somebody else's file."""

    line: int
    """The one it begins on."""
    value: Any
    """Whatever the JSON says; `Record.unreadable` for a line that is no JSON."""

    unreadable = object()


def read_records(file: TextFile) -> Iterator[Record]:
    """The records of a JSON-lines file, or of a file that is one JSON array."""
    if file.text.lstrip().startswith("["):
        yield from _elements(file)
        return
    for number, line in _numbered_lines(file.text):
        try:
            yield Record(number, _DECODER.decode(line))
        except (ValueError, RecursionError):
            yield Record(number, Record.unreadable)


def _elements(file: TextFile) -> Iterator[Record]:
    text, at = file.text, 0
    line, counted_to = 1, 0
    separator = "["
    while True:
        at = _skip(text, at)
        is_separated = text[at : at + 1] == separator
        if is_separated:
            at = _skip(text, at + 1)
        line, counted_to = line + text.count("\n", counted_to, at), at
        if text[at : at + 1] == "]":
            return
        if not is_separated:
            raise CasesError(f"{file.path}:{line}: not a JSON array: {separator} or ] should stand here; mend it")
        separator = ","
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as bad:
            raise CasesError(f"{file.path}:{line}: not JSON: {_reason(bad)}") from None
        yield Record(line, value)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON; take it out")


def _reason(bad: ValueError | RecursionError) -> str:
    """Why a text is not JSON, and the fix."""
    if isinstance(bad, RecursionError):
        return TOO_DEEP
    return f"{bad}; mend it" if isinstance(bad, json.JSONDecodeError) else str(bad)


_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _complaints(
    bad: ValidationError, value: Any, model: type[BaseModel], where: Callable[[list[int | str]], str] = lambda _: ""
) -> Iterator[str]:
    """What is wrong, in words: the first of what may be a million mistakes."""
    causes = _causes(bad, value)
    for place, detail in causes[:_MOST_COMPLAINTS]:
        yield where(place) + cut(_complaint(place, detail, model), _LONGEST_COMPLAINT)
    if len(causes) > _MOST_COMPLAINTS:
        yield "and so on"


def _causes(bad: ValidationError, value: Any) -> list[tuple[list[int | str], ErrorDetails]]:
    """Each mistake with its place. A list is called too short when its items are bad: only the items are named."""
    details = bad.errors(include_url=False)[: 10 * _MOST_COMPLAINTS]
    placed = [(_real_place(detail, value), detail) for detail in details]
    return [
        (place, detail)
        for place, detail in placed
        if detail["type"] != "too_short"
        or not any(len(other) > len(place) and other[: len(place)] == place for other, _ in placed)
    ]


def _real_place(detail: ErrorDetails, value: Any) -> list[int | str]:
    """A pydantic location without the steps that stand in no file, such as the tag of a union."""
    place: list[int | str] = []
    for step in detail["loc"]:
        try:
            value = value[step]
        except (LookupError, TypeError):
            if detail["type"] != "missing" or step != detail["loc"][-1]:
                continue
        place.append(step)
    return place


_PLAINLY = {
    "missing": "missing; this key is needed",
    "too_short": "empty; it needs at least one entry",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "should be a mapping, key: value"),
    "tuple_type": "should be a list",
    "union_tag_not_found": "no kind; each entry needs one",
}


def _complaint(place: list[int | str], detail: ErrorDetails, model: type[BaseModel]) -> str:
    """One pydantic error as `place: what is wrong; the fix`."""
    where = ""
    for step in place:
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else step
    problem = detail["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    if detail["type"] in _PLAINLY:
        problem = _PLAINLY[detail["type"]]
    elif detail["type"] == "extra_forbidden":
        problem = f"unknown key{_key_instead(model, detail['loc']) or '; take it out'}"
    elif detail["type"] == "union_tag_invalid":
        known = detail["ctx"]["expected_tags"]
        kind = str(detail["ctx"]["tag"])
        problem = f"unknown kind {kind!r}; known: {known}{did_you_mean(kind, known.replace(chr(39), '').split(', '))}"
    elif detail["type"] == "literal_error" and isinstance(detail["input"], str):
        known = detail["ctx"]["expected"]
        problem += did_you_mean(detail["input"], re.findall(r"'([^']*)'", known))
    return f"{where}: {problem}" if where else problem


def _key_instead(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    """The key that was probably meant, or where in the file this one belongs; nothing where no key is near."""
    key, here = str(loc[-1]), _models_at(model, loc[:-1])
    fields = {name: info.alias or name for each in here for name, info in each.model_fields.items()}
    if key in fields:
        return f"; did you mean {fields[key]!r}?"
    elsewhere = _places(model, "", set())
    if key in elsewhere:
        return f"; it belongs in {elsewhere[key]}"
    return did_you_mean(key, fields.values()) or did_you_mean(key, elsewhere)


def _models_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """What may stand at a pydantic location. The tag of a union, a step of its own, picks one of several."""
    here = [model]
    for step in loc:
        if isinstance(step, int):
            continue
        inner = [
            below
            for each in here
            for name, info in each.model_fields.items()
            if step in (name, info.alias)
            for below in _models_in(info.annotation)
        ]
        here = inner or [each for each in here if _tag(each) == step] or here
    return here


def _tag(model: type[BaseModel]) -> object:
    kind = model.model_fields.get("kind")
    return None if kind is None else kind.default


def _places(model: type[BaseModel], where: str, seen: set[type[BaseModel]]) -> dict[str, str]:
    """Every key of the models inside this one, and the key that it stands under."""
    seen.add(model)
    places = {info.alias or name: where for name, info in model.model_fields.items()} if where else {}
    for name, info in model.model_fields.items():
        for inner in _models_in(info.annotation):
            if inner not in seen:
                places = _places(inner, info.alias or name, seen) | places
    return places


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models_in(argument)
