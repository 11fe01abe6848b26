# Every target creates the virtual environment it needs; only Python 3.11+ and make are required.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# one more than cores: a third of the time of the tests is waiting for processes
WORKERS = $(shell $(BIN)/python -c "import os; print(os.cpu_count() + 1)")

COMPILED := monitor/compiled sim/compiled gui/compiled

# one test process per core: linear algebra threads in each would oversubscribe the cores
test test-all campaign soak: export OPENBLAS_NUM_THREADS := 1
test test-all campaign soak: export OMP_NUM_THREADS := 1
# bytecode is saved even where the environment forbids it: hundreds of processes would each compile all modules
test test-all campaign soak: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo checks kernels bytecode test test-all campaign soak benchmark wheel release docs pictures clean

demo: $(VENV)/run.stamp
	@# Ctrl-C is a normal exit
	@trap : INT; $(BIN)/synchroscope demo $(ARGS) || test $$? -eq 130

checks: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# kernels are compiled beside the checks: otherwise each worker of pytest would compile most of them for itself
kernels: $(VENV)/dev.stamp
	$(BIN)/python -m tests.kernels

# as are the tests, whose asserts are rewritten; what cannot be collected is reported by the tests themselves
bytecode: $(VENV)/dev.stamp
	$(BIN)/python -m pytest --collect-only --quiet > /dev/null || true

# which tests; CI runs the long ones too
WHICH = not slow and not long

test: $(VENV)/dev.stamp
	$(MAKE) --jobs=2 kernels checks bytecode
	$(BIN)/python -m pytest -m "$(WHICH)" --numprocesses=$(WORKERS) --dist=worksteal $(ARGS)

# all tests with new random values each time, and ten minutes of the campaign
test-all: checks
	$(BIN)/python -m pytest --hypothesis-profile=random --numprocesses=$(WORKERS) --dist=worksteal $(ARGS)
	$(BIN)/python -m tests.campaign --short

# most of an hour: kills, stops, messages, disks, peers, brokers and files, thousands of times, in one table (docs/campaign.md)
campaign: $(VENV)/dev.stamp
	$(BIN)/python -m tests.campaign $(ARGS)

# a service with fifty subscribers for forty minutes
soak: $(VENV)/dev.stamp
	$(BIN)/python -m tests.campaign.soak

benchmark: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

# for any machine; with kernels for this Python and numba, and for this processor's level and the one below
wheel: $(VENV)/dev.stamp
	rm -rf build/kernels dist $(COMPILED)
	for level in $$($(BIN)/python -c "from monitor.kernel_cache import own_levels; print(*own_levels()[:2])"); do \
		for what in '' ship; do \
			NUMBA_CPU_NAME=$$level NUMBA_CACHE_DIR=build/kernels $(BIN)/python -m tests.kernels $$what || exit; done; done
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .
	rm -rf $(COMPILED)

# what a person then uploads: wheel and sources, checked, and tried in an environment of their own
release: wheel
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --sdist --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	rm -rf build/tried && $(PYTHON) -m venv build/tried
	build/tried/bin/pip install --quiet dist/synchroscope-*.whl
	cd build && env -i HOME="$$(mktemp -d)" PATH="$$PATH" tried/bin/synchroscope demo --headless --duration 9
	@ls -l dist

# the site, in build/site: warnings are errors, and every link is followed
docs: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

pictures: $(VENV)/dev.stamp
	$(BIN)/python -m docs.pictures

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"%s is Python %d.%d, and 3.11 or later is needed: make PYTHON=python3.12" % (sys.executable, *sys.version_info[:2]))'
	$(PYTHON) -m venv $(VENV)

# the kernels of the headline are compiled while pip fetches what they do not need; a first start compiles the others
define install
	$(BIN)/python -m pip install --no-compile --editable .
	$(BIN)/python -m monitor.commands.first_start 2> /dev/null & \
		$(BIN)/python -m pip install --no-compile --editable '.[$(1)]' && echo "compiling the kernels of the headline" && wait
	touch $@
endef

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(call install,gui)

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(call install,dev)
	touch $(VENV)/run.stamp

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
