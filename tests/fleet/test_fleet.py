"""f_key = f_shared + f_own: valid rows and keys, and what never makes a difference."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron.fleet.fleet import ALGORITHMS, REGRESSION
from tests.support.keyed import keyed, least_memory
from tests.support.native import native_of


def fleet_of(algorithm: str = "forgetron", **settings: Any) -> Any:
    given: dict[str, Any] = {"memory": "3MB", "classes": [0, 1], "shared": 20, **settings}
    return budgetron.Fleet(algorithm, **given)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_batch_is_loop_and_saved_is_not_stopped(algorithm: str) -> None:
    """In any pieces, through bytes in mid-stream, short of memory: the same bits."""
    keys, X, y = keyed(1500, 400)
    least = least_memory(algorithm, 4, classes=[0, 1], shared=20) + 20_000
    whole = fleet_of(algorithm, memory=least)
    decisions = whole.prequential(keys, X, y)
    assert whole.info()["left"] > 50, "the memory is not small enough to say anything"
    whole.check_invariants()
    pieces = fleet_of(algorithm, memory=least)
    found = []
    for start, end in ((0, 1), (1, 300), (300, 301), (301, 900), (900, 1500)):
        found.append(pieces.prequential(keys[start:end], X[start:end], y[start:end]))
        if end in (300, 900):
            pieces = budgetron.Fleet.from_bytes(pieces.to_bytes())
    np.testing.assert_array_equal(np.concatenate(found), decisions)
    assert pieces.to_bytes() == whole.to_bytes()
    assert pickle.loads(pickle.dumps(whole)).to_bytes() == whole.to_bytes()


def test_dense_is_csr_and_f_order() -> None:
    keys, X, y = keyed(600)
    X[X < 0] = 0.0
    expected = fleet_of().prequential(keys, X, y)
    for rows in (scipy.sparse.csr_array(X), np.asfortranarray(X)):
        np.testing.assert_array_equal(fleet_of().prequential(keys, rows, y), expected)
    X.setflags(write=False)
    np.testing.assert_array_equal(fleet_of().prequential(keys, X, y), expected)


@pytest.mark.parametrize("classes", [2, 3])
def test_shared_model_is_the_ordinary_one_and_answers_for_unknown_keys(classes: int) -> None:
    keys, X, y = keyed(900, classes=classes)
    fleet = fleet_of("budgetron", classes=range(classes), memory="9MB").learn(keys, X, y)
    model = budgetron.make("budgetron", budget=20).partial_fit(X, y, classes=range(classes))
    unknown = [f"new {i}" for i in range(50)]
    np.testing.assert_array_equal(
        fleet.decision_function(unknown, X[:50]), model.decision_function(X[:50])
    )
    np.testing.assert_array_equal(fleet.predict(unknown, X[:50]), model.predict(X[:50]))
    assert fleet.shared_.n_mistakes_ == model.n_mistakes_
    assert (fleet.decision_function(keys[:50], X[:50]) != model.decision_function(X[:50])).any()
    chances = fleet.predict_proba(keys[:50], X[:50])
    assert chances.shape == (50, classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(chances.argmax(axis=1), fleet.predict(keys[:50], X[:50]))


def test_own_models_follow_the_shared_units() -> None:
    """After changes of units f_own is that of its examples in the current units."""
    keys, X, y = keyed(3000, 30)
    X[1000:] *= 40.0  # deviations of all rows so far grow, and units change
    X[:300, 1] = 7.0  # a feature without a unit at the end of the warm-up
    fleet = fleet_of("forgetron").learn(keys, X, y)
    shared = fleet.shared_
    assert shared.gamma_ != fleet_of("forgetron").learn(keys[:300], X[:300], y[:300]).shared_.gamma_
    own = fleet.decision_function(keys[-200:], X[-200:]) - shared.decision_function(X[-200:])
    centres, sizes, _ = native_of(shared).units(np.arange(4, dtype=np.int32))
    clip = native_of(shared).clip
    seen = np.clip((X - centres) / sizes, -clip, clip) * sizes + centres
    for row in range(200):
        examples, coefs = fleet.examples(keys[-200 + row])
        apart = ((seen[-200 + row] - examples) / sizes) ** 2
        kernel = np.exp(-shared.gamma_ * apart.sum(axis=1))
        assert own[row] == pytest.approx(float(kernel @ coefs[:, 0]), abs=2e-3)


def test_fewer_mistakes_than_one_model_and_than_independent_ones() -> None:
    keys, X, y = keyed(6000, 60)
    settings: dict[str, Any] = {"algorithm": "budgetron", "memory": "3MB", "classes": [0, 1]}
    fleet = budgetron.Fleet(**settings, shared=30).learn(keys, X, y)
    apart = budgetron.Fleet(**settings, shared=None).learn(keys, X, y)
    one = budgetron.make("budgetron", budget=30).partial_fit(X, y)
    assert fleet.n_mistakes_ < 0.95 * apart.n_mistakes_
    assert fleet.n_mistakes_ < 0.8 * one.n_mistakes_


# ---- edges ---------------------------------------------------------------------------------------


def test_missing_values_and_absurd_rows() -> None:
    keys, X, y = keyed(900)
    X[::7, 0] = np.nan
    X[500] = 1e30
    fleet = fleet_of("budgetron", memory="9MB").learn(keys, X, y)
    assert np.isfinite(fleet.decision_function(keys, X)).all()
    fleet.check_invariants()


def test_absurd_weights_leave_finite_models() -> None:
    keys, X, y = keyed(900)
    for weight in (1e60, 1e-320):
        weights = np.where(np.arange(900) % 50 == 49, weight, 1.0)
        fleet = fleet_of("budgetron", shared=None, scale=None, gamma=0.3)
        fleet.learn(keys, (X - 3.0) / X.std(axis=0), y, weights)
        assert np.isfinite(fleet.decision_function(keys, X)).all()
        fleet.check_invariants()
        assert budgetron.Fleet.from_bytes(fleet.to_bytes()).to_bytes() == fleet.to_bytes()


def test_a_call_that_fails_does_not_fix_the_width(tmp_path: Path) -> None:
    fleet = fleet_of()
    with pytest.raises(budgetron.BudgetronError, match="there are 1 keys, 2 rows and 2 labels"):
        fleet.learn([1], np.ones((2, 3)), [0, 1])
    assert fleet.learn([1, 2], np.ones((2, 4)), [0, 1]).n_seen_ == 2
    fleet = fleet_of(file=tmp_path / "nowhere" / "keys.db")
    with pytest.raises(budgetron.BudgetronError, match="cannot be used for keys"):
        fleet.learn([1, 2], np.ones((2, 3)), [0, 1])
    (tmp_path / "nowhere").mkdir()
    assert fleet.learn([1, 2], np.ones((2, 4)), [0, 1]).n_seen_ == 2


def test_one_class_constant_rows_and_few_rows() -> None:
    X = np.ones((400, 3))
    fleet = fleet_of("budgetron", memory="9MB").learn(["a"] * 400, X, np.ones(400, dtype=int))
    assert (fleet.predict(["a", "b"], X[:2]) == 1).all()
    fleet = fleet_of().learn([5], X[:1], [0])
    assert len(fleet) == 0
    assert fleet.predict([5], X[:1]).shape == (1,)
    assert fleet.learn(keys=[], X=np.zeros((0, 3)), y=[]).n_seen_ == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f, X, y: f.learn([1], X, y), "there are 1 keys, 10 rows and 10 labels"),
        (lambda f, X, y: f.learn([None] * 10, X, y), "row 0 has no key"),
        (lambda f, X, y: f.learn([[1]] * 10, X, y), "not hashable"),
        (lambda f, X, y: f.learn("key", X, y), "one key: pass one per row"),
        (lambda f, X, y: f.learn(range(10), X, y + 7), "label 7 is not among the classes"),
        (lambda f, X, y: f.learn(range(10), X[:, :2], y), "2 features"),
        (lambda f, X, y: f.learn(range(10), np.full_like(X, np.inf), y), "infinity"),
        (lambda f, X, y: f.examples("nobody"), "has no model"),
        (lambda f, X, y: f.take(b"nothing"), "not a fleet"),
        (lambda f, X, y: f.buckets(0), "n=0 must be a whole number"),
    ],
)
def test_mistakes_are_named_and_change_nothing(call: Any, says: str) -> None:
    keys, X, y = keyed(400)
    fleet = fleet_of().learn(keys, X, y)
    before = fleet.to_bytes()
    with pytest.raises(budgetron.BudgetronError, match=says):
        call(fleet, X[:10], y[:10])
    assert fleet.to_bytes() == before


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"algorithm": "forgetrn"}, "did you mean 'forgetron'"),
        ({"memory": "much"}, "is not a size"),
        ({"memory": -1}, "memory=-1 must be a number of bytes"),
        ({"memory": 10**30}, "must be a number of bytes, 1 to"),
        ({"memory": "100KB"}, "too small for this fleet: give it at least"),
        ({"classes": [1]}, "pass at least two"),
        ({"budget": 0}, "budget=0 must be a whole number, 1 to 256"),
        ({"shared": 0}, "shared=0 must be"),
        ({"half_life": 0}, "half_life=0 must be"),
        ({"kernel": "linear"}, "kernel='linear' does not go with a fleet: use 'rbf'"),
        ({"scale": "standard"}, "use 'auto' or None"),
        ({"gama": 1.0}, "did you mean 'gamma'"),
        ({"variant": "greedy"}, "use 'self-tuned'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], says: str) -> None:
    keys, X, y = keyed(30)
    with pytest.raises(budgetron.BudgetronError, match=says):
        fleet_of(**settings).learn(keys, X, y)


def test_a_fleet_that_learned_nothing_says_so(tmp_path: Path) -> None:
    fleet = fleet_of()
    for ask in (fleet.predict, fleet.predict_proba):
        with pytest.raises(NotFittedError, match="call learn first"):
            ask([1], np.ones((1, 2)))
    with pytest.raises(NotFittedError, match="nothing to save"):
        fleet.save(tmp_path / "fleet.btf")
    assert len(fleet) == fleet.info()["keys"] == len(fleet.keys()) == 0
    assert "forgetron" in repr(pickle.loads(pickle.dumps(fleet)))


def test_events_report_what_happens_to_keys() -> None:
    keys, X, y = keyed(1500, 300)
    memory = least_memory("forgetron", 4, classes=[0, 1], shared=20) + 10_000
    fleet = fleet_of(memory=memory)
    heard: list[Any] = []
    fleet.watch(heard.append)
    fleet.learn(keys[:800], X[:800], y[:800]).learn(keys[800:], X[800:], y[800:])
    kinds = [event.kind for event in heard]
    told = fleet.info()
    assert kinds.count("evict") + kinds.count("drop") == told["left"] > 0
    assert kinds.count("start") - kinds.count("drop") == told["keys"]
    assert {event.key for event in heard} <= set(range(300))
    fleet.watch(None)
    heard.clear()
    fleet.learn(keys, X, y)
    assert heard == []


def test_examples_are_rows_that_were_learned() -> None:
    keys, X, y = keyed(900, 10)
    fleet = fleet_of().learn(keys, X, y)
    examples, coefs = fleet.examples(4)
    assert examples.shape == (len(coefs), 4)
    mine = X[keys == 4]
    for example in examples:
        np.testing.assert_allclose(np.abs(mine / example - 1).max(axis=1).min(), 0, atol=1e-4)


def test_columns_of_a_frame_are_put_in_order() -> None:
    import pandas

    keys, X, y = keyed(600)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fleet = fleet_of().learn(keys, frame, y)
    assert fleet.feature_names_in_.tolist() == list("abcd")
    expected = fleet_of().learn(keys, X, y).decision_function(keys, X)
    np.testing.assert_array_equal(fleet.decision_function(keys, frame), expected)
    np.testing.assert_array_equal(fleet.decision_function(keys, frame[list("dbca")]), expected)
    again = budgetron.Fleet.from_bytes(fleet.to_bytes())
    np.testing.assert_array_equal(again.decision_function(keys, frame[list("dbca")]), expected)
    before = fleet.to_bytes()
    with pytest.raises(budgetron.BudgetronError, match="missing 'a'; unknown 'z'"):
        fleet.learn(keys, frame.rename(columns={"a": "z"}), y)
    assert fleet.to_bytes() == before


# ---- regression ----------------------------------------------------------------------------------


def numbers_of(rows: int = 4000, keys: int = 40) -> Any:
    rng = np.random.default_rng(0)
    named, X = rng.integers(0, keys, rows), rng.normal(size=(rows, 3))
    own, level = rng.normal(size=(keys, 3)), rng.normal(size=keys)
    noise = rng.normal(size=rows) / 10
    return named, X, 1000 + 50 * ((X * own[named]).sum(axis=1) + level[named] + noise)


@pytest.mark.parametrize("algorithm", REGRESSION)
def test_a_regression_of_keys_that_differ(algorithm: str) -> None:
    """Far smaller errors than those of one model; the same bits in any pieces, through bytes."""
    keys, X, y = numbers_of()
    given: dict[str, Any] = {"task": "regression", "memory": "6MB", "shared": 30}
    fleet = budgetron.Fleet(algorithm, **given)
    said = fleet.prequential(keys, X, y)
    one = budgetron.make(algorithm, "regression", budget=30).prequential(X, y)
    late = slice(2000, None)
    errors = [np.sqrt(((each - y)[late] ** 2).mean()) for each in (said, one)]
    assert errors[0] < (0.4 if algorithm == "budgetron" else 1.0) * errors[1]
    pieces, found = budgetron.Fleet(algorithm, **given), []
    for start, end in ((0, 1), (1, 600), (600, 2500), (2500, 4000)):
        found.append(pieces.prequential(keys[start:end], X[start:end], y[start:end]))
        pieces = budgetron.Fleet.from_bytes(pieces.to_bytes())
    np.testing.assert_array_equal(np.concatenate(found), said)
    assert pieces.to_bytes() == fleet.to_bytes()
    np.testing.assert_array_equal(pieces.predict(keys, X), fleet.predict(keys, X))
    unknown = fleet.predict(["nobody"] * 5, X[:5])
    np.testing.assert_array_equal(unknown, fleet.shared_.predict(X[:5]))
    fleet.check_invariants()


def test_a_regression_is_that_of_other_units() -> None:
    """Targets a y + b are answered a f + b: nothing depends on their units."""
    keys, X, y = numbers_of(2000)
    first = budgetron.Fleet(task="regression", memory="6MB", shared=30).prequential(keys, X, y)
    other = budgetron.Fleet(task="regression", memory="6MB", shared=30)
    second = other.prequential(keys, X, 1024.0 * y - 5.0)
    np.testing.assert_allclose((second[1:] + 5.0) / 1024.0, first[1:], rtol=1e-6, atol=1e-3)


def test_a_regression_follows_targets_that_grow() -> None:
    keys, X, y = numbers_of(6000)
    y = np.where(np.arange(6000) < 2000, y, 100.0 * y)
    fleet = budgetron.Fleet(task="regression", memory="6MB", shared=30)
    said = fleet.prequential(keys, X, y)
    late = slice(5000, None)
    assert np.sqrt(((said - y)[late] ** 2).mean()) < 0.5 * y[late].std()
    assert np.isfinite(fleet.predict(keys, X)).all()
    alone = budgetron.Fleet(task="regression", memory="6MB", shared=None).learn(keys, X, y)
    assert np.isfinite(alone.predict(keys, X)).all()


def test_a_regression_says_what_is_wrong() -> None:
    keys, X, y = numbers_of(300)
    for settings, says in (
        ({"algorithm": "rbp"}, "does not do regression: use bogd, budgetron"),
        ({"classes": [0, 1]}, "remove classes"),
        ({"task": "ranking"}, "must be 'classification' or 'regression'"),
    ):
        with pytest.raises(budgetron.BudgetronError, match=says):
            budgetron.Fleet(**{"task": "regression", **settings})
    with pytest.raises(budgetron.BudgetronError, match="pass all classes"):
        budgetron.Fleet()
    fleet = budgetron.Fleet(task="regression", memory="6MB", shared=30).learn(keys, X, y)
    with pytest.raises(budgetron.BudgetronError, match="no probabilities"):
        fleet.predict_proba(keys, X)
    with pytest.raises(budgetron.BudgetronError, match="finite numbers"):
        fleet.learn(["a"], X[:1], ["text"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"memory": None}, "memory=None must be a number of bytes"),
        ({"memory": float("nan")}, "memory=nan must be a number of bytes"),
        ({"memory": True}, "memory=True must be a number of bytes"),
        ({"half_life": "a"}, "half_life='a' must be a positive number"),
        ({"half_life": float("inf")}, "half_life=inf must be a positive number"),
        ({"caution": None}, "caution=None must be a positive number"),
    ],
)
def test_settings_that_are_no_numbers_are_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(budgetron.BudgetronError, match=says) as error:
        fleet_of(**settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("y", [None, 1, "1", np.array(1), np.int64(1)])
def test_one_label_for_all_rows_is_refused(y: Any) -> None:
    keys, X, labels = keyed(300)
    fleet = fleet_of().learn(keys, X, labels)
    before = fleet.to_bytes()
    for learn in (fleet.learn, fleet.prequential):
        with pytest.raises(budgetron.BudgetronError, match="must be one label per row"):
            learn(keys[:1], X[:1], y)
    assert fleet.to_bytes() == before


def test_a_pair_is_a_bucket_and_others_are_refused() -> None:
    keys, X, y = keyed(300)
    fleet = fleet_of().learn(keys, X, y)
    assert fleet.to_bytes((1, 2)) == fleet.to_bytes(fleet.buckets(2)[1])
    for bucket in ((2, 2), (-1, 2), (0, 0), (0.0, 2), (0,), 3, "all"):
        with pytest.raises(budgetron.BudgetronError, match="bucket="):
            fleet.to_bytes(bucket)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_empty_batch_changes_nothing(task: str) -> None:
    keys, X, y = keyed(400, 8, classes=3)
    given: dict[str, Any] = {"task": task, "classes": [0, 1, 2]}
    given = given if task == "classification" else {"task": task, "classes": None}
    fleet, other = fleet_of("budgetron", **given), fleet_of("budgetron", **given)
    nothing: list[tuple[Any, Any]] = [([], X[:0]), (keys[:0], X[:0]), ([], np.zeros((0, 9)))]
    nothing += [([], []), ([], scipy.sparse.csr_array(X[:0]))]
    for none, rows in nothing:
        assert len(fleet.prequential(none, rows, [])) == 0
        fleet.learn(none, rows, y[:0], sample_weight=[])
    assert fleet.n_seen_ == 0
    fleet.learn(keys, X, y)
    for none, rows in nothing:
        fleet.learn(none, rows, [])
        assert (
            fleet.decision_function(none, rows).shape == fleet.decision_function(keys, X)[:0].shape
        )
        assert fleet.predict(none, rows).shape == (0,)
        if task == "classification":
            assert fleet.predict_proba(none, rows).shape == (0, 3)
    assert fleet.to_bytes() == other.learn(keys, X, y).to_bytes()
    with pytest.raises(budgetron.BudgetronError, match="0 keys, 400 rows"):
        fleet.learn([], X, [])


def test_rows_that_are_refused_do_not_decide_the_width(tmp_path: Path) -> None:
    keys, X, y = keyed(9000)
    X[8999] = np.inf  # behind the rows that models are built by
    fleet = fleet_of(file=tmp_path / "keys.db")
    with pytest.raises(ValueError, match="infinity"):
        fleet.learn(keys, X, y)
    assert fleet.n_seen_ == 0
    fleet.learn(keys[:100], X[:100, :2], y[:100])
    assert fleet.n_features_in_ == 2


def test_a_part_in_other_units_is_refused() -> None:
    keys, X, y = keyed(600)
    fleet = fleet_of().learn(keys, X, y)
    other = fleet_of().learn(keys, X * [1.0, 1000.0, 1.0, 1.0], y)
    before = fleet.to_bytes()
    with pytest.raises(budgetron.BudgetronError, match="measures rows in other units"):
        fleet.take(other.to_bytes())
    assert fleet.to_bytes() == before
    prices = {"task": "regression", "classes": None}
    fleet = fleet_of("budgetron", **prices).learn(keys, X, X[:, 0])
    other = fleet_of("budgetron", **prices).learn(keys, X, 100 * X[:, 0])
    with pytest.raises(budgetron.BudgetronError, match="measures rows in other units"):
        fleet.take(other.to_bytes())
    fleet.take(fleet.to_bytes())


def test_a_class_that_comes_later_is_told_what_to_do() -> None:
    keys, X, y = keyed(300)
    fleet = fleet_of().learn(keys, X, y)
    with pytest.raises(budgetron.BudgetronError, match=r"label 2 .*: no class joins .* name all"):
        fleet.learn(keys[:1], X[:1], [2])
