# Everything runs in .venv, which `make install` creates. PYTHON picks the interpreter it is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# llama.cpp is compiled from source; its vision part is not needed.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF
# Every core takes tests, in the order they are in: those that run llama.cpp are last, and one process runs them all.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install model model-qwen demo test unit pythons package lint format bench docs picture torture clean

help:  ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## create .venv and install loracheck and its tools

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; PYTHON=... picks one" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --version | grep -qE 'pip (2[5-9]|[3-9][0-9])' || $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@echo "Installing. llama.cpp is compiled the first time: 5 to 10 minutes on 2 cores; pip keeps the result."
	@( while sleep 30; do echo "  still installing"; done ) & ticker=$$!; trap 'kill $$ticker' EXIT; \
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

model: install  ## fetch the demo's base model (98 MB) if it is not there yet
	@$(BIN)/python -m loracheck.demo

model-qwen: install  ## fetch the second model, for `loracheck demo --model qwen` and its tests (491 MB)
	@$(BIN)/python -m loracheck.demo qwen

demo: install  ## check three real adapters: one passes, two fail
	@$(BIN)/loracheck demo

test: install lint model  ## lint, types and all tests
	$(PYTEST) -m 'not slow'

unit: install  ## the tests that need no model
	$(PYTEST) -m 'not engine and not slow'

pythons:  ## those that need no llama.cpp, on each Python from 3.10 to 3.14 that is here (ONLY="3.10 3.13" picks)
	$(PYTHON) tests/pythons.py $(ONLY)

package: install  ## build the sdist and the wheel, and try both in fresh environments
	$(BIN)/python -m pytest -m slow tests/test_package.py

lint: install  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install model  ## measure speed and memory, docs/benchmark.md (an hour on 2 cores; QUICK=1: 5 minutes, no file)
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick)

docs: install  ## write the generated parts of docs/ anew
	$(BIN)/python docs/generate.py

picture: install model  ## make the picture of a report that the README shows, docs/images/report.png (needs Chromium)
	$(BIN)/python docs/picture.py

torture: install model  ## damaged files, full disks, kills, crowds, thousands of cases, slow tests (up to an hour)
	PYTHONPATH=tests $(BIN)/python -m torture
	$(BIN)/python -m pytest -m slow

clean:  ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
