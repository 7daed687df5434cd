"""`budgetron run` on a LIBSVM file: the share of its time that is not learning.

    python benchmarks/disk.py

The file is a9a as plain text, 24 times over. Timed in turns, the best of several: the command (its
own `seconds`: from the first row to the last), learning the same chunks from memory, and reading
the file without learning. Reading overlaps learning, on two cores, so the command should take
little more than the slower of the two. On a busy machine nothing overlaps and everything waits, so
the processor time of all threads and of the whole command is printed too: the share without any
overlap. rbp, bogd and bpas at B = 300, float32.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import A9A, at_most, console, finish, load, table
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron.catalogue import as_printed
from budgetron.cli import main as command
from budgetron.streams import LibsvmStream

LEARNERS = ("rbp", "bogd", "bpas")
BUDGET, COPIES, PASSES, SHARE = 300, 24, 12, 40.0


def run(path: Path, name: str) -> float:
    """The seconds that the command reports."""
    words = ["run", str(path), "-a", name, "--budget", str(BUDGET), "--gamma", str(A9A.gamma)]
    words += ["--scale", "none"]
    words += ["--n-features", str(A9A.features), "--seed", "0", "--json"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        command(words)
    return float(json.loads(said.getvalue())["seconds"])


def learn(chunks: list[Any], name: str) -> float:
    model = as_printed(name, budget=BUDGET, gamma=A9A.gamma, random_state=0)
    start = time.perf_counter()
    for X, y in chunks:
        model.prequential(X, y)
    return time.perf_counter() - start


def read(path: Path) -> float:
    start = time.perf_counter()
    for _ in LibsvmStream(path, n_features=A9A.features):
        pass
    return time.perf_counter() - start


def fastest(calls: dict[str, Callable[[], float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds that each call reports, and processor time; the best of several, in turns."""
    stated, spent = dict.fromkeys(calls, float("inf")), dict.fromkeys(calls, float("inf"))
    for _ in range(PASSES):
        for name, call in calls.items():
            start = time.process_time()
            stated[name] = min(stated[name], 1e3 * call())
            spent[name] = min(spent[name], 1e3 * (time.process_time() - start))
    return stated, spent


def main() -> None:
    bars, listed = [], []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder) / "rows.libsvm"
        X, y, source = load(A9A, 40_000)
        dump_svmlight_file(X, y, str(path), zero_based=False)
        path.write_bytes(COPIES * path.read_bytes())
        chunks = list(LibsvmStream(path, n_features=A9A.features))
        for name in LEARNERS:
            stated, spent = fastest(
                {
                    "run": lambda name=name: run(path, name),
                    "learn": lambda name=name: learn(chunks, name),
                    "read": lambda: read(path),
                }
            )
            share, work = (100 * (1 - each["learn"] / each["run"]) for each in (stated, spent))
            both = [value for each in (stated, spent) for value in each.values()]
            listed.append((name, *both, share, work))
            what = f"budgetron run -a {name}, {source} as text: outside the learner, of the"
            bars.append(at_most(f"{what} time", SHARE, share, "%"))
            bars.append(at_most(f"{what} work", SHARE, work, "%"))
        size = path.stat().st_size / 1e6
    columns = ["learner", "run ms", "learning", "reading"]
    columns += ["processor: run ms", "learning", "reading", "outside, % of time", "% of work"]
    title = f"{source}, {COPIES * X.shape[0]:,} rows, {size:.1f} MB of text, B = {BUDGET}"
    console().print(table(title, columns, listed))
    finish("disk", bars, runs=listed)


if __name__ == "__main__":
    main()
