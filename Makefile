# Two commands do everything: `make demo` shows the library, `make test` checks it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Benchmark data, if a folder of it lies beside the checkout; see docs/architecture.md, "Data".
ifneq ($(wildcard ../shared/data),)
export DTSEMNET_DATA ?= $(abspath ../shared/data)
endif
ifneq ($(wildcard ../shared/tables),)
export DTSEMNET_TABLES ?= $(abspath ../shared/tables)
endif
# Two test processes share two cores: each uses one thread.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-all lint format bench clean

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: pyproject.toml workshop/pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e workshop
	touch $@ $(VENV)/.base

.PHONY: faults soak

# Full disks, signals and the like, and a campaign that kills this many processes at random moments.
KILLS ?= 216
faults: $(VENV)/.dev
	$(BIN)/pytest tests/faults
	PYTHONPATH=tests $(BIN)/python -m faults.campaign --kills $(KILLS)

# Fits and predictions for a long time; memory must stay flat.
SOAK_SECONDS ?= 1800
soak: $(VENV)/.dev
	$(BIN)/python tests/faults/soak.py --seconds $(SOAK_SECONDS)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis node_modules
	find src tests workshop -name __pycache__ -exec rm -rf {} +
