"""The suite file: models, settings and what to check."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, field_validator

from loracheck.engine import MOST, AdapterUse, Settings, View, default_threads
from loracheck.errors import CasesError
from loracheck.probes import KINDS
from loracheck.probes.null_adapter import NullAdapterProbe
from loracheck.probes.tool_use_fidelity import ToolUseFidelityProbe
from loracheck.scoring.dialects import DIALECTS
from loracheck.suite.case import Strict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from loracheck.probes.base import Probe
    from loracheck.suite.case import Case

    AnyProbe = Probe
else:
    AnyProbe = Annotated[Union[tuple(KINDS.values())], Field(discriminator="kind")]  # noqa: UP007 - built at run time

VERSION = 1


def _beside_the_suite_file(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    path = path.expanduser()
    return folder / path if folder else path


GgufPath = Annotated[Path, AfterValidator(_beside_the_suite_file)]


class AdapterEntry(Strict):
    gguf: GgufPath
    """A GGUF LoRA, or a PEFT folder, which is converted into the cache."""
    scale: float = 1.0
    """How strongly it is applied: 0.5 is half as strong as it was trained."""

    @field_validator("scale")
    @classmethod
    def _finite(cls, scale: float) -> float:
        if not math.isfinite(scale):
            raise ValueError(f"the scale is {scale}; give a number such as 1.0")
        return scale


class BaseEntry(Strict):
    gguf: GgufPath
    """The base model."""
    adapters: tuple[AdapterEntry, ...] = ()
    """What belongs to the base and is on in both views, in this order."""


class FtEntry(Strict):
    adapters: tuple[AdapterEntry, ...] = Field(min_length=1)
    """On top of the base's own adapters."""


class Models(Strict):
    base: BaseEntry
    """What the adapter is compared with."""
    ft: FtEntry
    """What is checked."""


class Defaults(Strict):
    """How cases are asked and answered. Each is also an option of `loracheck check`, and the option wins."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    seed: int = Field(default=0, ge=0)
    """Seeds the bootstrap interval. Answers are greedy and need none."""
    prompt: Literal["chat", "raw"] | None = None
    """`chat` uses the model's chat template, `raw` the prompt text alone; left out, chat where there is a template."""
    dialect: str = "auto"
    """How calls are written in answers; `auto` reads it off the model's chat template."""
    schema_rules: Literal["basic", "strict"] = Field(default="basic", alias="schema")
    """`strict` also validates arguments by their whole JSON Schema and reports that rate beside the other."""
    max_new_tokens: int = Field(default=256, ge=1, le=MOST)
    """Longest answer, in tokens."""
    n_ctx: int = Field(default=4096, ge=32, le=MOST)
    """Tokens of context for each case."""
    threads: int = Field(default_factory=default_threads, ge=1, le=512)
    """CPU threads; left out, by the machine."""
    gpu_layers: int = Field(default=0, ge=-1, le=MOST)
    """Layers to put on the GPU (Metal or CUDA); -1 for all."""
    parallel: int = Field(default=8, ge=1, le=64)
    """Cases decoded in step. Answers are repeatable for one width, not across widths."""

    @field_validator("dialect")
    @classmethod
    def _known_dialect(cls, dialect: str) -> str:
        if dialect != "auto" and dialect not in DIALECTS:
            raise ValueError(f"no dialect {dialect!r}; give auto or one of {', '.join(DIALECTS)}")
        return dialect


