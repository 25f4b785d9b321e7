"""A package index in a folder, with a pip of our own in place of the real one."""

from __future__ import annotations

import shlex
import sys
import zipfile
from pathlib import Path

import pytest

PYTHON = sys.executable

TAKE_IT = """
import pathlib, shutil
wheel = pathlib.Path(index, f"{words[-1]}.whl")
if not wheel.exists():
    sys.exit(f"ERROR: No matching distribution found for {words[-1]}")
shutil.copy(wheel, dest)
"""


class PackageIndex:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._log = folder / "pip.log"
        self._pip = folder / "python"
        folder.mkdir()
        self._log.touch()
        monkeypatch.setattr(sys, "executable", str(self._pip))
        self.let_pip_run(TAKE_IT)

    def let_pip_run(self, script: str) -> None:
        """This runs where pip would; it knows its `words`, its `dest` folder and the `index`."""
        lines = (
            f"#!{PYTHON}",
            "import shlex, sys, time",
            "words = sys.argv[1:]",
            f"index, dest = {str(self._folder)!r}, words[words.index('--dest') + 1]",
            f"print(shlex.join(words), file=open({str(self._log)!r}, 'a'))",
            script,
        )
        self._pip.write_text("\n".join(lines), encoding="utf-8")
        self._pip.chmod(0o755)

    def offer(self, requirement: str, member: str, content: bytes) -> Path:
        """Put a wheel there, with one file in it."""
        wheel = self._folder / f"{requirement}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, content)
        return wheel

    @property
    def commands(self) -> list[list[str]]:
        return [shlex.split(line) for line in self._log.read_text("utf-8").splitlines()]

    @property
    def asked(self) -> list[str]:
        """The requirements, in the order pip was asked for them."""
        return [command[-1] for command in self.commands]
