# The two commands are `make demo` and `make test`; both set up what they need in .venv.
# PYTHON=... chooses another interpreter (3.11 or newer, with pip 22.3 or newer).

PYTHON ?=
MINUTES ?= 55
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests of real processes wait for a third of their time: three workers keep two cores busy. Each begins with a part of
# the files, in their order, so that what the tests of a file share is made once, and takes from the others when it is through.
WORKERS := -n 3 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: setup demo test check pictures bench soak chaos clean help

setup: $(STAMP)  ## make .venv and install p2pcrawl with its development tools

# A name such as python3.12 may exist and still not run (pyenv's shims), so each candidate is tried.
$(STAMP): pyproject.toml constraints.txt
	@python= nopip=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11 python); do \
	    "$$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	    "$$candidate" -m pip --version >/dev/null 2>&1 || { nopip="$$candidate"; continue; }; \
	    python="$$candidate"; break; \
	done; \
	if [ -z "$$python" ] && [ -n "$$nopip" ]; then \
	    echo "p2pcrawl: $$nopip is new enough but has no pip: install pip for it (on Debian: apt install python3-pip)" >&2; exit 1; \
	elif [ -z "$$python" ]; then \
	    echo "p2pcrawl: needs Python 3.11 or newer$(if $(PYTHON),; $(PYTHON) is not that,; none was found: install one or name it with make PYTHON=/path/to/python3)" >&2; exit 1; \
	fi; \
	echo "setting up $(VENV) with $$("$$python" --version)"; \
	clear=; $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || clear=--clear; \
	"$$python" -m venv --without-pip $$clear $(VENV) && \
	"$$python" -m pip --disable-pip-version-check --python $(BIN)/python install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## see a cluster crawl a synthetic site, lose a master, gain one, and check the result
	@$(BIN)/python -m p2pcrawl demo

test: $(STAMP)  ## run all tests (not the soak tests)
	@$(BIN)/python -m pytest $(WORKERS)

# One core would wait while the other looks at types, so all that takes seconds runs at once. What found something tells it
# after the tests, in a second run.
check: $(STAMP)  ## format, lint, known weaknesses, types, the layer law, the fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@weaknesses="$(BIN)/bandit -q -c pyproject.toml -r p2pcrawl"; types=$(BIN)/mypy; \
	$$weaknesses >/dev/null 2>&1 & first=$$!; $$types >/dev/null 2>&1 & second=$$!; \
	$(BIN)/python -m pytest -q $(WORKERS) -m 'not slow and not soak'; status=$$?; \
	wait $$first || { $$weaknesses; status=1; }; \
	wait $$second || { $$types; status=1; }; \
	exit $$status

pictures: $(STAMP)  ## take the pictures of the dashboard in docs/ anew, in a real Chromium
	P2PCRAWL_PICTURES=docs P2PCRAWL_TEST_BROWSER=1 $(BIN)/python -m pytest -q tests/dashboard/test_real_peers.py

bench: $(STAMP)  ## measure speed and memory
	$(BIN)/python benchmarks/run.py

# Mutants that survive show where nobody looks yet: they are told, and end nothing.
soak: $(STAMP)  ## run the tests that take minutes, 500 simulated clusters, and three seeds for each mutant
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m simulations swarm --seeds 500 --from 1 --jobs 2
	$(BIN)/python -m simulations coverage --corpus
	-$(BIN)/python -m simulations mutants --hard --seeds 3 --jobs 2

# Disks that fill, fail and lose power, and cuts of the network, need root; what cannot be tried is said and left out.
chaos: $(STAMP)  ## strike real peers at random for MINUTES (55) and judge what comes of it
	@$(BIN)/python -m benchmarks.chaos --minutes $(MINUTES)

clean:  ## remove .venv and what the tools left behind
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## list the targets
	@grep -E '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):[^#]*## (.*)/  make \1|\2/' | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'
