"""What reports are made of: a part reads what another loracheck wrote, or a hand has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Flag = Annotated[bool, Field(strict=True)]


class Part(BaseModel):
    """A part of a report. What a newer loracheck adds to it is let be.

    A file may also be older, or edited by hand: a value of another kind than it should be counts as not there, so that
    whoever shows it needs no second look.
    """

    # The plain dataclasses in it, such as limits, take these settings over.
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_nothing(cls, value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
        try:
            return handler(value)
        except ValidationError:
            field = cls.model_fields[info.field_name or ""]
            if field.is_required():
                raise
            return field.get_default(call_default_factory=True)
