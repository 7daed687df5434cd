"""Budgets in bytes: never exceeded, as large as possible, and lowered while learning."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import budgetron
from budgetron import parts
from budgetron.catalogue import as_printed, paper_settings
from budgetron.errors import BudgetronError
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.evaluate import prequential
from tests.support.cases import CASES, KINDS, REGRESSION, Case, numeric_stream, same_state, stream
from tests.support.native import engine_of, has_learned, learn_rows, native_of

WIDTH = 6
LIMIT = 10_400


def budget_name(case: Case) -> str:
    return "n_components" if case.name == "fogd" else "budget"


OTHER_LOSSES = ("logistic", "smooth-hinge", "absolute", "epsilon-insensitive")  # the same memory
SIZED = [
    case
    for case in CASES + REGRESSION
    if case.params.get(budget_name(case)) is not None and case.label not in OTHER_LOSSES
]
each_sized = pytest.mark.parametrize("case", SIZED, ids=str)


def rows(case: Case, n: int, width: int = WIDTH, seed: int = 0) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, targets, and the extra arguments of the first call."""
    if case.task == "regression":
        return *numeric_stream(n, width, seed=seed, sparse=True), {}
    return *stream(n, width, 3, seed=seed, sparse=True), {"classes": [0, 1, 2]}


def within(case: Case, limit: int, **more: Any) -> Any:
    return case.make(case.kernels[0], **{budget_name(case): f"{limit}B"}, **more)


def learned(model: Any, X: Any, y: Any, first: dict[str, Any], start: int = 0) -> Iterator[Any]:
    """The model after each row from `start` on; only the first row goes through the estimator."""
    if start == 0:
        yield model.partial_fit(X[:1], y[:1], **first)
        start = 1
    X = X.astype(engine_of(model).dtype)
    for i in range(start, len(y)):
        learn_rows(native_of(model), X[i : i + 1], y[i : i + 1].astype(np.float64))
        yield model


def peak_of(model: Any, budget: int) -> int:
    """The peak memory of the model with another budget and its room."""
    origin = model._origin
    slots = WIDTH if not model._sparse else min(WIDTH, 64 * budget)
    changed = replace(
        origin,
        params=model._with_budget(origin.params, budget),
        room=replace(origin.room, slots=slots),
    )
    engine = model._build(changed, native_of(model).classes, engine_of(model).dtype)
    return int(engine.native.memory_bytes)


