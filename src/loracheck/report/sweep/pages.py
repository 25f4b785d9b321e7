"""The report of each cell, in a folder beside the sweep's page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

from loracheck.errors import InputError
from loracheck.files import ELSEWHERE
from loracheck.report import FORMS, write_text
from loracheck.sweeping.results import Sweep, SweepCell


def write_pages(sweep: Sweep, folder: Path, beside: Path) -> Sweep:
    """Write every cell that was judged as a page and as JSON; the sweep that is given back knows where they are.

    Links start at the folder `beside`, where the sweep's own page is.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder could not be made: {error.strerror}; {ELSEWHERE}") from None
    return sweep.model_copy(
        update={"cells": tuple(_with_page(sweep, n, cell, folder, beside) for n, cell in enumerate(sweep.cells, 1))}
    )


def _with_page(sweep: Sweep, number: int, cell: SweepCell, folder: Path, beside: Path) -> SweepCell:
    if cell.report is None:
        return cell
    name = re.sub(r"[^\w.@-]+", "-", sweep.name_of(cell))[:80].strip("-.")
    page = folder / f"{number:03}-{name}.html"
    for form in ("html", "json"):
        write_text(page.with_name(f"{page.stem}{FORMS[form].ending}"), FORMS[form].render(cell.report))
    return cell.model_copy(update={"page": quote(Path(os.path.relpath(page, beside)).as_posix())})
