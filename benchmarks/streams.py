"""How fast LIBSVM text is read, against scikit-learn's `load_svmlight_file`, in one run.

Both read the same plain files, made here from a seed: one of short integers, like binary features,
one of decimals. Ours streams chunks, theirs loads the file. The best of several rounds, taken in
turns. Also measures how much memory it takes to read a file and to read ten times as much.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from budgetron.streams import LibsvmStream

ROUNDS = 3
EXPECTED = 5.0
MEGABYTES = 8


def main() -> None:
    """Print MB/s, ratios and memory; exit code 1 if a ratio is below its bar."""
    low = False
    with tempfile.TemporaryDirectory() as folder:
        for name, line in (("binary features", _binary), ("decimals", _decimals)):
            path = Path(folder) / "rows.libsvm"
            _write(path, line, MEGABYTES)
            ours, theirs = _race(path)
            size = path.stat().st_size / 1e6
            ratio = theirs / ours
            low |= ratio < EXPECTED
            print(
                f"{name:16} budgetron {size / ours:6.0f} MB/s   scikit-learn {size / theirs:6.0f} "
                f"MB/s   ratio {ratio:5.1f} (expected at least {EXPECTED:.0f})"
            )
        small, large = Path(folder) / "small", Path(folder) / "large"
        _write(small, _decimals, MEGABYTES)
        large.write_bytes(small.read_bytes() * 10)
        peaks = [_peak(path) for path in (small, large)]
        print(
            f"peak memory      {MEGABYTES} MB: {peaks[0]:.0f} MB   {10 * MEGABYTES} MB: "
            f"{peaks[1]:.0f} MB (the process, Python and SciPy included)"
        )
    sys.exit(1 if low else 0)


def _race(path: Path) -> tuple[float, float]:
    """Seconds of both, the best of several rounds in turns."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for i, read in enumerate((_read_ours, _read_theirs)):
            start = time.perf_counter()
            read(path)
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0], best[1]


def _read_ours(path: Path) -> None:
    for _ in LibsvmStream(path, dtype="float64"):
        pass


def _read_theirs(path: Path) -> None:
    load_svmlight_file(path, zero_based=False)


def _write(path: Path, line: Callable[[np.random.Generator], str], megabytes: int) -> None:
    random = np.random.default_rng(0)
    block = "".join(line(random) for _ in range(2000)).encode()
    path.write_bytes(block * (megabytes * 1_000_000 // len(block)))


def _binary(random: np.random.Generator) -> str:
    columns = np.sort(random.choice(123, 14, replace=False)) + 1
    return "-1 " + " ".join(f"{j}:1" for j in columns) + "\n"


def _decimals(random: np.random.Generator) -> str:
    return "1 " + " ".join(f"{j}:{x:.6g}" for j, x in enumerate(random.normal(size=20), 1)) + "\n"


def _peak(path: Path) -> float:
    """The peak megabytes of a process that reads the file."""
    script = "import sys; sys.path[:] = %r; import streams; streams._report_peak(%r)"
    script %= ([str(Path(__file__).parent), *sys.path], str(path))
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return float(printed.stdout)


def _report_peak(path: str) -> None:
    _read_ours(Path(path))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


if __name__ == "__main__":
    main()
