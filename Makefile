# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
VENV    := .venv
BIN     := $(VENV)/bin
PYTHON  ?= python3
SETUP   := $(VENV)/.setup
BUILT   := $(VENV)/.built
SOURCES := CMakeLists.txt pyproject.toml $(wildcard core/*.?pp core/*/*.?pp bindings/*.?pp)
CPP     := $(wildcard core/*.?pp core/*/*.?pp bindings/*.?pp benchmarks/*.?pp)
PYTHONS := src tests papers benchmarks docs examples
JOBS    := $(shell nproc 2>/dev/null || echo 2)

.PHONY: demo test check build cpp-tests fuzz bench soak papers docs wheel walkthrough clean help

help:
	@echo "make demo    set up, then compare the learners on data that needs no download"
	@echo "make test    set up, then run all tests"
	@echo "make check   lint, types, format, C++ warnings as errors"
	@echo "make fuzz    bytes of all kinds at the LIBSVM parser, under sanitizers, for a minute"
	@echo "make bench   speed as ratios: kernel row and round against NumPy and a plain C++ loop"
	@echo "make soak    ten million rounds: always finite, always within budget"
	@echo "make papers  run the papers' tables again, ours beside theirs (needs their data sets)"
	@echo "make docs    build the documentation site, check its links"
	@echo "make wheel   build a wheel and try it in a fresh environment"
	@echo "make walkthrough  add the toy budget of CONTRIBUTING.md to a copy, build and test it"
	@echo "make clean   remove everything that was built"

# ---- set-up ---------------------------------------------------------------------------------------
$(SETUP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.26" ninja
	@touch $@

$(BUILT): $(SETUP) $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation -e ".[dev]"
	@touch $@

build: $(BUILT)

# ---- the two commands -----------------------------------------------------------------------------
demo: $(BUILT)
	$(BIN)/budgetron demo --out demo-output

test: $(BUILT) cpp-tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# The C++ tests of the core, under the address and undefined-behaviour sanitizers, invariants on.
cpp-tests: $(SETUP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS)
	build/sanitize/core_tests
	build/sanitize/bytes_tests

# The parser's fuzzer for a bounded time; another seed, other bytes. (libFuzzer has its own options.)
FUZZ_SECONDS := 60
FUZZ_SEED    := 0
FUZZER       := build/sanitize/libsvm_fuzz
fuzz: $(SETUP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS) --target libsvm_fuzz
	if nm $(FUZZER) | grep -q LLVMFuzzerRunDriver; then $(FUZZER) -max_total_time=$(FUZZ_SECONDS); \
	else $(FUZZER) $(FUZZ_SECONDS) $(FUZZ_SEED); fi

# ---- care -----------------------------------------------------------------------------------------
check: $(BUILT)
	$(BIN)/ruff check $(PYTHONS)
	$(BIN)/ruff format --check $(PYTHONS)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset strict -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset strict -j $(JOBS)

bench: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset bench
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset bench -j $(JOBS)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/learners.py
	$(BIN)/python benchmarks/classes.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/covariance.py
	$(BIN)/python benchmarks/river_round.py
	$(BIN)/python benchmarks/imports.py

soak: $(BUILT)
	BUDGETRON_SOAK_ROUNDS=10000000 $(BIN)/python -m pytest tests/test_soak.py -v
	BUDGETRON_EXAMPLES=1000 $(BIN)/python -m pytest tests/test_agnosticism.py tests/test_budget.py tests/test_classes.py tests/test_regression.py -k "chunk or budget" -n $(JOBS)

papers: $(BUILT)
	$(BIN)/budgetron reproduce all

docs: $(BUILT)
	$(BIN)/python -m pip install --quiet -e ".[docs]" --no-build-isolation
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# A wheel as users get it: built from the source distribution, installed into an environment that has
# nothing of ours, tried outside the repository; at most 5 MB.
WHEEL_ENV := build/wheel-env
wheel: $(SETUP)
	$(BIN)/python -m pip install --quiet build
	rm -rf dist $(WHEEL_ENV)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv $(WHEEL_ENV)
	$(WHEEL_ENV)/bin/python -m pip install --quiet dist/budgetron-*.whl
	cd build && wheel-env/bin/python -P $(CURDIR)/tests/smoke.py
	$(BIN)/python -c "import glob, os; [wheel] = glob.glob('dist/*.whl'); size = os.path.getsize(wheel); \
	print(f'{wheel}: {size / 1e6:.2f} MB'); assert size < 5e6, 'a wheel is to stay below 5 MB'"
	cd build && wheel-env/bin/python -P $(CURDIR)/benchmarks/imports.py

walkthrough: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/walkthrough.py

clean:
	rm -rf build dist $(VENV) demo-output docs/_build docs/pages .pytest_cache .mypy_cache .ruff_cache .hypothesis
