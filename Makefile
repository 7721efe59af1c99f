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

.PHONY: demo test test-all docs lint format bench fuzz sanitize mutants faults soak audit release-check clean

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal --durations 20 -m "not slow"

test-all: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal --durations 20

# The site, in docs/_build/html: every warning is an error, every link inside it is followed.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Damaged files of every kind; those that break a law are kept in tests/fuzz/inputs. Half of the time is for atheris, a
# fuzzer that is guided by coverage, if it is installed (pip install atheris).
FUZZ_SECONDS ?= 600
fuzz: $(VENV)/.dev
	if $(BIN)/python -c "import atheris" 2> /dev/null; then \
		$(BIN)/python tests/fuzz/campaign.py --seconds $$(( $(FUZZ_SECONDS) / 2 )) && \
		$(BIN)/python tests/fuzz/atheris_model_file.py -max_total_time=$$(( $(FUZZ_SECONDS) / 2 )); \
	else $(BIN)/python tests/fuzz/campaign.py --seconds $(FUZZ_SECONDS); fi

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

# Fits and predictions by kernels under sanitizers, then exports against trees on millions of rows, their C under
# sanitizers too; MINUTES says for how long, a fifth of it for the kernels.
MINUTES ?= 10
sanitize: $(VENV)/.dev
	$(BIN)/python tests/kernels/sanitized.py --minutes $$(( ($(MINUTES) + 4) / 5 ))
	$(BIN)/python tests/campaign.py --minutes $(MINUTES)

# The C of the kernels, after a change of the kernels in Python.
.PHONY: kernels
kernels: $(VENV)/.dev
	$(BIN)/python compiling/generate.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .

# Faults planted into the code, which its tests must notice.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutation.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The installation compiles the kernels, if there is a compiler.
KERNELS := src/dtsemnet/kernels/native.c compiling/hook.py

$(VENV)/.base: pyproject.toml constraints.txt $(KERNELS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: pyproject.toml workshop/pyproject.toml checker/pyproject.toml constraints.txt $(KERNELS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e workshop -e checker
	touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml workshop/pyproject.toml constraints.txt | $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs]"
	touch $@

# Full disks, signals and the like, and a campaign that kills this many processes at random moments.
KILLS ?= 216
faults: $(VENV)/.dev
	$(BIN)/pytest tests/faults
	PYTHONPATH=tests $(BIN)/python -m faults.campaign --kills $(KILLS)

# Fits and predictions for a long time; memory must stay flat.
SOAK_SECONDS ?= 1800
soak: $(VENV)/.dev
	$(BIN)/python tests/faults/soak.py --seconds $(SOAK_SECONDS)

# Known holes in the packages that are installed. It needs a network and PyPI itself: mirrors hold no advisories, and
# without --strict pip-audit skips every package that it cannot look up and says that it found nothing.
audit: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+.*//' > $(VENV)/audit/packages.txt
	$(VENV)/audit/bin/pip-audit --strict --no-deps --disable-pip -r $(VENV)/audit/packages.txt || { \
		echo "audit: a hole was found, or a package could not be looked up, which is not the same as having none" >&2; \
		exit 1; }

# Builds all distributions into dist/ and checks what a release needs; CHECKS="versions build" runs some of it.
CHECKS ?=
release-check: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m releasing.check $(CHECKS)

clean:
	rm -rf docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis node_modules dist build
	find src tests workshop -name __pycache__ -exec rm -rf {} +
