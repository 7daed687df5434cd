"""`pip install` of this repository that shows its progress.

pip compiles the core without any output, or with all output of CMake and Ninja. This script passes
its arguments to `pip install --verbose`, keeps the output, and shows one line per step: packages
that are fetched, then how many files of how many are compiled, and the time left at the same pace.
On a terminal the line is overwritten; in a file there is one line per tenth of the files. If pip
fails, its last lines of output follow.

    python tools/install.py --no-build-isolation -e ".[dev]"
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable

STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] (?:Building|Linking)")  # Ninja's count
FETCHED = re.compile(r"^\s*(?:Collecting|Downloading) (\S+)")
COMPILERS = ("c++", "g++", "clang++", "clang-cl", "cl")
KEPT = 60  # lines of pip's output that are shown if it fails


class Line:
    """The progress line."""

    def __init__(self) -> None:
        self._rewrites = sys.stdout.isatty()
        self._wide = 0
        self._part: tuple[str, int] | None = None

    def show(self, text: str, part: tuple[str, int] | None = None) -> None:
        """Write the line; in a file only if it is the first of its part."""
        if self._rewrites:
            print(f"\r{text:{self._wide}}", end="", flush=True)
            self._wide = len(text)
        elif part is None or part != self._part:
            print(text, flush=True)
            self._part = part

    def end(self) -> None:
        """Start a new line for the next output."""
        if self._rewrites and self._wide:
            print(flush=True)
            self._wide = 0


def follow(lines: Iterable[str]) -> list[str]:
    """Show the steps in these lines of pip; return the last lines."""
    kept: deque[str] = deque(maxlen=KEPT)
    line = Line()
    fetched: set[str] = set()
    began: float | None = None
    for text in lines:
        kept.append(text)
        if (step := STEP.match(text)) is not None:
            done, total = int(step[1]), int(step[2])
            if began is None:
                began = time.monotonic()
                line.end()
                line.show(f"compiling the C++ core: {total} steps on {os.cpu_count()} cores")
                line.end()
            spent = time.monotonic() - began
            left = spent / done * (total - done)
            said = f"  {done} of {total}"
            if spent > 5 and done < total:
                said += f", about {minutes(left)} left"
            line.show(said, ("compiled", 10 * done // total))
        elif began is None and (name := FETCHED.match(text)) is not None and name[1] not in fetched:
            fetched.add(name[1])
            line.show(f"fetching packages: {len(fetched)}", ("fetched", len(fetched) // 25))
        elif text.startswith("Installing collected packages"):
            line.end()
            count = text.count(",") + 1
            line.show(f"installing {count} {'package' if count == 1 else 'packages'}")
    line.end()
    return list(kept)


def minutes(seconds: float) -> str:
    """A time in readable form: 40 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def compiler() -> str | None:
    """The C++ compiler that CMake will find; None if there is none."""
    named = os.environ.get("CXX", "").split()
    return next(filter(None, map(shutil.which, named[:1] or COMPILERS)), None)


def main(arguments: list[str]) -> int:
    """Run pip and return its exit code."""
    if compiler() is None:
        named = os.environ.get("CXX")
        print(
            f"no C++ compiler {named!r}, which CXX names"
            if named
            else "no C++ compiler (c++, g++ or clang++): install one, for example by "
            "`apt install g++` or `xcode-select --install`, or name it in CXX",
            file=sys.stderr,
        )
        return 2
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--no-input"]
    command += ["--disable-pip-version-check", "--no-compile", *arguments]
    began = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        kept = follow(pip.stdout)
    if pip.returncode:
        print("".join(kept), end="", file=sys.stderr)
        print(f"pip failed; its last {len(kept)} lines are above", file=sys.stderr)
    else:
        print(f"built in {minutes(time.monotonic() - began)}")
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