# ---- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("256KB", 256_000),
        ("256KiB", 262_144),
        ("9000B", 9_000),
        ("2MB", 2_000_000),
        ("2MiB", 2_097_152),
        ("1.5 kb", 1_500),
        ("1GB", 10**9),
        ("1GiB", 2**30),
        ("0.1B", 0),
    ],
)
def test_sizes_are_read(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "256", "KB", "-1KB", "1e3KB", "256KX", "many", "1 K B", "iB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"budget=.* is not a size.*'256KB'"):
        parse_bytes(text, "budget")


# ---- the largest that fits -----------------------------------------------------------------------


@each_sized
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_never_above_the_bytes_and_the_next_budget_would_be(case: Case, layout: str) -> None:
    X, y, first = rows(case, 150)
    X = X if layout == "dense" else scipy.sparse.csr_array(X)
    model = within(case, LIMIT)
    for each in learned(model, X, y, first):
        assert each.memory_bytes_ <= LIMIT
    assert peak_of(model, model.budget_) <= LIMIT < peak_of(model, model.budget_ + 1)
    native_of(model).check_invariants()


@each_sized
def test_with_a_warm_up_never_above_the_bytes(case: Case) -> None:
    if case.kernels[0] == "linear":
        pytest.skip("a kernel without gamma")
    X, y, first = rows(case, 120)
    model = within(case, 40_000, scale="auto", **({"gamma": "median"}))
    for each in learned(model, X, y, first):
        assert each.memory_bytes_ <= 40_000
    assert model.scaling_ != "undecided"  # fewer than 200 rows were enough
    assert model.budget_ < within(case, 40_000).partial_fit(X[:1], y[:1], **first).budget_


@each_sized
def test_with_units_and_a_warm_up_a_few_kilobytes_are_enough(case: Case) -> None:
    """With three features the rows kept to find gamma and units are small beside the model."""
    if case.kernels[0] == "linear":
        pytest.skip("a kernel without gamma")
    X, y, first = rows(case, 300, width=3)
    auto: dict[str, Any] = {"scale": "auto", "gamma": "median"}
    with pytest.raises(BudgetronError, match="the least that works") as plain:
        within(case, 1).partial_fit(X, y, **first)
    with pytest.raises(BudgetronError, match="the least that works") as wanted:
        within(case, 1, **auto).partial_fit(X, y, **first)
    least = int(str(wanted.value).split("'")[1].removesuffix("B"))
    assert least <= int(str(plain.value).split("'")[1].removesuffix("B")) + 10_200
    model = within(case, least, **auto).partial_fit(X, y, **first)
    assert model.scaling_ != "undecided"
    assert model.memory_bytes_ <= least


def test_units_and_a_warm_up_leave_most_bytes_to_the_examples() -> None:
    X, y = stream(3, 123, 2)
    X = X.astype(np.float32)
    model, plain = (
        budgetron.ForgetronClassifier(budget="256KB", **more).partial_fit(X, y, classes=[0, 1])
        for more in ({}, {"scale": None, "gamma": 1.0})
    )
    assert model.budget_ >= 0.65 * plain.budget_  # 304 of 464
    assert model._origin.room.warmup_rows >= 50


@each_sized
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_copy_from_a_pickle_takes_the_same_bytes(case: Case, layout: str) -> None:
    if case.kernels[0] == "linear":
        pytest.skip("a kernel without gamma")
    X, y, first = rows(case, 260)
    X = X if layout == "dense" else scipy.sparse.csr_array(X)
    auto: dict[str, Any] = {"scale": "auto", "gamma": "median"}
    model = within(case, 40_000, **auto).partial_fit(X[:20], y[:20], **first)
    for n in (20, 220):  # in the warm-up and after it
        twin = pickle.loads(pickle.dumps(model))
        assert twin.memory_bytes_ == model.memory_bytes_
        for each in (model, twin):
            each.partial_fit(X[n : n + 40], y[n : n + 40])
        assert twin.memory_bytes_ == model.memory_bytes_
        model.partial_fit(X[60:220], y[60:220])


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_copy_takes_the_same_bytes_for_features_that_come_later(layout: str) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 300)).astype(np.float32)
    X[:40, 10:] = 0.0
    y = (random.random(300) > 0.5).astype(float)
    rows = X if layout == "dense" else scipy.sparse.csr_array(X)
    model = as_printed("budgetron", budget="200KB", gamma=0.05, random_state=0)
    model.partial_fit(rows[:40], y[:40], classes=[0.0, 1.0])
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.partial_fit(rows[40:], y[40:])
        assert each.memory_bytes_ <= 200_000
    assert twin.memory_bytes_ == model.memory_bytes_
    same_state(twin, model)


@pytest.mark.parametrize("wide", [False, True])
def test_a_warm_up_in_bytes_takes_rows_of_both_layouts(wide: bool) -> None:
    """Rows of full width are kept dense, without memory for feature numbers."""
    X, y = stream(150, 80 if wide else 6, 2, sparse=True)
    X[:, 0] *= 100.0
    dense, mixed = (
        budgetron.ForgetronClassifier(budget="200KB", random_state=0).partial_fit(
            X[:1], y[:1], classes=[0, 1]
        )
        for _ in range(2)
    )
    assert dense._origin.room.warmup_rows > 30
    for i in range(1, len(y)):
        row = X[i : i + 1]
        dense.partial_fit(row, y[i : i + 1])
        mixed.partial_fit(scipy.sparse.csr_array(row) if i % 3 else row, y[i : i + 1])
        assert mixed.memory_bytes_ <= 200_000
        assert mixed.memory_bytes_ == dense.memory_bytes_
    np.testing.assert_array_equal(dense.decision_function(X), mixed.decision_function(X))
    assert dense.gamma_ == mixed.gamma_


@each_sized
def test_the_learner_is_the_one_with_that_budget(case: Case) -> None:
    X, y, first = rows(case, 150)
    model = within(case, LIMIT).partial_fit(X, y, **first)
    counted = case.make(case.kernels[0], **{budget_name(case): model.budget_})
    counted.partial_fit(X, y, **first)
    same_state(model, counted)


@each_sized
def test_rows_whose_features_find_no_room_meet_a_full_budget(case: Case) -> None:
    """Wide sparse rows: always within the bytes, valid after every row, and in use."""
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(130, 3000)) * (rng.random((130, 3000)) < 0.03)
    dense[40] = 1.0  # more features than there is room for
    X = scipy.sparse.csr_array(dense.astype(np.float32))
    y = rng.integers(3, size=130)
    first = {"classes": [0, 1, 2]}
    targets: Any = y
    if case.task == "regression":
        first, targets = {}, rng.normal(size=130)
    limit = 90_000 if case.name != "pomdr" else 180_000
    model = within(case, limit)
    for each in learned(model, X, targets, first):
        assert each.memory_bytes_ <= limit
        assert each.n_support_ <= each.budget_
    assert model.n_support_ > 0 or case.name == "fogd"
    assert model._origin.room.slots < 3000
    native_of(model).check_invariants()
    twin = copy_of(model)
    same_state(model, twin)
    assert twin.memory_bytes_ <= limit


