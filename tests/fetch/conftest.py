"""This checkout has no models, whatever is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from package_index import PackageIndex

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout" / "models"
    monkeypatch.setattr("loracheck.fetch.checkout_folder", lambda: folder)
    return folder


@pytest.fixture
def package_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageIndex:
    return PackageIndex(tmp_path / "index", monkeypatch)
