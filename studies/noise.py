"""Checks that the warning of a model that does not learn is silent if there is nothing to learn.

    python -m studies.noise [--seeds 2] [--rows 200000]

Targets are independent of the rows: two and five classes, balanced and unbalanced, and numbers.
Every learner has scale "auto" and gamma "median"; those without a budget learn 5,000 rows. Prints
each warning; docs/develop/decisions/0044 has the results.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import budgetron
from budgetron.catalogue import CATALOGUE

Draw = Callable[[np.random.Generator, int], Any]
UNEVEN = [0.6, 0.2, 0.1, 0.05, 0.05]
CLASSES: dict[str, Draw] = {
    "two classes": lambda rng, n: rng.integers(2, size=n),
    "two, 90/10": lambda rng, n: (rng.random(n) < 0.1).astype(int),
    "two, 99/1": lambda rng, n: (rng.random(n) < 0.01).astype(int),
    "five": lambda rng, n: rng.integers(5, size=n),
    "five, uneven": lambda rng, n: rng.choice(5, p=UNEVEN, size=n),
}
NUMBERS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "Student, 3 degrees": lambda rng, n: rng.standard_t(3, size=n),
    "log-normal": lambda rng, n: np.exp(2 * rng.normal(size=n)),
}
STEP = 5000


def warning(name: str, task: str, X: Any, y: Any, seed: int) -> str | None:
    """The warning of the learner after the rows, or when it first gives one."""
    model = budgetron.make(name, task=task, scale="auto", gamma="median", random_state=seed)
    bounded = {"budget", "n_components"} & {*model.get_params()}
    for start in range(0, len(y) if bounded else STEP, STEP):
        model.partial_fit(X[start : start + STEP], y[start : start + STEP])
        if model.not_learning_ is not None:
            return f"by row {model.n_seen_:,}: {model.not_learning_}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Warnings on noise.")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", budgetron.NotLearningWarning)
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(options.rows, 5))
        for task, kinds in (("classification", CLASSES), ("regression", NUMBERS)):
            for kind, draw in kinds.items():
                y = draw(rng, options.rows)
                for name, entry in CATALOGUE.items():
                    said = warning(name, task, X, y, seed) if task in entry.tasks else None
                    if said is not None:
                        print(f"seed {seed}, {kind}, {name}: {said}", flush=True)


if __name__ == "__main__":
    main()
