"""A regression guard that does not depend on the clock: instructions counted by callgrind.

    python benchmarks/guard.py [--record]

Builds the target `guard` (guard.cpp: a few learners over a few hundred rows) with the objects of
the installed package, counts the instructions of each learner's rounds under valgrind, and compares
them with guard.json: more than 5 % above is an error, exit code 1. The numbers belong to one
compiler; with another compiler, or without valgrind, the program says that there is nothing to
compare. Valgrind can run the AVX2 code, so this path is guarded; the AVX-512 path is not.

`--record` stores the numbers, after a change that should cost (or save) instructions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = Path(__file__).with_name("guard.json")
LIBRARY = "libbudgetron_core.a"
TOLERANCE = 0.05


class Skip(Exception):
    """The reason why nothing can be compared here."""


def build_folder() -> Path:
    """The folder of the package's objects: a build that is not for tests or benchmarks."""
    found = []
    for cache in (ROOT / "build").glob("*/CMakeCache.txt"):
        text = cache.read_text()
        plain = "BUDGETRON_TESTS:BOOL=ON" not in text and "BENCHMARKS:BOOL=ON" not in text
        release = "CMAKE_BUILD_TYPE:STRING=Release" in text
        if plain and release and (cache.parent / LIBRARY).exists():
            found.append(cache.parent)
    if not found:
        raise Skip("no build of the package under build/: run `make build`")
    return max(found, key=lambda folder: (folder / LIBRARY).stat().st_mtime)


def compiler(folder: Path) -> str:
    """The kind and version of the compiler, as CMake found them."""
    (found,) = (folder / "CMakeFiles").glob("*/CMakeCXXCompiler.cmake")
    text = found.read_text()
    kind, version = (
        re.search(rf'set\(CMAKE_CXX_COMPILER_{word} "(.*)"\)', text)[1]  # type: ignore[index]
        for word in ("ID", "VERSION")
    )
    return f"{kind} {version}"


def count() -> tuple[str, dict[str, int]]:
    """The compiler, and the instructions per learner."""
    if shutil.which("valgrind") is None:
        raise Skip("valgrind is not installed (Debian: apt install valgrind)")
    if shutil.which("cmake") is None:
        raise Skip("cmake is not on the path: run it by `make guard`")
    folder = build_folder()
    command = ["cmake", "--build", str(folder), "--target", "guard"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"guard: the workload does not build:\n{built.stdout}{built.stderr}")
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}/counts"),
                *("--toggle-collect=rounds", "--dump-after=rounds", str(folder / "guard")),
            ],
            env={**os.environ, "BUDGETRON_ISA": "avx2"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"guard: the workload failed under valgrind:\n{done.stderr}")
        names = [line.split()[0] for line in done.stdout.splitlines()]
        counts = {
            name: _total(Path(out, f"counts.{part}")) for part, name in enumerate(names, start=1)
        }
    return compiler(folder), counts


def _total(dump: Path) -> int:
    lines = dump.read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("summary:")))


def worse(counts: dict[str, int], recorded: dict[str, int]) -> list[str]:
    """The learners whose instructions grew by more than the tolerance, one line per learner.

    >>> worse({"rbp": 1051, "bogd": 900}, {"rbp": 1000, "bogd": 1000})
    ['rbp: 1,051 instructions, recorded 1,000 (+5.1 %)']
    """
    return [
        f"{name}: {counts[name]:,} instructions, recorded {before:,} "
        f"({100 * (counts[name] / before - 1):+.1f} %)"
        for name, before in recorded.items()
        if counts[name] > (1 + TOLERANCE) * before
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Instruction counts against those recorded.")
    parser.add_argument("--record", action="store_true", help="write them down")
    record = parser.parse_args().record
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    try:
        name, counts = count()
        if not record and name not in recorded:
            known = ", ".join(recorded) or "none"
            raise Skip(f"nothing is recorded for {name} (only for: {known})")
    except Skip as reason:
        print(f"guard: skipped: {reason}")
        return 0
    if record:
        RECORDED.write_text(json.dumps({**recorded, name: counts}, indent=2) + "\n")
        print(f"guard: recorded for {name}")
        return 0
    for learner, now in counts.items():
        before = recorded[name].get(learner)
        change = f"{100 * (now / before - 1):+.1f} %" if before else "new"
        print(f"{learner:<12}{now:>12,} instructions  {change}")
    failed = worse(counts, recorded[name])
    for line in failed:
        print(f"guard: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
