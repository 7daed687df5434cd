"""Closed and joining classes, labels of any type, ties."""

from __future__ import annotations

import numpy as np
import pytest

from budgetron import make
from budgetron.checks import contracts
from tests.support.cases import CASES, KINDS, Case, stream
from tests.support.native import state_of

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_kind = pytest.mark.parametrize("case", KINDS, ids=str)


@pytest.mark.parametrize("kind", contracts.LABELS)
@each_kind
def test_labels_of_any_type(case: Case, kind: str) -> None:
    contracts.check_labels_of_any_type(case.make(), kinds=[kind])


@each_kind
def test_ties_of_two_go_to_the_second_class_and_of_more_to_the_first(case: Case) -> None:
    x = np.ones((1, 3))
    assert case.make().partial_fit(x, ["a"], classes=["a", "b"]).n_mistakes_ == 1
    assert case.make().partial_fit(x, ["b"], classes=["a", "b"]).n_mistakes_ == 0
    assert case.make().partial_fit(x, ["a"], classes=["a", "b", "c"]).n_mistakes_ == 0
    assert case.make().partial_fit(x, ["c"], classes=["a", "b", "c"]).n_mistakes_ == 1


@pytest.mark.parametrize("classes", [2, 30])
def test_numbers_are_not_taken_for_their_text(classes: int) -> None:
    X, _ = stream(60)
    names = [str(label) for label in range(classes)]
    model = make("rbp", budget=10, random_state=0)
    model.partial_fit(X, np.array(names)[np.arange(60) % classes], classes=names)
    for labels in (np.zeros(60, int), np.zeros(60)):  # NumPy compares them as text, and finds "0"
        with pytest.raises(ValueError, match=r"label 0(\.0)? is not among the classes"):
            model.partial_fit(X, labels)


@each_kind
def test_a_label_outside_the_declared_classes_raises_and_changes_nothing(case: Case) -> None:
    X, y = stream(100)
    model = case.make().partial_fit(X, y, classes=[0, 1])
    before = state_of(model)
    with pytest.raises(ValueError, match="label 2 is not among the classes"):
        model.partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="not what the first call said"):
        model.partial_fit(X[:1], [0], classes=[0, 1, 2])
    after = state_of(model)
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


@pytest.mark.parametrize(
    ("case", "order"),
    [(case, [1, 2, 0]) for case in CASES]
    + [(case, order) for case in KINDS for order in ([0, 1, 2], [2, 1, 0], [2, 0, 1])],
    ids=str,
)
def test_joining_in_any_order_and_chunking(case: Case, order: list[int]) -> None:
    X, y = stream(300, classes=3)
    # Row i < 90 has one of the classes that have joined so far.
    y[:30] = order[0]
    y[30:60] = np.where(y[30:60] == order[2], order[1], y[30:60])
    y[30], y[60] = order[1], order[2]
    whole = case.make(random_state=1)
    decisions = whole.prequential(X, y)
    assert decisions.shape == (300, 3)
    assert list(whole.classes_) == [0, 1, 2]
    loop = case.make(random_state=1)
    for i in range(100):
        loop.partial_fit(X[i : i + 1], y[i : i + 1])
    loop.partial_fit(X[100:], y[100:])  # all have joined
    np.testing.assert_array_equal(whole.dual_coef_, loop.dual_coef_)
    assert whole.n_mistakes_ == loop.n_mistakes_
    # -inf exactly where a class had not been seen before the row.
    for label in range(3):
        first = int(np.flatnonzero(y == label)[0])
        assert np.isneginf(decisions[: first + 1, label]).all()
        assert np.isfinite(decisions[first + 1 :, label]).all()


@each_case
def test_a_class_that_joins_leaves_the_others_as_they_were(case: Case) -> None:
    X, y = stream(200)
    model = case.make().partial_fit(X, np.array([10, 30])[y])
    before = model.decision_function(X)
    model._join(20)  # what partial_fit does before it learns the first row of class 20
    after = model.decision_function(X)
    assert after.shape == (200, 3)
    np.testing.assert_array_equal(after[:, 2] - after[:, 0], before)
    np.testing.assert_array_equal(after[:, 1], 0.0)


@each_kind
def test_one_class_alone_then_its_opponent(case: Case) -> None:
    X, _ = stream(60)
    alone = case.make().partial_fit(X, np.full(60, "m"))
    assert set(alone.predict(X)) == {"m"}
    assert alone.n_mistakes_ == 1  # the very first row: no class was known
    f = alone.decision_function(X)
    for opponent, sign in [("a", 1.0), ("z", -1.0)]:
        model = case.make().partial_fit(X, np.full(60, "m"))
        model._join(opponent)
        np.testing.assert_array_equal(model.decision_function(X), sign * f)


@pytest.mark.parametrize("classes", [2, 3])
@each_kind
def test_rows_of_weight_0_before_any_class(case: Case, classes: int) -> None:
    X, y = stream(60, classes=classes)
    weights = np.repeat([0.0, 1.0], [5, 55])
    decisions = case.make().prequential(X, y, sample_weight=weights)
    assert len(decisions) == len(X)
    np.testing.assert_array_equal(decisions[:5], 0.0 if classes == 2 else -np.inf)
    np.testing.assert_array_equal(decisions[5:], case.make().prequential(X[5:], y[5:]))
