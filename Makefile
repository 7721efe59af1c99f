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

.PHONY: demo test test-all lint format bench sanitize mutants clean

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

# Exports against trees on millions of rows, C under sanitizers; MINUTES says for how long.
MINUTES ?= 10
sanitize: $(VENV)/.dev
	$(BIN)/python tests/campaign.py --minutes $(MINUTES)

# Faults planted into the code, which its tests must notice.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutation.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: pyproject.toml workshop/pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e workshop
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis node_modules
	find src tests workshop -name __pycache__ -exec rm -rf {} +
