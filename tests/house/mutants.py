"""Mutants: small errors put into a copy of the repository, one at a time; a test must detect each.

    python -m tests.house.mutants             all mutants of tests/house/mutants.toml
    python -m tests.house.mutants WORD...     those whose name or file contains one of the words
    python -m tests.house.mutants --minutes 15    starts none later; each day starts at another
    place

First, the named tests pass. Then every mutant is applied, built if it is C++, and its tests are
run: `killed` if they fail, `SURVIVED` if they pass. The mutants of the core share one copy, in
which every build continues the one before; those of the package have another copy and run at the
same time. Exit code 1 if one survives or no longer applies.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.repository import ROOT, copy

LIST = Path(__file__).with_suffix(".toml")
BUILD = ROOT / "build" / "mutants"
SECONDS = 180  # limit of a mutant's tests: a mutant may loop for ever
FAILED = 1  # pytest and core_tests: tests failed, as opposed to other errors


@dataclass(frozen=True)
class Mutant:
    """One error.

    Attributes
    ----------
    name : what breaks
    file : the file with the error
    before, after : the text that occurs there once, and its replacement
    killed_by : node ids of pytest, or core/tests/FILE.cpp::TEST
    select : pytest's -k, if parameters of a test may change
    crashes : the mutant may crash the process of the tests
    """

    name: str
    file: str
    before: str
    after: str
    killed_by: tuple[str, ...]
    select: str = ""
    crashes: bool = False

    @property
    def compiled(self) -> bool:
        return not self.file.endswith(".py")

    @property
    def tests(self) -> Tests:
        return Tests(self.killed_by, self.select)

    def why_not(self, root: Path) -> str:
        """Why it cannot be applied below `root`; empty if it can."""
        path = root / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        count = path.read_text(encoding="utf-8").count(self.before)
        if count != 1:
            return f"its text stands {count} times in {self.file}"
        return "" if self.after != self.before else "it changes nothing"


@dataclass(frozen=True)
class Tests:
    """Some tests, all for pytest or all for core_tests."""

    ids: tuple[str, ...]
    select: str = ""

    @property
    def compiled(self) -> bool:
        return self.ids[0].startswith("core/")

    @property
    def target(self) -> str:
        """The target to build before they run."""
        return "core_tests" if self.compiled else "_core"


def mutants() -> list[Mutant]:
    """All mutants of the list, in its order."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**each, "killed_by": tuple(each["killed_by"])}) for each in listed]


