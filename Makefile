# Every target runs in an environment inside the checkout. It is made with Python's own venv and pip:
#   .venv        the project, editable; only the runtime for `demo`, plus the tools for everything else
#   .venv-wheel  only the built wheel, to test what users install
#   .peers       other implementations, each in its own environment (tests/peers/environments.py)
#   .downstream  other packages whose tests run on omnizarr.compat (tests/downstream)

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Python compiles a module to byte code on its first import. Compiling all of them takes seconds, and most are unused.
export PIP_NO_COMPILE := 1
export PYTHONPATH :=

# The oldest supported version comes first, because code that runs there runs on all versions. Each candidate is
# executed, because a name on PATH may be a shim for a version that is not active.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$name" && break; done)

BIN := .venv/bin
WHEEL_BIN := .venv-wheel/bin
JOBS ?= 2
# The duration of `fuzz` and `soak`.
SECONDS ?= 600
# Public repositories for `reading`, as owner/name=clone.
REPOSITORIES ?=
# The suites for `test-downstream`; all if empty.
SUITES ?=

.PHONY: help demo test test-source test-wheel test-downstream test-xarray peers servers check format fuzz soak sanitize notebooks tables reading bench bench-quick bench-remote bench-xarray clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 22

demo: .venv/.runtime ## install the runtime and run the example; takes less than a minute
	@$(BIN)/python examples/weather.py

test: test-source test-wheel ## run all tests on the source tree, then a smoke test of the built wheel

test-source: .venv/.tools peers servers
	@echo "== tests on the source tree"
	@$(BIN)/python -m pytest -n $(JOBS)

test-wheel: .venv-wheel/.installed
	@echo "== smoke tests on the installed wheel"
	@OMNIZARR_INSTALLED=1 $(WHEEL_BIN)/python -m pytest -q -p no:cacheprovider -m smoke tests

test-xarray: .venv/.tools peers ## run the tests of xarray's own Zarr backend against the engine and accessor of omnizarr
	@PYTHONPATH=src:. .peers/xarray/bin/python -m pytest -q -n $(JOBS) -p no:cacheprovider -W ignore \
		-o filterwarnings= -o asyncio_mode=auto tests/integrations/xarray/upstream

test-downstream: .venv/.made ## run the tests of xarray, dask, zarr-python, ome-zarr and anndata on omnizarr.compat; SUITES="dask"
	@$(BIN)/python -m tests.downstream --jobs $(JOBS) $(SUITES)

peers: .venv/.made ## make the environments of other implementations that the tests compare with
	@$(BIN)/python tests/peers/environments.py

servers: .venv/.made ## install the servers for buckets and web addresses that the tests start
	@$(BIN)/python tests/servers/install.py

check: .venv/.tools ## check style, types and import contracts
	@echo "== ruff"; $(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"; $(BIN)/mypy
	@echo "== import contracts"; $(BIN)/lint-imports

format: .venv/.tools ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

fuzz: .venv/.tools ## feed hostile bytes to every parser, and convert random arrays, for SECONDS (600)
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

soak: .venv/.tools ## run many writers, kill and check them, for SECONDS (600); then random histories; then random faults; then kill at every system call
	@$(BIN)/python -m tests.safety.soak --seconds $(SECONDS)
	@$(BIN)/python -m tests.safety.histories --seconds $(SECONDS)
	@$(BIN)/python -m tests.safety.faults --seconds $(SECONDS)
	@OMNIZARR_EVERY_CALL=1 $(BIN)/python -m pytest -q -n $(JOBS) tests/safety/test_kills.py tests/safety/test_leftovers.py tests/safety/test_reentrance.py tests/safety/test_half_imports.py tests/safety/test_descriptors.py tests/integrations/xarray/test_killed_appends.py

sanitize: .venv/.tools ## test the kernel under the sanitizers of gcc
	@echo "== tests of the kernel, with address and undefined behaviour sanitizers"
	@touch hatch_build.py  # the next target compiles the usual kernel again
	@CFLAGS="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" $(BIN)/python -m pip install -q -e .
	@# without the test that measures memory: the address sanitizer keeps freed memory for a while
	@LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(BIN)/python -m pytest -q -p no:cacheprovider tests/native tests/engine tests/fuzz \
		-k "(native or file) and not contexts_of_high_levels"

notebooks: .venv/.tools ## make the notebooks of examples/ from the scripts, and run them
	@$(BIN)/python examples/make_notebooks.py

tables: .venv/.tools ## rewrite the generated parts of the documentation: tables of extensions, chart of the README
	@$(BIN)/python docs/make_extensions.py
	@$(BIN)/python docs/make_reading.py
	@$(BIN)/python docs/make_chart.py

reading: .venv/.tools peers ## measure how many arrays of other writers each library reads; REPOSITORIES="name=git …"
	@$(BIN)/python -m tests.interop.reading_table $(addprefix --repository ,$(REPOSITORIES))
	@$(BIN)/python docs/make_reading.py

bench: .venv/.runtime peers ## measure this library and its peers; writes the tables and the chart of docs/benchmarks.*
	@$(BIN)/python -m benchmarks --write-docs

bench-quick: .venv/.runtime peers ## the same with little data, in less than two minutes; writes to docs/quick/
	@$(BIN)/python -m benchmarks --quick --write-docs

bench-remote: .venv/.tools peers ## measure reads over a network, from a server that takes 20 ms per request
	@$(BIN)/python -m benchmarks.remote

bench-xarray: .venv/.tools peers ## measure the engines of xarray, that of zarr-python and that of omnizarr
	@PYTHONPATH=src .peers/xarray/bin/python -m benchmarks.xarray_engines

clean: ## remove environments, builds and caches
	rm -rf .venv .venv-wheel .peers .downstream build dist src/omnizarr/native/*.so .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# -- environments, made once, and again when the requirements of the project change

.venv/.made:
	@if [ -z "$(PYTHON)" ]; then \
		echo "omnizarr needs Python 3.11 or newer; none was found. Choose one: make PYTHON=/path/to/python" >&2; exit 1; fi
	@echo "== environment .venv with $$($(PYTHON) --version)"
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@touch $@

KERNEL := hatch_build.py $(wildcard src/omnizarr/native/*.c)

.venv/.runtime: .venv/.made pyproject.toml $(KERNEL)
	@echo "== installing the runtime"
	@$(BIN)/python -m pip install -q -e .
	@touch $@

.venv/.tools: .venv/.runtime
	@echo "== installing the tools for tests and checks"
	@$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@

.venv-wheel/.installed: .venv/.runtime $(KERNEL) $(shell find src -name '*.py' 2>/dev/null)
	@echo "== building the wheel and installing only the wheel"
	@rm -rf .venv-wheel dist
	@$(BIN)/python -m pip wheel -q --no-deps -w dist .
	@$(BIN)/python -m venv .venv-wheel
	@$(WHEEL_BIN)/python -m pip install -q "$$(echo dist/omnizarr-*.whl)[test]"
	@touch $@