# ---- what it needs -------------------------------------------------------------------------------


def test_classes_must_be_declared() -> None:
    X, y = stream(20)
    model = budgetron.make("forgetron", budget="20KB")
    with pytest.raises(ValueError, match="budget in bytes needs all classes in the first call"):
        model.partial_fit(X, y)
    assert not has_learned(model)
    assert model.fit(X, y).budget_ > 1
    assert model.prequential(X, y).shape == (20,)


def test_the_width_must_be_fixed() -> None:
    X, y = stream(20)
    model = budgetron.make("forgetron", budget="20KB", gamma=1.0)
    with pytest.raises(ValueError, match="needs a fixed number of features"):
        model._prequential_growing(X, y, classes=[0, 1])


@pytest.mark.parametrize("name", ["ahpatron", "forgetron", "budgetron", "fogd", "nogd", "pomdr"])
def test_too_few_bytes_name_the_least_that_works(name: str) -> None:
    X, y = stream(20)
    key = "n_components" if name == "fogd" else "budget"
    with pytest.raises(ValueError, match="the least that works is about") as refused:
        budgetron.make(name, **{key: "100B"}).fit(X, y)
    least = int(str(refused.value).split("'")[1].removesuffix("B"))
    assert budgetron.make(name, **{key: f"{least}B"}).fit(X, y).budget_ >= 1
    with pytest.raises(ValueError, match="the least that works"):
        budgetron.make(name, **{key: f"{least - 1}B"}).fit(X, y)


def test_a_text_that_is_no_size_is_refused_where_it_is_used() -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match="budget='lots' is not a size"):
        budgetron.make("forgetron", budget="lots").fit(X, y)


def test_parts_have_their_size_in_bytes_too() -> None:
    X, y = stream(150)
    how = paper_settings() | {"gamma": 1.0}
    model = budgetron.KernelClassifier(budget=parts.RemoveSmallest(size="9KB"), **how)
    model.fit(X, y)
    assert model.memory_bytes_ <= 9_000 < 2 * model.memory_bytes_
    assert model.n_support_ == model.budget_
    assert model.lower_budget(5).n_support_ == 5


# ---- the budget of a live model ------------------------------------------------------------------


@each_sized
@pytest.mark.parametrize("smaller", [4, "10400B"])
def test_a_live_budget_can_be_lowered(case: Case, smaller: int | str) -> None:
    name = budget_name(case)
    X, y, first = rows(case, 200)
    before = {name: 40, **({"rank": 2} if case.name == "nogd" else {})}
    model = case.make(case.kernels[0], **before).partial_fit(X[:120], y[:120], **first)
    held = model.memory_bytes_
    seen = model.n_seen_
    model.lower_budget(smaller)
    assert model.n_seen_ == seen
    assert model.budget_ <= (4 if smaller == 4 else 40)
    assert model.n_support_ <= model.budget_
    assert model.get_params()[name] == smaller
    twin = copy_of(model)
    for each in (model, twin):
        for now in learned(each, X, y, {}, start=120):
            assert now.n_support_ <= now.budget_
            assert smaller == 4 or now.memory_bytes_ <= LIMIT
        native_of(each).check_invariants()
    same_state(model, twin)
    if smaller == 4 and case.name != "fogd":
        assert model.n_support_ > 0
        assert model.memory_bytes_ <= held


def copy_of(model: Any) -> Any:
    """The model loaded from its own file."""
    from budgetron.model_file.document import describe, restore

    return restore(*describe(model))


def test_lowering_keeps_what_the_rule_would_keep() -> None:
    X, y = stream(200)
    oldest = budgetron.make("remove-oldest", budget=12, gamma=1.0).fit(X, y)
    ids = sorted(native_of(oldest).ids())
    assert sorted(native_of(oldest.lower_budget(5)).ids()) == ids[-5:]
    smallest = budgetron.make("bsgd-remove", budget=12, gamma=1.0).fit(X, y)
    sizes = np.sort(np.abs(smallest.dual_coef_[0]))
    np.testing.assert_array_equal(
        np.sort(np.abs(smallest.lower_budget(5).dual_coef_[0])), sizes[-5:]
    )


