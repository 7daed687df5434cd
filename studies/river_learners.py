"""Budgetron beside River's own: error and time per round, on the data sets of the proof.

    python -m studies.river_learners [--sets phishing,a9a] [--rows 100000] [--forest-rows 20000]

One permutation, test then train; every learner gets a dict of all features per row. River's
StandardScaler comes before linear models and before trees with linear models in their leaves;
Budgetron has its defaults. The forest is slow and only learns the first 20,000 rows of the
permutation; Budgetron's error on the same rows is beside it. Time is processor time of predict_one
and learn_one together, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from river import forest, linear_model, preprocessing, tree
from threadpoolctl import threadpool_limits

from budgetron import PrecisionWarning
from budgetron.river import BudgetronClassifier, BudgetronRegressor
from studies.proof.sets import SETS, ProofSet


def models(task: str, classes: int) -> dict[str, Any]:
    """The models by name; those of River under their names there."""
    if task == "regression":
        return {
            "LinearRegression": preprocessing.StandardScaler() | linear_model.LinearRegression(),
            "HoeffdingTreeRegressor": preprocessing.StandardScaler()
            | tree.HoeffdingTreeRegressor(),
            "ARFRegressor": preprocessing.StandardScaler() | forest.ARFRegressor(seed=0),
            "budgetron, B = 100": BudgetronRegressor(budget=100),
            "budgetron, B = 400": BudgetronRegressor(budget=400),
        }
    linear = linear_model.LogisticRegression if classes == 2 else linear_model.SoftmaxRegression
    return {
        linear.__name__: preprocessing.StandardScaler() | linear(),
        "HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
        "ARFClassifier": forest.ARFClassifier(seed=0),
        "budgetron, B = 100": BudgetronClassifier(budget=100),
        "budgetron, B = 400": BudgetronClassifier(budget=400),
    }


@dataclass(frozen=True)
class Found:
    """Errors after some of the rows, and microseconds per round."""

    errors: dict[int, float]
    microseconds: float


def rows(X: Any, y: Any, order: Any) -> Iterator[tuple[dict[str, float], Any]]:
    names = [str(j) for j in range(X.shape[1])]
    for i in order:
        row = X[i] if isinstance(X, np.ndarray) else X[[i]].toarray()[0]
        yield dict(zip(names, row.tolist(), strict=True)), y[i].item()


def run(model: Any, X: Any, y: Any, order: Any, at: set[int], task: str) -> Found:
    """Run the model over the rows; return the errors after so many of them."""
    total = seconds = 0.0
    errors = {}
    for number, (x, label) in enumerate(rows(X, y, order), start=1):
        begun = time.process_time()
        answer = model.predict_one(x)
        model.learn_one(x, label)
        seconds += time.process_time() - begun
        if task == "regression":
            total += ((answer or 0.0) - label) ** 2
        else:
            total += answer != label
        if number in at or number == len(order):
            mean = total / number
            errors[number] = mean**0.5 if task == "regression" else 100.0 * mean
    return Found(errors, 1e6 * seconds / len(order))


def table(proof_set: ProofSet, most: int, forest_rows: int) -> Iterator[str]:
    """One line per model."""
    read = proof_set.load()
    classes = np.unique(read.y)
    y = read.y
    if proof_set.task == "classification" and len(classes) == 2:
        y = y == classes[1]  # River's linear models use True and False
    order = np.random.default_rng(0).permutation(len(read.y))[:most]
    few = min(forest_rows, len(order))
    digits = 2 if proof_set.task == "classification" else 4
    for name, model in models(proof_set.task, len(classes)).items():
        mine = order[:few] if name.startswith("ARF") else order
        found = run(model, read.X, y, mine, {few}, proof_set.task)
        whole = f"{found.errors[len(order)]:.{digits}f}" if len(mine) == len(order) else "–"
        yield (
            f"| {proof_set.name} | {name} | {few:,} | {found.errors[few]:.{digits}f} "
            f"| {len(order):,} | {whole} | {found.microseconds:,.1f} |"
        )


def main() -> None:
    names = [each.name for each in SETS if not each.only]
    parser = argparse.ArgumentParser(description="Budgetron beside River's own learners.")
    parser.add_argument("--sets", default=",".join(names), help="data sets of the proof")
    parser.add_argument("--rows", type=int, default=100_000, help="at most so many")
    parser.add_argument("--forest-rows", type=int, default=20_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrecisionWarning)
    print("| set | learner | first rows | error there | rows | error | µs per round |")
    print("|---" * 7 + "|")
    with threadpool_limits(limits=1):
        for proof_set in SETS:
            if not proof_set.only and proof_set.name in options.sets.split(","):
                for line in table(proof_set, options.rows, options.forest_rows):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
