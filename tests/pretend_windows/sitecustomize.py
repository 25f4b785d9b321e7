"""Python starts with this when its folder is on PYTHONPATH: from here on, it takes its system for Windows.

As far as that goes on another one: `sys.platform` says so, what only POSIX has cannot be imported, and `select` is for
sockets. Child processes of ours pretend as well.
"""

from __future__ import annotations

import os
import platform
import select
import shutil
import sys
import sysconfig
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

import only_posix

# They decide by the system when they are imported, and Windows has no say in what they are here.
DECIDED_BEFORE = (
    "asyncio ctypes.util multiprocessing sqlite3 subprocess tempfile urllib.request zipfile "
    "click gguf jinja2.sandbox jsonschema numpy platformdirs pydantic.main rich.progress yaml "
    # What a test adds.
    + os.environ.get("IMPORT_FIRST", "")
)


class _NotOnWindows(MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        if name in only_posix.MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _sockets_only(*_: Any) -> NoReturn:
    raise OSError(10038, "An operation was attempted on something that is not a socket")


for _name in DECIDED_BEFORE.split():
    import_module(_name)
# These are remembered by Python.
platform.uname()
sysconfig.get_config_vars()
for _name in only_posix.MODULES:
    sys.modules.pop(_name, None)
sys.meta_path.insert(0, _NotOnWindows())
select.select = _sockets_only
# Since Python 3.12 it asks Windows itself.
shutil.which = lambda *_, **__: None
sys.platform = "win32"
