"""Digests of every learner's decisions and saved states: they show whether a change moved a bit.

    python -m tests.golden.digests --check [FILE]    compare with FILE (default: digests.json)
    python -m tests.golden.digests --record [FILE]   rewrite FILE; with --only TEXT, part of it

A digest has two halves: a hash of every decision on a short stream, and a hash of every array of
the final saved state. There is one digest per learner, kernel, number of classes, layout and dtype
of tests/support/cases.py, one per learner with its defaults, and some per option that all learners
share, on each instruction set of this machine. A change that only moves code must not alter any. A
change that should alter results records them again and says so.

The bits also depend on the compiler, the C library and SciPy's LAPACK. FILE names those it was
recorded with. If others are installed there is nothing to compare, and the command says so: then
record into a file of your own before a change, and check against that file after it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from budgetron import _core
from budgetron.catalogue import ALL, CATALOGUE
from tests.support.cases import (
    BY_NAME,
    CASES,
    REGRESSION,
    VARIANTS,
    Case,
    as_format,
    numeric_stream,
    stream,
)
from tests.support.native import state_of
from tests.support.repository import ROOT

RECORDED = Path(__file__).with_name("digests.json")
INSTRUCTION_SETS = ("avx512", "avx2", "baseline")
LAYOUTS = ("dense", "csr")
ROWS = 420
# OpenBLAS chooses its routines by the processor. We fix one choice, so that another processor gives
# the same bits.
FIXED = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}

# Options that all learners share, tested with some of the learners.
OPTIONS: dict[str, dict[str, Any]] = {
    "scale=auto": {"scale": "auto", "gamma": "median"},
    "scale=standard": {"scale": "standard", "gamma": "median"},
    "average=mean": {"average": "mean"},
    "average=suffix": {"average": "suffix"},
    "class_weight=balanced": {"class_weight": "balanced"},
    "budget=64KB": {"budget": "64KB"},
    "hashed": {},
}
UNITS = np.geomspace(1e-2, 1e3, 4)  # of the features, if they are scaled
SOME = ("rbp", "forgetron", "bogd++", "bpas", "bsgd-merge", "ahpatron", "nogd", "budgetron")

Prepare = Callable[[], tuple[Any, Any, Any]]  # a model, rows and labels


def digest(model: Any, decisions: Any) -> str:
    """The hash of the decisions and the hash of the saved state."""
    return f"{_hash({'decisions': decisions})}-{_hash(state_of(model))}"


def _hash(arrays: dict[str, Any]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:6]


def digests(only: str = "") -> Iterator[tuple[str, str]]:
    """Names that contain `only`, and their digests on the instruction set of this process."""
    for name, prepare in chain(_of_cases(), _of_defaults(), _of_options()):
        if only in name:
            model, rows, y = prepare()
            yield name, digest(model, model.prequential(rows, y))


def _of_cases() -> Iterator[tuple[str, Prepare]]:
    names: dict[str, int] = {}
    for case in [*CASES, *VARIANTS, *REGRESSION]:
        tasks = (0,) if case.task == "regression" else (2, 3)
        title = f"{case} {case.task}" if case.task == "regression" else str(case)
        names[title] = names.get(title, 0) + 1  # variants of one learner without a label
        title += f" {names[title]}" if names[title] > 1 else ""
        for kernel in case.kernels:
            for layout in LAYOUTS:
                for dtype in ("float32", "float64"):
                    for classes in tasks:
                        name = f"{title}/{kernel}/{layout}/{dtype}/{classes}"
                        yield name, partial(_case, case, kernel, layout, dtype, classes)


def _of_defaults() -> Iterator[tuple[str, Prepare]]:
    for name, entry in ALL.items():
        for task in entry.tasks:
            for layout in LAYOUTS:
                yield f"{name}/defaults/{task}/{layout}", partial(_default, entry, task, layout)


def _of_options() -> Iterator[tuple[str, Prepare]]:
    for name in SOME:
        for option in OPTIONS:
            for layout in ("csr",) if option == "hashed" else LAYOUTS:
                yield f"{name}/{option}/{layout}", partial(_option, name, option, layout)


def _case(case: Case, kernel: str, layout: str, dtype: str, classes: int) -> Any:
    X, y = _stream(classes, layout)
    return case.make(kernel), as_format(X.astype(dtype), layout), y


def _default(entry: Any, task: str, layout: str) -> Any:
    X, y = _stream(0 if task == "regression" else 3, layout)
    # Rows are not prepared, except for Budgetron and detectors, which always prepare them.
    prepared = entry is CATALOGUE["budgetron"] or task == "novelty"
    raw = {} if prepared else {"gamma": "auto", "scale": None}
    model = entry.estimator(task)(**entry.fixed, **raw, random_state=0)
    return model, as_format(X, layout), y


def _option(name: str, option: str, layout: str) -> Any:
    X, y = _stream(3, layout)
    X = (X * UNITS if "scale" in option else X).astype(np.float32)
    rows = _hashed(X) if option == "hashed" else as_format(X, layout)
    model = BY_NAME[name].make(**OPTIONS[option])
    if model.in_bytes:  # needs all classes from the start
        model.partial_fit(rows[:1], y[:1], classes=[0, 1, 2])
    return model, rows, y


def _stream(classes: int, layout: str) -> tuple[Any, Any]:
    """Rows and labels; numeric targets if `classes` is 0."""
    if not classes:
        return numeric_stream(ROWS, sparse=layout == "csr")
    return stream(ROWS, classes=classes, sparse=layout == "csr")


def _hashed(X: Any) -> Any:
    """The rows with their values spread over 2^20 columns, of which 200 are in use."""
    columns = np.random.default_rng(5).integers(2**20, size=(50, X.shape[1]))
    columns.sort(axis=1)
    places = columns[np.arange(len(X)) % 50].ravel()
    indptr = np.arange(0, X.size + 1, X.shape[1])
    return scipy.sparse.csr_array((X.ravel(), places, indptr), shape=(len(X), 2**20))


def made_with() -> str:
    """Everything that the bits depend on, beside our own code."""
    files = (ROOT / "build").glob("*/CMakeFiles/*/CMakeCXXCompiler.cmake")
    texts = {path.read_text() for path in files}
    found = {
        " ".join(re.findall(r'set\(CMAKE_CXX_COMPILER_(?:ID|VERSION) "(.*)"\)', text))
        for text in texts
    }
    compiler = " or ".join(sorted(found)) or "an unknown compiler"
    libc = " ".join(platform.libc_ver())
    return f"{compiler}, {libc}, SciPy {scipy.__version__}, {platform.machine()}"


def measure(only: str) -> dict[str, dict[str, str]]:
    """The digests by instruction set, each in its own process."""
    found = {}
    for wanted in INSTRUCTION_SETS:
        done = subprocess.run(
            [sys.executable, "-m", "tests.golden.digests", "--print", "--only", only],
            env={**os.environ, **FIXED, "BUDGETRON_ISA": wanted},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        used, values = json.loads(done.stdout)
        if used == wanted:  # otherwise this machine does not have it
            found[wanted] = values
    return found


def differences(found: dict[str, str], recorded: dict[str, str]) -> list[str]:
    """What differs from the record, one line per digest.

    >>> differences({"a": "1-2", "b": "5-4", "c": "0-0"}, {"a": "1-3", "b": "5-4", "d": "1-1"})
    ['a: state', 'c: not recorded', 'd: recorded, but not found']
    """
    lines = []
    for name in sorted(found.keys() | recorded.keys()):
        if name not in recorded:
            lines.append(f"{name}: not recorded")
        elif name not in found:
            lines.append(f"{name}: recorded, but not found")
        elif found[name] != recorded[name]:
            halves = zip(
                ("decisions", "state"),
                found[name].split("-"),
                recorded[name].split("-"),
                strict=True,
            )
            lines.append(
                f"{name}: {' and '.join(what for what, now, then in halves if now != then)}"
            )
    return lines


def write(path: Path, recorded: dict[str, Any]) -> None:
    """One line per digest; a set whose digests all equal those of another one has its name."""
    compact = dict(recorded)
    for name in INSTRUCTION_SETS[1:]:
        twins = (each for each in INSTRUCTION_SETS if compact.get(each) == compact.get(name))
        twin = next(twins)
        if name in compact and twin != name:
            compact[name] = twin
    path.write_text(json.dumps(compact, indent=0) + "\n")


def read(path: Path) -> dict[str, Any]:
    """What `write` wrote."""
    recorded = json.loads(path.read_text())
    return {
        name: dict(recorded[value]) if name != "made with" and isinstance(value, str) else value
        for name, value in recorded.items()
    }


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Digests of decisions and saved states.")
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--check", action="store_true", help="compare with those in FILE")
    job.add_argument("--record", action="store_true", help="write them into FILE")
    job.add_argument("--print", action="store_true", help="print those of this process as JSON")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose names contain TEXT")
    parser.add_argument("file", nargs="?", type=Path, default=RECORDED, metavar="FILE")
    asked = parser.parse_args(words)
    if asked.print:
        print(json.dumps([_core.instruction_set(), dict(digests(asked.only))]))
        return 0
    here = made_with()
    recorded = read(asked.file) if asked.file.exists() else {}
    if recorded.get("made with") != here:
        if asked.check:
            known = recorded.get("made with", "nothing")
            print(f"digests: skipped: {asked.file.name} is recorded with {known}; here is {here}")
            return 0
        recorded = {}
    found = measure(asked.only)
    counts = ", ".join(f"{name} {len(values)}" for name, values in found.items())
    if asked.record:
        # Digests that were not measured stay: other names, instruction sets this machine does not
        # have.
        for name, values in found.items():
            then = recorded.get(name, {}).items()
            found[name] = {key: each for key, each in then if asked.only not in key} | values
        write(asked.file, {**recorded, "made with": here, **found})
        print(f"digests: recorded ({counts})")
        return 0
    failed = []
    for name, values in found.items():
        then = {key: each for key, each in recorded.get(name, {}).items() if asked.only in key}
        failed += [f"{name}: {line}" for line in differences(values, then)]
    for line in failed:
        print(f"digests: {line}", file=sys.stderr)
    print(f"digests: {len(failed)} differ ({counts})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
