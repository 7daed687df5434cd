"""Unusual streams and bad input: nothing breaks, and a refused call does not change the model."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron.checks import contracts
from budgetron.evaluate import prequential
from budgetron.model_file import to_bytes
from tests.support.cases import BY_NAME, CASES, KERNELS, KINDS, Case, stream
from tests.support.native import native_of, state_of

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_kind = pytest.mark.parametrize("case", KINDS, ids=str)


def fitted(case: Case) -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = stream(100)
    return case.make(random_state=0).partial_fit(X, y, classes=[0, 1]), X, y


@each_case
def test_one_row_and_one_class(case: Case) -> None:
    model = case.make().fit(np.ones((1, 2)), ["only"])
    assert model.predict(np.zeros((3, 2))).tolist() == ["only"] * 3


@pytest.mark.parametrize(
    ("case", "kernel"),
    [(case, kernel) for case in CASES for kernel in KERNELS if kernel in case.kernels],
    ids=str,
)
def test_constant_zero_and_duplicate_rows(case: Case, kernel: str) -> None:
    contracts.check_odd_rows_stay_finite(case.make(kernel))


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e15])
@each_case
def test_huge_and_tiny_scales(case: Case, scale: float) -> None:
    contracts.check_scales_stay_finite(case.make(), scales=[scale])


def test_a_row_with_no_length_is_predicted_and_not_learned() -> None:
    for case in CASES:
        if "linear" not in case.kernels:
            continue
        model = case.make("linear")
        model.partial_fit(np.zeros((5, 3)), [0, 1, 0, 1, 0], classes=[0, 1])
        assert (model.n_seen_, model.n_updates_, model.n_support_) == (5, 0, 0)


@each_kind
def test_unfitted_says_so(case: Case) -> None:
    contracts.check_asked_too_early_says_so(case.make())


def test_one_row_path_refuses_the_wrong_dtype() -> None:
    model, X, _ = fitted(CASES[0])
    with pytest.raises(TypeError):
        model.learn_one(X[0].astype(np.float32), 1)
    with pytest.raises(TypeError):
        model.decision_one(X[:4])


def test_wide_sparse_rows_cost_what_they_hold() -> None:
    """A billion columns: memory follows the features of the stored examples."""
    rng = np.random.default_rng(0)
    rows, per_row = 400, 10
    indices = np.sort(rng.integers(2**30, size=(rows, per_row)), axis=1).astype(np.int32)
    X = scipy.sparse.csr_array(
        (np.ones(rows * per_row), indices.ravel(), np.arange(rows + 1) * per_row),
        shape=(rows, 2**30),
    )
    y = rng.integers(2, size=rows)
    model = BY_NAME["ahpatron"].make(budget=20).partial_fit(X, y, classes=[0, 1])
    assert model.n_updates_ > 100
    native_of(model).check_invariants()
    assert model.memory_bytes_ < 400_000


@each_kind
def test_a_refused_refit_leaves_the_model_as_it_was(case: Case) -> None:
    X, y = stream(100, classes=3)
    model = case.make().fit(X, y)
    before = model.predict(X)
    model.set_params(gamma=-1.0)
    with pytest.raises(ValueError, match="gamma"):
        model.fit(X[:, :2], y % 2)
    model.set_params(gamma=0.5)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_features_in_ == 4


def test_a_refit_refused_by_the_parts_leaves_the_model_as_it_was() -> None:
    X, y = stream(100, classes=3)
    model = BY_NAME["nogd"].make().fit(X, y)
    before = model.predict(X)
    model.set_params(rank=50)
    with pytest.raises(ValueError, match="rank"):
        model.fit(X[:, :2], y % 2)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("case", "kernel"),
    [(case, kernel) for case in KINDS for kernel in ("linear", "poly") if kernel in case.kernels],
    ids=str,
)
@pytest.mark.parametrize(("dtype", "huge"), [(np.float32, 1e25), (np.float64, 1e200)])
def test_a_row_that_overflows_is_not_learned(
    case: Case, kernel: str, dtype: type, huge: float
) -> None:
    X, y = stream(200)
    X = X.astype(dtype)
    X[50, 1] = huge
    model = case.make(kernel).partial_fit(X, y, classes=[0, 1])
    assert np.isfinite(model.decision_function(np.delete(X, 50, axis=0))).all()


def test_labels_of_another_kind_cannot_join() -> None:
    X, y = stream(20)
    model = BY_NAME["rbp"].make().partial_fit(X, y)
    with pytest.raises(ValueError, match="all are numbers or none is"):
        model.partial_fit(X[:1], ["a"])
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="NaN"):
        BY_NAME["rbp"].make().partial_fit(X, y, classes=[0, 1, np.nan])


MISSING = "None|NaN|NaT|<NA>"


def incomplete() -> dict[str, Any]:
    """Labels of which that of row 2 is missing, in every possible form."""
    pandas = pytest.importorskip("pandas")
    text = ["a", "b", None, "a", "b", "a"]
    numbers = [0, 1, None, 1, 0, 1]
    return {
        "list of text": text,
        "list of numbers": numbers,
        "array of text": np.array(text, dtype=object),
        "array of numbers": np.array(numbers, dtype=object),
        "NaN among text": np.array(["a", "b", np.nan, "a", "b", "a"], dtype=object),
        "NaN": np.array([0, 1, np.nan, 1, 0, 1]),
        "Series": pandas.Series(text),
        "Series of objects": pandas.Series(text, dtype=object),
        "NA among text": pandas.Series(["a", "b", pandas.NA, "a", "b", "a"], dtype=object),
        "string": pandas.Series(text, dtype="string"),
        "Int64": pandas.Series(numbers, dtype="Int64"),
        "boolean": pandas.Series([True, False, None] * 2, dtype="boolean"),
        "category": pandas.Series(text, dtype="category"),
        "dates": pandas.to_datetime(pandas.Series(["2020-01-01", "2020-01-02", None] * 2)),
    }


def refusals(task: str, y: Any) -> Iterator[str]:
    """The messages of every way to learn these labels, each with its own model."""
    pandas, river = pytest.importorskip("pandas"), pytest.importorskip("budgetron.river")
    X = stream(6)[0]
    for call in (
        lambda model: model.fit(X, y),
        lambda model: model.partial_fit(X, y),
        lambda model: model.prequential(X, y),
        lambda model: prequential(model, X, y),
        lambda model: prequential(model, X, y, delay=1, chunk_rows=1),
        lambda model: prequential(model, [(X[:1], [0]), (X[1:], y[1:])]),
        lambda _: prequential(river.make("rbp", task=task), X, y),
        lambda _: river.make("rbp", task=task).learn_many(
            pandas.DataFrame(X, columns=list("abcd")), pandas.Series(y)
        ),
    ):
        model = budgetron.make("rbp", task=task)
        with pytest.raises(ValueError, match="y contains") as raised:
            call(model)
        yield str(raised.value)


def test_a_missing_label_is_named_by_its_row() -> None:
    for how, y in incomplete().items():
        for said in refusals("classification", y):
            assert re.fullmatch(rf"Input y contains ({MISSING}) in row 2: leave the.*", said), how
        for said in refusals("regression", y):
            assert re.fullmatch(r"Input y contains .* in row \d: targets must be.*", said), how


def test_labels_of_two_kinds_are_refused() -> None:
    mixed = ["a", 1, "b", 1, "a", 1]
    for y in (mixed, tuple(mixed), np.array(mixed, dtype=object)):
        for said in refusals("classification", y):
            assert said.endswith("labels must be all text or all numbers"), said
    with pytest.raises(ValueError, match=r"classes contains 0 in row 0 and 'a' in row 1"):
        budgetron.make("rbp").partial_fit(stream(6)[0], [0] * 6, classes=[0, "a"])
    with pytest.raises(ValueError, match="classes contains None in row 1"):
        budgetron.make("rbp").partial_fit(stream(6)[0], [0] * 6, classes=[0, None])


@pytest.mark.parametrize("label", [None, np.nan, "NA"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_row_without_label_is_refused_one_at_a_time(task: str, label: Any) -> None:
    river = pytest.importorskip("budgetron.river")
    if label == "NA":
        label = pytest.importorskip("pandas").NA
    X = stream(6)[0]
    new = budgetron.make("rbp", task=task)
    old = budgetron.make("rbp", task=task).partial_fit(X, [0, 1] * 3)
    dicts = river.make("rbp", task=task)
    started = river.make("rbp", task=task)
    for value in (0, 1):
        started.learn_one({"a": 1.0}, value)
    before = to_bytes(old)
    for learn in (
        lambda: new.learn_one(X[0], label),
        lambda: old.learn_one(X[0], label),
        lambda: dicts.learn_one({"a": 1.0}, label),
        lambda: started.learn_one({"a": 1.0}, label),
    ):
        with pytest.raises(ValueError, match=r"^(Input y contains|target) .*[^\n]*$"):
            learn()
    assert to_bytes(old) == before


def test_more_columns_than_there_are_feature_numbers() -> None:
    X = scipy.sparse.csr_array(
        (np.ones(2), np.array([3, 2**32 + 3]), np.array([0, 1, 2])), shape=(2, 2**33)
    )
    with pytest.raises(ValueError, match="at most 2147483647"):
        BY_NAME["rbp"].make().partial_fit(X, [0, 1])


def test_one_row_path_checks_the_width() -> None:
    model, X, _ = fitted(CASES[0])
    for call in (
        lambda: model.learn_one(X.ravel(), 1),
        lambda: model.decision_one(X[0, :2].copy()),
    ):
        with pytest.raises(ValueError, match="features, the model 4"):
            call()


def test_csr_that_adds_up_to_infinity_or_points_nowhere_is_refused() -> None:
    model = budgetron.make("rbp").partial_fit([[1.0, 2.0], [0.0, 1.0]], [0, 1])
    before = pickle.dumps(state_of(model))
    twice = scipy.sparse.csr_array(([1.5e308] * 2, [0, 0], [0, 2]), shape=(1, 2))
    beyond = scipy.sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, 2))
    beyond.indices[0] = 10**9
    for rows in (twice, beyond):
        with pytest.raises(ValueError, match=r"X has infinite|indices"):
            model.partial_fit(rows, [0])
    assert pickle.dumps(state_of(model)) == before
