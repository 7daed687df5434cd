"""Raw rows against rows scaled by hand: the effect of Budgetron's `scale="auto"`.

    python -m studies.scaling [--permutations 10] [--budgets 100,200]

By hand means with hindsight: the deviations, or the least and largest values, of all rows of the
set, before the first is learned. Prints errors with their deviation over the permutations, the
difference between raw and the better scaling by hand, in points and per cent, and p of the paired
t-test.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel
from threadpoolctl import threadpool_limits

import budgetron
from budgetron.lab.reproduce.data import scaled
from studies.proof.sets import SETS

HANDS = {"raw": None, "mean 0, deviation 1": "standard", "onto [0, 1]": "unit"}


def error(X: Any, y: NDArray[Any], task: str, seed: int, **params: Any) -> float:
    """Mistakes in per cent, or the root mean squared error, test then train."""
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "regression":
        said = budgetron.BudgetronRegressor(**params).prequential(X[order], y[order])
        return math.sqrt(float(np.mean((said - y[order]) ** 2)))
    model = budgetron.BudgetronClassifier(**params)
    model.partial_fit(X[order], y[order], classes=np.unique(y))
    return 100.0 * float(model.n_mistakes_) / len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description="Raw rows against rows scaled by hand.")
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--budgets", default="100,200")
    options = parser.parse_args()
    budgets = [int(text) for text in options.budgets.split(",")]
    warnings.simplefilter("ignore", budgetron.PrecisionWarning)
    print(f"| set | B | {' | '.join(HANDS)} | raw less the better hand | p |")
    print("|---" * (len(HANDS) + 4) + "|")
    for each in SETS:
        if not each.raw or each.only:
            continue
        rows = each.load()
        data = {
            hand: rows.X if how is None else scaled(rows.X, how).astype(np.float32)
            for hand, how in HANDS.items()
        }
        digits = 2 if each.task == "classification" or np.std(rows.y) > 1 else 4
        for budget in budgets:
            found = {
                hand: [
                    error(
                        X,
                        rows.y,
                        each.task,
                        seed,
                        budget=budget,
                        scale="auto" if hand == "raw" else None,
                    )
                    for seed in range(options.permutations)
                ]
                for hand, X in data.items()
            }
            best = min((hand for hand in found if hand != "raw"), key=lambda h: np.mean(found[h]))
            apart = float(np.mean(found["raw"]) - np.mean(found[best]))
            p = float(ttest_rel(found["raw"], found[best]).pvalue)
            shown = " | ".join(
                f"{np.mean(e):.{digits}f} ± {np.std(e, ddof=1):.{digits}f}" for e in found.values()
            )
            relative = 100.0 * apart / float(np.mean(found[best]))
            print(
                f"| {each.name} | {budget} | {shown} | {apart:+.{digits}f} ({relative:+.1f} %) "
                f"| {p:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
