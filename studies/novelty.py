"""BudgetronAnomaly beside River's and scikit-learn's detectors: AUC and time, in order.

    python -m studies.novelty [--rows 20000] [--only shuttle ring] [--river] [--out docs/images]

Every row is scored before it is learned, and all rows are learned, strange ones too. River's
detectors learn row by row. scikit-learn's do not learn online: one is fitted to the first rows and
stays ("first rows"), one is fitted again to each window for the next one ("windows"). The first
window does not count. Streams:

    kddcup99       the 10 % file of UCI KDD Cup 1999 in order, all attacks: 22 % of the first rows
    few attacks    the same with 0.25 % of the attacks, every n-th row of all
    http           its HTTP connections with a login, three columns in logs, every n-th row
    shuttle        the file that comes with River
    digits         scikit-learn's, one class with a tenth of others; mean of the ten classes
    mnist          MNIST's 0 with a twentieth of others, 2,000 rows
    ring, blobs, moons, drifting blobs    2-d (drifting: 5-d), with 5 % uniform rows

Prints AUC (area under the ROC curve of the scores) and microseconds of processor time per row,
without the time to turn a row into a dict for River. All detectors run `--repeats` times, in turn,
and the least time counts: others may use the machine. `--river` runs ours and River's only.
`--out` draws the figure of docs/guide/novelty.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from budgetron import BudgetronAnomaly, datasets

Stream = tuple[Any, Any]
STRANGE = 0.05
CONNECTIONS = {"kddcup99", "kddcup99, few attacks", "http"}
TENTH, HTTP = 494_021, 22  # rows of the 10 % file, code of a service


# ---- streams -------------------------------------------------------------------------------------


def with_noise(X: Any, low: float, high: float, rng: np.random.Generator) -> Stream:
    """The rows, a twentieth of them replaced by uniform ones."""
    strange = rng.random(len(X)) < STRANGE
    return np.where(strange[:, None], rng.uniform(low, high, X.shape), X), strange


def ring(rows: int) -> Stream:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, rows)
    X = np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.06, (rows, 2))
    return with_noise(X, -1.5, 1.5, rng)


def blobs(rows: int) -> Stream:
    rng = np.random.default_rng(0)
    centres = rng.uniform(-5, 5, (5, 2))
    X = centres[rng.integers(5, size=rows)] + rng.normal(0, 0.4, (rows, 2))
    return with_noise(X, -7, 7, rng)


def moons(rows: int) -> Stream:
    X, _ = make_moons(rows, noise=0.06, random_state=0)
    return with_noise(X, -2, 3, np.random.default_rng(0))


def drifting(rows: int) -> Stream:
    rng = np.random.default_rng(0)
    centres, ways = rng.uniform(-4, 4, (3, 5)), rng.normal(size=(3, 5))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    which = rng.integers(3, size=rows)
    moved = ways[which] * np.linspace(0, 8, rows)[:, None]
    return with_noise(centres[which] + moved + rng.normal(0, 0.5, (rows, 5)), -8, 8, rng)


def one_class(X: Any, y: Any, normal: int, share: float) -> Stream:
    """The rows of one class and some of the others, in a random order."""
    rng = np.random.default_rng(normal)
    own = np.flatnonzero(y == normal)
    others = rng.choice(np.flatnonzero(y != normal), int(share * len(own)), replace=False)
    order = rng.permutation(np.r_[own, others])
    return X[order], y[order] != normal


def shuttle() -> Stream:
    import river.datasets

    path = Path(river.datasets.__file__).parent / "shuttle.csv.gz"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1] == 1


def connections() -> Iterator[tuple[str, Stream]]:
    X, y = datasets.load("kddcup99-tenth", dtype="float64")
    X = X if isinstance(X, np.ndarray) else X.toarray()
    X, y = X[:TENTH], np.asarray(y)[:TENTH]  # the rest is the test file
    strange = y != y[0]  # the first connection is normal
    yield "kddcup99", (X, strange)
    rare = np.random.default_rng(0).random(len(y)) < 0.0025
    kept = ~strange | rare
    yield "kddcup99, few attacks", (X[kept], strange[kept])
    http = (X[:, 11] == 1) & (X[:, 2] == HTTP)
    yield "http", (np.log(X[http][:, [0, 4, 5]] + 0.1), strange[http])


def streams(rows: int, only: set[str]) -> Iterator[tuple[str, list[Stream]]]:
    """The streams of `only`, or all if it is empty."""
    if (not only or only & CONNECTIONS) and datasets.here("kddcup99-tenth"):
        for name, (X, strange) in connections():
            step = max(1, len(X) // rows) if name != "kddcup99" else 1
            yield name, [(X[::step][:rows], strange[::step][:rows])]
    X, strange = shuttle()
    yield "shuttle", [(X[:rows], strange[:rows])]
    X, y = load_digits(return_X_y=True)
    yield "digits", [one_class(X, y, normal, 0.1) for normal in range(10)]
    if (not only or "mnist" in only) and datasets.here("mnist"):
        X, y = datasets.load("mnist", dtype="float64")
        X = X if isinstance(X, np.ndarray) else X.toarray()
        y = np.asarray(y).astype(int)
        X, strange = one_class(X, y, 0, 0.05)
        yield "mnist", [(X[:2000], strange[:2000])]
    yield "ring", [ring(rows)]
    yield "blobs", [blobs(rows)]
    yield "moons", [moons(rows)]
    yield "drifting blobs", [drifting(rows)]


# ---- detectors: the scores of all rows, the higher the stranger, and seconds ---------------------


def ours(X: Any, _: int) -> tuple[Any, float]:
    start = time.process_time()
    return -BudgetronAnomaly().prequential(X), time.process_time() - start


def of_river(make: Callable[[], Any]) -> Callable[[Any, int], tuple[Any, float]]:
    def run(X: Any, _: int) -> tuple[Any, float]:
        model, scores = make(), np.zeros(len(X))
        rows = [dict(enumerate(row)) for row in X.tolist()]
        start = time.process_time()
        for i, row in enumerate(rows):
            scores[i] = model.score_one(row)
            model.learn_one(row)
        return scores, time.process_time() - start

    return run


def first_rows(make: Callable[[], Any]) -> Callable[[Any, int], tuple[Any, float]]:
    def run(X: Any, window: int) -> tuple[Any, float]:
        start = time.process_time()
        model = make_pipeline(StandardScaler(), make()).fit(X[:window])
        return -model.score_samples(X), time.process_time() - start

    return run


def windows(make: Callable[[], Any]) -> Callable[[Any, int], tuple[Any, float]]:
    def run(X: Any, window: int) -> tuple[Any, float]:
        start, scores = time.process_time(), np.zeros(len(X))
        for i in range(window, len(X), window):
            model = make_pipeline(StandardScaler(), make()).fit(X[i - window : i])
            scores[i : i + window] = -model.score_samples(X[i : i + window])
        return scores, time.process_time() - start

    return run


def detectors() -> dict[str, Callable[[Any, int], tuple[Any, float]]]:
    from river import anomaly, preprocessing

    found: dict[str, Callable[[Any, int], tuple[Any, float]]] = {
        "BudgetronAnomaly": ours,
        "River HalfSpaceTrees": of_river(
            lambda: preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=42)
        ),
        "River OneClassSVM": of_river(
            lambda: preprocessing.StandardScaler() | anomaly.OneClassSVM(nu=0.1)
        ),
    }
    kinds: dict[str, Callable[[], Any]] = {
        "IsolationForest": lambda: IsolationForest(random_state=0),
        "LocalOutlierFactor": lambda: LocalOutlierFactor(novelty=True),
        "OneClassSVM": lambda: OneClassSVM(nu=0.1),
    }
    for name, make in kinds.items():
        found[f"{name}, first rows"] = first_rows(make)
        found[f"{name}, windows"] = windows(make)
    return found


def measure(
    run: Callable[[Any, int], tuple[Any, float]], parts: list[Stream]
) -> tuple[float, float]:
    """Mean AUC, and microseconds per row."""
    areas, seconds, rows = [], 0.0, 0
    for X, strange in parts:
        window = 500 if len(X) > 2000 else 50
        scores, taken = run(X, window)
        areas.append(roc_auc_score(strange[window:], scores[window:]))
        seconds, rows = seconds + taken, rows + len(X)
    return float(np.mean(areas)), 1e6 * seconds / rows


def draw(path: Path) -> None:
    """The score around a ring and around moons, and alarms while blobs drift."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axis, (X, strange), title in (
        (axes[0], ring(8000), "a ring"),
        (axes[1], moons(8000), "two moons"),
    ):
        model = BudgetronAnomaly(alarm_rate=0.05).partial_fit(X)
        low, high = X.min(axis=0), X.max(axis=0)
        grid = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
        points = np.c_[grid[0].ravel(), grid[1].ravel()]
        shown = axis.contourf(
            *grid, -model.score_samples(points).reshape(150, 150), 20, cmap="Blues"
        )
        decisions = model.decision_function(points).reshape(150, 150)
        axis.contour(*grid, decisions, [0.0], colors="C3", linewidths=1.2)
        axis.plot(*X[~strange][:1500].T, ".", markersize=1.5, color="0.25")
        axis.set(title=f"{title}: score, and the threshold (red)", xticks=[], yticks=[])
        figure.colorbar(shown, ax=axis)
    X, strange = drifting(40_000)
    alarms = BudgetronAnomaly(alarm_rate=0.05).prequential_decisions(X) < 0
    at = np.arange(2000, len(X) + 1, 2000)
    for chosen, name, color in ((strange, "strange rows", "C3"), (~strange, "others", "C0")):
        parts = [alarms[i - 2000 : i][chosen[i - 2000 : i]].mean() for i in at]
        axes[2].plot(at, 100 * np.array(parts), color=color, label=name)
    axes[2].axhline(5, color="0.4", ls="--", lw=1, label="asked for, of all")
    axes[2].set(title="drifting blobs: rows with an alarm, %", xlabel="rows", ylim=(0, 102))
    axes[2].legend(loc="center right")
    path.mkdir(parents=True, exist_ok=True)
    figure.savefig(path / "novelty.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", default=[], help="names of streams")
    parser.add_argument("--ours", action="store_true", help="only our detector")
    parser.add_argument("--river", action="store_true", help="only our detector and River's")
    parser.add_argument("--repeats", type=int, default=1, help="runs, of which the fastest counts")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.out is not None:
        draw(options.out)
        return
    warnings.simplefilter("ignore")
    found = detectors()
    if options.ours:
        found = {"BudgetronAnomaly": found["BudgetronAnomaly"]}
    if options.river:
        found = dict(list(found.items())[:3])
    print("| stream | rows | strange, % | " + " | ".join(found) + " |")
    print("|---" * (3 + len(found)) + "|")
    only = set(options.only)
    for name, parts in streams(options.rows, only):
        if only and name not in only:
            continue
        runs = [[measure(run, parts) for run in found.values()] for _ in range(options.repeats)]
        cells = [
            (each[0][0], min(micros for _, micros in each)) for each in zip(*runs, strict=True)
        ]
        rows = sum(len(X) for X, _ in parts)
        share = 100 * sum(strange.sum() for _, strange in parts) / rows
        shown = " | ".join(f"{area:.3f}, {micros:.3g} µs" for area, micros in cells)
        print(f"| {name} | {rows:,} | {share:.2f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
