"""`loracheck demo` with nothing in its cache but the model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from contender import tell

from loracheck.demo import find_model


def main() -> None:
    model = find_model()
    assert model is not None, "the base model is missing: make model"
    with TemporaryDirectory() as cache:
        models = Path(cache) / "models"
        models.mkdir()
        (models / model.name).symlink_to(model)
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "loracheck", "demo", "--quiet"],
            env={**os.environ, "LORACHECK_CACHE": cache},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        tell(seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
