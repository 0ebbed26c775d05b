# Every target runs in .venv, which the first one makes: `make demo` works on a bare machine that has
# Python 3.11 or newer and make. A failing step fails its target; no exit code is dropped.
#
#   demo          one session through the embedded Kafka, from nothing to its transcript
#   test          lint, types, all tests, coverage of the pure packages
#   test-all      test; all tests again on the wheel in a clean environment; tests-wide
#   tests-wide    three nodes under kills; TLS, passwords and rights; our image (needs openssl, Docker)
#   image         our Kafka image, turnlog/kafka, for infra/compose.yaml and the tests
#   lint, types   the parts of test; tests: the tests alone, coverage included
#   format        rewrite the source as lint wants it
#   bench, soak   measurements (ONLY=name runs one) and long kill and fuzz runs (N=2 doubles them)
#   mutation      mutants of the kernel against its tests (ONLY=module, or module:line)
#   reference     write docs/cli.md anew from the commands' help
#   constraints   take the versions in .venv as the known good ones
#   clean         remove all that these targets made, .venv included

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables
.DEFAULT_GOAL := test

PYTHON ?= python3
ONLY ?=
N ?= 1

VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
CONSTRAINTS := requirements/constraints.txt
# A folder joins the checks with its first module.
has_modules = $(shell find $(1) -name '*.py' -print -o -name '*.pyi' -print | head -n 1)
CHECKED := $(foreach d,$(wildcard schemas producers processors infra bench tests stubs),$(if $(call has_modules,$(d)),$(d)))
PURE := events kernel

.PHONY: venv
venv: $(INSTALLED)

# PIP_CONSTRAINT and not --constraint: it also reaches the environment in which pip builds.
$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "turnlog needs Python 3.11 or newer, found " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=$(CURDIR)/$(CONSTRAINTS) $(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

.PHONY: constraints
constraints: $(INSTALLED)
	sed -n '/^#/p' $(CONSTRAINTS) > $(CONSTRAINTS).new
	$(PY) -m pip freeze --exclude-editable >> $(CONSTRAINTS).new
	mv $(CONSTRAINTS).new $(CONSTRAINTS)

.PHONY: demo
demo: $(INSTALLED)
	$(PY) -m turnlog.cli demo

# The page of the commands, from their help.
.PHONY: reference
reference: $(INSTALLED)
	$(PY) -m tests.docs.cli_reference

.PHONY: lint
lint: $(INSTALLED)
	$(VENV)/bin/ruff check $(CHECKED)
	$(VENV)/bin/ruff format --check $(CHECKED)
	$(VENV)/bin/lint-imports --no-logo

.PHONY: format
format: $(INSTALLED)
	$(VENV)/bin/ruff check --fix $(CHECKED)
	$(VENV)/bin/ruff format $(CHECKED)

.PHONY: types mypy pyright stubtest
types: mypy pyright stubtest

mypy: $(INSTALLED)
	$(VENV)/bin/mypy $(CHECKED)

pyright: $(INSTALLED)
	$(VENV)/bin/pyright --warnings

# Our stubs against the libraries as installed; a stub may leave names out.
stubtest: $(INSTALLED)
	$(VENV)/bin/stubtest --ignore-missing-stub --ignore-disjoint-bases --mypy-config-file pyproject.toml $(notdir $(wildcard stubs/*))

# A module's tests stay on one core: they share what is costly to make. In the order of the folders,
# as by number of tests the longest would come last, alone.
PARALLEL := --numprocesses=2 --dist=loadfile --no-loadscope-reorder

# Tracing costs a run twice its time: only what proves the pure packages is traced, the longest first.
PURE_TESTS := $(addprefix tests/,laws fuzz conformance events kernel verifier)
WIDE_TESTS := $(addprefix tests/,cluster containers secured)
TEST_FOLDERS := $(filter-out $(WIDE_TESTS),$(sort $(patsubst %/,%,$(dir $(wildcard tests/*/test_*.py)))))

.PHONY: tests
tests: $(INSTALLED)
	$(PY) -m pytest $(PARALLEL) --cov --cov-report= $(PURE_TESTS)
	$(PY) -m pytest $(PARALLEL) $(filter-out $(PURE_TESTS),$(TEST_FOLDERS))
	$(VENV)/bin/coverage report --skip-covered --show-missing --include='schemas/*'
	$(VENV)/bin/coverage json --quiet -o coverage.json
	$(PY) -m tests.frame.coverage_gate coverage.json 95 $(PURE:%=schemas/turnlog/%)

# The checks share the cores, and a failing one does not hide another's findings; then the tests have
# the machine alone.
.PHONY: test
test: $(INSTALLED)
	$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target lint types
	$(MAKE) --no-print-directory tests

.PHONY: test-all
test-all: test
	$(PY) -m tests.frame.installed_wheel $(PARALLEL)
	$(MAKE) --no-print-directory tests-wide

.PHONY: tests-wide
tests-wide: $(INSTALLED)
	$(PY) -m pytest $(WIDE_TESTS)

.PHONY: image
image: $(INSTALLED)
	$(PY) infra/images/kafka/build.py

.PHONY: bench
bench: $(INSTALLED)
	$(PY) -m bench.run $(ONLY)

.PHONY: soak
soak: $(INSTALLED)
	$(PY) -m bench.soak $(N)

# In an environment and on a copy of its own: an edit of the source does not reach a run.
MUTATION := build/mutation

$(MUTATION)/.installed: pyproject.toml $(CONSTRAINTS) requirements/mutation.txt
	rm -rf $(MUTATION)
	mkdir -p $(MUTATION)/work
	cp -R $(wildcard schemas producers processors infra) pyproject.toml README.md LICENSE $(MUTATION)/work
	$(PYTHON) -m venv $(MUTATION)/venv
	PIP_CONSTRAINT=$(CURDIR)/$(CONSTRAINTS) $(MUTATION)/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements/mutation.txt --editable '$(MUTATION)/work[test]'
	touch $@

.PHONY: mutation
mutation: $(MUTATION)/.installed
	find $(MUTATION)/work -mindepth 1 -maxdepth 1 -exec rm -rf {} +
	cp -R $(wildcard schemas producers processors infra bench tests) pyproject.toml README.md LICENSE $(MUTATION)/work
	cd $(MUTATION)/work && PYTHONHASHSEED=0 ../venv/bin/python -m bench.mutation $(ONLY)

.PHONY: clean
clean:
	rm -rf $(VENV) build dist .coverage .coverage.* coverage.json
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +
