"""The one place that imports llama_cpp."""

from __future__ import annotations

import os

# llama.cpp's OpenMP threads meet at a barrier after every operation and spin there for long. Where other processes
# want the same cores, a thread then spins for one that is not running. Measured on two cores: beside two busy
# neighbours 158 s by default and 12 s with this limit, on an idle machine 3.9 s and 4.1 s.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import llama_cpp

__all__ = ["llama_cpp"]
