# What people do here. Every target sets up what it needs: Python 3.11 or newer, make and git are enough.

VENV ?= .venv
PYTHON ?=
LOGS ?= 10000
LOG ?= logs/recorded/bank-snapshot-20.jsonl.gz
# Two processes at least, so that tests which share state show it; four at most, so that a shared machine lives.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); \
	if [ "$$n" -lt 2 ]; then echo 2; elif [ "$$n" -gt 4 ]; then echo 4; else echo "$$n"; fi)
PY := $(VENV)/bin/python
STAMP := $(VENV)/.set-up

.PHONY: setup demo test slow oracle lint format clean again workloads applications

setup: $(STAMP)

# The virtual environment, from the lock; once, until the lock or the project's description changes. One that was
# moved, or whose interpreter is gone, is made anew.
$(STAMP): requirements.lock pyproject.toml .ci/setup $(if $(shell .ci/setup --check "$(VENV)" && echo usable),,again)
	@PYTHON="$(PYTHON)" .ci/setup "$(VENV)"
	@touch $@

demo: $(STAMP)
	$(VENV)/bin/troubadour audit $(LOG)

test: $(STAMP)
	$(PY) -m pytest -q -n $(WORKERS)

slow: export HYPOTHESIS_PROFILE = long
slow: $(STAMP)
	$(PY) -m pytest -q -n $(WORKERS) -m slow

# Search against the oracle, 10,000 random logs at every general level: hours. `make slow` has some of them.
oracle: $(STAMP)
	$(PY) -m tests.property.campaign --logs $(LOGS) --jobs $(WORKERS)

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: $(STAMP)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# Every workload recorded and audited, hours at full size: make workloads TRANSACTIONS=500
TRANSACTIONS ?= 20000
workloads: $(STAMP)
	$(PY) -m benchmarks.workloads --transactions $(TRANSACTIONS) --mode procedures
	$(PY) -m benchmarks.workloads --transactions $(TRANSACTIONS) --mode statements
	$(PY) -m benchmarks.disturbed kills
	$(PY) -m benchmarks.disturbed crash
	$(PY) -m benchmarks.disturbed crash --lossy
	$(PY) -m benchmarks.simulated

# Applications that know nothing of the recorder, recorded and judged, in a table: 10 minutes.
applications: $(STAMP)
	$(PY) -m tests.live.applications

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
