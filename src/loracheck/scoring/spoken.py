"""Which ways of writing a call count: the one that the prompts ask for, and the one that the base speaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from loracheck.scoring.dialects import DIALECTS, Calls
from loracheck.scoring.outcome import Answer, Expectation, Reading, read_answer
from loracheck.scoring.schema import matches_schema


def written_in(answer: Answer, asked: str) -> str | None:
    """The dialect an answer is written in, None where it makes no call.

    That is the asked one if it reads a call or shows in its marks, else the first that reads one.
    """
    own = _read(answer, asked)
    if _has_call(own) or (DIALECTS[asked].has_marks and own.attempted):
        return asked
    return next((name for name in DIALECTS if name != asked and _has_call(_read(answer, name))), None)


def spoken_in(answers: Iterable[Answer], asked: str) -> str:
    """The dialect that most of the answers are written in; the asked one where it is among them, or there is none."""
    counts = Counter(name for answer in answers if (name := written_in(answer, asked)))
    most = max(counts.values(), default=0)
    if counts[asked] == most:
        return asked
    return next(name for name in DIALECTS if counts[name] == most)


def _read(answer: Answer, name: str) -> Calls:
    return DIALECTS[name].read(answer.text, thinking=answer.thinking)


def _has_call(read: Calls) -> bool:
    # Without a tool to fit, a call needs no more than a name and arguments.
    return any(matches_schema(call, None) for call in read.calls)


@dataclass(frozen=True, slots=True)
class Reader:
    """How the answers of a view are read."""

    asked: str
    spoken: str
    read_as: str | None = None
    """The one dialect that counts, whatever was asked and spoken."""

    @property
    def counting(self) -> set[str]:
        return {self.read_as} if self.read_as else {self.asked, self.spoken}

    def reads_a_call(self, answer: Answer) -> bool:
        return any(_has_call(_read(answer, name)) for name in self.counting)

    def read(
        self, expectation: Expectation, answer: Answer, allowed_tools: Collection[str] | None, *, strict: bool = False
    ) -> Reading:
        """An answer written in neither dialect is a call that whoever looks for either cannot read."""
        written = written_in(answer, self.asked)
        if self.read_as:
            reading = read_answer(expectation, answer, allowed_tools, self.read_as, strict=strict)
        elif written is None:
            reading = self._without_call(expectation, answer, allowed_tools, strict=strict)
        elif written in (self.asked, self.spoken):
            reading = read_answer(expectation, answer, allowed_tools, written, strict=strict)
        else:
            unread = replace(answer, text="", truncated=False)
            reading = read_answer(expectation, unread, allowed_tools, self.asked, strict=strict)
            reading = replace(reading, outcome="malformed")
        slipped = None if reading.call or written in self.counting else written
        return replace(reading, written_in=written, dialect=slipped)

    def _without_call(
        self, expectation: Expectation, answer: Answer, allowed_tools: Collection[str] | None, *, strict: bool
    ) -> Reading:
        """A call that went wrong shows by the marks of either dialect."""
        readings = [
            read_answer(expectation, answer, allowed_tools, name, strict=strict) for name in (self.asked, self.spoken)
        ]
        return next((reading for reading in readings if reading.outcome != "no_call"), readings[0])
