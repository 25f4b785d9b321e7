"""A file on the model hub."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loracheck.fetch.source import SourceFailed, Tell

if TYPE_CHECKING:
    from http.client import HTTPResponse

# Short enough to sit out where the hub is out of reach. A network that is only slow is asked again for the rest.
_SILENCE_SECONDS = 5.0
_CHUNK = 1 << 20
_PARTIAL_CONTENT = 206


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a public repository. HF_ENDPOINT names another hub."""

    repository: str
    name: str

    def __str__(self) -> str:
        endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return f"{endpoint.rstrip('/')}/{self.repository}/resolve/main/{self.name}"

    def by_hand(self) -> str:
        return f"download {self}"

    def read(self, start: int, size: int, tell: Tell) -> Generator[bytes]:  # noqa: ARG002 - whoever reads can count
        # Not free to import, and seldom needed.
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        address = str(self)
        if not address.startswith(("https://", "http://")):
            raise SourceFailed("HF_ENDPOINT must begin with https://")
        headers = {"User-Agent": "loracheck", "Range": f"bytes={start}-"}
        try:
            with urlopen(Request(address, headers=headers), timeout=_SILENCE_SECONDS) as response:  # noqa: S310
                position = _position(response, start, size)
                while chunk := response.read(_CHUNK):
                    position += len(chunk)
                    if position > start:
                        yield chunk[start - position :]
        except HTTPError as error:
            error.close()
            raise SourceFailed(str(error)) from None
        except URLError as error:
            raise SourceFailed(str(error.reason)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise SourceFailed(str(error) or type(error).__name__) from None
        if position < size:
            raise SourceFailed(f"the connection was cut at {position:,} of {size:,} bytes")


def _position(response: HTTPResponse, start: int, size: int) -> int:
    """Where in the file the answer begins: not every server can leave out what we have."""
    if response.status == _PARTIAL_CONTENT:
        begins, answer, known = start, response.headers["Content-Range"], f"bytes {start}-{size - 1}/{size}"
    else:
        begins, answer, known = 0, response.headers["Content-Length"], str(size)
    if answer != known:
        # A page that asks for a login is an answer too.
        raise SourceFailed(f"not the file we know: its length is given as {answer}, expected {known}")
    return begins
