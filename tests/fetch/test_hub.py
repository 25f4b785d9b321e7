"""A server on this machine in place of the hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from fetch.known_file import CONTENT, NAME, ignore, kept, known
from loracheck.errors import InputError
from loracheck.fetch import fetch
from loracheck.fetch.hub import HubFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HUB_FILE = HubFile("somebody/small-GGUF", NAME)
PATH = f"/somebody/small-GGUF/resolve/main/{NAME}"


@dataclass
class Hub:
    """What it does: by default, what the real one does, which is to send us on to another address."""

    content: bytes = CONTENT
    knows_ranges: bool = True
    redirects: bool = True
    cut_at: list[int] = field(default_factory=list)
    """Where in the file connections end, one for each."""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    """In place of what it would say."""
    leaves_out: str = ""
    silent_at: int | None = None
    over: Event = field(default_factory=Event)
    ranges: list[str] = field(default_factory=list)
    """What was asked for, each time."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hub.redirects and self.path == PATH:
                self.send_response(302)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            assert self.path == ("/elsewhere" if hub.redirects else PATH)
            hub.ranges.append(self.headers["Range"])
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])
            assert asked
            start, size = int(asked[1]) if hub.knows_ranges else 0, len(hub.content)
            headers = {"Content-Length": str(size - start)}
            if hub.knows_ranges:
                headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
            self.send_response(hub.status or (206 if hub.knows_ranges else 200))
            for name, value in (headers | hub.headers).items():
                if name != hub.leaves_out:
                    self.send_header(name, value)
            self.end_headers()
            stop = hub.cut_at.pop(0) if hub.cut_at else size
            if hub.silent_at is not None:
                self.wfile.write(hub.content[start : hub.silent_at])
                hub.over.wait(60)
                return
            self.wfile.write(hub.content[start:stop])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield hub
        hub.over.set()
        server.shutdown()
        thread.join()


def keep(cache_folder: Path, count: int) -> None:
    """As an interrupted fetch would."""
    (cache_folder / "models").mkdir()
    (cache_folder / "models" / f"{NAME}.part").write_bytes(CONTENT[:count])


def failure() -> str:
    """What is said of the hub."""
    with pytest.raises(InputError) as refused:
        fetch(known(HUB_FILE), ignore)
    _, said, *rest = str(refused.value).splitlines()
    assert said.startswith(f"  {HUB_FILE}: ")
    assert rest[-1].startswith(f"Where there is no network: on another machine download {HUB_FILE}, and put it at ")
    return said.removeprefix(f"  {HUB_FILE}: ")


@pytest.mark.parametrize("redirects", [True, False])
@pytest.mark.parametrize("knows_ranges", [True, False])
@pytest.mark.parametrize("count", [0, 1, 1234, len(CONTENT) - 1])
def test_what_is_missing_comes_from_any_server(
    hub: Hub, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, knows_ranges: bool, redirects: bool
) -> None:
    # So that what we have ends inside of a chunk, too.
    monkeypatch.setattr("loracheck.fetch.hub._CHUNK", 1000)
    hub.knows_ranges, hub.redirects = knows_ranges, redirects
    keep(cache_folder, count)
    fetch(known(HUB_FILE), ignore)
    assert hub.ranges == [f"bytes={count}-"]
    assert kept(cache_folder) == {f"models/{NAME}": CONTENT}


def test_a_connection_that_is_cut_is_made_again_for_the_rest(hub: Hub, cache_folder: Path) -> None:
    hub.cut_at = [1000, 2500]
    fetch(known(HUB_FILE), ignore)
    assert hub.ranges == ["bytes=0-", "bytes=1000-", "bytes=2500-"]
    assert kept(cache_folder) == {f"models/{NAME}": CONTENT}


def test_a_server_without_ranges_that_never_gets_further_is_given_up(hub: Hub, cache_folder: Path) -> None:
    hub.knows_ranges, hub.cut_at = False, [1000, 1000, 1000]
    assert failure() in ("the connection was cut at 1,000 of 3,000 bytes", "IncompleteRead(1000 bytes read)")
    assert len(hub.ranges) == 2
    assert kept(cache_folder) == {f"models/{NAME}.part": CONTENT[:1000]}


def test_a_server_that_falls_silent_is_left_and_what_came_is_kept(
    hub: Hub, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.fetch.hub._SILENCE_SECONDS", 0.3)
    monkeypatch.setattr("loracheck.fetch.hub._CHUNK", 1000)
    hub.silent_at = 1000
    assert "timed out" in failure()
    assert kept(cache_folder) == {f"models/{NAME}.part": CONTENT[:1000]}


def test_a_file_that_is_not_there_and_a_hub_that_is_not_there_are_told_apart(
    hub: Hub, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.status = 404
    assert failure() == "HTTP Error 404: Not Found"
    # Nothing listens where nobody may.
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert "refused" in failure()
    assert kept(cache_folder) == {}


@pytest.mark.parametrize("count", [0, 700])
@pytest.mark.parametrize("knows_ranges", [True, False])
def test_of_a_file_with_another_length_nothing_is_taken(
    hub: Hub, cache_folder: Path, knows_ranges: bool, count: int
) -> None:
    if count:
        keep(cache_folder, count)
    before = kept(cache_folder)
    hub.content, hub.knows_ranges = b"<html>Please log in.</html>" * 30, knows_ranges
    assert failure().startswith("not the file we know: its length is given as ")
    assert kept(cache_folder) == before


@pytest.mark.parametrize("length", ["Content-Length", "Content-Range"])
def test_without_a_length_nothing_is_taken(hub: Hub, cache_folder: Path, length: str) -> None:
    hub.knows_ranges, hub.leaves_out = length == "Content-Range", length
    assert failure().startswith("not the file we know: its length is given as None, expected ")
    assert kept(cache_folder) == {}


def test_an_answer_that_begins_elsewhere_than_asked_is_refused(hub: Hub, cache_folder: Path) -> None:
    keep(cache_folder, 700)
    hub.headers = {"Content-Range": f"bytes 600-2999/{len(CONTENT)}"}
    assert failure() == (
        "not the file we know: its length is given as bytes 600-2999/3000, expected bytes 700-2999/3000"
    )


def test_another_content_of_the_right_length_is_thrown_away(hub: Hub, cache_folder: Path) -> None:
    hub.content = bytes(len(CONTENT))
    assert failure().startswith("what came has sha256 ")
    assert kept(cache_folder) == {}


@pytest.mark.parametrize("endpoint", ["hub.example", "file:///etc", "ftp://hub.example"])
def test_only_web_addresses_are_opened(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert failure() == "HF_ENDPOINT must begin with https://"


@pytest.mark.parametrize("endpoint", [None, ""])
def test_without_an_endpoint_it_is_the_hub_that_everybody_knows(
    monkeypatch: pytest.MonkeyPatch, endpoint: str | None
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    if endpoint is not None:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert str(HUB_FILE) == f"https://huggingface.co{PATH}"
