# Thin: every target makes sure that what it needs is there, then delegates.

VENV := .venv
PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3))
READY := $(VENV)/.ready
SNAP := $(VENV)/bin/snap

.DEFAULT_GOAL := help
.PHONY: help demo unit test coverage fuzz fuzz-link soak figures heads attach-speed bootstrap-speed fleet-speed bench speed damage kills together lint format \
	setup tools browser clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

demo: setup ## Train, calibrate, quantize, export, build, flash and bench the digits.
	@$(SNAP) demo

unit: setup ## Run the unit tests that are not marked slow: under two minutes.
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadfile -m "not slow" tests/unit

# A file stays in one process, which makes its fixtures once; the slow files come first as it is.
test: setup browser ## Run the tests, in two processes.
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

coverage: setup ## Measure the line coverage of the .tflite reader.
	@$(VENV)/bin/python -m coverage run -m pytest -q tests/unit/graph
	@$(VENV)/bin/python -m coverage report --show-missing --fail-under=95

fuzz: setup ## Feed the reader 100,000 damaged files.
	@$(VENV)/bin/python benchmarks/fuzz_reader.py

fuzz-link: setup ## Feed the firmware's link 10 million inputs (clang, llvm).
	@$(VENV)/bin/python benchmarks/fuzz_link.py

soak: setup ## Run a million inferences on this machine and 10,000 on the emulator: same bytes.
	@$(VENV)/bin/python benchmarks/soak.py

figures: setup ## Print the figures of docs/figures.md: three seeds, about 6 minutes.
	@$(VENV)/bin/python benchmarks/digits_figures.py

bench: setup ## Print speed and memory against TFLite-Micro, and growth; MODELS=DIR takes the real models.
	@$(VENV)/bin/python benchmarks/engines.py $(if $(MODELS),--models $(MODELS))

attach-speed: setup ## Print how long attach takes and what its heads cost; MODELS=DIR as for bench.
	@$(VENV)/bin/python benchmarks/attach.py $(if $(MODELS),--models $(MODELS))

bootstrap-speed: setup ## Print how long the bootstrap of a stream takes, and a plain loop for it.
	@$(VENV)/bin/python benchmarks/bootstrap.py

fleet-speed: setup ## Print how long snap fleet takes for a million records, and what it finds in them.
	@$(VENV)/bin/python benchmarks/fleet.py

heads: setup ## Print drift, gain and cost of every head on the digits: about 15 minutes.
	@$(VENV)/bin/python benchmarks/heads.py

kills: setup ## Kill snap 50 times during flash, bench and stream: about 15 minutes.
	@$(VENV)/bin/python benchmarks/kills.py

together: setup ## Start 1,000 pairs of commands on one run, and open it 10,000 times meanwhile.
	@$(VENV)/bin/python benchmarks/together.py

speed: setup ## Print how many corrupted images and clips are made in a second.
	@$(VENV)/bin/python benchmarks/corruptions.py

damage: setup ## Bench over a line that damages 10,200 times: about 15 minutes.
	@$(VENV)/bin/python benchmarks/damage.py

lint: setup ## Check style and types.
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

format: setup ## Format the Python code.
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

setup: tools $(READY) ## Make the virtual environment and install what is missing.

$(READY): pyproject.toml | tools
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || { \
	  echo "error: snap needs Python 3.11 or 3.12, not $(PYTHON)" >&2; \
	  echo "hint: install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 5; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --editable ".[train,flash,dev]"
	@$(SNAP) kernels fetch || echo "note: all but the kernel set cmsis-nn works without them"
	@touch $@

# Debian's and Ubuntu's packages; elsewhere the names are told.
PACKAGES := gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm

tools:
	@PYTHON="$(PYTHON)" sh scripts/install-tools $(PACKAGES)

# For the test of the page that `snap report` writes, which is skipped without them.
BROWSER := chromium chromium-driver

browser:
	@PYTHON="$(PYTHON)" sh scripts/install-tools $(BROWSER) || \
	  echo "note: the report's page is not tested in a browser"

clean: ## Remove the virtual environment and caches, never the runs.
	rm -rf $(VENV) .coverage .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