def test_a_lowered_fogd_is_the_mean_over_fewer_frequencies() -> None:
    X, y = stream(300)
    model = budgetron.make("fogd", n_components=2000, gamma=0.3, random_state=0).fit(X, y)
    before = model.decision_function(X)
    after = model.lower_budget(1000).decision_function(X)
    assert np.corrcoef(before, after)[0, 1] > 0.98
    assert abs(np.std(after) / np.std(before) - 1) < 0.1


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (13, "at most 12"),
        (0, "at least 1"),
        (True, "neither"),
        (2.5, "neither"),
        ("7", "is not a size"),
        ("10B", "the least that works"),
    ],
)
def test_a_budget_that_cannot_be_lowered_to_changes_nothing(budget: Any, why: str) -> None:
    X, y = stream(200)
    model = budgetron.make("forgetron", budget=12, gamma=1.0).fit(X, y)
    before = copy_of(model)
    with pytest.raises(ValueError, match=why):
        model.lower_budget(budget)
    same_state(model, before)
    assert model.budget == 12


def test_bytes_cannot_be_raised() -> None:
    X, y = stream(50)
    model = as_printed("forgetron", budget="9KB", gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="above its 9000 bytes"):
        model.lower_budget("10KB")


# ---- parameters of a live model ------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in SIZED if case in KINDS], ids=str)
@pytest.mark.parametrize("smaller", [4, "10400B"])
def test_a_lower_budget_that_is_set_holds_from_the_next_row_on(
    case: Case, smaller: int | str
) -> None:
    X, y, first = rows(case, 200)
    before = {budget_name(case): 40, **({"rank": 2} if case.name == "nogd" else {})}
    model, lowered = (
        case.make(case.kernels[0], **before).partial_fit(X[:120], y[:120], **first)
        for _ in range(2)
    )
    model.set_params(**{budget_name(case): smaller})
    assert model.budget_ == 40  # nothing has become of it yet
    lowered.lower_budget(smaller)
    pickled = pickle.loads(pickle.dumps(model))
    learned = [
        lowered.partial_fit(X[120:], y[120:]),
        model.partial_fit(X[120:], y[120:]),
        pickled.partial_fit(X[120:], y[120:]),
    ]
    for each in learned[1:]:
        same_state(each, learned[0])
        assert each.budget_ == learned[0].budget_


def live(name: str, **params: Any) -> tuple[Any, Any, Any]:
    X, y = stream(100)
    return as_printed(name, gamma=0.5, random_state=0, **params).fit(X, y), X, y


@pytest.mark.parametrize(
    ("name", "made", "later"),
    [
        ("forgetron", {"budget": 12}, {"budget": 13}),
        ("forgetron", {"budget": "9KB"}, {"budget": "10KB"}),
        ("forgetron", {"budget": "9KB"}, {"budget": 500}),
        ("forgetron", {"budget": 12}, {"budget": 0}),
        ("forgetron", {"budget": 12}, {"budget": "5"}),
        ("forgetron", {"budget": 12}, {"budget": 6, "gamma": 2.0}),
        ("fogd", {"n_components": 20}, {"n_components": 21}),
        ("avm", {"budget": 20}, {"budget": None}),
        ("perceptron", {}, {"kernel": "linear"}),
        ("perceptron", {}, {"class_weight": "balanced"}),
        ("perceptron", {}, {"scale": "auto"}),
        ("perceptron", {}, {"gamma": "2*median"}),
        ("perceptron", {}, {"average": "mean"}),
        ("budgetron", {"budget": 12}, {"r": 0.3}),
    ],
)
def test_what_a_live_model_cannot_follow_is_refused(
    name: str, made: dict[str, Any], later: dict[str, Any]
) -> None:
    """By every call that learns; `predict` answers on, `fit` starts anew."""
    model, X, y = live(name, **made)
    before, said = copy_of(model), model.decision_function(X)
    model.set_params(**later)
    for learn in (
        lambda: model.partial_fit(X, y),
        lambda: model.prequential(X, y),
        lambda: model.learn_one(X[0], y[0]),
        lambda: prequential(model, X, y),
    ):
        with pytest.raises(ValueError, match="|".join(later)) as raised:
            learn()
        assert "\n" not in str(raised.value)
    same_state(model, before)
    assert later.items() <= model.get_params().items()
    np.testing.assert_array_equal(model.decision_function(X), said)
    model.set_params(**{key: before.get_params()[key] for key in later})
    same_state(model.partial_fit(X, y), before.partial_fit(X, y))


def test_fit_starts_again_with_the_current_parameters() -> None:
    model, X, y = live("forgetron", budget=12)
    model.set_params(budget=50, gamma=1.0).fit(X, y)
    same_state(model, as_printed("forgetron", budget=50, gamma=1.0, random_state=0).fit(X, y))
    same_state(model.partial_fit(X, y), clone(model).fit(X, y).partial_fit(X, y))


