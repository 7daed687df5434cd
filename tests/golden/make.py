"""Writes the golden files that are not there: models of this version, and what they answered.

    python -m tests.golden.make

A file is never written again: those of earlier formats must go on being read, or refused by name.
When `FORMAT` in budgetron/model_file/formats.py goes up, add a model that has what is new.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import budgetron
from budgetron.parts import Halve

HERE = Path(__file__).resolve().parent


def rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four features and their class, out of three."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(count, 4)), 3)
    X[rng.random(X.shape) < 0.3] = 0.0
    return X, ((X[:, 0] > 0.2) + (X[:, 1] * X[:, 2] > 0)).astype(int)


def changing() -> tuple[np.ndarray, np.ndarray]:
    """Rows whose units change once."""
    X, y = rows(900, 2)
    X = X * [1, 10, 100, 1]
    X[450:, 1] *= 1000
    return X, y


def models() -> dict[str, Any]:
    """A few learners that between them keep everything there is to keep."""
    X, y = rows(260, 1)
    sparse = scipy.sparse.csr_array(X.astype(np.float32))
    words = np.array(["low", "middle", "high"])[y]
    seeded = {"random_state": 5, "gamma": 0.5}
    return {
        "ahpatron": budgetron.AhpatronClassifier(budget=20, **seeded).fit(X, y),
        "rbp-words": budgetron.make("rbp", budget=15, **seeded).partial_fit(sparse, words),
        "bogd-scaled": budgetron.make(
            "bogd", budget=12, gamma="median", scale="auto", random_state=5
        ).partial_fit(X * [1, 10, 100, 1], y == 1),
        "warm-up": budgetron.make("pa", gamma="median", scale="standard").partial_fit(
            sparse[:40], y[:40]
        ),
        "projectron": budgetron.make("projectron", budget=10, threshold=0.4, **seeded).fit(X, y),
        "bsgd-merge": budgetron.make("bsgd-merge", budget=8, **seeded).fit(X, y > 0),
        "forgetron": budgetron.make("forgetron-greedy", budget=9, **seeded).fit(X, y),
        "pomdr": budgetron.make("pomdr", budget=12, **seeded).fit(X, y),
        "fogd": budgetron.make("fogd", n_components=16, **seeded).fit(X, y),
        "nogd": budgetron.make("nogd", budget=12, rank=3, **seeded).fit(X, y),
        "avm-regression": budgetron.make(
            "avm", task="regression", average="suffix", delta=1.5, budget=20, beta=0.5, **seeded
        ).fit(X, X[:, 0] - X[:, 1]),
        "budgetron": budgetron.BudgetronClassifier(budget=12, random_state=5).fit(X, y),
        "budgetron-in-bytes": budgetron.BudgetronRegressor(budget="40KB").fit(X, X[:, 0] * X[:, 1]),
        "target-units": budgetron.make("ogd", task="regression", average="mean", **seeded).fit(
            X, 1e4 * X[:, 0] * X[:, 1] + 1e6
        ),
        "projectron++": budgetron.make("projectron++", budget=10, **seeded).fit(X, y),
        "units": budgetron.make("forgetron", budget=12, scale="auto", gamma="median").partial_fit(
            *changing()
        ),
        "settled": budgetron.make("rbp", budget=12, scale="auto", gamma="median").partial_fit(
            scipy.sparse.csr_array(X * [1, 10, 100, 1]), y
        ),
        "sides": budgetron.make("rbp", budget=12, **seeded).fit(X, y > 1),
        "by-hand": budgetron.KernelClassifier(
            update="avp", budget=Halve(size=10), radius=5.0, **seeded
        ).fit(X, y),
    }


def answers(model: Any) -> np.ndarray:
    X = rows(8, 2)[0]
    return model.predict(X) if model._task == "regression" else model.decision_function(X)


def main() -> None:
    expected = json.loads((HERE / "answers.json").read_text())
    for name, model in models().items():
        if name not in expected:
            budgetron.save(model, HERE / f"{name}.btn")
            expected[name] = answers(model).tolist()
    (HERE / "answers.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
