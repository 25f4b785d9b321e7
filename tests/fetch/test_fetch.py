from __future__ import annotations

import hashlib
import resource
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import pytest

from fetch.known_file import CONTENT, NAME, Told, ignore, kept, known
from loracheck.errors import InputError
from loracheck.fetch import fetch, find, find_or_fetch

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.fetch import ModelFile

WHOLE, PART = f"models/{NAME}", f"models/{NAME}.part"
OTHER = bytes(len(CONTENT))


def refusal(model: ModelFile) -> list[str]:
    with pytest.raises(InputError) as refused:
        fetch(model, ignore)
    return str(refused.value).splitlines()


def interrupt() -> None:
    raise KeyboardInterrupt


def test_the_file_is_fetched_into_the_cache_and_found_there(cache_folder: Path) -> None:
    model = known(Told())
    assert find(model) is None
    told: list[tuple[int, int]] = []
    path = fetch(model, lambda done, total: told.append((done, total)))
    assert path == cache_folder / WHOLE == find(model)
    assert kept(cache_folder) == {WHOLE: CONTENT}
    assert told == sorted(told)
    assert told[-1] == (len(CONTENT), len(CONTENT))


def test_a_checkouts_own_file_comes_first_and_a_copy_cut_short_does_not_count(
    checkout: Path, cache_folder: Path
) -> None:
    own, cached = (folder / NAME for folder in (checkout, cache_folder / "models"))
    for path in (own, cached):
        path.parent.mkdir(parents=True)
        path.write_bytes(CONTENT)
    model = known(source := Told())
    assert find_or_fetch(model) == own
    own.write_bytes(CONTENT[:-1])
    assert find_or_fetch(model) == cached
    assert source.starts == []
    cached.write_bytes(CONTENT + b"x")
    assert find(model) is None
    assert find_or_fetch(model) == cached
    assert cached.read_bytes() == CONTENT


def test_a_file_that_is_there_but_is_another_one_is_refused_by_its_hash(cache_folder: Path) -> None:
    path = cache_folder / WHOLE
    path.parent.mkdir()
    path.write_bytes(OTHER)
    with pytest.raises(InputError) as refused:
        find_or_fetch(known(Told()))
    here, expected = (hashlib.sha256(content).hexdigest() for content in (OTHER, CONTENT))
    assert str(refused.value) == f"{path}: this has sha256 {here}, expected {expected}; remove it and try again"


def test_a_source_is_asked_only_when_those_before_it_have_failed(cache_folder: Path) -> None:
    first, second, third = Told(stops=[]), Told(), Told()
    fetch(known(first, second, third), ignore)
    assert (first.starts, second.starts, third.starts) == ([0], [0], [])
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_when_every_source_fails_each_is_named_with_its_reason_and_the_way_without_a_network(
    cache_folder: Path,
) -> None:
    assert refusal(known(Told("hub", stops=[]), Told("index", stops=[]))) == [
        f"{NAME} is not on this machine and could not be fetched:",
        "  hub: stopped at 0",
        "  index: stopped at 0",
        f"Where there is no network: on another machine ask for the hub, and put it at {cache_folder / WHOLE}",
    ]
    assert kept(cache_folder) == {}


def test_a_source_that_is_cut_off_is_asked_for_the_rest(cache_folder: Path) -> None:
    source = Told(stops=[700, 1900, len(CONTENT)])
    fetch(known(source), ignore)
    assert source.starts == [0, 700, 1900]
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_what_one_source_has_brought_the_next_one_need_not(cache_folder: Path) -> None:
    first, second = Told(stops=[700]), Told()
    fetch(known(first, second), ignore)
    assert (first.starts, second.starts) == ([0, 700], [700])
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_a_failed_fetch_keeps_what_came_and_the_next_one_goes_on_from_there(cache_folder: Path) -> None:
    assert refusal(known(Told(stops=[700])))[2] == ("700 of 3,000 bytes are kept; the next attempt goes on from there.")
    assert kept(cache_folder) == {PART: CONTENT[:700]}
    assert find(known()) is None
    told: list[int] = []
    fetch(known(source := Told()), lambda done, _: told.append(done))
    assert source.starts == [700]
    assert told[0] == 700
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_an_interrupted_fetch_says_what_is_kept_and_the_next_one_goes_on_from_there(cache_folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match=r"^1,200 of 3,000 bytes are kept; "):
        fetch(known(Told(stops=[1200], at_stop=interrupt)), ignore)
    assert kept(cache_folder) == {PART: CONTENT[:1200]}
    fetch(known(source := Told()), ignore)
    assert source.starts == [1200]
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_an_interrupt_before_anything_came_promises_and_leaves_nothing(cache_folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        fetch(known(Told(stops=[0], at_stop=interrupt)), ignore)
    assert stopped.value.args == ()
    assert kept(cache_folder) == {}


def test_another_content_than_the_known_one_is_thrown_away(cache_folder: Path) -> None:
    came, expected = (hashlib.sha256(content).hexdigest() for content in (OTHER, CONTENT))
    assert refusal(known(Told("hub", OTHER)))[1:-1] == [
        f"  hub: what came has sha256 {came}, expected {expected}; it was thrown away"
    ]
    assert kept(cache_folder) == {}


def test_after_a_wrong_content_the_next_source_begins_at_the_beginning(cache_folder: Path) -> None:
    fetch(known(Told(content=OTHER), second := Told()), ignore)
    assert second.starts == [0]
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_a_beginning_that_went_bad_costs_one_attempt(cache_folder: Path) -> None:
    (cache_folder / "models").mkdir()
    (cache_folder / PART).write_bytes(OTHER[:700])
    assert "it was thrown away" in refusal(known(Told()))[1]
    fetch(known(Told()), ignore)
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_a_fetch_that_was_killed_just_before_its_end_asks_nobody(cache_folder: Path) -> None:
    (cache_folder / "models").mkdir()
    (cache_folder / PART).write_bytes(CONTENT)
    fetch(known(source := Told()), ignore)
    assert source.starts == []
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_a_cache_folder_that_cannot_be_made_says_how_to_move_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LORACHECK_CACHE", str(tmp_path / "file"))
    assert refusal(known(Told()))[0].endswith("; LORACHECK_CACHE moves it")


def test_a_full_disk_is_told_and_what_fits_is_kept(cache_folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        said = refusal(known(Told()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert said == [f"{cache_folder / WHOLE}: File too large; LORACHECK_CACHE moves it"]
    assert kept(cache_folder) == {PART: CONTENT[:1000]}
    fetch(known(source := Told()), ignore)
    assert source.starts == [1000]


@pytest.mark.parametrize("stops", [[1000, len(CONTENT)], [1000]], ids=["it succeeds", "it fails"])
def test_of_two_at_once_the_second_waits_and_takes_what_the_first_has_brought(
    cache_folder: Path, stops: list[int]
) -> None:
    waited, begun = Event(), Event()

    def wait_for_the_second() -> None:
        begun.set()
        assert waited.wait(60)

    first, second = Told(stops=stops.copy(), at_stop=wait_for_the_second), Told()
    with ThreadPoolExecutor() as threads:
        outcome = threads.submit(fetch, known(first), ignore)
        assert begun.wait(60)
        path = threads.submit(fetch, known(second), lambda done, total: waited.set()).result(60)
        error = outcome.exception(60)
    assert (error is None) is (len(stops) == 2)
    assert second.starts == ([] if error is None else [1000])
    assert path == cache_folder / WHOLE
    assert kept(cache_folder) == {WHOLE: CONTENT}
