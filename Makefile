# Each goal makes its own virtual environment: nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# as many processes test as there are cores: threads of linear algebra in each would only be in each other's way
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1

.PHONY: demo test campaign benchmark pictures clean

demo: $(VENV)/run.stamp
	$(BIN)/synchroscope demo $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

# half an hour: tens of thousands of damaged files through every reader
campaign: $(VENV)/dev.stamp
	$(BIN)/python -m tests.campaign.damaged_run_files --files 20000
	$(BIN)/python -m tests.campaign.damaged_tables --files 20000

benchmark: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

pictures: $(VENV)/run.stamp
	$(BIN)/python -m docs.pictures

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
