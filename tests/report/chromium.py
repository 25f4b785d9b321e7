"""A real browser, driven over its debugging pipe: messages are JSON with a NUL after each, no library needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

# Its pipes are handed over by number, which only POSIX does.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome") if os.name == "posix" else ()
FOUND = next(filter(None, map(shutil.which, _NAMES)), None)

_QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--mute-audio",
    "--disable-dev-shm-usage",
)  # fmt: skip

# The browser reads its commands from file 3 and writes answers to file 4, whatever numbers the pipes have here.
_START = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, pipe in zip((3, 4), pipes):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """One browser with one page. `said` collects console messages and errors, `requested` the addresses asked for."""

    def __init__(self, profile: Path) -> None:
        assert FOUND is not None
        self.said: list[str] = []
        self.requested: list[str] = []
        self._loaded = False
        self._unread = b""
        self._last = 0
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(to_read), str(to_write), FOUND, *_QUIET,
             f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        # No window of a headless browser is in front; keys go to the page all the same.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        wanted = self._last
        message = {"id": wanted, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == wanted:
                assert "error" not in reply, reply
                return dict(reply["result"])

    def open(self, address: str) -> float:
        """Load a page, and give back the seconds until it had loaded and the next frame could be drawn."""
        self.said.clear()
        self.requested.clear()
        self._loaded = False
        started = time.perf_counter()
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._receive()
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        return time.perf_counter() - started

    def run(self, script: str) -> Any:
        """What the script, or the promise it gives, comes to."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as a hand would press it: Tab or Enter."""
        text = {"Enter": "\r"}.get(key, "")
        code = {"Tab": 9, "Enter": 13}[key]
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **pressed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def markup_of(self, node: int) -> str:
        """The beginning of an element, by the number that the accessibility tree has for it."""
        return str(self.call("DOM.getOuterHTML", backendNodeId=node)["outerHTML"])[:100]

    def screen(self, width: int, height: int = 900, *, density: int = 1, dark: bool = False, media: str = "") -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=density,
            mobile=width < 600,
        )
        # With less motion, so that what is scrolled to is there at once.
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def picture(self, path: Path) -> None:
        """The whole page, top to bottom."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def paper(self, path: Path) -> None:
        """What a printer would get, as PDF on A4."""
        pdf = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        path.write_bytes(base64.b64decode(pdf["data"]))

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(20)
        os.close(self._write)
        os.close(self._read)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], 60)
            assert ready, "the browser is silent"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser is gone"
            self._unread += chunk
        message, self._unread = self._unread.split(b"\0", 1)
        event: dict[str, Any] = json.loads(message)
        if "method" in event:
            self._note(event["method"], event["params"])
        return event

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.said.append(f"{params['type']}: {params['args']}")
        elif method == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.said.append(f"dialog: {params['message']}")
        elif method == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
