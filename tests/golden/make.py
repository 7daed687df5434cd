"""Writes missing golden files: models of this version, and their answers.

    python -m tests.golden.make

A file is never rewritten: files of earlier formats must stay readable, or be refused by name. When
`FORMAT` in budgetron/model_file/formats.py increases, add a model that has the new parts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import budgetron
from budgetron.catalogue import as_printed, paper_settings
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


def line(X: np.ndarray) -> np.ndarray:
    """Targets of a regression, far from 0."""
    return np.asarray(100 * X[:, 0] + 1e4)


def models() -> dict[str, Any]:
    """A few learners that together have every kind of state."""
    X, y = rows(260, 1)
    sparse = scipy.sparse.csr_array(X.astype(np.float32))
    words = np.array(["low", "middle", "high"])[y]
    seeded = {"random_state": 5, "gamma": 0.5}
    follows = {"gamma": "median", "scale": "auto"}
    plain = {
        "gamma": "median", "straight": "none", "floor": 0.0, "relevance": False, "random_state": 5,
    }  # fmt: skip
    return {
        "ahpatron": as_printed("ahpatron", budget=20, **seeded).fit(X, y),
        "rbp-words": as_printed("rbp", budget=15, **seeded).partial_fit(sparse, words),
        "bogd-scaled": as_printed("bogd", budget=12, random_state=5, **follows).partial_fit(
            X * [1, 10, 100, 1], y == 1
        ),
        "warm-up": as_printed("pa", gamma="median", scale="standard").partial_fit(
            sparse[:40], y[:40]
        ),
        "projectron": as_printed("projectron", budget=10, threshold=0.4, **seeded).fit(X, y),
        "bsgd-merge": as_printed("bsgd-merge", budget=8, **seeded).fit(X, y > 0),
        "forgetron": as_printed("forgetron-greedy", budget=9, **seeded).fit(X, y),
        "pomdr": as_printed("pomdr", budget=12, **seeded).fit(X, y),
        "fogd": as_printed("fogd", n_components=16, **seeded).fit(X, y),
        "nogd": as_printed("nogd", budget=12, rank=3, **seeded).fit(X, y),
        "avm-regression": as_printed(
            "avm",
            "regression",
            target_scale="auto",
            average="suffix",
            delta=1.5,
            budget=20,
            beta=0.5,
            **seeded,
        ).fit(X, X[:, 0] - X[:, 1]),
        "budgetron": as_printed("budgetron", budget=12, random_state=5, **follows).fit(X, y),
        "budgetron-in-bytes": as_printed(
            "budgetron", "regression", budget="40KB", target_scale="auto", **follows
        ).fit(X, X[:, 0] * X[:, 1]),
        # From before it had a straight part, a floor, a reflex, a metric and a race of widths.
        "budgetron-plain": budgetron.make(
            "budgetron", budget=12, reflex=False, **plain
        ).partial_fit(*changing()),
        "budgetron-plain-regression": budgetron.make(
            "budgetron", "regression", budget=12, **plain
        ).partial_fit(changing()[0], line(changing()[0])),
        "budgetron-plain-in-bytes": budgetron.make(
            "budgetron", budget="24KB", reflex=False, **plain
        ).fit(X, y),
        "target-units": as_printed(
            "ogd", "regression", target_scale="auto", average="mean", **seeded
        ).fit(X, 1e4 * X[:, 0] * X[:, 1] + 1e6),
        "projectron++": as_printed("projectron++", budget=10, **seeded).fit(X, y),
        "units": as_printed("forgetron", budget=12, **follows).partial_fit(*changing()),
        "settled": as_printed("rbp", budget=12, **follows).partial_fit(
            scipy.sparse.csr_array(X * [1, 10, 100, 1]), y
        ),
        "sides": as_printed("rbp", budget=12, **seeded).fit(X, y > 1),
        "pipeline": make_pipeline(
            ColumnTransformer(
                [
                    ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
                    ("words", OneHotEncoder(handle_unknown="ignore"), [2]),
                    ("table", budgetron.TableEncoder(), [3]),
                ]
            ),
            as_printed("rbp", budget=12, **seeded),
        ).fit(X.round(0), y),
        "by-hand": budgetron.KernelClassifier(
            update="avp", budget=Halve(size=10), radius=5.0, **paper_settings() | seeded
        ).fit(X, y),
    }


def answers(model: Any) -> np.ndarray:
    X = rows(8, 2)[0]
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def main() -> None:
    expected = json.loads((HERE / "answers.json").read_text())
    for name, model in models().items():
        if name not in expected:
            budgetron.save(model, HERE / f"{name}.btn")
            expected[name] = answers(model).tolist()
    (HERE / "answers.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
