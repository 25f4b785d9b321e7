"""`make pythons`: the tests that need no llama.cpp, on every Python that we promise and that is on this machine.

Each has an environment in build/pythons with the package installed as users install it, but without llama-cpp-python,
which compiles for minutes. A test that needs it and is not marked `engine` or `llama` fails there. Arguments are
versions, such as 3.10, and what is for pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROMISED = ("3.10", "3.11", "3.12", "3.13", "3.14")
ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / "build" / "pythons"
LEFT_OUT = "llama-cpp-python"

# Asked of the environment itself, which has just installed the package.
REQUIREMENTS = """
from importlib.metadata import requires
print(*(each for each in requires("loracheck") if "extra ==" not in each), sep="\\n")
"""


def find(version: str) -> Path | None:
    """An interpreter on the PATH or among those of pyenv, whose shims are there for versions that are switched off."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return Path(path)
    return None


def prepare(interpreter: Path, folder: Path) -> Path:
    """The Python of an environment that has this checkout installed, all it depends on, and what tests need."""
    python = folder / "bin" / "python"
    if not python.is_file():
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "pip>=25.1"], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", "."], check=True, cwd=ROOT)
    asked = subprocess.run([python, "-c", REQUIREMENTS], check=True, capture_output=True, text=True)
    requirements = [each for each in asked.stdout.splitlines() if not each.startswith(LEFT_OUT)]
    subprocess.run([*pip, *requirements, "--group", "test"], check=True, cwd=ROOT)
    return python


def run_tests(python: Path, arguments: list[str]) -> tuple[bool, str]:
    """Whether they pass, and what pytest says at its end."""
    marked = ["-m", "not engine and not llama and not slow"]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *marked, *arguments]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
    return tests.returncode == 0, next((line for line in reversed(lines) if line), "no word of pytest")


def main() -> int:
    versions = [each for each in sys.argv[1:] if re.fullmatch(r"3\.\d+", each)] or list(PROMISED)
    for_pytest = [each for each in sys.argv[1:] if each not in versions]
    # What is installed is tested, not what lies around.
    os.environ.pop("PYTHONPATH", None)
    all_passed, told = True, []
    for version in versions:
        interpreter = find(version)
        if interpreter is None:
            told.append(f"{version}  not on this machine")
            continue
        print(f"Python {version}", flush=True)
        python = prepare(interpreter, ENVIRONMENTS / version)
        passed, last = run_tests(python, for_pytest)
        all_passed &= passed
        told.append(f"{version}  {last}")
    print("", *told, sep="\n")
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