class Suite(Strict):
    version: int = VERSION
    """Of this format."""
    models: Models
    """What is compared with what."""
    defaults: Defaults = Defaults()
    """How it is run."""
    suite: tuple[AnyProbe, ...] = Field(min_length=1)
    """What is done, in this order: each entry has a `kind` and a `name` of its own. Noise comes before what it serves;
    where there is none, the default one is put in front."""
    _file: Path | None = PrivateAttr(default=None)

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
            raise ValueError(f"this loracheck reads version {VERSION}, the file says {version}")
        return version

    @field_validator("suite")
    @classmethod
    def _in_order(cls, probes: tuple[Probe, ...]) -> tuple[Probe, ...]:
        names: set[str] = set()
        judged = None
        for probe in probes:
            if probe.name in names:
                raise ValueError(f"two probes are named {probe.name!r}; names must differ")
            names.add(probe.name)
            if not isinstance(probe, NullAdapterProbe):
                judged = judged or probe.name
            elif judged:
                raise ValueError(
                    f"the null_adapter {probe.name!r} comes after {judged!r}, which it serves; move it to the front"
                )
        if judged is None:
            raise ValueError("nothing to check: add a probe of kind tool_use_fidelity")
        return probes

    @property
    def adapter_entries(self) -> tuple[AdapterEntry, ...]:
        """Every adapter of the ft view, the base's own first."""
        return self.models.base.adapters + self.models.ft.adapters

    @property
    def base_view(self) -> View:
        return View("base", _stack(self.models.base.adapters))

    @property
    def ft_view(self) -> View:
        return View("ft", self.base_view.adapters + _stack(self.models.ft.adapters))

    @property
    def settings(self) -> Settings:
        d = self.defaults
        return Settings(n_ctx=d.n_ctx, threads=d.threads, gpu_layers=d.gpu_layers, parallel=d.parallel)

    def with_models(
        self,
        base: Path | None = None,
        adapters: Sequence[AdapterEntry] = (),
        base_adapters: Sequence[AdapterEntry] = (),
    ) -> Suite:
        """A copy with other model files; what is not given stays."""
        models = self.models
        changed_base = models.base.model_copy(
            update={
                "gguf": base or models.base.gguf,
                "adapters": tuple(base_adapters) or models.base.adapters,
            }
        )
        changed_ft = FtEntry(adapters=tuple(adapters) or models.ft.adapters)
        return self.model_copy(update={"models": Models(base=changed_base, ft=changed_ft)})

    def with_adapter_files(self, find: Callable[[Path], Path]) -> Suite:
        """A copy in which every adapter's file is what `find` makes of it."""
        ft, own = (
            [entry.model_copy(update={"gguf": find(entry.gguf)}) for entry in entries]
            for entries in (self.models.ft.adapters, self.models.base.adapters)
        )
        return self.with_models(adapters=ft, base_adapters=own)

    def with_defaults(self, **changes: Any) -> Suite:
        """A copy with other settings. A new `max_new_tokens` also wins over what single cases ask for."""
        suite = self.model_copy(update={"defaults": Defaults(**{**self.defaults.model_dump(), **changes})})
        if "max_new_tokens" not in changes:
            return suite
        return suite._with_probes(
            probe.model_copy(
                update={"cases": tuple(case.model_copy(update={"max_new_tokens": None}) for case in probe.cases)}
            )
            if isinstance(probe, ToolUseFidelityProbe)
            else probe
            for probe in self.suite
        )

    def with_cases(self, cases: Sequence[Case]) -> Suite:
        """A copy whose tool_use_fidelity probes all ask these cases. CasesError when a probe needs others."""
        try:
            return self._with_probes(
                ToolUseFidelityProbe(**{**dict(probe), "cases": tuple(cases)})
                if isinstance(probe, ToolUseFidelityProbe)
                else probe
                for probe in self.suite
            )
        except ValidationError as bad:
            said = bad.errors()[0]["msg"].removeprefix("Value error, ")
            raise CasesError(f"these cases do not fit the suite: {said}") from None

    def with_nulls(self, runs: int | None = None) -> Suite:
        """A copy that has a noise baseline: its own, or the default one; of `runs` noise adapters when given."""
        probes = self.suite
        if not any(isinstance(probe, NullAdapterProbe) for probe in probes):
            taken = {probe.name for probe in probes}
            name = next(name for name in ("noise", "noise baseline", "_noise") if name not in taken)
            probes = (NullAdapterProbe(name=name), *probes)
        return self._with_probes(
            probe.model_copy(update={"runs": runs}) if runs and isinstance(probe, NullAdapterProbe) else probe
            for probe in probes
        )

    def without_nulls(self) -> Suite:
        return self._with_probes(p for p in self.suite if not isinstance(p, NullAdapterProbe))

    def _with_probes(self, probes: Iterable[Probe]) -> Suite:
        return self.model_copy(update={"suite": tuple(probes)})


def _stack(entries: tuple[AdapterEntry, ...]) -> tuple[AdapterUse, ...]:
    return tuple(AdapterUse(entry.gguf, entry.scale) for entry in entries)
