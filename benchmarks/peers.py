"""Ours against River, scikit-learn and the NumPy pages on the same rows of a9a, in one run.

    python benchmarks/peers.py [--rows 4000]

Each is used as its documentation says: River one dict at a time (predict, then learn), scikit-learn
in batches (predict, then partial_fit), the NumPy pages one row at a time, ours through
`prequential` (which also predicts before it learns) from CSR. Slow ones get fewer rows.
Microseconds of processor time per row, the best of several passes, in turns; budget and features
300, one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from measuring import A9A, at_least, console, finish, load, table
from river import feature_extraction, linear_model
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron.catalogue import CATALOGUE, as_printed
from papers.catalogue import PAGES
from papers.kernels import make_kernel

SIZE, BATCH = 300, 500
# A round of these costs more than O(B): they read a matrix, solve, or search for a pair.
BEYOND_LINEAR = {"cks", "forgetron-greedy", "projectron", "projectron++", "bsgd-project"}
BEYOND_LINEAR |= {"nogd", "pomdr", "ahpatron", "budgetron"}
# The Fourier map against River's and scikit-learn's, O(B) learners against a linear model of
# River's, learners against their NumPy pages.
MAP, BATCHES, LINEAR, PAGE = 1000.0, 10.0, 5.0, 40.0
PAGED = ("rbp", "forgetron", "bpas", "bogd", "fogd")


def ours(name: str, X: Any, y: Any, **settings: Any) -> Callable[[], float]:
    def once() -> float:
        model = as_printed(name, gamma=A9A.gamma, random_state=0, **settings)
        model.prequential(X[:SIZE], y[:SIZE], classes=[0.0, 1.0])  # built and past its warm-up
        return timed(lambda: model.prequential(X, y), X.shape[0])

    return once


def river(model: Any, X: Any, y: Any) -> Callable[[], float]:
    rows = [
        {int(j): float(v) for j, v in zip(X[[i]].indices, X[[i]].data, strict=True)}
        for i in range(X.shape[0])
    ]
    labels = [bool(label) for label in y]

    def pass_over() -> None:
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return lambda: timed(pass_over, len(rows))


def sklearn_batches(X: Any, y: Any) -> Callable[[], float]:
    features = RBFSampler(gamma=A9A.gamma, n_components=SIZE, random_state=0).fit(X[:2])
    model = SGDClassifier(random_state=0).partial_fit(features.transform(X[:10]), y[:10], [0, 1])

    def pass_over() -> None:
        for at in range(0, X.shape[0], BATCH):
            mapped = features.transform(X[at : at + BATCH])
            model.predict(mapped)
            model.partial_fit(mapped, y[at : at + BATCH])

    return lambda: timed(pass_over, X.shape[0])


def page(name: str, X: Any, y: Any, warm: int) -> Callable[[], float]:
    """The NumPy page, started on `warm` rows so that it is full."""
    made, fixed = PAGES[name], CATALOGUE[name].fixed
    algorithm = {each.name: each for each in budgetron.algorithms()}[name]
    sizes = {"budget": SIZE, "n_components": SIZE // 2}
    own = {key: value for key, value in sizes.items() if key in algorithm.parameters}
    wanted = signature(made).parameters
    own |= {
        key: value
        for key, value in algorithm.parameters.items()
        if key in wanted and key not in own and key not in (*fixed, "kernel")
    }
    own |= {key: value for key, value in (("kind", "rbf"), ("gamma", A9A.gamma)) if key in wanted}
    learner = made(make_kernel("rbf", A9A.gamma, 3, 0.0), X.shape[1], **{**fixed, **own})
    rows, labels = X.toarray().astype(np.float64), 2 * y - 1
    for x, label in zip(rows[:warm], labels[:warm], strict=True):
        learner.learn(x, label)

    def pass_over() -> None:
        for x, label in zip(rows[warm:], labels[warm:], strict=True):
            learner.learn(x, label)

    return lambda: timed(pass_over, len(rows) - warm)


def timed(call: Callable[[], Any], rows: int) -> float:
    start = time.thread_time()
    call()
    return 1e6 * (time.thread_time() - start) / rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Against River, scikit-learn and NumPy.")
    parser.add_argument("--rows", type=int, default=4000)
    rows = parser.parse_args().rows
    X, y, source = load(A9A, rows)
    few, fewer = slice(0, min(rows, 2000)), slice(0, min(rows, 100))
    linear = [
        each.name
        for each in budgetron.algorithms()
        if "budget" in each.parameters and each.name not in BEYOND_LINEAR
    ]
    sampler = feature_extraction.RBFSampler(gamma=A9A.gamma, n_components=SIZE, seed=0)
    calls: dict[str, tuple[int, Callable[[], float]]] = {
        "river RBFSampler(300) | LogisticRegression": (
            2,
            river(sampler | linear_model.LogisticRegression(), X[fewer], y[fewer]),
        ),
        "river LogisticRegression": (
            10,
            river(linear_model.LogisticRegression(), X[few], y[few]),
        ),
        "scikit-learn RBFSampler(300), SGDClassifier": (6, sklearn_batches(X[few], y[few])),
        "fogd, 300 frequencies": (20, ours("fogd", X, y, n_components=300)),
        "fogd, 150 frequencies (300 features)": (20, ours("fogd", X, y, n_components=150)),
    }
    calls |= {name: (20, ours(name, X, y, budget=SIZE)) for name in linear}
    calls |= {f"NumPy page of {name}": (3, page(name, X[few], y[few], 1500)) for name in PAGED}
    best = dict.fromkeys(calls, float("inf"))
    with threadpool_limits(1):
        for turn in range(20):
            for name, (turns, call) in calls.items():
                if turn < turns:
                    best[name] = min(best[name], call())
    console().print(table(f"{source}, microseconds a row", ["who", "µs"], list(best.items())))
    mapped, batched = best["fogd, 300 frequencies"], best["fogd, 150 frequencies (300 features)"]
    theirs = best["river LogisticRegression"]
    bars = [
        at_least(
            "fogd, 300 frequencies, to River's RBFSampler(300) | LogisticRegression",
            MAP,
            best["river RBFSampler(300) | LogisticRegression"] / mapped,
        ),
        at_least(
            "fogd, 300 features, to scikit-learn's RBFSampler(300), SGDClassifier in batches",
            BATCHES,
            best["scikit-learn RBFSampler(300), SGDClassifier"] / batched,
        ),
    ]
    bars += [
        at_least(f"{name}, B = 300, to River's LogisticRegression", LINEAR, theirs / best[name])
        for name in linear
    ]
    for name in PAGED:
        own = batched if name == "fogd" else best[name]
        ratio = best[f"NumPy page of {name}"] / own
        bars.append(at_least(f"{name}, B = 300, to its NumPy page", PAGE, ratio))
    finish("peers", bars, microseconds=best)


if __name__ == "__main__":
    main()
