"""Budgetron on streams that change, beside a learner that an oracle restarts at each change.

    python -m studies.drift [--budget 100] [--rows 60000] [--seeds 2]
    python -m studies.drift --forest
    python -m studies.drift --stationary [--seeds 5]

Gradual changes have no right moment to restart: there the oracle uses the best of the beginning,
the middle and the end. With --forest River's adaptive random forest learns the same streams, one
dict per row, and so does Budgetron, to compare times (see river_learners.py). With --stationary the
rows of the proof's sets come in permutations, so that nothing changes and "never" is right.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from typing import Any

import numpy as np

import budgetron
from budgetron.streams import synthetic

# A board of 2 x 2 fields whose colours swap: how, and at which fractions of the rows.
STREAMS = {
    "abrupt": ("at={half}", [1 / 2]),
    "gradual": ("at={half},over={twelfth}", [1 / 2]),
    "recurring": ("every={sixth}", [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6]),
}


def drifting(kind: str, rows: int, seed: int) -> tuple[Any, Any, list[int]]:
    """Rows, labels, and the rows at which something changes."""
    how, parts = STREAMS[kind]
    places = {"half": rows // 2, "twelfth": rows // 12, "sixth": rows // 6}
    text = f"checkerboard,cells=2,drift={kind},{how.format(**places)},rows={rows},seed={seed}"
    chunks = list(synthetic(text, dtype=np.float64))
    X, y = (np.concatenate(each) for each in zip(*chunks, strict=True))
    return X, y, [round(part * rows) for part in parts]


def mistakes(X: Any, y: Any, budget: int, replace: str) -> int:
    model = budgetron.make("budgetron", budget=budget, replace=replace)
    return int(model.partial_fit(X, y, classes=np.unique(y)).n_mistakes_)


def restarted(X: Any, y: Any, changes: list[int], budget: int) -> int:
    pieces = itertools.pairwise([0, *changes, len(y)])
    return sum(mistakes(X[a:b], y[a:b], budget, "never") for a, b in pieces)


def beside_the_forest(options: argparse.Namespace) -> None:
    """Error and time per round of both, through River's interface."""
    from river import forest

    from budgetron.river import BudgetronClassifier
    from studies.river_learners import run

    print("| stream | seed | forest % | µs per round | budgetron % | µs per round |")
    print("|---" * 6 + "|")
    for kind in STREAMS:
        for seed in range(options.seeds):
            X, y, _ = drifting(kind, options.rows, seed)
            cells = []
            for model in (forest.ARFClassifier(seed=0), BudgetronClassifier(budget=options.budget)):
                found = run(model, X, y, range(len(y)), set(), "classification")
                cells.append(f"{found.errors[len(y)]:.2f} | {found.microseconds:,.1f}")
            print(f"| {kind} | {seed} | {' | '.join(cells)} |", flush=True)


def on_stationary_sets(options: argparse.Namespace) -> None:
    """The loss of "auto" where nothing changes; mistakes are summed over the permutations."""
    from studies.proof.sets import SETS

    print("| set | rows | auto % | never % | auto / never | worst permutation | windows opened |")
    print("|---" * 7 + "|")
    for each in SETS:
        if each.only or each.task == "regression":
            continue
        rows = each.load()
        pairs, windows = [], 0
        for seed in range(options.seeds):
            order = np.random.default_rng(seed).permutation(len(rows.y))
            models = [
                budgetron.BudgetronClassifier(budget=options.budget, replace=how).partial_fit(
                    rows.X[order], rows.y[order], classes=np.unique(rows.y)
                )
                for how in ("auto", "never")
            ]
            pairs.append([model.n_mistakes_ for model in models])
            windows += len(models[0].drift_log_)
        auto, never = np.sum(pairs, axis=0)
        shares = " | ".join(f"{100 * c / len(rows.y) / options.seeds:.2f}" for c in (auto, never))
        worst = max(a / b for a, b in pairs)
        print(
            f"| {each.name} | {len(rows.y):,} | {shares} | {auto / never:.3f} | {worst:.3f} "
            f"| {windows} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Budgetron on streams that change.")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--forest", action="store_true", help="River's forest instead of an oracle")
    parser.add_argument(
        "--stationary", action="store_true", help="real sets, where nothing changes"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", budgetron.PrecisionWarning)
    if options.stationary:
        on_stationary_sets(options)
        return
    if options.forest:
        beside_the_forest(options)
        return
    print("| stream | seed | oracle % | auto % | never % | always % | auto / oracle |")
    print("|---" * 7 + "|")
    for kind in STREAMS:
        for seed in range(options.seeds):
            X, y, changes = drifting(kind, options.rows, seed)
            width = options.rows // 12 if kind == "gradual" else 0
            late = {-(width // 2), 0, width // 2}
            oracle = min(restarted(X, y, [c + d for c in changes], options.budget) for d in late)
            found = [mistakes(X, y, options.budget, how) for how in ("auto", "never", "always")]
            shares = " | ".join(f"{100 * count / len(y):.2f}" for count in (oracle, *found))
            print(f"| {kind} | {seed} | {shares} | {found[0] / oracle:.2f} |", flush=True)


if __name__ == "__main__":
    main()
