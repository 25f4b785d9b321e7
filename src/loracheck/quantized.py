"""Quantizations of a model by llama.cpp's own quantizer: where the user wants one, or in the cache, by content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from loracheck.cases import did_you_mean
from loracheck.cases.suite import default_threads
from loracheck.engine import TIMEOUT
from loracheck.engine.child import ChildQuantizer
from loracheck.engine.identity import quantizer_identity
from loracheck.errors import EngineError, InputError, ModelError
from loracheck.file_types import FILE_TYPES, MAKEABLE, NEED_IMPORTANCE_MATRIX
from loracheck.files import cache_folder, only_here, sha256_of, sweep
from loracheck.models import GgufFile, parts_of_model, read_header, read_model_header
from loracheck.progress import bytes_bar
from loracheck.text import byte_size, counted
from loracheck.windows import refuse_on_windows

Tell = Callable[[str], None]
Bar = Callable[[int, int], None]

_FOLDER = "quantized"
_UNFINISHED = ".loracheck-part"
_TEMPORARY = "loracheck-quantized-"

# To be raised when the same model, type and llama.cpp would give other bytes.
_VERSION = 1

_FULL_PRECISION = {"F64", "F32", "F16", "BF16", "I8", "I16", "I32", "I64"}


@dataclass(frozen=True, slots=True)
class _Job:
    model: Path
    to: str
    threads: int
    timeout: float
    tell: Tell | None
    advice: str
    """Where else the file could go."""

    def say(self, line: str) -> None:
        if self.tell is not None:
            self.tell(line)

    def bar(self) -> AbstractContextManager[Bar]:
        return nullcontext(lambda _done, _total: None) if self.tell is None else bytes_bar("quantizing")


def file_type(name: str) -> str:
    """The name as llama.cpp spells it; InputError for a quantization that cannot be made here."""
    known = name.upper()
    if known in MAKEABLE:
        return known
    if known in NEED_IMPORTANCE_MATRIX:
        why = "needs an importance matrix, without which llama.cpp does not make it; make the file with llama-quantize"
        raise InputError(f"{known} {why} --imatrix")
    if known in FILE_TYPES.values():
        raise InputError(f"{known} is none that llama.cpp's quantizer can make; give one of {', '.join(MAKEABLE)}")
    hint = did_you_mean(known, MAKEABLE) or f"; give one of {', '.join(MAKEABLE)}"
    raise InputError(f"no quantization {name!r}{hint}")


def requantizing(model: Path) -> str | None:
    """A warning about a model that is quantized already; None where it is not."""
    types = {tensor.type for header in _headers(model) for tensor in header.tensors} - _FULL_PRECISION
    if not types:
        return None
    was = f"already quantized ({', '.join(sorted(types))})"
    return f"{model}: {was}; what that lost stays lost, so this is not what quantizing the original would give"


def quantize(
    model: Path,
    to: str,
    out: Path,
    *,
    force: bool = False,
    threads: int | None = None,
    timeout: float = TIMEOUT,
    tell: Tell | None = None,
) -> None:
    """Write the quantized model to `out`, whole or not at all.

    `tell` gets the size and the place before the work starts, and there is a bar on standard error; without it, nothing
    is shown. `force` lets `out` be replaced.
    """
    refuse_on_windows("quantizing a model")
    job = _Job(model, file_type(to), threads or default_threads(), timeout, tell, "free some, or write it elsewhere")
    _headers(model)
    _check_target(out, model, force=force)
    _make(job, out, is_done=lambda: False)


@contextmanager
def quantized(
    model: Path,
    to: str,
    *,
    no_cache: bool = False,
    hash_of: Callable[[Path], str] = sha256_of,
    threads: int | None = None,
    timeout: float = TIMEOUT,
    tell: Tell | None = None,
) -> Iterator[Path]:
    """The quantized model as a file in the cache, made if it is not there yet, for as long as the `with` block is.

    It is known by the content of the model, the type and llama.cpp's build: `hash_of` may be a store's, which does not
    read an unchanged file again. With `no_cache` it is a temporary file, made anew and gone afterwards. Processes that
    want the same file wait for the one that makes it. `tell` is as in `quantize`; nothing is told of a file that is
    there already.
    """
    refuse_on_windows("quantizing a model")
    to, threads = file_type(to), threads or default_threads()
    header = _headers(model)[0]
    if no_cache:
        job = _Job(model, to, threads, timeout, tell, "free some; TMPDIR moves it")
        with _temporary(job) as path:
            yield path
        return
    job = _Job(model, to, threads, timeout, tell, "free some; LORACHECK_CACHE moves it")
    path = quantized_folder() / _name(header, to, hash_of)
    if not _is_whole(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            where = f"{path.parent}: cannot be made: {problem.strerror}"
            raise InputError(f"{where}; LORACHECK_CACHE moves it") from problem
        sweep(unfinished_files())
        _make(job, path, is_done=lambda: _is_whole(path))
    yield path


def quantized_folder() -> Path:
    return cache_folder() / _FOLDER


def unfinished_files() -> list[Path]:
    """What is being made in the cache, or was when somebody killed it."""
    return sorted(quantized_folder().glob(f".*{_UNFINISHED}"))


def _headers(model: Path) -> list[GgufFile]:
    """Of every part, the one with the metadata first; an error where one is damaged."""
    first, *others = parts_of_model(model)
    return [read_model_header(first), *(read_header(part, ModelError) for part in others)]


def _name(header: GgufFile, to: str, hash_of: Callable[[Path], str]) -> str:
    """All that the bytes depend on, behind a few words for people that come from the content too."""
    parts = [hash_of(part) for part in parts_of_model(header.path)]
    facts = json.dumps([_VERSION, parts, to, quantizer_identity(hash_of)], sort_keys=True)
    words = header.text("general.name") or header.text("general.architecture") or ""
    title = re.sub(r"[^A-Za-z0-9.]+", "-", words)[:40].strip("-.")
    return f"{title or 'model'}-{to}-{hashlib.sha256(facts.encode()).hexdigest()[:24]}.gguf"


def _is_whole(path: Path) -> bool:
    """It was whole when it got its name; this guards against a copy cut short."""
    try:
        read_model_header(path)
    except ModelError:
        return False
    return True


def _check_target(out: Path, model: Path, *, force: bool) -> None:
    if out.is_dir():
        raise InputError(f"{out}: this is a folder; name the file to write")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; make it first")
    if not out.exists():
        return
    if not out.is_file():
        raise InputError(f"{out}: this is not a regular file; name the file to write")
    if any(out.samefile(part) for part in parts_of_model(model)):
        raise InputError(f"{out}: this is the model that is to be quantized; write to another file")
    if not force:
        raise InputError(f"{out}: there is such a file already; --force replaces it")


def _make(job: _Job, target: Path, is_done: Callable[[], bool]) -> None:
    """Write a part beside the target and rename it when it is whole; nothing is left of one that is not."""
    part = target.with_name(f".{target.name}{_UNFINISHED}")
    sweep([part])
    with _errors_named(job, target), only_here(part, _told_once(job, target)) as file:
        try:
            # Another process may have made it while we waited.
            if is_done():
                part.unlink()
                return
            _fill(job, part, target)
            os.fsync(file.fileno())
            part.replace(target)
        except BaseException:
            # Still ours: later it could be another's, who waits for it.
            part.unlink(missing_ok=True)
            raise


@contextmanager
def _temporary(job: _Job) -> Iterator[Path]:
    """A file that is ours until the block ends. Those of processes that were killed are removed on the way."""
    folder = Path(tempfile.gettempdir())
    sweep(folder.glob(f"{_TEMPORARY}*.gguf"))
    with _errors_named(job, folder):
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, suffix=f"-{job.to}.gguf")
        os.close(handle)
    path = Path(name)
    with only_here(path, lambda _size: None):
        try:
            with _errors_named(job, path):
                _fill(job, path, path)
            yield path
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def _errors_named(job: _Job, target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise InputError(f"{target}: cannot be written: {problem.strerror or problem}; {job.advice}") from problem


def _told_once(job: _Job, target: Path) -> Callable[[int], None]:
    told: list[str] = []

    def waiting(_size: int) -> None:
        if not told:
            told.append(f"another process is making {target.name}; waiting for it")
            job.say(*told)

    return waiting


def _fill(job: _Job, path: Path, target: Path) -> None:
    """Let llama.cpp write `path`, which people know as `target`."""
    file_number = {name: number for number, name in FILE_TYPES.items()}[job.to]
    headers = _headers(job.model)
    with ChildQuantizer(threads=job.threads, timeout=job.timeout) as quantizer:
        tensor_bytes, fallbacks = quantizer.expect(job.model, file_number)
        size = headers[0].data_offset + tensor_bytes
        job.say(f"quantizing {job.model} to {job.to}: about {byte_size(size)}, in {target}")
        if fallbacks:
            tensors = counted(sum(len(header.tensors) for header in headers), "tensor")
            job.say(f"{fallbacks} of {tensors} have rows that do not fit {job.to}; llama.cpp gives them a larger type")
        free = _free(path)
        if size > free:
            raise InputError(f"{target}: about {size:,} bytes are needed, and {free:,} are free there; {job.advice}")
        written = 0
        try:
            with job.bar() as bar:
                for written in quantizer.quantize(job.model, path, file_number):
                    bar(min(written, size), size)
                _check_whole(path)
                bar(size, size)
        except EngineError as error:
            if _free(path) >= size - written:
                raise
            full = f"the disk is full after {written:,} of about {size:,} bytes, and nothing is kept"
            raise InputError(f"{target}: {full}; {job.advice}") from error


def _free(path: Path) -> int:
    return shutil.disk_usage(path.parent).free


def _check_whole(path: Path) -> None:
    # llama.cpp does not notice every write that fails.
    try:
        read_model_header(path)
    except ModelError as error:
        raise EngineError(f"llama.cpp wrote a broken file: {error}") from error
