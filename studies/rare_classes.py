"""Rare and late classes: class_weight="balanced", and classes that come after others.

    python -m studies.rare_classes [--only budgetron,rbp] [--seeds 3]

Rare: scikit-learn's make_classification with 1 % positives, 20,000 rows, the first 15,000 to learn
and the rest to test, with the settings of `SETTINGS`. For each learner, without weights and
balanced: average precision of the decisions and recall of the predictions; for budgetron per
setting, means over seeds; for every learner with the first three settings, one seed, means. Scale
"auto", gamma "median", B = 100.

Flipped: budgetron, balanced, rows in random order, each predicted and then learned. Prints the
share predicted positive of the rows labelled positive; of those made positive; of those not made
positive but labelled so by `flip_y`; and of those labelled negative. Eight seeds.

Late: scikit-learn's digits, the rows of 0 to 4 and then those of 5 to 9, each in random order, in
chunks of 100; accuracy on all rows at the end, and the same for rows in random order.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import average_precision_score, recall_score

import budgetron
from budgetron.catalogue import CATALOGUE

ROWS, LEARNED = 20_000, 15_000
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "no flipped labels": {"flip_y": 0.0},
    "5 of 10 features": {"n_features": 10, "n_informative": 5},
    "5 of 20 features, no flipped labels": {"n_informative": 5, "flip_y": 0.0},
    "classes apart, no flipped labels": {"class_sep": 2.0, "flip_y": 0.0},
}


def make(name: str, **params: Any) -> Any:
    """A classifier with the settings of the tables."""
    found = {"scale": "auto", "gamma": "median", "random_state": 0, **params}
    if "budget" in CATALOGUE[name].estimator("classification")._param_names():
        found["budget"] = 100
    return budgetron.make(name, **found)


def rare(name: str, weight: str | None, setting: dict[str, Any], seed: int) -> tuple[float, float]:
    """Average precision and recall on the test rows."""
    X, y = make_classification(ROWS, weights=[0.99], random_state=seed, **setting)
    model = make(name, class_weight=weight).partial_fit(X[:LEARNED], y[:LEARNED])
    scores = model.decision_function(X[LEARNED:])
    predicted = model.predict(X[LEARNED:])
    return (
        float(average_precision_score(y[LEARNED:], scores)),
        float(recall_score(y[LEARNED:], predicted)),
    )


def flipped(seed: int) -> tuple[float, ...]:
    """Share predicted positive of all positives, those made so, those flipped, and negatives."""
    made: dict[str, Any] = {"weights": [0.99], "random_state": seed, "shuffle": False}
    X, y = make_classification(ROWS, **made)
    true = make_classification(ROWS, flip_y=0.0, **made)[1]
    order = np.random.default_rng(seed).permutation(ROWS)
    X, y, true = X[order], y[order], true[order]
    found = make("budgetron", class_weight="balanced").prequential(X, y, classes=[0, 1]) >= 0
    groups = (y == 1, (y == 1) & (true == 1), (y == 1) & (true == 0), y == 0)
    return tuple(float(found[group].mean()) for group in groups)


def late(name: str, seed: int) -> tuple[float, float]:
    """Accuracy on the digits after 0 to 4 and then 5 to 9, and after rows in random order."""
    X, y = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    in_halves = shuffled[np.argsort(y[shuffled] >= 5, kind="stable")]
    found = []
    for order in (in_halves, shuffled):
        model = make(name)
        for start in range(0, len(order), 100):
            chunk = order[start : start + 100]
            model.partial_fit(X[chunk], y[chunk])
        found.append(float(model.score(X, y)))
    return found[0], found[1]


def line(*cells: Any) -> None:
    """A line of a table."""
    shown = (f"{each:.3f}" if isinstance(each, float) else str(each) for each in cells)
    print("| " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Rare and late classes.")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", budgetron.NotLearningWarning)
    names = options.only.split(",") if options.only else list(CATALOGUE)
    seeds = range(options.seeds)

    if "budgetron" in names:
        line("budgetron on", "AP", "AP balanced", "recall", "recall balanced")
        print("|---|---|---|---|---|")
        for title, setting in SETTINGS.items():
            plain, balanced = (
                np.mean([rare("budgetron", weight, setting, seed) for seed in seeds], axis=0)
                for weight in (None, "balanced")
            )
            line(title, *map(float, (plain[0], balanced[0], plain[1], balanced[1])))
        print()
        line("budgetron, balanced", "positives", "made so", "flipped", "negatives")
        print("|---|---|---|---|---|")
        line("predicted positive", *map(float, np.mean([flipped(s) for s in range(8)], axis=0)))
        print()
    line("learner", "AP", "AP balanced", "recall", "recall balanced", "digits late", "shuffled")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        plain, balanced = (
            np.mean(
                [rare(name, weight, setting, 0) for setting in list(SETTINGS.values())[:3]], axis=0
            )
            for weight in (None, "balanced")
        )
        digits = np.mean([late(name, seed) for seed in seeds], axis=0)
        line(name, *map(float, (plain[0], balanced[0], plain[1], balanced[1], *digits)))


if __name__ == "__main__":
    main()
