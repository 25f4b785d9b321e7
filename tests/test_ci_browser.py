"""How `.ci/run` gets its browser: from apt where it may, aloud where that fails, and never without saying so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "browser"

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("timeout") is None, reason="needs bash and timeout")


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """All the commands there are: a machine of root's without a browser."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "cat", "chmod", "mktemp", "rm", "timeout"):
        (folder / name).symlink_to(shutil.which(name) or name)
    command(folder, "id", "echo 0")
    return folder


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
    path.chmod(0o755)


def get_browser(bin_folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(bin_folder), "TMPDIR": str(bin_folder)}
    return subprocess.run([bin_folder / "bash", SCRIPT], env=environment, capture_output=True, text=True, check=False)


def test_a_browser_that_is_there_is_taken(bin_folder: Path) -> None:
    command(bin_folder, "google-chrome", "exit 0")
    command(bin_folder, "apt-get", "echo asked >&2; exit 1")
    done = get_browser(bin_folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_apt_gets_chromium_where_it_is_missing(bin_folder: Path) -> None:
    asked = bin_folder / "asked"
    command(bin_folder, "apt-get", f'echo "$*" >> {asked}')
    done = get_browser(bin_folder)
    assert (done.returncode, done.stderr) == (0, "")
    update, install = asked.read_text().splitlines()
    assert update.endswith("update")
    assert install.endswith("install --yes --no-install-recommends chromium")


def test_an_index_that_is_partly_down_is_no_reason_to_give_up(bin_folder: Path) -> None:
    command(bin_folder, "apt-get", 'case "$*" in *update) echo "no index"; exit 100;; esac')
    assert get_browser(bin_folder).returncode == 0


def test_an_apt_that_fails_is_printed(bin_folder: Path) -> None:
    command(bin_folder, "apt-get", 'echo "E: Unable to locate package chromium" >&2; exit 100')
    done = get_browser(bin_folder)
    assert done.returncode == 1
    assert "E: Unable to locate package chromium" in done.stderr
    assert "THE PAGES ARE NOT TESTED IN A BROWSER" in done.stderr


def test_without_root_it_is_for_the_tests_to_say_that_there_is_no_browser(bin_folder: Path) -> None:
    command(bin_folder, "id", "echo 1000")
    command(bin_folder, "apt-get", "echo asked >&2; exit 1")
    done = get_browser(bin_folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("needed", "code", "end"), [("required", 1, "1 error"), ("", 0, "1 skipped")])
def test_a_missing_browser_fails_the_tests_only_where_one_is_required(
    bin_folder: Path, needed: str, code: int, end: str
) -> None:
    environment = {**os.environ, "PATH": str(bin_folder), "LORACHECK_BROWSER": needed}
    test = "tests/report/test_html_browser.py::test_a_hostile_report_does_not_run"
    python = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(python, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert end in done.stdout.splitlines()[-1]
