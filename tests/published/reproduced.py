"""The result of `budgetron reproduce all --quick`, cell by cell: no change may alter a digit.

    python -m tests.published.reproduced --check [FILE]   compare with FILE (or reproduced.json)
    python -m tests.published.reproduced --record [FILE]  rewrite FILE

A cell is one line of a table or figure (papers/*/*.toml), with its setting, on the first
permutation. FILE holds its value and the number of examples stored at the end, both exact, and a
hash of the value at every checkpoint of the stream. Seconds are left out, and so are lines with a
time limit. A change that should alter results records them again and says which cells changed and
why.

The values depend on everything that the bits of tests/golden/digests.py depend on, also on the
instruction set (AVX2 and AVX-512 give the same), and on the data. If one of these differs, or a
data set is missing, there is nothing to compare, and the command says so. It takes about six
minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from budgetron import _core
from tests.golden import digests

RECORDED = Path(__file__).with_name("reproduced.json")


def made_with() -> str:
    """What the values depend on beside our own code and the data."""
    wide = _core.instruction_set() != "baseline"
    return f"{digests.made_with()}, {'AVX2' if wide else 'baseline'}"


def cells(only: str = "") -> dict[str, list[Any]]:
    """Of every cell that can be run here: value, stored, hash of its curve."""
    from budgetron.lab.reproduce import data, names, read
    from budgetron.lab.reproduce.runner import Lab, Measured, measure
    from budgetron.lab.store import Store
    from budgetron.lab.workers import Workers

    found: dict[str, list[Any]] = {}
    with Workers(os.cpu_count() or 1) as pool:
        for name in names():
            table = read(name).quick()
            for data_set in table.sets:
                label = f"{name} | {data_set.name}"
                # A clock ends those with a limit: they are not the same in every run.
                rows = tuple(row for row in data_set.published if row.limit is None)
                if only not in label or data.missing(data_set) or not rows:
                    continue
                lines = measure(table, replace(data_set, published=rows), 1, Lab(pool, Store()))
                for row, line in zip(rows, lines, strict=True):
                    if not isinstance(line, Measured):
                        continue
                    (outcome,) = line.outcomes
                    setting = json.dumps({**row.params, **line.chosen}, sort_keys=True)
                    curve = [value for _, value, _ in outcome.curve]
                    found[f"{label} | {row.algorithm} | {setting}"] = [
                        outcome.value,
                        outcome.stored,
                        hashlib.sha256(repr(curve).encode()).hexdigest()[:12],
                    ]
                print(f"reproduced: {label}: {len(lines)} lines", file=sys.stderr, flush=True)
    return found


def write(path: Path, recorded: dict[str, Any]) -> None:
    """One cell per line, so that a diff shows which moved."""
    rows = [f"{json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def absent() -> set[str]:
    """The sets, as table | set, whose data are not here."""
    from budgetron.lab.reproduce import data, names, read

    tables = [read(name) for name in names()]
    return {f"{each.name} | {s.name}" for each in tables for s in each.sets if data.missing(s)}


def differences(found: dict[str, list[Any]], recorded: dict[str, list[Any]]) -> list[str]:
    """One line per cell that is not as recorded, or is not run any more."""
    lines = [f"{key}: recorded, and no longer run" for key in recorded if key not in found]
    for key, now in found.items():
        then = recorded.get(key)
        if then is None:
            lines.append(f"{key}: not recorded; now {now}")
        elif then != now:
            lines.append(f"{key}: recorded {then}, now {now}")
    return lines


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The cells of `budgetron reproduce all --quick`.")
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--check", action="store_true", help="compare with those in FILE")
    job.add_argument("--record", action="store_true", help="write them into FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="table | set contains TEXT")
    parser.add_argument("file", nargs="?", type=Path, default=RECORDED, metavar="FILE")
    asked = parser.parse_args(words)
    here = made_with()
    recorded = json.loads(asked.file.read_text(encoding="utf-8")) if asked.file.exists() else {}
    known = recorded.pop("made with", "nothing")
    if known != here:
        if asked.check:
            print(f"reproduced: skipped: {asked.file.name} is made with {known}; here is {here}")
            return 0
        if asked.only and recorded:
            parser.error(f"--only keeps the other cells, which are made with {known}")
        recorded = {}
    found = cells(asked.only)
    if not found:
        parser.error(f"no set that is here is called {asked.only!r}")
    if asked.record:
        write(asked.file, {**(recorded if asked.only else {}), "made with": here, **found})
        print(f"reproduced: {len(found)} cells recorded")
        return 0
    label = {key: " | ".join(key.split(" | ")[:2]) for key in recorded}
    without = absent()
    left_out = [key for key in recorded if label[key] in without]
    asked_for = {
        key: value
        for key, value in recorded.items()
        if asked.only in label[key] and key not in left_out
    }
    failed = differences(found, asked_for)
    for line in failed:
        print(f"reproduced: {line}", file=sys.stderr)
    missing = f"; {len(left_out)} not compared: their data are not here" if left_out else ""
    print(f"reproduced: {len(failed)} of {len(asked_for)} cells differ{missing}")
    return 1 if failed else 0


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in digests.FIXED.items()):
        os.environ.update(digests.FIXED)  # OpenBLAS has read them by now: begin again
        os.execv(
            sys.executable, [sys.executable, "-m", "tests.published.reproduced", *sys.argv[1:]]
        )
    sys.exit(main())
