from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import loracheck.store
from loracheck.errors import InputError
from loracheck.store import Store, database_files, store_path, user_store

if TYPE_CHECKING:
    from pathlib import Path

ABOUT = {"prompt": "Search for cats.", "limit": 8}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "answers.sqlite"


def put_and_close(path: Path, *values: Any) -> None:
    with Store(path) as store:
        for number, value in enumerate(values):
            store.put("answer", {"number": number}, value)
        assert not store.warnings


def found(path: Path, count: int) -> tuple[list[Any], list[str]]:
    with Store(path) as store:
        return [store.get("answer", {"number": number}) for number in range(count)], store.warnings


def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(loracheck.store.time, "time_ns", lambda: now + 3600 * 10**9)


def connecting(monkeypatch: pytest.MonkeyPatch, pragma: str) -> None:
    """Every connection made from now on gets this pragma first."""
    connect = sqlite3.connect

    def with_pragma(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db = connect(*args, **kwargs)
        db.execute(pragma)
        return db

    monkeypatch.setattr(sqlite3, "connect", with_pragma)


def test_the_store_is_in_the_folder_that_the_environment_names(cache_folder: Path) -> None:
    assert store_path() == cache_folder / "answers.sqlite"


def test_a_value_is_found_again_by_another_store_on_the_same_file(path: Path) -> None:
    value = {"text": "ein Mädchen \ud800 \x00", "tokens": [1, 2], "truncated": False}
    put_and_close(path, value)
    assert found(path, 1) == ([value], [])


def test_a_value_is_on_disk_before_the_store_is_closed(path: Path) -> None:
    with Store(path) as writer:
        writer.put("answer", {"number": 0}, "yes")
        assert found(path, 1) == (["yes"], [])


@pytest.mark.parametrize("other", [{}, {**ABOUT, "limit": 9}, {**ABOUT, "limit": "8"}, {**ABOUT, "more": None}])
def test_anything_that_differs_is_another_entry(path: Path, other: dict[str, Any]) -> None:
    with Store(path) as store:
        store.put("answer", ABOUT, "yes")
        assert store.get("answer", other) is None
        assert store.get("fingerprint", ABOUT) is None
        assert store.get("answer", dict(reversed(ABOUT.items()))) == "yes"


def test_answers_are_counted_apart_from_other_entries(path: Path) -> None:
    with Store(path) as store:
        store.put("answer", {"number": 0}, "a")
        store.put("answer", {"number": 0}, "again")
        store.put("answer", {"number": 1}, "b")
        store.put("fingerprint", {"number": 1}, "c")
        assert store.count("answer") == 2


def test_a_store_without_a_file_finds_nothing_and_does_not_complain() -> None:
    with Store() as store:
        store.put("answer", ABOUT, "yes")
        assert store.get("answer", ABOUT) is None
        assert not store.is_on
        assert not store.warnings
        assert list(store.what_is_kept()) == []


def test_another_schema_begins_anew(path: Path) -> None:
    put_and_close(path, "old")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    assert found(path, 1) == ([None], [])
    put_and_close(path, "new")
    assert found(path, 1) == (["new"], [])


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with Store(tmp_path / "file" / "answers.sqlite") as store:
        store.put("answer", ABOUT, "yes")
        assert store.get("answer", ABOUT) is None
        (warning,) = store.warnings
    assert "the store is off for this run" in warning
    assert str(tmp_path / "file") in warning


def test_a_folder_in_the_place_of_the_file_is_a_warning(path: Path) -> None:
    path.mkdir(parents=True)
    with Store(path) as store:
        (warning,) = store.warnings
    assert "unable to open database file" in warning
    assert path.is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_warning(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o555)
    try:
        assert "the store is off for this run" in found(path, 1)[1][0]
    finally:
        path.parent.chmod(0o755)


def test_a_read_only_database_is_read_until_something_must_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_and_close(path, "kept")
    connecting(monkeypatch, "PRAGMA query_only = 1")
    with Store(path) as store:
        assert store.get("answer", {"number": 0}) == "kept"
        assert not store.warnings
        store.put("answer", {"number": 1}, "new")
        store.put("answer", {"number": 2}, "new")
        (warning,) = store.warnings
    assert "readonly database" in warning


def test_a_full_disk_is_one_warning_and_what_was_kept_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_and_close(path, "kept")
    with monkeypatch.context() as patch:
        connecting(patch, "PRAGMA max_page_count = 8")
        with Store(path) as store:
            for number in range(1, 100):
                store.put("answer", {"number": number}, "x" * 2000)
            (warning,) = store.warnings
            in_use = store.in_use("answer")
    assert "database or disk is full" in warning
    values, warnings = found(path, 100)
    assert values[0] == "kept"
    assert 0 < in_use < 99
    assert sum(value is not None for value in values) == in_use + 1
    assert not warnings


def test_a_database_that_is_just_being_made_by_another_process_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, refusals = sqlite3.connect, [sqlite3.OperationalError("database is locked")] * 2

    def refused_twice(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        if refusals:
            raise refusals.pop()
        return connect(*args, **kwargs)

    monkeypatch.setattr(sqlite3, "connect", refused_twice)
    put_and_close(path, "kept")
    assert refusals == []
    assert found(path, 1) == (["kept"], [])


def test_a_database_locked_for_too_long_is_a_warning(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_and_close(path, "kept")
    monkeypatch.setattr(loracheck.store, "_BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, Store(path) as store:
        other.execute("BEGIN IMMEDIATE")
        assert store.get("answer", {"number": 0}) == "kept"
        store.put("answer", {"number": 1}, "new")
        (warning,) = store.warnings
    assert "database is locked" in warning


@pytest.mark.parametrize("rubbish", [b"rubbish " * 1000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_set_aside_and_a_new_one_begun(path: Path, rubbish: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(rubbish)
    with Store(path) as store:
        store.put("answer", {"number": 0}, "new")
        (warning,) = store.warnings
    assert "was damaged" in warning
    assert path.with_name("answers.sqlite.damaged").read_bytes() == rubbish
    assert found(path, 1) == (["new"], [])


def test_a_byte_changed_inside_a_value_is_damage(path: Path) -> None:
    put_and_close(path, "the true answer")
    data = path.read_bytes()
    assert data.count(b"the true answer") == 1
    path.write_bytes(data.replace(b"the true answer", b"the fake answer"))
    values, (warning,) = found(path, 1)
    assert values == [None]
    assert "was damaged" in warning
    assert found(path, 1) == ([None], [])


def test_no_damage_gives_a_wrong_value(path: Path) -> None:
    values = [f"answer {number} " + "x" * 300 for number in range(60)]
    put_and_close(path, *values)
    whole = path.read_bytes()
    noticed = 0
    for seed in range(60):
        rng = random.Random(seed)
        at, length = rng.randrange(len(whole)), rng.choice([1, 16, 5000])
        # As a copy cut short by a full disk, or bytes that went bad.
        broken = whole[:at] if seed % 4 == 0 else whole[:at] + rng.randbytes(length) + whole[at + length :]
        path.write_bytes(broken)
        got, warnings = found(path, len(values))
        assert all(one in (None, value) for one, value in zip(got, values, strict=True)), seed
        noticed += bool(warnings)
    assert noticed > 20


def test_a_hash_is_taken_once_for_a_file_that_stays_as_it_is(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model \udcff.gguf"
    model.write_bytes(b"weights")
    an_hour_later(monkeypatch)
    with Store(path) as store:
        first = store.sha256_of(model)
    monkeypatch.setattr(loracheck.store, "sha256_of", lambda _: pytest.fail("read again"))
    with Store(path) as store:
        assert store.sha256_of(model) == first


def test_a_file_written_anew_with_its_old_size_and_date_is_hashed_again(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"weights")
    date = model.stat().st_mtime_ns
    an_hour_later(monkeypatch)
    with Store(path) as store:
        first = store.sha256_of(model)
    time.sleep(0.02)
    model.write_bytes(b"WEIGHTS")
    os.utime(model, ns=(date, date))
    with Store(path) as store:
        assert store.sha256_of(model) != first


def test_a_file_written_twice_within_one_tick_of_the_clock_is_hashed_twice(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"weights")
    monkeypatch.setattr(loracheck.store, "_signature", lambda _: "the clock has not moved")
    with Store(path) as store:
        first = store.sha256_of(model)
    model.write_bytes(b"WEIGHTS")
    with Store(path) as store:
        assert store.sha256_of(model) != first


def test_a_file_that_changes_during_a_run_keeps_its_first_hash_and_is_reported(path: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"weights")
    with Store(path) as store:
        first = store.sha256_of(model)
        assert store.changed_files() == []
        model.write_bytes(b"other weights")
        assert store.sha256_of(model) == first
        assert store.changed_files() == [model]
        model.unlink()
        assert store.changed_files() == [model]


def test_a_file_that_is_not_there_is_an_input_error(path: Path, tmp_path: Path) -> None:
    with Store(path) as store, pytest.raises(InputError, match="No such file"):
        store.sha256_of(tmp_path / "nothing.gguf")


def test_the_users_store_is_kept_between_runs_unless_there_should_be_none() -> None:
    with user_store() as store:
        store.put("answer", ABOUT, "yes")
    with user_store(no_cache=True) as store:
        assert not store.is_on
        assert store.get("answer", ABOUT) is None
    with user_store() as store:
        assert store.get("answer", ABOUT) == "yes"


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (0, ()),
        (1, ("1 answer is kept in the store; run the same command again to go on.",)),
        (2, ("2 answers are kept in the store; run the same command again to go on.",)),
    ],
)
def test_an_interrupt_tells_what_is_kept(kept: int, told: tuple[str, ...]) -> None:
    def interrupted() -> None:
        with user_store() as store:
            for number in range(kept):
                store.put("answer", {"number": number}, "yes")
            store.put("fingerprint", ABOUT, "not an answer")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        interrupted()
    assert stopped.value.args == told


def test_the_files_of_a_store_are_those_that_are_there(path: Path) -> None:
    assert list(database_files(path)) == []
    with Store(path) as store:
        store.put("answer", ABOUT, "yes")
        names = {file.name for file in database_files(path)}
        assert {path.name, f"{path.name}-wal"} <= names
    path.write_bytes(b"rubbish " * 99)
    Store(path).close()
    assert f"{path.name}.damaged" in {file.name for file in database_files(path)}
