"""Makes the picture of a report that the README shows: `make picture`, which needs a Chromium.

It is the page of the demo's renamer; answers that are in the store already take no model.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from loracheck.checking import check
from loracheck.demo import ADAPTERS, MODELS
from loracheck.fetch import find_or_fetch
from loracheck.report import save
from loracheck.store import user_store

PICTURE = Path(__file__).parent / "images" / "report.png"
SIZE = (960, 950)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def main() -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("make picture needs a browser: chromium or Google Chrome")
    with user_store() as store:
        report = check(ADAPTERS["renamer"].suite(find_or_fetch(MODELS["smollm2"])), store=store)
    with TemporaryDirectory() as folder:
        page = Path(folder, "renamer.html")
        save(report, page)
        width, height = SIZE
        subprocess.run(  # noqa: S603 - our own page
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={folder}", f"--window-size={width},{height}", f"--screenshot={PICTURE}", page.as_uri()],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    sys.stdout.write(f"wrote {PICTURE}, {PICTURE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
