"""Every learner's `fit` with default settings, on small sets whose rows are sorted by target.

    python -m studies.batch [--seeds 3]

Means over five folds and the seeds: accuracy of classifiers (stratified folds, as in
cross_val_score), R^2 of regressors (random folds; training rows stay sorted). The last two columns
are also means over the sets: for rows that are shuffled and learned once, and for rows that are
learned once in sorted order. docs/results/batch.md has the tables.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_friedman1,
    make_moons,
)
from sklearn.model_selection import KFold, cross_val_score

import budgetron
from budgetron.catalogue import CATALOGUE

Rows = tuple[NDArray[Any], NDArray[Any]]
DEFAULTS: dict[str, Any] = {"gamma": "median", "scale": "auto", "shuffle": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "as sorted": {"shuffle": False},
    "once": {"n_epochs": 1},
    "default": {},
}


def sets(task: str) -> dict[str, Rows]:
    """The sets, each sorted by its targets."""
    if task == "classification":
        found = {
            "iris": load_iris(return_X_y=True),
            "wine": load_wine(return_X_y=True),
            "cancer": load_breast_cancer(return_X_y=True),
            "digits": load_digits(return_X_y=True),
            "moons": make_moons(300, noise=0.15, random_state=0),
            "circles": make_circles(300, noise=0.1, factor=0.5, random_state=0),
        }
    else:
        found = {
            "diabetes": load_diabetes(return_X_y=True),
            "friedman1": make_friedman1(1000, noise=1.0, random_state=0),
        }
    orders = {name: np.argsort(y, kind="stable") for name, (_, y) in found.items()}
    return {name: (X[orders[name]], y[orders[name]]) for name, (X, y) in found.items()}


def score(name: str, task: str, rows: Rows, variant: dict[str, Any], seeds: int) -> list[float]:
    """The mean over five folds, for each seed."""
    folds = KFold(5, shuffle=True, random_state=0) if task == "regression" else None
    return [
        cross_val_score(
            budgetron.make(name, task=task, **{**DEFAULTS, **variant}, random_state=seed),
            *rows,
            cv=folds,
        ).mean()
        for seed in range(seeds)
    ]


def table(task: str, seeds: int) -> None:
    """Print the table of a task in Markdown, each line as soon as it is known."""
    data = sets(task)
    heads = ["learner", *data, "mean", "once", "as sorted"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, entry in CATALOGUE.items():
        if task not in entry.tasks:
            continue
        found = {
            variant: [np.mean(score(name, task, rows, how, seeds)) for rows in data.values()]
            for variant, how in VARIANTS.items()
        }
        numbers = [
            *found["default"],
            *(np.mean(found[v]) for v in ("default", "once", "as sorted")),
        ]
        print(f"| {name} | {' | '.join(f'{number:.3f}' for number in numbers)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    table("classification", seeds)
    print()
    table("regression", seeds)
    print("\n| seeds of budgetron | lowest | highest | seed 0 |\n|---|---|---|---|")
    for name, rows in sets("classification").items():
        found = score("budgetron", "classification", rows, {}, 4 * seeds)
        print(f"| {name} | {min(found):.3f} | {max(found):.3f} | {found[0]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
