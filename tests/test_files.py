from __future__ import annotations

import hashlib
import os
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from loracheck.errors import AdapterError, CasesError
from loracheck.files import (
    cache_folder,
    only_here,
    read_bytes,
    read_text,
    replacing,
    sha256_of,
    sweep,
    write_atomically,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_written_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_rename_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "out.json", b"data")
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_the_file_as_far_as_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "out.json", b"data")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"data")
        assert os.read(reader, 10) == b"data"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_the_cache_folder_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORACHECK_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LORACHECK_CACHE", "~/answers")
    assert cache_folder() == tmp_path / "answers"
    monkeypatch.delenv("LORACHECK_CACHE")
    assert "loracheck" in cache_folder().parts


@pytest.mark.parametrize("content", [b"a\nb\n", b"\xef\xbb\xbfa\nb\n", b"a\r\nb\r\n", b"a\rb\r"])
def test_a_text_is_the_same_from_any_editor(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    assert read_text(path, CasesError) == "a\nb\n"


def test_what_cannot_be_read_is_an_error_of_the_callers_kind_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(bytes(2**20) + b"\xff")
    for name, said in (
        ("none.jsonl", "no such file; check the path"),
        (".", "this is a folder; name a file in it"),
        ("a\0b", "null"),
        ("cases.jsonl", "larger than 1 MB, the most that is read of such a file; give a smaller one"),
    ):
        with pytest.raises(CasesError) as refused:
            read_bytes(tmp_path / name, CasesError, 2**20)
        assert str(refused.value).startswith(f"{tmp_path / name}: ")
        assert said in str(refused.value)
    with pytest.raises(CasesError, match=r"cases\.jsonl: not UTF-8 text \(byte 1048576\); save it as UTF-8"):
        read_text(path, CasesError)


def test_a_file_of_just_the_most_that_is_read_is_read(tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(bytes(2**20))
    assert read_bytes(path, CasesError, 2**20) == bytes(2**20)


def test_a_hash_is_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "adapter.gguf"
    content = os.urandom(3 * 2**20 + 1)
    path.write_bytes(content)
    assert sha256_of(path) == hashlib.sha256(content).hexdigest()
    with pytest.raises(AdapterError, match=r"none\.gguf: cannot read the file: No such file"):
        sha256_of(tmp_path / "none.gguf", AdapterError)


def test_what_a_living_process_holds_is_not_swept_and_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    held, left, pipe, missing = (tmp_path / name for name in ("held", "left", "pipe", "missing"))
    left.write_bytes(b"half")
    os.mkfifo(pipe)
    with only_here(held, lambda _: None) as file:
        file.write(b"more")
        sweep([held, left, pipe, missing])
        assert {*tmp_path.iterdir()} == {held, pipe}
    sweep([held])
    assert {*tmp_path.iterdir()} == {pipe}


def test_a_file_that_went_away_while_one_waited_for_it_is_made_anew(tmp_path: Path) -> None:
    path, sizes = tmp_path / "part", []
    with ExitStack() as first:
        first.enter_context(only_here(path, lambda _: None)).write(b"old")

        def finish(size: int) -> None:
            sizes.append(size)
            path.rename(tmp_path / "whole")
            first.close()

        with only_here(path, finish) as file:
            file.write(b"new")
    assert sizes == [0]
    assert (path.read_bytes(), (tmp_path / "whole").read_bytes()) == (b"new", b"old")
