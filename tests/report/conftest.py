"""One browser for all tests that look at pages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from report.chromium import FOUND, Chromium

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if FOUND is None and os.environ.get("LORACHECK_BROWSER") == "required":
        pytest.fail("no Chromium here, and LORACHECK_BROWSER=required says that pages must be tested in one")
    if FOUND is None:
        pytest.skip("no Chromium here")
    chromium = Chromium(tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()
