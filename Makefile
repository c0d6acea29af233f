# make demo   set up .venv and run the whole line: train, evaluate, export, validate, answer
# make test   set up .venv and run the tests, but for the slow ones
# make lint   set up .venv, check style and types
# make clean  remove .venv and everything that the other targets made
#
# PYTHON chooses the interpreter of .venv: make test PYTHON=python3.13

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

.PHONY: demo test lint clean
.DELETE_ON_ERROR:

demo: $(READY)
	$(BIN)/attention-zoo demo --output demo --force

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/types

clean:
	rm -rf $(VENV) build dist demo attention_zoo.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
	  2> /dev/null || { \
	  found=$$($(PYTHON) --version 2> /dev/null || echo "nothing that runs"); \
	  echo "attention-zoo needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is $$found." \
	    "Name another one: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip
	$(BIN)/python -m pip install -e ".[dev]"
	@touch $@
