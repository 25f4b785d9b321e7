"""What a shell offers for a word that is not finished: files and folders of the kind that is wanted, by their heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from loracheck.cases import PACKS
from loracheck.file_kinds import ADAPTER, MODEL, PEFT, REPORT, SUITE, Kind, kind_of

HOW_TO = """\b
Completion, for the start file of your shell:
  bash  eval "$(_LORACHECK_COMPLETE=bash_source loracheck)"
  zsh   eval "$(_LORACHECK_COMPLETE=zsh_source loracheck)"
  fish  _LORACHECK_COMPLETE=fish_source loracheck | source"""

# A folder of a million files must not keep a shell waiting.
_MOST_LOOKED_AT = 500

_YAML = (".yaml", ".yml")
_JSON = (".json", ".jsonl")


class FileOf(click.Path):
    """A path, completed to files with these endings and of these kinds, and to these names, such as a pack's."""

    def __init__(self, *kinds: Kind, endings: tuple[str, ...] = (), names: Iterable[str] = ()) -> None:
        super().__init__(path_type=Path)
        self._kinds, self._endings, self._names = kinds, endings, names

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - of click
        names = [name for name in self._names if name.startswith(incomplete)]
        offers = [*names, *self._paths(incomplete)]
        # Where there is nothing, the shell may complete what it likes: the way to another folder, say.
        return [CompletionItem(offer) for offer in offers] or [CompletionItem(incomplete, type="file")]

    def _paths(self, incomplete: str) -> Iterator[str]:
        """Those that begin like this, in their folder or one below, spelled as the user began."""
        above, slash, beginning = incomplete.rpartition("/")
        for path in _entries(Path(above + slash).expanduser(), beginning):
            spelled = f"{above}{slash}{path.name}"
            if self._is_wanted(path):
                yield spelled
            elif path.is_dir():
                yield from (f"{spelled}/{below.name}" for below in _entries(path) if self._is_wanted(below))

    def _is_wanted(self, path: Path) -> bool:
        if path.is_dir():
            return PEFT in self._kinds and kind_of(path) is PEFT
        return path.suffix.lower() in self._endings and (not self._kinds or kind_of(path) in self._kinds)


def _entries(folder: Path, beginning: str = "") -> list[Path]:
    """What is in a folder; what is hidden only where it is asked for."""
    try:
        entries = [path for path in islice(folder.iterdir(), _MOST_LOOKED_AT) if path.name.startswith(beginning)]
    except OSError:
        return []
    return sorted(path for path in entries if beginning or not path.name.startswith("."))


MODEL_FILE = FileOf(MODEL, endings=(".gguf",))
ADAPTER_FILE = FileOf(ADAPTER, PEFT, endings=(".gguf",))
GGUF_FILE = FileOf(MODEL, ADAPTER, endings=(".gguf",))
PEFT_FOLDER = FileOf(PEFT)
SUITE_FILE = FileOf(SUITE, endings=_YAML)
REPORT_FILE = FileOf(REPORT, endings=(".json",))
CASES_OR_PACK = FileOf(endings=(*_JSON, *_YAML), names=PACKS)
RECORDS_FILE = FileOf(endings=_JSON)
TOOLS_FILE = FileOf(endings=(".json", *_YAML))
