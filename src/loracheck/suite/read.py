"""Files into checked values, with errors that say file, line, place and fix."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from loracheck.inputs import read_text
from loracheck.report.text import cut
from loracheck.scoring.parse import MAX_NESTING
from loracheck.suite.yaml_text import BadYamlError, children, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from loracheck.errors import InputError

Model = TypeVar("Model", bound=BaseModel)

# YAML takes ten seconds and more to parse when it is as large as this.
MAX_YAML = 2**20
MAX_JSON_LINES = 64 * 2**20
_TOO_MUCH_YAML = "put the cases in a file of JSON lines, which may be larger, and name it with --cases"
_MOST_COMPLAINTS = 20
_LONGEST_COMPLAINT = 300


class YamlFile:
    """A parsed YAML file that remembers on which line each value stands."""

    def __init__(self, path: Path, error: type[InputError]) -> None:
        self.path = path
        self._error = error
        try:
            self._node, self.value = parse_yaml(read_text(path, error, MAX_YAML, _TOO_MUCH_YAML))
        except BadYamlError as bad:
            raise error(f"{path}{f':{bad.line}' if bad.line else ''}: {bad}") from None

    def validate(self, model: type[Model], **context: Any) -> Model:
        try:
            return model.model_validate(self.value, context=context)
        except ValidationError as bad:
            said = _complaints(bad, self.value, model, lambda place: f"{self.path}{self._line(place)}: ")
            raise self._error("\n".join(said)) from None

    def _line(self, place: list[int | str]) -> str:
        """`:12`, the line of the value at `place` or of the nearest thing around it."""
        node, line = self._node, 1
        for step in place:
            below = {key: (mark.line + 1, child) for key, mark, child in children(node)}
            if step not in below:
                break
            line, node = below[step]
        return f":{line}"


def read_json_lines(path: Path, model: type[Model], error: type[InputError]) -> Iterator[tuple[int, Model]]:
    """Each line of a JSON-lines file as a `model`, with its line number; blank lines are skipped."""
    # Not splitlines(): that also cuts at U+2028 and its like, which JSON allows inside strings.
    for number, line in enumerate(read_text(path, error, MAX_JSON_LINES).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            _confirm_shallow(value)
            yield number, model.model_validate(value)
        except ValidationError as bad:
            raise error(f"{path}:{number}: {'; '.join(_complaints(bad, value, model))}") from None
        except (ValueError, RecursionError) as bad:
            raise error(f"{path}:{number}: not a line of JSON: {bad}") from None


def _confirm_shallow(value: Any, left: int = MAX_NESTING) -> None:
    if left < 0:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _confirm_shallow(child, left - 1)


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
    found = [(_real_place(detail["loc"], value), detail) for detail in details]
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
