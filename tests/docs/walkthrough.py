"""CONTRIBUTING.md followed to the letter: its toy budget added to a copy of the repository.

`python -m tests.docs.walkthrough` (`make walkthrough`) copies, applies the steps, builds, runs
the last block and the tests that combine the new part with all others, and says how long it took.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.repository import ROOT, copy

STEP = re.compile(
    r"^<!-- (?P<what>(?:(?!-->)[^\n])*?) -->\n```\w+\n(?P<code>.*?)^```$", re.M | re.S
)
PLACE = re.compile(r"in (?P<path>\S+) (?P<side>after|before): (?P<line>.*)")


def steps() -> list[tuple[str, str]]:
    """What to do with each block of the section, and the block."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(r"^## A toy budget.*?(?=^## )", text, re.M | re.S)[0]
    return [(found["what"], found["code"]) for found in STEP.finditer(section)]


def apply(root: Path) -> Iterator[str]:
    """Carry the steps out below `root`; yields the files it touched."""
    for what, code in steps():
        if what.startswith("file: "):
            path = root / what.removeprefix("file: ")
            assert not path.exists(), f"{path.name} is there already"
            path.write_text(code, encoding="utf-8")
            yield what.removeprefix("file: ")
        elif place := PLACE.fullmatch(what):
            path = root / place["path"]
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            found = [i for i, line in enumerate(lines) if line.strip() == place["line"]]
            assert len(found) == 1, f"{place['path']} has {len(found)} lines {place['line']!r}"
            at = found[0] + 1 if place["side"] == "after" else found[0]
            if place["side"] == "before":  # a class: before its decorator, two lines between
                at, code = at - 1, f"{code}\n\n"
            path.write_text("".join([*lines[:at], code, *lines[at:]]), encoding="utf-8")
            yield place["path"]


def main() -> None:
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        for name in apply(root):
            print(f"changed {name}")
        shutil.copy2(ROOT / "tests" / "support" / "own_package.py", root / "sitecustomize.py")
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        build = ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"]
        build += ["-DBUDGETRON_STRICT=ON", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(build, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", "build", "_core"], cwd=root, check=True)
        for module in (root / "build").glob("_core*"):
            if module.suffix in (".so", ".pyd"):
                shutil.copy2(module, root / "src" / "budgetron")
        print(f"built after {time.monotonic() - start:.0f} s")
        where = "import budgetron; print(budgetron.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", where], env=environment, capture_output=True, text=True
        ).stdout
        assert found.startswith(str(root)), f"{found} is not the copy"
        (code,) = (code for what, code in steps() if what == "after the build")
        subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, check=True)
        test = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/learners/test_free.py",
            "-k",
            "remove-newest",
        ]
        subprocess.run(test, cwd=root, env=environment, check=True)
    print(f"a new budget in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
