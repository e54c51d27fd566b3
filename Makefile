# Needs only Python >= 3.11 with venv, and make. Everything goes into .venv; nothing else on the machine is touched.
#   make demo            one command from a clone to a search that answers
#   make demo LOCK=      the same with the newest versions that fit, where a pinned one cannot be had
#   make test PYTEST_ARGS="tests/cli -k move --pdb"    part of the tests, in one process where the debugger is asked for
#   make test SLOW=1     all tests, the slow ones too
#   make test WORKERS=8  the tests in more processes, on a machine that has the cores; WORKERS=1 in one after the other

PYTHON ?= python3
VENV   ?= .venv
LOCK   ?= requirements.lock
PYTEST_ARGS ?=
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 4) + 2)')
# Two more than there are cores, because tests wait for processes that they have started. At most six, because a
# container may see more cores than it gets.

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL ?= $(PIP) install --quiet
CONSTRAINTS := $(if $(LOCK),-c $(LOCK))
SOURCES := $(wildcard src tests benchmarks examples tools)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow coverage coverage-report lint house check format lock clean

help: ## Show the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## Install into .venv, ingest a sample standard and search it
	$(BIN)/python examples/demo.py

# Files go to the workers whole, which keeps their shared fixtures to one of them, those with slow tests first
# (tests/conftest.py). Bytecode is made before, and pytest may write its own too where the environment forbids it:
# hundreds of processes import the package, and rewriting the asserts of all tests takes each worker 15 s of its own.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder
COVERAGE ?=
SLOW ?=
MEASURED := $(if $(COVERAGE),-p tools.measuring)

test: $(VENV)/.installed-test ## Run the tests but the slow ones; with SLOW=1 all
	$(BIN)/python -m compileall -q src tests
	$(PYTEST) $(if $(SLOW),,-m "not slow") $(MEASURED) $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-test ## Run the slow tests: state machines, fuzzing, whole services, memory
	$(BIN)/python -m compileall -q src tests
	$(PYTEST) -m slow $(if $(filter tests%,$(PYTEST_ARGS)),,$$(grep -rl --include='test_*.py' 'mark\.slow' tests | sort)) $(PYTEST_ARGS)

coverage: ## Run the tests but the slow ones with coverage, and hold the coverage to its minimum
	$(MAKE) test COVERAGE=1
	$(MAKE) coverage-report

coverage-report: $(VENV)/.installed-test
	$(BIN)/python -m tools.measuring
	$(BIN)/python tools/coverage_gate.py build/coverage.json

lint: $(VENV)/.installed-lint ## Ruff, Pyright (strict; what may differ there for macOS and Windows too), import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/python tools/platforms.py >$(VENV)/.differing
	$(BIN)/pyright --pythonplatform Darwin $$(cat $(VENV)/.differing)
	$(BIN)/pyright --pythonplatform Windows $$(cat $(VENV)/.differing)

house: $(VENV)/.installed-test ## Count what there is to read, and how far a search and an ingest run through it
	$(BIN)/python tools/house.py --where

check: lint ## Everything that CI runs
	$(MAKE) test SLOW=1 COVERAGE=1
	$(MAKE) coverage-report

format: $(VENV)/.installed-lint ## Sort the imports and format the code
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

lock: $(VENV)/.pip ## Resolve requirements.lock anew from pyproject.toml
	$(PIP) install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --upgrade --generate-hashes \
		--no-annotate --no-header --quiet \
		--output-file requirements.lock

clean: ## Remove what was built and measured; the virtual environment stays
	rm -rf build dist .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp is newer than what it was made from, so an install runs once and again only when its inputs change.
$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	@touch $@

# The lock holds hashes, which pip checks of packages and never of a folder: the project itself follows without its needs.
$(VENV)/.installed: $(VENV)/.pip pyproject.toml $(wildcard $(LOCK)) src/knowledge_mcp/__init__.py
	$(BIN)/python tools/requirements.py >$(VENV)/requirements.txt
	$(INSTALL) $(CONSTRAINTS) -r $(VENV)/requirements.txt --group build
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python tools/requirements.py all >$(VENV)/requirements.txt
	$(INSTALL) $(CONSTRAINTS) -r $(VENV)/requirements.txt --group test
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test
	$(INSTALL) $(CONSTRAINTS) --group lint --group bench
	@touch $@
