"""What the workers that we start ourselves are told first, and told again when Dask starts one anew."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

from distributed import Worker, WorkerPlugin


def count_gpus() -> int:
    """As the driver of CUDA sees them; none where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    told = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False)  # noqa: S603 - as found
    return sum(line.startswith("GPU ") for line in told.stdout.splitlines())


class DeafToCtrlC(WorkerPlugin):  # type: ignore[misc]
    """The terminal's signals are for the process that started the sweep, which ends its workers itself."""

    name = "loracheck-deaf-to-ctrl-c"

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - of Dask
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class OneGpuEach(WorkerPlugin):  # type: ignore[misc]
    """Shows each worker the graphics card of its own number, whenever it is started."""

    name = "loracheck-one-gpu-each"

    def setup(self, worker: Worker) -> None:
        # llama.cpp runs in a child, which inherits this; nothing in the worker itself has looked for cards.
        os.environ["CUDA_VISIBLE_DEVICES"] = str(worker.name)
