"""Bad input never corrupts: a refused call leaves a model whose saved bytes are what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from budgetron.model_file import to_bytes
from tests.support.cases import CASES, REGRESSION, Case, numeric_stream, stream

each_case = pytest.mark.parametrize("case", CASES + REGRESSION, ids=str)


def spoiled(X: np.ndarray, value: float) -> np.ndarray:
    bad = X.copy()
    bad[-1, 1] = value  # the last row: those before it must not have been learned
    return bad


def bad_calls(case: Case, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[Any, Any, str]]:
    calls = {
        "nan": (spoiled(X, np.nan), y, "NaN"),
        "infinity": (spoiled(X, -np.inf), y, "infinity"),
        "sparse nan": (scipy.sparse.csr_array(spoiled(X, np.nan)), y, "NaN"),
        "wide": (np.hstack([X, X]), y, "features"),
        "narrow": (X[:, :3], y, "features"),
        "empty": (X[:0], y[:0], "0 sample|at least one"),
        "fewer targets": (X, y[:-1], "inconsistent numbers"),
        "nan target": (X, np.where(np.arange(len(y)) == 7, np.nan, y), "NaN"),
        "no target": (X, None, "y"),
    }
    if case.task == "classification":
        calls["strange label"] = (X, np.where(np.arange(len(y)) == 7, 5, y), "not among the class")
        calls["text label"] = (X, y.astype(str), "not among the class")
    return calls


@each_case
def test_a_refused_call_leaves_the_same_bytes(case: Case) -> None:
    X, y = numeric_stream(90) if case.task == "regression" else stream(90)
    declared = {"classes": [0, 1]} if case.task == "classification" else {}
    model = case.make(scale="standard").partial_fit(X[:60], y[:60], **declared)
    before = to_bytes(model)
    for what, (bad, targets, says) in bad_calls(case, X[60:], y[60:]).items():
        for call in (model.partial_fit, model.prequential):
            with pytest.raises(ValueError, match=says):
                call(bad, targets)
            assert to_bytes(model) == before, what
        if "target" not in what and "label" not in what:
            with pytest.raises(ValueError, match=says):
                model.predict(bad)
            assert to_bytes(model) == before, what
    model.partial_fit(X[60:], y[60:])  # and it is not only that nothing changes any more
    assert to_bytes(model) != before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_undeclared_class_of_another_kind_is_refused(case: Case) -> None:
    X, y = stream(60)
    model = case.make().partial_fit(X, y)
    before = to_bytes(model)
    with pytest.raises(ValueError, match="all are numbers or none is"):
        model.partial_fit(X, np.array(["a", "b"])[y])
    assert to_bytes(model) == before
