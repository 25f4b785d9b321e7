"""A conversion that is expected to be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loracheck.errors import AdapterError, InputError
from loracheck.models.peft import convert
from models.peft_factory import write_base, write_peft

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[..., str]:
    """Convert, expect an error, and give its message."""

    def refusal(
        tensors: dict[str, np.ndarray] | None = None,
        base: Path | None = None,
        error: type[InputError] = AdapterError,
        outtype: str = "f32",
        **config: Any,
    ) -> str:
        peft = write_peft(tmp_path / "peft", tensors, **config)
        base = base or write_base(tmp_path / "base.gguf")
        before = sorted(tmp_path.iterdir())
        with pytest.raises(error) as caught:
            convert(peft, base, tmp_path / "out.gguf", outtype)
        assert sorted(tmp_path.iterdir()) == before
        return str(caught.value)

    return refusal
