# make demo | test | test-all | lint | docs | bench | studies: each makes the virtual environment .venv
# on first use. test leaves out what is marked slow or needs a browser.
# bench times irtkit beside its peers, which it installs; studies measures stored figures anew that
# are older than the code, the cheapest first (python benchmarks/studies.py lists them).
# Needs Python 3.11 or newer; `make PYTHON=/path/to/python test` chooses one.

VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(VENV)/installed
STAMP := $(VENV)/installed-test
PEERS := $(VENV)/installed-peers
BENCHMARKS := peers default_call floor scaling threads
CANDIDATES := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
DEMO_OUT :=
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

.PHONY: demo test test-all lint docs bench studies

demo: $(PACKAGE)
	@$(BIN)/irtkit demo $(if $(DEMO_OUT),--out "$(DEMO_OUT)")

test: $(STAMP)
	$(PYTEST) -m "not slow and not browser"

test-all: $(STAMP)
	$(PYTEST) --durations=25

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build

bench: $(PEERS)
	@for name in $(BENCHMARKS); do \
	  echo "== $$name"; \
	  $(BIN)/python benchmarks/speed.py "$$name" || exit 1; \
	done

studies: $(STAMP)
	$(BIN)/python benchmarks/studies.py --renew

$(PEERS): $(STAMP)
	$(BIN)/python -m pip --disable-pip-version-check --quiet install --editable '.[bench]'
	touch $@

$(STAMP): $(PACKAGE)
	$(BIN)/python -m pip --disable-pip-version-check --quiet install --editable '.[test]'
	touch $@

# A candidate is tried before it is used: a name on the path may not run, or be too old.
$(PACKAGE): pyproject.toml
	@for python in $(CANDIDATES); do \
	  if "$$python" -c '$(USABLE)' >/dev/null 2>&1; then \
	    echo "installing irtkit into $(VENV) with $$python"; \
	    "$$python" -m venv --clear $(VENV) && \
	    $(BIN)/python -m pip --disable-pip-version-check -qq install --editable . && \
	    touch $@; \
	    exit; \
	  fi; \
	done; \
	echo "irtkit needs Python 3.11 or newer with its venv module (python3-venv on Debian);" >&2; \
	echo "none of these is one: $(CANDIDATES)" >&2; \
	exit 1
