"""Our learners beside others for streams on PyPI: mistakes, memory and time, row by row.

Every learner predicts a row, learns its label, and goes on to the next: the same rows in the same
order, through the interface each has for single rows (scikit-learn's is partial_fit on one row).
Ours have a budget of 100 and the median width (budgetron's default), RBFSampler a width from the
distances of 200 pairs of rows, SGD and VW's linear learner the logistic loss, VW's --ksvm the rbf
kernel; everything else is default. Features are not scaled (phishing has rows of unit norm, a9a is
binary); seconds are processor time, so that a busy machine does not matter much. River,
scikit-learn and Vowpal Wabbit are those installed here; KOL and BudgetedSVM (programs in C++) are
not on PyPI. Needs the papers' data: `budgetron data get phishing a9a`.
"""

from __future__ import annotations

import pickle
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import budgetron
from budgetron import datasets

Rows = tuple[Any, Any]  # X, and y with values 0 and 1
Step = Callable[[int], int]  # predicts row i, learns it; returns 1 for a mistake


def ours(name: str, X: Any, y: Any, **params: Any) -> tuple[Step, Callable[[], int]]:
    model = budgetron.make(name, random_state=0, **params)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])

    def step(i: int) -> int:
        return int((model.learn_one(X[i], y[i]) >= 0) != y[i])

    return step, lambda: int(model.memory_bytes_)


def of_sklearn(model: Any, X: Any, y: Any, features: Any = None) -> tuple[Step, Callable[[], int]]:
    rows = X if features is None else features.fit_transform(X)
    model.partial_fit(rows[:1], y[:1], classes=[0, 1])

    def step(i: int) -> int:
        row = X[i : i + 1] if features is None else features.transform(X[i : i + 1])
        wrong = int(model.predict(row)[0] != y[i])
        model.partial_fit(row, y[i : i + 1])
        return wrong

    return step, lambda: len(pickle.dumps((model, features)))


def of_river(model: Any, X: Any, y: Any, *, zeros: bool) -> tuple[Step, Callable[[], int]]:
    """Linear models treat absent features as 0; trees and neighbours need them in the row."""
    dicts = [{str(j): float(v) for j, v in enumerate(row) if v or zeros} for row in X]

    def step(i: int) -> int:
        wrong = int(bool(model.predict_one(dicts[i])) != bool(y[i]))
        model.learn_one(dicts[i], bool(y[i]))
        return wrong

    return step, lambda: int(model._raw_memory_usage)


def of_vw(arguments: str, X: Any, y: Any) -> tuple[Step, Callable[[], int]]:
    from vowpalwabbit import Workspace

    model = Workspace(f"--quiet --binary {arguments}")
    texts = [
        f"{2 * label - 1} | " + " ".join(f"{j}:{v}" for j, v in enumerate(row) if v)
        for row, label in zip(X, y, strict=True)
    ]

    def step(i: int) -> int:
        said = model.predict(texts[i].split("|", 1)[1].join(["|", ""]))
        model.learn(texts[i])
        return int((said > 0) != y[i])

    return step, lambda: 0  # a table of 2^18 weights; it does not report its size


def learners(X: Any, y: Any) -> Iterator[tuple[str, Callable[[], tuple[Step, Callable[[], int]]]]]:
    from river import forest, linear_model, neighbors, tree
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import SGDClassifier

    linear = partial(of_river, X=X, y=y, zeros=False)
    full = partial(of_river, X=X, y=y, zeros=True)
    yield "budgetron, budget 100", lambda: ours("budgetron", X, y, budget=100)
    yield "ahpatron, budget 100", lambda: ours("ahpatron", X, y, budget=100, scale=None)
    yield "forgetron, budget 100", lambda: ours("forgetron", X, y, budget=100, scale=None)
    log = {"loss": "log_loss", "random_state": 0}
    yield "scikit-learn SGDClassifier", lambda: of_sklearn(SGDClassifier(**log), X, y)
    width = 1.0 / np.median(((X[:200] - X[200:400]) ** 2).sum(axis=1))
    sampler = RBFSampler(gamma=width, random_state=0)
    yield (
        "scikit-learn RBFSampler(100) + SGD",
        lambda: of_sklearn(SGDClassifier(**log), X, y, sampler),
    )
    yield "river LogisticRegression", lambda: linear(linear_model.LogisticRegression())
    yield "river ALMAClassifier", lambda: linear(linear_model.ALMAClassifier())
    yield "river KNNClassifier", lambda: full(neighbors.KNNClassifier())
    yield "river HoeffdingTreeClassifier", lambda: full(tree.HoeffdingTreeClassifier())
    yield "river ARFClassifier", lambda: full(forest.ARFClassifier(seed=0))
    yield "VW, linear", lambda: of_vw("--loss_function logistic", X, y)
    yield "VW `--ksvm`, rbf", lambda: of_vw("--ksvm --kernel rbf", X, y)


def load(name: str, rows: int) -> Rows:
    X, y = datasets.load(name)
    order = np.random.default_rng(0).permutation(X.shape[0])[:rows]
    X = X[order].toarray() if hasattr(X, "toarray") else X[order]
    return np.ascontiguousarray(X, np.float64), (np.asarray(y)[order] > 0).astype(int)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="phishing,a9a")
    parser.add_argument("--rows", type=int, default=5000)
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        X, y = load(name, arguments.rows)
        print(f"\n| {name}, {len(y):,} rows | mistakes, % | memory, kB | µs per row |")
        print("|---|---:|---:|---:|")
        for title, make in learners(X, y):
            try:
                step, memory = make()
                start = time.process_time()
                mistakes = sum(step(i) for i in range(1, len(y)))
                taken = time.process_time() - start
                kilobytes = f"{memory() / 1000:,.0f}" if memory() else "–"
                rate, each = 100 * mistakes / (len(y) - 1), 1e6 * taken / (len(y) - 1)
                print(f"| {title} | {rate:.2f} | {kilobytes} | {each:.1f} |", flush=True)
            except Exception as error:  # the numbers of the others are still valid
                print(f"| {title} | failed: {error} | | |", flush=True)


if __name__ == "__main__":
    main()
