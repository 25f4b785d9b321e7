"""A sweep on two workers that takes its time, to be interrupted: `python -m cluster.long_sweep FOLDER`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from cluster.toy import ToyEngine
from loracheck.cluster.opening import local_workers
from loracheck.progress import QuietProgress
from loracheck.sweeping.axes import build_cells
from loracheck.sweeping.running import sweep, sweep_store
from suite_factory import make_case, write_files


class Telling(QuietProgress):
    def note(self, words: str) -> None:
        if words:
            print(words, flush=True)


def main() -> None:
    # A shell has processes in its background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    files = write_files(Path(sys.argv[1]))
    cases = [make_case(number) for number in range(1, 100)]
    cells = build_cells(base=files.base, adapter=files.adapter, cases=cases, scale=[0.1, 0.2, 0.3], null=False)
    try:
        with local_workers(2, open_engine=ToyEngine) as pool, sweep_store(no_cache=True) as store:
            sweep(cells, store=store, cluster=pool, progress=Telling())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
