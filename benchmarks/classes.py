"""The cost of more classes: a round with K classes against one with two.

    python benchmarks/classes.py [--classes 10] [--budget 400] [--features 68] [--repeats 7]

Both models store the same number of examples and get the same float32 rows in the same chunks, in
turns; each chunk counts with its best time. First come rounds without mistakes (labels are the
model's predictions: learners that update only on mistakes do nothing, those with a margin update on
most), then all rounds (labels of noisy clusters; more classes err on more of them). One thread.
"""

from __future__ import annotations

import argparse
import pickle
from typing import Any

import numpy as np
from learners import CHUNK, seconds
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from budgetron import _core
from budgetron._batch import Batch
from budgetron.catalogue import as_printed

LEARNERS = ["rbp", "forgetron", "bpas", "bogd", "ahpatron", "avm"]


def clusters(rows: int, features: int, classes: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Rows around 60 centres, each of one class; a tenth of the labels are random."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, features))
    which = rng.integers(60, size=rows)
    X = centres[which] + 0.7 * rng.normal(size=(rows, features))
    y = which % classes
    noisy = rng.random(rows) < 0.1
    y[noisy] = rng.integers(classes, size=noisy.sum())
    return (X / np.sqrt(features)).astype(np.float32), y.astype(np.float64)


def microseconds(
    models: list[Any], X: NDArray[Any], targets: list[NDArray[np.float64]], repeats: int
) -> NDArray[np.float64]:
    """The time of a round of each model: the best over the repeats, chunk by chunk."""
    starts = range(0, len(X), CHUNK)
    best = np.full((len(models), len(starts)), np.inf)
    for _ in range(repeats):
        engines = [pickle.loads(pickle.dumps(model._engine)) for model in models]
        for c, at in enumerate(starts):
            for m, engine in enumerate(engines):
                rows, y = X[at : at + CHUNK], targets[m][at : at + CHUNK]
                best[m, c] = min(best[m, c], seconds(engine.native.learn, Batch(rows, y)))
    return 1e6 * best.sum(axis=1) / len(X)


def main() -> None:
    parser = argparse.ArgumentParser(description="A round with K classes against one with two.")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--features", type=int, default=68)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    table = Table(
        title=f"{options.classes} classes against 2 (B = {options.budget}, "
        f"d = {options.features}, dense float32, {_core.instruction_set()})"
    )
    for heading in ("learner", "stored", "2, right us", "ratio, right", "2, all us", "ratio, all"):
        table.add_column(heading, justify="left" if heading == "learner" else "right")
    for name in LEARNERS:
        models, labels = [], []
        for classes in (2, options.classes):
            X, y = clusters(9000, options.features, classes)
            extra = {"delta": 0.3} if name == "avm" else {}
            model = as_printed(
                name, budget=options.budget, gamma=1.0, random_state=0, **extra
            ).partial_fit(X[:6000], y[:6000], classes=np.arange(float(classes)))
            models.append(model)
            labels.append(y[6000:])
        rows = X[6000:]
        with threadpool_limits(limits=1):
            idle = microseconds(
                models, rows[:1000], [m.predict(rows[:1000]) for m in models], options.repeats
            )
            every = microseconds(models, rows, labels, options.repeats)
        table.add_row(
            name,
            " / ".join(str(model.n_support_) for model in models),
            f"{idle[0]:.2f}",
            f"{idle[1] / idle[0]:.2f}",
            f"{every[0]:.2f}",
            f"{every[1] / every[0]:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