class Copy:
    """A copy of the repository, with a package of its own."""

    def __init__(self, name: str) -> None:
        self.root = BUILD / name
        self.root.mkdir(parents=True, exist_ok=True)
        copy(self.root)
        shutil.copy2(ROOT / "tests" / "support" / "own_package.py", self.root / "sitecustomize.py")

    @property
    def package(self) -> Path:
        return self.root / "src" / "budgetron"

    @property
    def built(self) -> Path:
        return self.root / "build" / "mutants"

    def configure(self) -> None:
        python = f"-DPython_EXECUTABLE={sys.executable}"
        done = self._run(["cmake", "--preset", "mutants", python], None)
        if done.returncode:
            sys.exit(f"mutants: cmake failed\n{done.stdout}")

    def build(self, target: str) -> str:
        """Build, and put the module into the package; the compiler's output if it failed."""
        words = ["cmake", "--build", "--preset", "mutants", "--target", target]
        done = self._run([*words, "-j", str(os.cpu_count() or 2)], None)
        if done.returncode:
            return done.stdout
        if target == "_core":
            self.take_module(self.built)
        return ""

    def take_module(self, folder: Path) -> None:
        for module in self.package.glob("_core*.so"):
            module.unlink()  # not overwritten: a process may still have it mapped
        for module in folder.glob("_core*.so"):
            shutil.copy2(module, self.package)

    def test(
        self, tests: Tests, seconds: float | None = SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run the tests. C++ tests run by their names, one after the other, until one fails."""
        if tests.compiled:
            for each in tests.ids:
                done = self._run([str(self.built / "core_tests"), each.split("::")[1]], seconds)
                if done.returncode:
                    break
            return done
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        words += ["-k", tests.select] if tests.select else []
        return self._run([*words, *tests.ids], seconds)

    def _run(self, words: Sequence[str], seconds: float | None) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self.root / 'src'}:{self.root}",
            "PYTHONDONTWRITEBYTECODE": "1",  # a file may change twice in a second
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        return subprocess.run(
            words,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )

    def check_package(self) -> None:
        """Check that the tests use the package of this copy, also in processes that they start."""
        where = "from budgetron import _core; print(_core.__file__)"
        found = self._run([sys.executable, "-c", where], None).stdout
        if not found.startswith(str(self.package)):
            sys.exit(f"mutants: {found.strip()} is not the copy's module")

    def verdict(self, mutant: Mutant) -> str:
        """The result of a mutant: `killed`, or what is wrong. Restores the copy afterwards."""
        why = mutant.why_not(self.root)
        if why:
            return f"does not apply: {why}"
        path = self.root / mutant.file
        text = path.read_text(encoding="utf-8")
        # Written again, not restored: a build compares the times of files.
        path.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
        try:
            if mutant.compiled and (said := self.build(mutant.tests.target)):
                return f"does not compile:\n{said[-2000:]}"
            code = self.test(mutant.tests).returncode
        except subprocess.TimeoutExpired:
            return f"its tests take longer than {SECONDS} s"
        finally:
            path.write_text(text, encoding="utf-8")
        if code == FAILED or (code < 0 and mutant.crashes):
            return "killed"
        if code < 0:
            return f"the tests died by signal {-code}"
        return "SURVIVED" if code == 0 else f"pytest found no tests to run (exit code {code})"


def check_tests(core: Copy, chosen: Sequence[Mutant]) -> None:
    """Check that without a mutant all tests pass, each run once."""
    compiled: dict[str, None] = {}
    plain: dict[str, None] = {}
    selected: dict[tuple[str, ...], dict[str, None]] = {}
    for tests in (mutant.tests for mutant in chosen):
        if tests.select:
            selected.setdefault(tests.ids, {})[f"({tests.select})"] = None
        else:
            (compiled if tests.compiled else plain).update(dict.fromkeys(tests.ids))
    together = [Tests(ids, " or ".join(selects)) for ids, selects in selected.items()]
    for tests in [Tests(tuple(compiled)), Tests(tuple(plain)), *together]:
        done = core.test(tests, None) if tests.ids else None
        if done is not None and done.returncode:
            sys.exit(f"mutants: tests fail without a mutant\n{done.stdout[-4000:]}")


def verdicts(place: Copy, chosen: Sequence[Mutant], end: float) -> Iterator[bool]:
    """Whether each was killed, printed in a line at once; after `end` none is started."""
    for mutant in chosen:
        start = time.monotonic()
        if start > end:
            return
        verdict = place.verdict(mutant)
        seconds = time.monotonic() - start
        where = f"{mutant.name} ({mutant.file})"
        print(f"{seconds:5.1f} s  {where}: {verdict}", flush=True)
        yield verdict == "killed"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Errors that tests must notice.")
    parser.add_argument("word", nargs="*", help="only mutants whose name or file contains one")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin none later")
    given = parser.parse_args(words)
    asked = given.word
    chosen = [
        mutant
        for mutant in mutants()
        if not asked or any(word in mutant.name or word in mutant.file for word in asked)
    ]
    if not chosen:
        parser.error(f"no mutant is called {' or '.join(asked)}")
    start = time.monotonic()
    end = start + 60 * given.minutes
    broken = [f"{each.name}: {why}" for each in chosen if (why := each.why_not(ROOT))]
    if broken:
        sys.exit("mutants: some do not apply\n" + "\n".join(broken))
    core, package = Copy("core"), Copy("package")
    core.configure()
    for target in sorted({"_core", *(mutant.tests.target for mutant in chosen)}):
        if said := core.build(target):
            sys.exit(f"mutants: the build failed\n{said[-4000:]}")
    package.take_module(core.built)
    core.check_package()
    package.check_package()
    print(f"{time.monotonic() - start:5.1f} s  built without a mutant", flush=True)
    before = time.monotonic()
    check_tests(core, chosen)
    print(f"{time.monotonic() - before:5.1f} s  the tests pass without a mutant", flush=True)
    compiled = sorted((mutant for mutant in chosen if mutant.compiled), key=_order)
    others = [mutant for mutant in chosen if not mutant.compiled]
    if math.isfinite(given.minutes):
        compiled, others = rotated(compiled), rotated(others)
    with ThreadPoolExecutor(2) as pool:
        places = [(core, compiled, end), (package, others, end)]
        found = pool.map(lambda each: list(verdicts(*each)), places)
        killed = [each for some in found for each in some]
    print(f"{time.monotonic() - start:5.1f} s  in all")
    untried = len(chosen) - len(killed)
    skipped = f", {untried} skipped" if untried else ""
    print(f"{sum(killed)} passed, {len(killed) - sum(killed)} failed{skipped}")
    return 0 if all(killed) else 1


def rotated(several: list[Mutant]) -> list[Mutant]:
    """The same in the same circle, started a third further each day: three days try all."""
    begin = datetime.date.today().toordinal() % 3 * len(several) // 3
    return several[begin:] + several[:begin]


def _order(mutant: Mutant) -> tuple[bool, str, str, str]:
    """Orders mutants so that those that recompile the same files follow each other.

    Those of C++ tests come first: all of these tests are recompiled after a mutant in a header.
    """
    path = Path(mutant.file)
    return not mutant.tests.compiled, str(path.parent), path.suffix, path.name


if __name__ == "__main__":
    sys.exit(main())
