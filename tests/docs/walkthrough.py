"""Follows CONTRIBUTING.md exactly: its toy budget and its toy learner in a copy.

`python -m tests.docs.walkthrough` (`make walkthrough`) copies the repository, applies the steps of
both sections, builds, runs the blocks for after the build and the tests that the new parts inherit,
and prints how many files were touched and how long it took.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.repository import ROOT, copy

STEP = re.compile(
    r"^<!-- (?P<what>(?:(?!-->)[^\n])*?) -->\n```\w+\n(?P<code>.*?)^```$", re.M | re.S
)
PLACE = re.compile(r"in (?P<path>\S+) (?P<side>after|before): (?P<line>.*)")
RUN = re.compile(r"after the build, writes (?P<path>\S+)")
BUDGET, LEARNER = "A toy budget", "A toy learner"
# Tests that the new part and the new learner must pass without any code of their own.
INHERITED = {
    "remove-newest": ("learners/test_custom",),
    "newest": (
        "learners/test_trace",
        "contracts/test_budget",
        "contracts/test_agnosticism",
        "estimators/test_sklearn",
        "estimators/test_river",
        "house/test_package",
        "learners/test_defaults",
    ),
}
# Tests of the package: catalogue, pages and cases have the same names, public names, docstrings.
PACKAGE = "newest or catalogue or public or docstrings"


def section(title: str) -> str:
    """The section of CONTRIBUTING.md whose heading begins like this."""
    found: list[str] = []
    inside = fenced = False
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines(keepends=True):
        fenced ^= line.startswith("```")  # a heading inside a block does not count
        if line.startswith("## ") and not fenced:
            inside = line.startswith(f"## {title}")
        found += [line] if inside else []
    assert found, f"CONTRIBUTING.md has no section {title!r}"
    return "".join(found)


def steps(title: str) -> list[tuple[str, str]]:
    """What to do with each block of the section, and the block."""
    return [(found["what"], found["code"]) for found in STEP.finditer(section(title))]


def stated(title: str) -> int:
    """How many files the section says that it touches."""
    (number,) = re.findall(r"\*\*(\d+) files\*\*", section(title))
    return int(number)


def new_files(title: str) -> list[str]:
    """The files that the steps of the section add."""
    return [what.removeprefix("file: ") for what, _ in steps(title) if what.startswith("file: ")]


def files(title: str) -> list[str]:
    """The files that the steps of the section touch."""
    found = [PLACE.fullmatch(what) or RUN.fullmatch(what) for what, _ in steps(title)]
    return sorted({*new_files(title), *(place["path"] for place in found if place)})


def matches(line: str, wanted: str) -> bool:
    """Whether it is the line of a step; "..." matches any rest."""
    if wanted.endswith(" ..."):
        return line.startswith(wanted.removesuffix("..."))
    return line == wanted


def apply(root: Path, title: str) -> None:
    """Apply the steps of a section below `root`, except those that need the build."""
    for what, code in steps(title):
        if what.startswith("file: "):
            path = root / what.removeprefix("file: ")
            assert not path.exists(), f"{path.name} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
        elif place := PLACE.fullmatch(what):
            path = root / place["path"]
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            found = [i for i, line in enumerate(lines) if matches(line.strip(), place["line"])]
            assert len(found) == 1, f"{place['path']} has {len(found)} lines {place['line']!r}"
            at = found[0] + 1 if place["side"] == "after" else found[0]
            if place["line"].startswith("class "):  # before its decorator, two lines between
                at, code = at - 1, f"{code}\n\n"
            path.write_text("".join([*lines[:at], code, *lines[at:]]), encoding="utf-8")


def contents(root: Path) -> dict[str, bytes]:
    """The files below `root` by name, without build results."""
    return {
        name: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and not (name := path.relative_to(root).as_posix()).startswith(("build/", "."))
        and "__pycache__" not in name
        and not name.endswith((".so", ".pyd"))
        and name != "sitecustomize.py"
    }


def main() -> None:
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        before = contents(root)
        for title in (BUDGET, LEARNER):
            apply(root, title)
        shutil.copy2(ROOT / "tests" / "support" / "own_package.py", root / "sitecustomize.py")
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}

        def run(*words: str) -> None:
            subprocess.run([sys.executable, *words], cwd=root, env=environment, check=True)

        build = ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"]
        build += ["-DBUDGETRON_STRICT=ON", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(build, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", "build", "_core"], cwd=root, check=True)
        for module in (root / "build").glob("_core*"):
            if module.suffix in (".so", ".pyd"):
                shutil.copy2(module, root / "src" / "budgetron")
        print(f"built after {time.monotonic() - start:.0f} s")
        run("-c", f"import budgetron; assert budgetron.__file__.startswith({str(root)!r})")
        for what, code in [*steps(BUDGET), *steps(LEARNER)]:
            if what == "after the build":
                run("-c", code)
            elif RUN.fullmatch(what):
                dollar, python, *words = shlex.split(code)
                assert (dollar, python) == ("$", "python")
                run(*words)
        for word, names in INHERITED.items():
            for name in names:
                chosen = PACKAGE if name.endswith("package") else word
                run("-m", "pytest", "-q", f"tests/{name}.py", "-k", chosen)
        now = contents(root)
        touched = sorted(name for name in now if now[name] != before.get(name))
        assert touched == sorted({*files(BUDGET), *files(LEARNER)}), touched
    for title in (BUDGET, LEARNER):
        print(f"{title}: {stated(title)} files: {', '.join(files(title))}")
        assert len(files(title)) == stated(title)
    print(f"a new budget and a new learner in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