def test_what_only_fit_and_predict_look_at_may_change() -> None:
    model, X, y = live("forgetron", budget=12)
    twin = copy_of(model)
    model.set_params(n_epochs=3, shuffle=True, n_jobs=2, random_state=5, budget=12)
    same_state(model.partial_fit(X, y), twin.partial_fit(X, y))


def test_no_limit_becomes_one() -> None:
    model, X, y = live("avm", budget=None, delta=0.01)
    model.set_params(budget=7).partial_fit(X[:1], y[:1])
    assert model.n_support_ == model.budget_ == 7


def test_the_size_of_a_part_is_lowered_and_other_parts_are_refused() -> None:
    X, y = stream(150)
    model = budgetron.KernelClassifier(update="avp", budget="remove-oldest", gamma=1.0).fit(X, y)
    model.set_params(budget=parts.RemoveOldest(), update=parts.AvpUpdate()).partial_fit(X, y)
    model.set_params(budget__size=9).partial_fit(X, y)
    assert model.n_support_ == model.budget_ == 9
    for later in ({"budget__size": 10}, {"budget": "halve"}, {"update": "alma"}, {"radius": 2.0}):
        before = model.get_params(deep=False)
        model.set_params(**later)
        with pytest.raises(ValueError, match=r"(budget|update|radius)=.* was set, but the model"):
            model.partial_fit(X, y)
        model.set_params(**before)
    assert model.partial_fit(X, y).budget_ == 9


def test_a_regressor_follows_row_by_row() -> None:
    X, y = numeric_stream(100)
    model = budgetron.make("rbp", task="regression", budget=20, gamma=0.5, epsilon=0.0).fit(X, y)
    model.budget = 6  # as good as set_params
    model.learn_one(X[0], y[0])
    assert model.n_support_ == model.budget_ == 6
    model.set_params(epsilon=0.5)
    with pytest.raises(ValueError, match=r"epsilon=0\.5 was set"):
        model.learn_one(X[0], y[0])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_river_model_follows_too(task: str) -> None:
    pandas = pytest.importorskip("pandas")
    river = pytest.importorskip("budgetron.river")
    X, _ = stream(60)
    frame, y = pandas.DataFrame(X, columns=list("abcd")), pandas.Series(np.arange(60) % 2)
    model = river.make("rbp", task=task, budget=20, gamma=0.5, seed=0)
    model.learn_many(frame, y)
    model.mutate({"budget": 6})
    model.learn_one(dict(frame.iloc[0]), 1)
    assert model.n_support_ <= model.estimator.budget_ == 6
    model.estimator.lower_budget(5)
    model.learn_one(dict(frame.iloc[0]), 1)
    model.budget = 30
    for learn in (
        lambda: model.learn_one(dict(frame.iloc[0]), 1),
        lambda: model.learn_many(frame, y),
    ):
        with pytest.raises(ValueError, match="budget=30 was set"):
            learn()
    with pytest.raises(ValueError, match="'gamma' is not a mutable"):
        model.mutate({"gamma": 2.0})


def test_models_without_a_budget_say_so() -> None:
    X, y = stream(50)
    model = budgetron.make("perceptron").fit(X, y)
    assert not hasattr(model, "budget_")
    with pytest.raises((ValueError, AttributeError), match="no budget"):
        model.lower_budget(3)


# ---- files ---------------------------------------------------------------------------------------


@each_sized
def test_a_file_of_it_goes_on_within_the_bytes(case: Case, tmp_path: Any) -> None:
    X, y, first = rows(case, 160)
    X = scipy.sparse.csr_array(X)
    model = within(case, LIMIT).partial_fit(X[:80], y[:80], **first)
    budgetron.save(model, tmp_path / "model.btn")
    twin = budgetron.load(tmp_path / "model.btn")
    assert twin.budget_ == model.budget_
    assert twin.get_params() == model.get_params()
    for each in (model, twin):
        for now in learned(each, X, y, {}, start=80):
            assert now.memory_bytes_ <= LIMIT
    same_state(model, twin)


def test_finding_the_budget_is_quick() -> None:
    X = np.zeros((1, 123), dtype=np.float32)
    for name in ("forgetron", "ahpatron", "budgetron", "nogd"):
        seconds = []
        for _ in range(3):
            model = budgetron.make(name, budget="256KB")
            start = time.process_time()
            model.partial_fit(X, [0], classes=[0, 1])
            seconds.append(time.process_time() - start)
        assert min(seconds) < 0.05
