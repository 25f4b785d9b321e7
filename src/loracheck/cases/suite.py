"""The suite file: models, settings and what to check."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from loracheck.cases import MOST, did_you_mean
from loracheck.cases.case import Case, Strict
from loracheck.cases.entries import ENTRIES, Entry, NullAdapterEntry, ToolUseEntry
from loracheck.errors import CasesError, InputError
from loracheck.scoring.dialects import DIALECTS

VERSION = 1


def default_threads() -> int:
    """All cores of a small machine, half of a large one, where the other half are hyper-threads."""
    cores = os.cpu_count() or 1
    return cores if cores <= 4 else cores // 2


def _beside_the_suite_file(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    path = path.expanduser()
    return folder / path if folder else path


PathBeside = Annotated[Path, AfterValidator(_beside_the_suite_file)]


class AdapterEntry(Strict):
    gguf: PathBeside
    """A GGUF LoRA, or a PEFT folder, which is converted into the cache."""
    scale: float = 1.0
    """How strongly it is applied: 0.5 is half as strong as it was trained."""

    @field_validator("scale")
    @classmethod
    def _finite(cls, scale: float) -> float:
        if not math.isfinite(scale):
            raise ValueError(f"the scale is {scale}; give a number such as 1.0")
        return scale


def adapter_entry(text: str | os.PathLike[str]) -> AdapterEntry:
    """PATH or PATH@SCALE; a path that exists as written is that file. InputError when SCALE is no number."""
    spelled = os.fspath(text)
    path, at, scale = spelled.rpartition("@")
    if not at or Path(spelled).exists():
        return AdapterEntry(gguf=Path(spelled))
    try:
        factor = float(scale)
    except ValueError:
        raise InputError(f"{scale!r} in {spelled!r} is not a scale; write PATH@0.5") from None
    if not math.isfinite(factor):
        raise InputError(f"the scale in {spelled!r} is not a finite number; write PATH@0.5")
    return AdapterEntry(gguf=Path(path), scale=factor)


class BaseEntry(Strict):
    gguf: PathBeside
    """The base model."""
    adapters: tuple[AdapterEntry, ...] = ()
    """What belongs to the base and is on in every view of it, in this order; not on another model file."""


class FtEntry(Strict):
    gguf: PathBeside | None = None
    """Another model file, the candidate, that is checked against the base: a merged fine-tune, say, or another
    quantization."""
    adapters: tuple[AdapterEntry, ...] = ()
    """On top of the base's own adapters, or on the candidate alone where there is one."""


class Models(Strict):
    base: BaseEntry
    """What it is compared with."""
    ft: FtEntry = FtEntry()
    """What is checked."""


