"""The quality of the probabilities: calibration error and log loss on a9a.

    python -m studies.calibration [--average mean] [NAME ...]

The rows of the training file come in a random order, in chunks of 50: each chunk first gets
probabilities, then is learned. The table has the results for all of these, as in a stream, and for
the test file, which only the final model predicts.

ECE: the expected calibration error, sum over 15 bins of equal width of |sum of p - positives| / n.
Log loss: how far it is below that of the constant base rate. Needs a9a: budgetron data get a9a.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from budgetron import datasets
from budgetron.catalogue import as_printed

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
CHUNK = 50
BINS = 15

# Parameters that are not the defaults: the papers' gamma for a9a, and the budget.
LEARNERS: dict[str, dict[str, Any]] = {
    "budgetron": {"budget": 150, "scale": "auto"},
    "ahpatron": {"budget": 300},
    "bsgd-merge": {},
    "bogd": {"budget": 300},
    "projectron": {"budget": 150},
    "fogd": {},
    "nogd": {"budget": 300},
}


def make(name: str, average: str = "last") -> Any:
    own = LEARNERS.get(name, {})
    return as_printed(name, gamma=0.125, average=average, random_state=0, **own)


def walk(model: Any, X: Any, codes: Codes) -> Floats:
    """The probability of class 1 for each row before it was learned."""
    found = [np.full(CHUNK, 0.5)]
    model.partial_fit(X[:CHUNK], codes[:CHUNK], classes=[0, 1])
    for start in range(CHUNK, len(codes), CHUNK):
        now = slice(start, start + CHUNK)
        found.append(model.predict_proba(X[now])[:, 1])
        model.partial_fit(X[now], codes[now])
    return np.concatenate(found)


def expected_calibration_error(P: Floats, codes: Codes) -> float:
    bins = np.minimum((P * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=P - codes, minlength=BINS)
    return float(np.abs(gaps).sum() / len(P))


def loss(P: Floats, codes: Codes) -> float:
    of_own = np.where(codes == 1, P, 1 - P)
    return float(-np.mean(np.log(np.maximum(of_own, 1e-15))))


def improvement(P: Floats, codes: Codes) -> float:
    """The relative reduction of the log loss below that of the base rate."""
    return 1 - loss(P, codes) / loss(np.full(len(codes), codes.mean()), codes)


def load(part: str) -> tuple[Any, Codes]:
    X, y = datasets.load("a9a", [part])
    return X, (y > 0).astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibration error and log loss on a9a.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {' '.join(LEARNERS)}")
    parser.add_argument("--average", default="last", help="last, mean or suffix")
    options = parser.parse_args()
    names = options.names or list(LEARNERS)
    X, codes = load("train")
    order = np.random.default_rng(0).permutation(len(codes))
    X, codes = X[order], codes[order]
    X_test, codes_test = load("test")
    table = Table(title=f"a9a, {len(codes):,} rows; test file, {len(codes_test):,} rows")
    table.add_column("learner", no_wrap=True)
    for heading in ("stored", "ECE", "log loss", "below base rate", "test ECE", "test below"):
        table.add_column(heading, justify="right")
    for name in names:
        model = make(name, options.average)
        P = walk(model, X, codes)
        P_test = model.predict_proba(X_test)[:, 1]
        table.add_row(
            name,
            str(model.n_support_),
            f"{expected_calibration_error(P, codes):.4f}",
            f"{loss(P, codes):.4f}",
            f"{100 * improvement(P, codes):.1f} %",
            f"{expected_calibration_error(P_test, codes_test):.4f}",
            f"{100 * improvement(P_test, codes_test):.1f} %",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
