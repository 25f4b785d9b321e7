"""What a machine has, by the files of several kinds of Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loracheck.machine import Memory, graphics_card, memory

if TYPE_CHECKING:
    from pathlib import Path

KB, GB = 1024, 1 << 30
MEMINFO = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\nSwapTotal: 1048576 kB\nSwapFree: 524288 kB\n"


def write(root: Path, **files: object) -> Path:
    """Files by their paths, with __ for /."""
    for name, text in {"proc__meminfo": MEMINFO, **files}.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text), encoding="utf-8")
    return root


def test_a_machine_has_its_memory_and_its_swap(tmp_path: Path) -> None:
    assert memory(write(tmp_path)) == Memory(9 * GB, 4 * GB + GB // 2)


def test_a_control_group_of_the_second_version_limits_it(tmp_path: Path) -> None:
    group = {
        "proc__self__cgroup": "0::/user/job\n",
        "sys__fs__cgroup__user__memory.max": 2 * GB,
        "sys__fs__cgroup__user__memory.current": GB,
        "sys__fs__cgroup__user__memory.stat": f"anon 5\ninactive_file {GB // 4}\n",
        "sys__fs__cgroup__user__memory.swap.max": 0,
        "sys__fs__cgroup__user__job__memory.max": "max",
    }
    assert memory(write(tmp_path, **group)) == Memory(2 * GB, GB + GB // 4, is_limited=True)


def test_swap_counts_in_a_group_that_may_use_it(tmp_path: Path) -> None:
    group = {"proc__self__cgroup": "0::/\n", "sys__fs__cgroup__memory.max": 2 * GB}
    for spelled, swap, free in (("max", GB, GB // 2), (GB // 4, GB // 4, GB // 4)):
        swapping = {**group, "sys__fs__cgroup__memory.swap.max": spelled}
        assert memory(write(tmp_path, **swapping)) == Memory(2 * GB + swap, 2 * GB + free, is_limited=True)


def test_a_control_group_of_the_first_version_limits_it_also_from_inside_a_container(tmp_path: Path) -> None:
    group = {
        # The path is that of the host; what the container sees is the root of the mount.
        "proc__self__cgroup": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
        "sys__fs__cgroup__memory__memory.limit_in_bytes": 2 * GB,
        "sys__fs__cgroup__memory__memory.memsw.limit_in_bytes": 2 * GB,
        "sys__fs__cgroup__memory__memory.usage_in_bytes": GB,
        "sys__fs__cgroup__memory__memory.stat": f"total_inactive_file {GB // 2}\n",
    }
    assert memory(write(tmp_path, **group)) == Memory(2 * GB, GB + GB // 2, is_limited=True)


def test_a_group_without_a_limit_or_with_one_above_the_machine_limits_nothing(tmp_path: Path) -> None:
    group = {
        "proc__self__cgroup": "4:memory:/job\n0::/job\n",
        "sys__fs__cgroup__memory__job__memory.limit_in_bytes": 9223372036854771712,
        "sys__fs__cgroup__job__memory.max": 64 * GB,
    }
    assert memory(write(tmp_path, **group)) == Memory(9 * GB, 4 * GB + GB // 2)


def test_of_groups_inside_each_other_the_tightest_counts(tmp_path: Path) -> None:
    group = {
        "proc__self__cgroup": "0::/a/b\n",
        "sys__fs__cgroup__a__memory.max": 2 * GB,
        "sys__fs__cgroup__a__memory.swap.max": 0,
        "sys__fs__cgroup__a__b__memory.max": 3 * GB,
        "sys__fs__cgroup__a__b__memory.swap.max": 0,
    }
    assert memory(write(tmp_path, **group)) == Memory(2 * GB, 2 * GB, is_limited=True)


def test_a_system_that_does_not_say_what_is_free_is_asked_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}.__getitem__)
    assert memory(tmp_path) == Memory(40960, None)
    monkeypatch.delattr("os.sysconf")
    assert memory(tmp_path) == Memory(None, None)


def test_this_machine_has_memory() -> None:
    has = memory()
    assert has.total is not None
    assert has.total > GB // 4


@pytest.mark.parametrize(
    ("file", "card"),
    [("proc/driver/nvidia/gpus/0000:01:00.0", "NVIDIA GPU"), ("dev/kfd", "AMD GPU"), ("dev/null", None)],
)
def test_a_graphics_card_is_seen_by_what_its_driver_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, card: str | None
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    (tmp_path / file).mkdir(parents=True)
    assert graphics_card(tmp_path) == card


def test_a_card_without_such_files_is_seen_by_its_tool_and_one_of_apples_by_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert graphics_card(tmp_path) == "NVIDIA GPU"
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    for processor, card in (("arm64", "Apple GPU"), ("x86_64", None)):
        monkeypatch.setattr("platform.machine", lambda processor=processor: processor)
        assert graphics_card(tmp_path) == card
