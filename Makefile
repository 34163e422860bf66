# Two commands matter: `make demo` and `make test`. They need Python 3.11 or newer, make and git; everything else is put
# into .venv. Every target can be run again and again: what is done already is not done twice.

PORT ?= 4318
DB ?= var/demo.duckdb
DEMO_DATA ?=
# Tried in this order; `make demo PYTHON=/path/to/python3` overrides.
PYTHON ?=
CANDIDATES := $(PYTHON) $(if $(PYTHON),,python3 python3.14 python3.13 python3.12 python3.11 python)

VENV := .venv
BENCH := .venv-bench
CREW := .venv-crewai
OTHERS := .venv-others
BIN := $(VENV)/bin
# An environment is ready for one content of these files at one place: it holds absolute paths, so a copied tree needs its own.
FINDS_US := import importlib.util, sys; sys.exit(importlib.util.find_spec('toolwitness') is None)
READY = $(shell cat pyproject.toml constraints.txt | cksum) $(CURDIR)

# A file's tests stay together, since they share what is dear to make; more than four processes gain nothing. Files keep their
# order, in which those that leave a running event loop behind come last.
PYTEST := $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

export PIP_DISABLE_PIP_VERSION_CHECK := 1

, := ,
# say TEXT: one line a step.      quietly COMMAND: its output is shown only where it fails.
say = printf '%s\n' "toolwitness: $(1)"
quietly = out=$$($(1) 2>&1) || { printf '%s\n' "$$out"; exit 1; }

.PHONY: help venv types check test test-all test-oldest test-beside crewai-env bench bench-env demo demo-stop clean
.NOTPARALLEL:

help:
	@printf '%s\n' \
	  'make demo       install, make and load demo data, start toolwitness and print its URL (PORT=4318, DEMO_DATA="file ...")' \
	  'make demo-stop  stop what make demo started' \
	  'make test       lint, types, import contracts and tests' \
	  'make test-all   the same, with the long tests, those of crewai, test-oldest and test-beside' \
	  'make test-oldest   each framework in its oldest supported version (NAME="openai ..." for some)' \
	  'make test-beside   ours beside the instrumentors of others' \
	  'make check      the same, without the tests' \
	  'make bench      how fast redaction is beside a peer; fails where it is slower' \
	  'make clean      stop the demo; remove its data, the environment and all caches'

venv:
	@if [ "$$(cat $(VENV)/.ready 2>/dev/null)" = "$(READY)" ] && $(BIN)/python -c "$(FINDS_US)" 2>/dev/null; then exit 0; fi; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  python=; \
	  for candidate in $(CANDIDATES); do \
	    if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then \
	    $(call say,no Python 3.11 or newer found (tried: $(strip $(CANDIDATES))).) >&2; \
	    $(call say,install one$(,) or name it: make PYTHON=/path/to/python3) >&2; exit 1; \
	  fi; \
	  $(call say,making $(VENV) with $$($$python --version 2>&1)); \
	  rm -rf $(VENV); \
	  $$python -m venv $(VENV) || { \
	    $(call say,$$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv) >&2; exit 1; }; \
	fi; \
	$(call say,installing into $(VENV) (about two minutes$(,) the first time only)); \
	rm -f $(VENV)/.ready; \
	$(call quietly,$(BIN)/python -m pip install --quiet --only-binary=:all: --no-compile --constraint constraints.txt --editable '.[dev]'); \
	printf '%s' "$(READY)" > $(VENV)/.ready

# Type checkers find the package `toolwitness`, which is this folder, by this link.
types:
	@mkdir -p .types && ln -sfn .. .types/toolwitness

check: venv types
	@$(call say,ruff check); $(call quietly,$(BIN)/ruff check .)
	@$(call say,ruff format --check); $(call quietly,$(BIN)/ruff format --check .)
	@$(call say,mypy); $(call quietly,$(BIN)/mypy)
	@$(call say,import contracts); $(call quietly,$(BIN)/lint-imports)

test: check
	@$(call say,pytest (long tests are left out; make test-all runs them)); $(PYTEST) -m 'not long'

test-all: check crewai-env
	@$(call say,pytest with the long tests); $(PYTEST)
	@$(call say,pytest of crewai in $(CREW)); $(subst $(BIN),$(CREW)/bin,$(PYTEST)) -k crewai $(wildcard tests/sdk/instrument/test_crewai*.py) tests/sdk/instrument/test_non_interference.py
	@$(MAKE) --no-print-directory test-oldest test-beside

# In environments of their own, which hold other versions, or instrumentors of others.
test-oldest: venv
	@$(BIN)/python tests/environments.py oldest $(NAME)

test-beside: venv
	@$(BIN)/python tests/environments.py beside

# In an environment of its own: crewai needs older versions of openai, mcp and pydantic than what else is tested.
crewai-env: venv
	@[ -x $(CREW)/bin/python ] || { $(call say,making $(CREW) with crewai (about two minutes$(,) the first time only)); $(BIN)/python -m venv $(CREW); }
	@$(call quietly,$(CREW)/bin/python -m pip install --quiet --only-binary=:all: --no-compile --constraint constraints-crewai.txt --editable '.[dev-crewai]')

# In an environment of its own: the peer brings plugins that would take part in our tests.
bench-env: venv
	@[ -x $(BENCH)/bin/python ] || { $(call say,making $(BENCH) with the peer that redaction is measured against); $(BIN)/python -m venv $(BENCH); }
	@$(call quietly,$(BENCH)/bin/python -m pip install --quiet --only-binary=:all: --no-compile --constraint constraints.txt --editable '.[bench]')

bench: bench-env
	@$(BENCH)/bin/python benchmarks/redaction.py --gate

demo: venv
	@$(BIN)/python examples/demo_agent/check_port.py --db $(DB) --port $(PORT)
	@$(call say,making and loading demo data (half a minute)); $(BIN)/python examples/demo_agent/run.py --db $(DB)
ifneq ($(strip $(DEMO_DATA)),)
	@$(call say,importing $(DEMO_DATA)); $(BIN)/toolwitness import $(DEMO_DATA) --db $(DB)
endif
	@$(call say,starting); $(BIN)/toolwitness up --detach --db $(DB) --port $(PORT) || { \
	  $(call say,the data is in $(DB); to use another port: make demo PORT=4320) >&2; exit 1; }
	@$(call say,to stop it: make demo-stop)

demo-stop: venv
	@$(BIN)/toolwitness down --db $(DB)

clean:
	@if [ -x $(BIN)/toolwitness ] && [ -e $(DB).owner.json ]; then $(BIN)/toolwitness down --db $(DB); fi
	@$(call say,removing $(VENV)$(,) var$(,) build$(,) dist and caches)
	@rm -rf $(VENV) $(BENCH) $(CREW) $(OTHERS) .types var build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