class Defaults(Strict, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True):
    """How cases are asked and answered. Each is also an option of `loracheck check`, and the option wins."""

    seed: int = Field(default=0, ge=0)
    """Seeds the bootstrap intervals and the tries of `trials`. Greedy answers need none."""
    prompt: Literal["chat", "raw"] | None = None
    """`chat` uses the model's chat template, `raw` only the prompt text; when left out, chat if there is a template."""
    dialect: str = "auto"
    """How calls are written in answers; `auto` reads the dialect that the prompts ask for, and the one that the base
    speaks."""
    thinking: bool = True
    """`false` switches off the thinking of models that think before they answer, by whatever their chat template calls
    it; `true` leaves that to the template."""
    template_args: dict[str, Any] = Field(default_factory=dict)
    """Variables for the chat template, such as `enable_thinking: false`."""
    schema_rules: Literal["basic", "strict"] = Field(default="basic", alias="schema")
    """`strict` also validates arguments by their whole JSON Schema and reports that rate beside the other."""
    max_new_tokens: int | None = Field(default=None, ge=1, le=MOST)
    """Longest answer, in tokens. When left out, 1,024 where the model may think first, else the case's `answer_tokens`,
    else 256."""
    n_ctx: int = Field(default=4096, ge=32, le=MOST)
    """Tokens of context for each case."""
    threads: int = Field(default_factory=default_threads, ge=1, le=512)
    """CPU threads; when left out, as many as suit the machine."""
    gpu_layers: int = Field(default=0, ge=-1, le=MOST)
    """Layers to put on the GPU (Metal or CUDA); -1 for all."""
    parallel: int | None = Field(default=None, ge=1, le=64)
    """Cases decoded in step. When left out, 16."""
    flips: bool = False
    """Ask the base once more with other rounding, to see how many of its answers hang by a hair."""
    quantize: str | None = None
    """Check the base quantized to this type, such as Q4_K_M, with the adapters on it: the file is made in the cache."""
    template: Literal["own", "base"] = "own"
    """Whose chat template a candidate is asked by: its `own`, as a server would, or that of the `base`."""
    drift: bool | None = None
    """Measure how far expectations moved on the base's own calls; when left out, wherever both have one vocabulary."""
    trials: int | None = Field(default=None, ge=1, le=1000)
    """Ask each case so many times more, with answers that are drawn at `temperature`, to see how reliable they are."""
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """How freely the tries are drawn; 0 gives the greedy answer each time."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Draw only from the likeliest tokens that together reach this probability; 1 for all."""
    min_p: float = Field(default=0.0, ge=0, lt=1)
    """Draw only from tokens at least this likely, compared with the likeliest; 0 for all."""
    top_k: int = Field(default=0, ge=0, le=MOST)
    """Draw only from so many of the likeliest tokens; 0 for all."""

    @model_validator(mode="after")
    def _tries_are_drawn(self) -> Defaults:
        if self.trials is not None and self.temperature is None:
            raise ValueError(f"trials ({self.trials}) need a temperature to be drawn at; give one, such as 0.7")
        settings = {"temperature": None, "top_p": 1.0, "min_p": 0.0, "top_k": 0}
        for name, left_out in settings.items():
            if self.trials is None and getattr(self, name) != left_out:
                raise ValueError(f"{name} is for trials, and answers are greedy without them; give trials as well")
        return self

    @field_validator("template_args")
    @classmethod
    def _as_in_json(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(arguments, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(
                "a value that is not JSON; give text, numbers, true, false, null, or lists and mappings of them"
            ) from None
        return arguments

    @field_validator("quantize")
    @classmethod
    def _as_llama_cpp_spells_it(cls, quantize: str | None) -> str | None:
        return quantize and quantize.upper()

    @field_validator("dialect")
    @classmethod
    def _known_dialect(cls, dialect: str) -> str:
        if dialect != "auto" and dialect not in DIALECTS:
            fix = did_you_mean(dialect, ("auto", *DIALECTS)) or f"; give auto or one of {', '.join(DIALECTS)}"
            raise ValueError(f"no dialect {dialect!r}{fix}")
        return dialect


class SweepEntry(Strict):
    """The axes of `loracheck sweep`: every combination is a check of its own. `check` takes no notice of it."""

    bases: tuple[PathBeside, ...] = ()
    """Base models; when left out, the one of `models`."""
    quantize: tuple[str, ...] = ()
    """Types to quantize the one base to, such as Q4_K_M; the base as it is comes first."""
    adapters: tuple[str, ...] = ()
    """Alternatives, each PATH or PATH@SCALE: a GGUF LoRA, a PEFT folder, or a training output folder, whose checkpoints
    are taken one by one. `+` joins a stack. When left out, those of `models` as one stack."""
    scales: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = ()
    """Each multiplies the scales of the stack under test; when left out, 1."""


def _any_of(kinds: Mapping[str, type[Entry]]) -> Any:
    return Annotated[Union[tuple(kinds.values())], Field(discriminator="kind")]  # noqa: UP007 - built at run time


if TYPE_CHECKING:
    AnyEntry = Entry
else:
    AnyEntry = _any_of(ENTRIES)


class Suite(Strict, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True):
    version: int = VERSION
    """The version of this format."""
    models: Models
    """What is compared with what."""
    defaults: Defaults = Defaults()
    """How it is run."""
    tools_file: PathBeside | None = None
    """Tools for all cases that name none: a list in JSON or YAML, or what MCP's tools/list gives."""
    entries: tuple[AnyEntry, ...] = Field(min_length=1, alias="suite")
    """What is done, in this order: each entry has a `kind` and a `name` of its own. Null adapters come before what they
    serve; when there are none, the default ones are put in front."""
    sweep: SweepEntry | None = None
    """What `loracheck sweep` varies."""
    _file: Path | None = None

    @property
    def file(self) -> Path | None:
        """Where it was loaded from, if it was."""
        return self._file

    def loaded_from(self, file: Path) -> Suite:
        """A copy that knows its file."""
        suite = self.model_copy()
        suite._file = file
        return suite

    @field_validator("version")
    @classmethod
    def _known_version(cls, version: int) -> int:
        if version != VERSION:
            raise ValueError(
                f"this loracheck reads version {VERSION}, the file says {version}; use a loracheck that reads it"
            )
        return version

    @field_validator("entries")
    @classmethod
    def _in_order(cls, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        names: set[str] = set()
        judged = None
        for entry in entries:
            if entry.name in names:
                raise ValueError(f"two probes are named {entry.name!r}; names must differ")
            names.add(entry.name)
            if not entry.is_baseline:
                judged = judged or entry.name
            elif judged:
                raise ValueError(
                    f"the null_adapter {entry.name!r} comes after {judged!r}, which it serves; move it to the front"
                )
        if judged is None:
            raise ValueError("nothing to check: add a probe of kind tool_use_fidelity")
        return entries

    @property
    def adapters(self) -> tuple[AdapterEntry, ...]:
        """Every adapter, the base's own first."""
        return self.models.base.adapters + self.models.ft.adapters

    @property
    def tuned_adapters(self) -> tuple[AdapterEntry, ...]:
        """Those of the view that is checked: a candidate has nothing of the base."""
        return self.adapters if self.models.ft.gguf is None else self.models.ft.adapters

    @property
    def files(self) -> tuple[Path, ...]:
        """Every model and adapter that it names: the base, the candidate, then the adapters."""
        candidate = self.models.ft.gguf
        models = (self.models.base.gguf, *([candidate] if candidate else ()))
        return (*models, *(entry.gguf for entry in self.adapters))

    @property
    def checks_something(self) -> bool:
        ft = self.models.ft
        return bool(ft.gguf or ft.adapters or self.defaults.quantize)

    @property
    def judged(self) -> tuple[Entry, ...]:
        """The entries that get a verdict."""
        return tuple(entry for entry in self.entries if not entry.is_baseline)

    def with_models(
        self,
        base: Path | None = None,
        adapters: Sequence[AdapterEntry] = (),
        base_adapters: Sequence[AdapterEntry] = (),
        candidate: Path | None = None,
    ) -> Suite:
        """A copy with other model files; what is not given stays."""
        own, ft = self.models.base, self.models.ft
        models = Models(
            base=BaseEntry(gguf=base or own.gguf, adapters=tuple(base_adapters or own.adapters)),
            ft=FtEntry(gguf=candidate or ft.gguf, adapters=tuple(adapters or ft.adapters)),
        )
        return self.model_copy(update={"models": models})

    def with_files(self, find: Callable[[Path], Path]) -> Suite:
        """A copy in which every model and adapter is what `find` makes of its path."""
        ft, own = (
            [entry.model_copy(update={"gguf": find(entry.gguf)}) for entry in entries]
            for entries in (self.models.ft.adapters, self.models.base.adapters)
        )
        candidate = self.models.ft.gguf
        return self.with_models(find(self.models.base.gguf), ft, own, candidate and find(candidate))

    def without_candidate(self) -> Suite:
        """A copy whose adapters go on the base."""
        ft = self.models.ft.model_copy(update={"gguf": None})
        return self.model_copy(update={"models": self.models.model_copy(update={"ft": ft})})

    def with_defaults(self, **changes: Any) -> Suite:
        """A copy with other settings. A new `max_new_tokens` also wins over what single cases ask for."""
        suite = self.model_copy(update={"defaults": Defaults(**{**self.defaults.model_dump(), **changes})})
        if "max_new_tokens" not in changes:
            return suite
        return suite._with_entries(
            entry.asking([case.model_copy(update={"max_new_tokens": None}) for case in entry.asks])
            for entry in self.entries
        )

    def with_cases(self, cases: Sequence[Case], source: str = "") -> Suite:
        """A copy whose entries ask these cases. CasesError, which says where they are from, when one needs others."""
        try:
            return self._with_entries(entry.asking(cases) for entry in self.entries)
        except ValidationError as bad:
            complaint = bad.errors()[0]["msg"].removeprefix("Value error, ")
            place = f"{source}: " if source else ""
            raise CasesError(f"{place}these cases do not fit the suite: {complaint}") from None

    def with_nulls(self, runs: int | None = None) -> Suite:
        """A copy that has null adapters: its own, or the default ones; `runs` of them when given."""
        entries = self.entries
        if not any(entry.is_baseline for entry in entries):
            taken = {entry.name for entry in entries}
            name = next(name for name in ("nulls", "null adapters", "_nulls") if name not in taken)
            entries = (NullAdapterEntry(name=name), *entries)
        return self._with_entries(
            entry.model_copy(update={"runs": runs}) if runs and entry.is_baseline else entry for entry in entries
        )

    def without_nulls(self) -> Suite:
        return self._with_entries(self.judged)

    def _with_entries(self, entries: Iterable[Entry]) -> Suite:
        return self.model_copy(update={"entries": tuple(entries)})


def suite_of_kinds(kinds: Mapping[str, type[Entry]]) -> type[Suite]:
    """The suite whose entries may be of these kinds."""
    if kinds == ENTRIES:
        return Suite
    entries: Any = (tuple[_any_of(kinds), ...], Suite.model_fields["entries"])  # type: ignore[misc]
    return create_model("Suite", __base__=Suite, entries=entries)


def quick_suite(
    base: Path,
    adapters: Sequence[AdapterEntry],
    base_adapters: Sequence[AdapterEntry],
    cases: Sequence[Case],
    candidate: Path | None = None,
) -> Suite:
    """What `loracheck check --base --adapter` runs, but for the null adapters: tool use on the given cases."""
    tool_use = ToolUseEntry(name="tools_intact", cases=tuple(cases))
    bare = Suite(models=Models(base=BaseEntry(gguf=base)), suite=(tool_use,))
    return bare.with_models(None, adapters, base_adapters, candidate)
