# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
VENV    := .venv
BIN     := $(VENV)/bin
PYTHON  ?= python3
# --no-compile: Python compiles what is imported when it is, a small part of what is installed; and
# keeps it, whatever the environment says, for there are many processes.
unexport PYTHONDONTWRITEBYTECODE
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
SETUP   := $(VENV)/.setup
BUILT   := $(VENV)/.built
SOURCES := CMakeLists.txt pyproject.toml $(wildcard core/*/*.?pp core/*/*/*.?pp bindings/*.?pp)
CPP     := $(wildcard core/*/*.?pp core/*/*/*.?pp bindings/*.?pp benchmarks/*.?pp)
PYTHONS := src tests papers studies benchmarks docs examples
JOBS    := $(shell nproc 2>/dev/null || echo 2)
# Data sets beside the repository, unless another folder is named.
ifneq ($(wildcard ../shared/data),)
export BUDGETRON_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test pytest long check build cpp-build cpp-tests core_tests bytes_tests asan asan-build tsan parallel-tests \
        fuzz bench guard digests reproduced kills browser mutants soak papers proof docs wheel walkthrough clean help

help:
	@echo "make demo    set up, then compare the learners on data that needs no download"
	@echo "make test    set up, then run all tests"
	@echo "make check   lint, types, format, C++ warnings as errors"
	@echo "make asan    the Python tests of the core under asan; no compiled model may be left"
	@echo "make tsan    the C++ tests of threads under ThreadSanitizer"
	@echo "make parallel-tests  tests of the estimators, each in several threads at once"
	@echo "make fuzz    the LIBSVM parser, then the tests' generators, under sanitizers, a minute each"
	@echo "make bench   speed as ratios: against the machine's limits, peers and NumPy"
	@echo "make pytest  the Python tests alone"
	@echo "make long    the tests that make test leaves out: more learners, kernels and layouts"
	@echo "make guard   instruction counts of a small workload against those recorded (valgrind)"
	@echo "make digests  every learner's decisions and saved states against those recorded, to the bit"
	@echo "make reproduced  the papers' tables, one permutation of each, against those recorded"
	@echo "make mutants  errors put into a copy, one at a time: the tests named for each must fail"
	@echo "make kills   a run and a server killed twenty times end as if they had not been"
	@echo "make browser  the page of the server in headless Chromium, with pictures of it"
	@echo "make soak    ten million rounds: always finite, always within budget"
	@echo "make papers  run the papers' tables again, ours beside theirs (needs their data sets)"
	@echo "make proof   Budgetron beside every learner, tuned (hours; needs the data sets; resumes)"
	@echo "make docs    build the documentation site, check its links"
	@echo "make wheel   build a wheel and try it in a fresh environment"
	@echo "make walkthrough  add the toy budget and learner of CONTRIBUTING.md to a copy, build and test them"
	@echo "make clean   remove everything that was built"

# ---- set-up ---------------------------------------------------------------------------------------
$(SETUP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.26" ninja
	@touch $@

$(BUILT): $(SETUP) $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation -e ".[dev]"
	@touch $@

build: $(BUILT)

# ---- the two commands -----------------------------------------------------------------------------
demo: $(BUILT)
	$(BIN)/budgetron demo --out demo-output

# The C++ tests are built while pip installs, and run two programs at a time, the guard among them; it
# skips itself where it knows no counts.
test: $(SETUP)
	$(MAKE) -j2 build cpp-build
	$(MAKE) -j2 cpp-tests guard
	$(MAKE) pytest

# BLAS gets one thread. One worker more than there are cores: some tests wait for processes.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(shell expr $(JOBS) + 1) --dist loadgroup --durations 20
pytest: $(BUILT)
	$(PYTEST) -m "not long"

# The same for all learners, kernels and layouts where `make test` takes a few.
long: $(BUILT)
	$(PYTEST) -m long

# The C++ tests of the core, under asan, ubsan and LeakSanitizer, invariants on.
cpp-tests: core_tests bytes_tests

core_tests bytes_tests: cpp-build
	ASAN_OPTIONS=detect_leaks=1 build/sanitize/$@

cpp-build: $(SETUP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS)

# The Python tests that reach the core, with the module under asan. Leak detection is off (the
# interpreter never frees all it has): models are counted instead (tests/support/under_asan.py).
SANITIZED := $(CURDIR)/build/asan/package
ASAN_TESTS := tests/contracts tests/storage tests/model_file/test_model_file.py tests/model_file/test_model_file_fuzz.py \
  tests/golden/test_golden.py tests/streams/test_libsvm.py \
  $(addprefix tests/estimators/test_,$(addsuffix .py,batch classes explain plain river weights)) \
  $(addprefix tests/learners/test_,$(addsuffix .py,averaging avm budgetron feature_maps free losses numerics \
  preparation probabilities regression updates))
UNDER_ASAN = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 BUDGETRON_SANITIZED="$(SANITIZED)" PYTHONPATH="$(SANITIZED):."
asan: asan-build
	$(UNDER_ASAN) BUDGETRON_SOAK_ROUNDS=9000 BUDGETRON_EXAMPLES=10 BUDGETRON_FUZZ_EXAMPLES=50 \
	$(BIN)/python -m pytest -p tests.support.under_asan -p no:cacheprovider $(ASAN_TESTS)

asan-build: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset asan -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset asan -j $(JOBS)
	mkdir -p $(SANITIZED)
	cp -r src/budgetron $(SANITIZED)/
	rm -f $(SANITIZED)/budgetron/_core*.so
	cp build/asan/_core*.so $(SANITIZED)/budgetron/

tsan: $(SETUP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset tsan
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset tsan -j $(JOBS) --target threads_tests
	build/tsan/threads_tests

# Every test in four threads at once; pytest-run-parallel leaves out those whose fixtures cannot be.
PARALLEL_TESTS := tests/contracts/test_bad_input.py tests/contracts/test_events.py tests/contracts/test_limits.py \
  tests/golden/test_golden.py tests/model_file/test_model_file.py \
  $(addprefix tests/estimators/test_,$(addsuffix .py,batch classes explain weights)) \
  $(addprefix tests/learners/test_,$(addsuffix .py,averaging avm budgetron feature_maps free losses updates))
parallel-tests: $(BUILT)
	$(BIN)/python -m pytest --parallel-threads 4 $(PARALLEL_TESTS)

# The parser's fuzzer, then the generators of the tests, each for a bounded time; another seed, other
# bytes, models and streams. (libFuzzer has its own options.)
FUZZ_SECONDS := 60
FUZZ_SEED    := 0
FUZZER       := build/sanitize/libsvm_fuzz
fuzz: asan-build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS) --target libsvm_fuzz
	if nm $(FUZZER) | grep -q LLVMFuzzerRunDriver; then $(FUZZER) -max_total_time=$(FUZZ_SECONDS); \
	else $(FUZZER) $(FUZZ_SECONDS) $(FUZZ_SEED); fi
	$(UNDER_ASAN) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.contracts.fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

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
	$(BIN)/python -m pip install --quiet --no-build-isolation -e ".[bench]"
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/roofline.py
	$(BIN)/python benchmarks/learners.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/units.py
	PYTHONPATH=. $(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/disk.py
	$(BIN)/python benchmarks/cores.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/classes.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/sources.py
	$(BIN)/python benchmarks/covariance.py
	$(BIN)/python benchmarks/parts_of_budgetron.py
	$(BIN)/python benchmarks/river_round.py
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/measuring.py
	$(BIN)/python benchmarks/serve.py

# Instruction counts of a small workload against those recorded for this compiler (needs valgrind).
guard: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/guard.py

# Decisions and saved states to the bit, on every instruction set here; skips itself where it knows
# no digests of this compiler and these libraries.
digests: $(BUILT)
	$(BIN)/python -m tests.golden.digests --check

# Every cell of `budgetron reproduce all --quick` against those recorded, to the last digit.
reproduced: $(BUILT)
	$(BIN)/python -m tests.published.reproduced --check

# Errors of tests/house/mutants.toml, each noticed by the tests named for it; builds in build/mutants.
mutants: $(BUILT)
	$(BIN)/python -m tests.house.mutants $(MUTANTS)

# The tests of killed runs with more kills than `make test` has.
kills: $(BUILT)
	BUDGETRON_KILLS=20 $(BIN)/python -m pytest tests/cli/test_checkpoint.py tests/serve/test_kills.py tests/sources -k "killed or kills_under_load"

# The page of `budgetron serve` in headless Chromium, which is installed where that can be done; pictures
# of it in build/pages.
browser: $(BUILT)
	command -v chromium >/dev/null || apt-get install -y -q chromium || echo "install chromium to run these tests"
	$(PIP) playwright || true
	BUDGETRON_BROWSER=1 $(BIN)/python -m pytest tests/serve/test_browser.py -v

soak: $(BUILT)
	BUDGETRON_SOAK_ROUNDS=10000000 $(BIN)/python -m pytest tests/contracts/test_soak.py -v
	BUDGETRON_EXAMPLES=1000 $(BIN)/python -m pytest tests/contracts/test_agnosticism.py tests/contracts/test_budget.py tests/estimators/test_classes.py tests/learners/test_regression.py -k "chunk or budget" -n $(JOBS)
	BUDGETRON_EXAMPLES=1000 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/contracts/test_configurations.py tests/contracts/test_adversarial.py -n $(JOBS)
	BUDGETRON_KILLS=20 $(BIN)/python -m pytest tests/serve/test_kills.py -k kills_under_load

papers: $(BUILT)
	$(BIN)/budgetron reproduce all

# Budgetron beside every other learner; hours, and it goes on where it stopped.
proof: $(BUILT)
	$(BIN)/python -m studies.proof --out proof

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
	cd build && wheel-env/bin/python -P $(CURDIR)/tests/house/smoke.py
	$(BIN)/python -c "import glob, os; [wheel] = glob.glob('dist/*.whl'); size = os.path.getsize(wheel); \
	print(f'{wheel}: {size / 1e6:.2f} MB'); assert size < 5e6, 'a wheel is to stay below 5 MB'"
	cd build && wheel-env/bin/python -P $(CURDIR)/benchmarks/imports.py

walkthrough: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.docs.walkthrough

clean:
	rm -rf build dist $(VENV) demo-output docs/_build docs/pages .pytest_cache .mypy_cache .ruff_cache .hypothesis
