# make demo       build, then every study's verdicts on record, a dozen runs of each made again; prints the path of the report
# make emulate-demo  fifteen flows of the kernel's TCP through a DiffServ network, for 20 s; prints the path of the page
# make build      .venv with the locked packages and .venv/bin/perhop
# make test       everything CI runs
# make quick      the tests of what differs from HEAD (scripts/test runs those of one file or one law)
# make test-long  the same, then laws on many other random cases and scenarios, a trace of 10^8 rows, every study in full and the full sweeps of the laws of TCP and queues
# make prose      the pages by the rules of docs/style.md that a machine can hold, where Vale is installed; misspelled words
# make docs       the site out/site: README, docs, the API and all they link to; a broken link fails
# make wheel      dist/perhop-*.whl, with every study in it, for Linux with this machine's glibc or a newer one
# make bench      speed and memory, as JSON
# make bench-waits  what a user waits for, each beside its goal
# make clean      remove what the others made

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := build
.PHONY: demo emulate-demo build installed quick test test-long prose docs wheel bench bench-waits clean rust-test python-test lint lint-rust lint-python

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := out/studies
# uv installs everything else by uv.lock, but is in no lock itself
UV_VERSION := 0.13.9

# the linter of prose, and its pages: not those that are generated or hold bad examples
VALE  := github.com/vale-cli/vale/v3/cmd/vale@v3.21.0
PROSE := $(filter-out docs/SUMMARY.md docs/clauses.md docs/verdicts-table.md docs/style.md, $(wildcard \
	README.md CONTRIBUTING.md docs/*.md docs/elements/*.md docs/gallery/*.md python/perhop/starters/*/*.md))

# A crate that adds elements from outside, in a workspace of its own; packages that both use are built once.
OWN_ELEMENTS := examples/own-elements/Cargo.toml
SHARED       := CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}"

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# the interpreter that the bindings are built against wherever cargo builds them without maturin
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# where it is set, as in many containers, each of the hundreds of programs that the tests start would compile its modules anew
export PYTHONDONTWRITEBYTECODE :=

# First in a recipe: what it takes, its children counted, is a line of the table that `build` and `test` end with.
# Each make has a folder of its own, which those that it starts share.
export TIMES ?= out/times/$(shell echo $$PPID)
took   = { mkdir -p $(TIMES); { echo $$SECONDS; times; } >$(TIMES)/$(@:%/.synced=packages); } || true
timed  = trap '$(took)' EXIT

build: installed
	@scripts/times $(TIMES)
	rm -r $(TIMES)

installed: $(VENV)/.synced
	@$(timed)
	echo "building the core and installing perhop into $(VENV)"
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --reinstall-package perhop -e .
	$(BIN)/python -m compileall -q python/perhop
	cargo build --release --locked --quiet -p perhop-live
	install -D "$${CARGO_TARGET_DIR:-target}/release/perhop-live" python/perhop/bin/perhop-live

# The packages are fetched while cargo compiles the part of the core that does not depend on the interpreter.
# cargo gets a process group of its own, which the trap ends with its compilers if anything else fails.
$(VENV)/.synced: pyproject.toml uv.lock
	@$(timed)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	set -m; cargo build --release --locked --quiet -p perhop-live & rust=$$!; set +m
	trap 'kill -- -$$rust 2>/dev/null || true; $(took)' EXIT
	$(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	$(BIN)/uv sync --frozen --inexact --no-install-project --compile-bytecode --quiet
	wait $$rust
	trap '$(took)' EXIT
	touch $@

demo: build
	$(BIN)/perhop reproduce -o $(DEMO)

emulate-demo: build
	$(BIN)/perhop emulate examples/emulate.toml -o out/emulate --force --report

quick: $(VENV)/.synced
	scripts/test --changed

test: installed lint prose rust-test python-test
	@scripts/times $(TIMES)
	rm -r $(TIMES)

# Both at once: the checks of Python run one after the other.
lint: installed
	$(MAKE) --no-print-directory --output-sync -j2 lint-rust lint-python

lint-rust:
	$(timed)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo fmt --manifest-path $(OWN_ELEMENTS) --check
	$(SHARED) cargo clippy --manifest-path $(OWN_ELEMENTS) --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null
	if cargo deny --version >/dev/null 2>&1; then
		cargo deny --locked check licenses bans sources
	else
		echo "skipped: licences and sources of dependencies (no cargo-deny; cargo install cargo-deny --locked)"
	fi

lint-python:
	$(timed)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy specs/check.py
	$(BIN)/stubtest perhop._core --mypy-config-file pyproject.toml --concise
	$(BIN)/python docs/generate.py --check
	$(BIN)/python specs/check.py --check --complete

rust-test:
	$(timed)
	cargo test --workspace --exclude perhop-py --locked --quiet
	$(SHARED) cargo test --manifest-path $(OWN_ELEMENTS) --locked --quiet

# The wheel is built, installed in an environment of its own and used by tests/test_wheel.py.
python-test: installed
	$(timed)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test-long: test
	export PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-$$RANDOM} PROPTEST_CASES=5000
	export SCENARIO_CASES=20000
	echo "laws with PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED PROPTEST_CASES=$$PROPTEST_CASES SCENARIO_CASES=$$SCENARIO_CASES"
	cargo test --workspace --exclude perhop-py --locked --quiet
	$(BIN)/pytest -m long
	$(BIN)/perhop reproduce --verify all --json >/dev/null
	$(BIN)/python docs/laws.py --check
	$(BIN)/python docs/laws_queue.py --check

prose: $(VENV)/.synced
	@$(BIN)/codespell $(PROSE) CHANGELOG.md docs/decisions papers/*/README.md python/perhop crates/*/src
	if command -v vale >/dev/null; then
		vale --config docs/prose/vale.ini --output line $(PROSE)
	else
		echo "skipped: style of the pages (no vale; go install $(VALE))"
	fi

docs: build prose
	$(BIN)/python docs/site/build.py

# maturin looks at the symbols and gives the lowest manylinux tag that holds, and `linux` where none does.
wheel: build
	$(BIN)/maturin build --release --locked -i $(BIN)/python -o dist

bench: build
	$(BIN)/perhop bench --json

bench-waits: build
	$(BIN)/python bench/waits.py

clean:
	rm -rf target dist $(VENV) out .pytest_cache .mypy_cache .ruff_cache
