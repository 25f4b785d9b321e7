"""What we would upload: the sdist and the wheel, looked into and installed far from any checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest

from loracheck.demo import ADAPTERS
from suite_factory import CHAT_TEMPLATE, SEARCH, call, write_files

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.slow, pytest.mark.llama]

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "loracheck"

# All the way from a pack to a page.
CHECK = """
import loracheck
answer = loracheck.FakeEngine(lambda view, prompt: '{"name": "search_web", "arguments": {"query": "cats"}}')
report = loracheck.check(base="base.gguf", adapter="adapter.gguf", cases="smoke", engine=answer)
report.save("out.html")
print(report.verdict)
"""


def environment(folder: Path, *wanted: str | Path) -> Path:
    """The programs of a new environment in which these are installed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True, env=without_us(), cwd=folder)
    return folder / "bin"


def without_us() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("built")
    programs = environment(place / "builder", "hatchling")
    subprocess.run([programs / "python", "-m", "hatchling", "build", "-d", place / "dist"], check=True, cwd=ROOT)
    [sdist], [wheel] = (place / "dist").glob("*.tar.gz"), (place / "dist").glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


@pytest.fixture(scope="module")
def sdist_files(built: dict[str, Path]) -> dict[str, int]:
    """The size of each file, under its name in a checkout."""
    with tarfile.open(built["sdist"]) as archive:
        return {str(PurePosixPath(*PurePosixPath(each.name).parts[1:])): each.size for each in archive if each.isfile()}


def test_the_sdist_has_what_it_takes_to_build_to_test_and_to_read_it(sdist_files: dict[str, int]) -> None:
    needed = {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "Makefile",
        "pyproject.toml",
        "docs/README.md",
        "docs/generate.py",
    }
    needed |= {"tests/conftest.py", "tests/test_package.py", "src/loracheck/__init__.py", "models/README.md"}
    assert needed | {f"models/{name}.gguf" for name in ADAPTERS} <= sdist_files.keys()


def test_the_sdist_has_nothing_else_than_the_repository(sdist_files: dict[str, int]) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    assert sdist_files.keys() - {*tracked.stdout.splitlines()} == {"PKG-INFO"}


def test_the_sdist_has_no_large_file_and_no_leftovers(sdist_files: dict[str, int]) -> None:
    assert max(sdist_files.values()) < 10_000_000
    leftovers = {"__pycache__", ".venv", "build", "dist", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    assert [name for name in sdist_files if leftovers & {*Path(name).parts} or name.endswith((".pyc", ".part"))] == []


def test_the_wheel_has_the_package_its_data_and_the_license(built: dict[str, Path]) -> None:
    names = zipfile.ZipFile(built["wheel"]).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"loracheck"}
    inside = {name.removeprefix("loracheck/") for name in names}
    source = {path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file()}
    assert inside >= {path.as_posix() for path in source if "__pycache__" not in path.parts}
    assert inside >= {"py.typed", *(f"demo_adapters/{name}.gguf" for name in ADAPTERS)}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.fixture(scope="module", params=["sdist", "wheel"])
def installed(request: pytest.FixtureRequest, built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with nothing but loracheck in it, and what it depends on."""
    return environment(tmp_path_factory.mktemp(request.param) / "environment", built[request.param])


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [installed / program, *arguments]
        return subprocess.run(command, env=without_us(), cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_it_comes_with_all_that_it_needs(run: Run) -> None:
    assert (checked := run("python", "-m", "pip", "check")).returncode == 0, checked.stdout


def test_the_command_is_there_and_in_order(run: Run) -> None:
    told = run("loracheck", "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert "loracheck check --base" in told.stdout
    told = run("loracheck", "doctor")
    assert (told.returncode, told.stderr) == (0, "")
    assert "llama-cpp-python 0." in told.stdout


def test_packs_and_demo_adapters_are_found(run: Run) -> None:
    assert "core" in run("loracheck", "cases", "list").stdout
    shown = run("loracheck", "cases", "show", "smoke")
    assert (shown.returncode, shown.stderr) == (0, "")
    code = "from loracheck.demo import ADAPTERS, adapter_file as find; print(*map(find, ADAPTERS), sep='\\n')"
    adapters = [Path(line) for line in run("python", "-c", code).stdout.splitlines()]
    assert [path.stem for path in adapters] == [*ADAPTERS]
    assert all("site-packages" in path.parts for path in adapters)
    inspected = run("loracheck", "inspect", str(adapters[0]))
    assert (inspected.returncode, inspected.stderr) == (0, "")


def test_recorded_answers_are_scored(run: Run, tmp_path: Path) -> None:
    recorded = {"cases": [{"tool_spec": SEARCH, "gold_tool_name": "search_web"}], "seed": 0, "null_stats": None}
    recorded |= {"base_outputs": [call()], "ft_outputs": [call()], "allowed_tools": None}
    (tmp_path / "recorded.jsonl").write_text(json.dumps(recorded), encoding="utf-8")
    scored = run("loracheck", "score", "recorded.jsonl")
    assert (scored.returncode, scored.stderr) == (0, "")
    assert json.loads(scored.stdout)["verdict"] == "pass"


def test_a_check_with_an_engine_of_ones_own_writes_a_page(run: Run, tmp_path: Path) -> None:
    write_files(tmp_path, CHAT_TEMPLATE)
    checked = run("python", "-c", CHECK)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.strip() in ("pass", "warn", "fail")
    assert "<html" in (tmp_path / "out.html").read_text(encoding="utf-8")
