"""Random inputs: a refused call changes nothing, an accepted one is learned as it is.

The tests sample the product of learners, states, methods and bad inputs; BUDGETRON_DRAWS sets how
many draws each test makes.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron.evaluate import prequential
from budgetron.model_file import to_bytes
from tests.support.cases import BY_NAME, CASES, REGRESSION, Case, numeric_stream, same_state, stream
from tests.support.native import StandIn, engine_of, native_of

DRAWS = int(os.environ.get("BUDGETRON_DRAWS", "120"))
EVERY = CASES + REGRESSION
Rng = np.random.Generator


def chosen(rng: Rng, things: Any) -> Any:
    things = list(things)
    return things[rng.integers(len(things))]


def reloaded(model: Any, folder: Path) -> Any:
    budgetron.save(model, folder / "model.btn")
    return budgetron.load(folder / "model.btn")


# ---- unusual but valid sparse matrices -----------------------------------------------------------


def odd_matrix(rng: Rng, rows: int, width: int) -> Any:
    """CSR, CSC or COO with duplicates and any order, whose cached flags may be wrong."""
    count = int(rng.integers(0, 4 * rows))
    lines = np.sort(rng.integers(rows, size=count))
    columns = rng.integers(width, size=count)
    values = rng.normal(size=count).astype(chosen(rng, [np.float64, np.float32]))
    format = chosen(rng, ["csr", "csc", "coo"])
    index = chosen(rng, [np.int32, np.int64])
    if format == "coo":
        order = rng.permutation(count)
        X = scipy.sparse.coo_array((values, (lines[order], columns[order])), shape=(rows, width))
        X.coords = tuple(each.astype(index) for each in X.coords)
    else:
        made = scipy.sparse.csr_array if format == "csr" else scipy.sparse.csc_array
        if format == "csc":
            columns = np.sort(columns)
            lines = rng.integers(rows, size=count)
        along, across = (lines, columns) if format == "csr" else (columns, lines)
        ends = np.searchsorted(along, np.arange((rows if format == "csr" else width) + 1))
        X = made((values, across, ends), shape=(rows, width))
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        if rng.random() < 0.3:  # more room than entries
            X.indices = np.append(X.indices, index(width + 5))
            X.data = np.append(X.data, X.data.dtype.type(np.nan))
        if rng.random() < 0.5:
            X.has_sorted_indices = True
    if rng.random() < 0.5:
        X.has_canonical_format = True
    return X


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
def test_rows_are_those_of_the_dense_matrix_whatever_a_sparse_one_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for draw in range(DRAWS):
        rows, width = (int(n) for n in rng.integers(1, [40, 12]))
        X = odd_matrix(rng, rows, width)
        dense = X.toarray()
        arrays = {name: np.copy(value) for name, value in vars(X).items() if name in ARRAYS}
        case = chosen(rng, CASES)
        y = rng.integers(2, size=rows)
        how: dict[str, Any] = chosen(rng, [{}, {"shuffle": True}, {"scale": "standard"}])
        for method in ("fit", "partial_fit"):
            sparse, plain = case.make(**how), case.make(**how)
            getattr(sparse, method)(X, y)
            getattr(plain, method)(dense, y)
            assert sparse.n_updates_ == plain.n_updates_
            np.testing.assert_array_equal(
                sparse.decision_function(X), plain.decision_function(dense), err_msg=f"{draw}"
            )
        reloaded(sparse, tmp_path)
        for name, value in arrays.items():
            # The caller's matrix does not change.
            np.testing.assert_array_equal(vars(X)[name], value)


ARRAYS = ("data", "indices", "indptr")


@pytest.mark.parametrize("change", ["renumbered", "hashed"])
@pytest.mark.parametrize("name", ["fogd", "ahpatron"])
def test_columns_changed_in_place(name: str, change: str) -> None:
    X = scipy.sparse.random(200, 500, density=0.04, format="csr", random_state=0)
    assert X.has_canonical_format  # SciPy caches this
    if change == "hashed":
        X.indices %= 64
    else:
        X.indices = np.random.default_rng(0).permutation(500).astype(np.int32)[X.indices]
    y = np.arange(200) % 2
    model = budgetron.make(name, gamma=0.5, random_state=0).fit(X, y)
    dense = budgetron.make(name, gamma=0.5, random_state=0).fit(X.toarray(), y)
    np.testing.assert_array_equal(model.decision_function(X), dense.decision_function(X.toarray()))
    pickle.loads(pickle.dumps(model))


# ---- calls that are refused ----------------------------------------------------------------------


def broken(X: np.ndarray, rng: Rng) -> Any:
    """An invalid sparse matrix, or one whose numbers cannot be learned."""
    count, width = X.shape
    bad = scipy.sparse.csr_array(X + 1e-3)
    kind = chosen(rng, ["index", "negative", "falling", "start", "short", "long", "sum", "wide"])
    kind = chosen(rng, [kind, "csc", "coo", "float index", "lengths"])
    at = int(rng.integers(bad.nnz))
    if kind == "index":
        bad.indices[at] = chosen(rng, [width, 77, 2**31 - 1])
    elif kind == "negative":
        bad.indices[at] = chosen(rng, [-1, -(2**31)])
    elif kind == "falling":
        bad.indptr[count // 2] = chosen(rng, [0, -3, 10**6])
    elif kind == "start":
        bad.indptr[0] = chosen(rng, [1, -1])
    elif kind == "short":
        bad.indices = bad.indices[:at]
    elif kind == "lengths":
        bad.indptr = bad.indptr[:-1]
    elif kind == "long":
        bad.indptr[-1] += 5
    elif kind == "sum":
        ends = np.arange(count + 1) * 2
        columns = np.repeat(rng.integers(width, size=count), 2)
        bad = scipy.sparse.csr_array((np.full(2 * count, 1.5e308), columns, ends), shape=X.shape)
    elif kind == "wide":
        bad = scipy.sparse.csr_array((count, 2**31 + 10))
    elif kind == "csc":
        bad = scipy.sparse.csc_array(X + 1e-3)
        bad.indices[at] = chosen(rng, [count, -1, 2**31 - 1])
    elif kind == "coo":
        bad = scipy.sparse.coo_array(X + 1e-3)
        bad.coords[int(rng.integers(2))][at] = chosen(rng, [10**6, -1])
    elif kind == "float index":
        bad.indices = bad.indices.astype(float)
    if kind != "sum" and rng.random() < 0.3:
        bad.data = bad.data.astype(np.float32)  # another type than the model's
    return bad


def spoiled(X: np.ndarray, value: Any) -> np.ndarray:
    bad = X.astype(object if isinstance(value, int) else X.dtype)
    bad[-1, 1] = value
    return bad


def bad_call(case: Case, rng: Rng, X: np.ndarray, y: np.ndarray, weighted: bool) -> Any:
    """Rows, targets and weights of a call that must be refused."""
    kind = chosen(rng, ["sparse", "sparse", "rows", "targets", "weights"])
    weights = None
    if kind == "sparse":
        X = broken(X, rng)
    elif kind == "rows":
        values = [-np.inf, np.inf, 10**400]
        X = chosen(rng, [X[:0], np.hstack([X, X])[:-1], *(spoiled(X, value) for value in values)])
    elif kind == "targets":
        last = np.arange(len(y)) == len(y) - 1
        wrong = [y[:-1], None, np.where(last, np.nan, y), [*y[:-1].tolist(), 10**400]]
        if case.task == "classification":
            wrong += [y + 0.5, [*y[:-1].tolist(), "a"], [*y[:-1].tolist(), None]]
        y = chosen(rng, wrong)
    else:
        weights = np.ones(len(y))
        weights[-1] = chosen(rng, [-1.0, np.nan, np.inf, 1e101])
        weights = chosen(rng, [weights, weights[:-1], ["a"] * len(y), [10**400] * len(y)])
        if weighted and rng.random() < 0.7:  # their products with the classes' are too large
            weights = np.full(len(y), 1e100)
    return X, y, weights


STATES = ("new", "learned", "warming up", "balanced", "weighted", "bytes", "lower budget")


def in_state(case: Case, state: str, X: np.ndarray, y: np.ndarray) -> Any:
    """A model in this state, or None if the learner has no such state."""
    classifies = case.task == "classification"
    known = {"classes": [0, 1]} if classifies else {}
    more: dict[str, Any] = {}
    if state in ("balanced", "weighted"):
        if not classifies:
            return None
        more["class_weight"] = "balanced" if state == "balanced" else {0: 1e60, 1: 2.0}
        known = {}
    elif state == "warming up":
        more = {"scale": "auto", "gamma": "median"}
    elif state == "bytes":
        if case.budget is None:
            return None
        more["budget"] = "64KB"
    elif state == "lower budget" and (case.budget or 0) < 12:
        return None
    model = case.make(**more)
    if state != "new":
        model.partial_fit(X, y, **known)
    if state == "lower budget":
        model.set_params(budget=8)
    return model


def written(model: Any) -> bytes:
    """Everything of a model: the contents of its file, and its other attributes."""
    names = sorted(model.__dict__.keys() - {"_turn_lock"})
    return to_bytes(model) + repr(names).encode()


def test_a_refused_call_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    for draw in range(DRAWS):
        case, state = chosen(rng, EVERY), chosen(rng, STATES)
        X, y = numeric_stream(80) if case.task == "regression" else stream(80)
        model = in_state(case, state, X[:50], y[:50])
        if model is None:
            continue
        weighted = state in ("balanced", "weighted")
        rows, targets, weights = bad_call(case, rng, X[50:], y[50:], weighted)
        method = chosen(rng, ["fit", "partial_fit", "prequential"])
        if method == "fit":
            model.set_params(n_epochs=int(rng.integers(1, 3)), shuffle=bool(rng.integers(2)))
        before = written(model)
        for _ in range(2):
            with pytest.raises((ValueError, TypeError)) as raised:
                getattr(model, method)(rows, targets, sample_weight=weights)
            told = f"{draw}: {case}, {state}, {method}: {raised.value}"
            assert written(model) == before, told
            assert not isinstance(raised.value, OverflowError), told


def test_a_refused_row_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    for draw in range(DRAWS):
        case, state = chosen(rng, EVERY), chosen(rng, STATES)
        X, y = numeric_stream(60) if case.task == "regression" else stream(60)
        model = in_state(case, state, X[:50], y[:50])
        if model is None:
            continue
        bad: list[tuple[Any, Any]] = [(X[0], None), (X[0], np.nan), (X[0], 10**400)]
        if state != "new":
            bad += [(X[0, :3].copy(), y[0]), (X[0].astype(np.float32), y[0]), (X.T[0], y[0])]
            bad += [(np.repeat(X[0], 2)[::2], y[0])]
        x, label = chosen(rng, bad)
        before = written(model)
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x, label)
        assert written(model) == before, f"{draw}: {case}, {state}, {label!r}"


def bad_river_call(model: Any, rng: Rng, X: np.ndarray, y: np.ndarray, rule: Any) -> Any:
    """A method of a River model and an argument that it must refuse."""
    pandas = pytest.importorskip("pandas")
    frame, numbers = pandas.DataFrame(X, columns=list("abcd")), y.tolist()
    targets, row = pandas.Series(y), frame.iloc[0].to_dict()
    target = chosen(rng, [None, np.nan, 10**400])
    weights = [1.0] * (len(y) - 1) + [chosen(rng, [-1.0, np.nan, 1e101, 10**400])]
    huge = pandas.DataFrame(spoiled(X, 10**400), columns=list("abcd"))
    calls: list[tuple[Any, ...]] = [
        (model.learn_many, frame, pandas.Series([*numbers[:-1], target], dtype=object)),
        (model.learn_many, frame, targets[:-1]),
        (model.learn_many, frame, targets, weights),
        (model.learn_many, frame.assign(new=np.inf), targets),
        (model.learn_many, huge, targets),
        (model.learn_one, row, target),
        (model.learn_one, {**row, "new": np.inf}, numbers[0]),
        (model.learn_one, {**row, "new": 10**400}, numbers[0]),
        (model.learn_one, row, numbers[0], 1e101),
    ]
    if isinstance(rule, dict):
        calls += [(model.learn_one, row, label, 1e90) for label in rule]
        calls += [(model.learn_many, frame, targets, [1e90] * len(y))]
    return chosen(rng, calls)


def test_a_refused_call_of_a_river_model_changes_nothing() -> None:
    river, pandas = pytest.importorskip("budgetron.river"), pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    for draw in range(DRAWS):
        task = chosen(rng, ["classification", "regression"])
        name = chosen(rng, ["rbp", "fogd", "nogd", "projectron", "budgetron"])
        X, y = numeric_stream(60) if task == "regression" else stream(60)
        rules: list[Any] = [None] if task == "regression" else ["balanced", {0: 1e60, 1: 1e60}]
        rule = chosen(rng, rules)
        model = river.make(name, task=task, seed=1, **({"class_weight": rule} if rule else {}))
        if rng.random() < 0.7:
            model.learn_many(pandas.DataFrame(X[:50], columns=list("abcd")), pandas.Series(y[:50]))
            if name != "fogd" and rng.random() < 0.3:
                model.budget = 20
        known = repr((model._names, getattr(model, "_labels", None)))
        before = written(model._estimator)
        method, *arguments = bad_river_call(model, rng, X[50:], y[50:], rule)
        with pytest.raises((ValueError, TypeError)):
            method(*arguments)
        assert written(model._estimator) == before, f"{draw}: {name}, {task}, {rule}"
        assert repr((model._names, getattr(model, "_labels", None))) == known


def test_ctrl_c_counts_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """If learning ends early, earlier rows are learned, and counted for balanced classes."""
    X, y = stream(60, classes=3)
    model = BY_NAME["rbp"].make(class_weight="balanced").partial_fit(X[:20], y[:20])
    loop = pickle.loads(pickle.dumps(model)).partial_fit(X[20:37], y[20:37])
    native = native_of(model)

    def interrupted(batch: Any) -> Any:
        native.learn(batch[:17])
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_of(model), "native", StandIn(native, learn=interrupted))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[20:], y[20:])
    monkeypatch.undo()
    assert to_bytes(model) == to_bytes(loop)
    assert to_bytes(model.partial_fit(X[37:], y[37:])) == to_bytes(loop.partial_fit(X[37:], y[37:]))


def test_ctrl_c_while_rows_are_checked_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(60)
    model = BY_NAME["rbp"].make().fit(X, y)
    before = written(model)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], y + 7)
    assert written(model) == before


# ---- no class known yet --------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_class_is_known_where_all_rows_weighed_nothing(case: Case, tmp_path: Path) -> None:
    X, y = stream(20)
    for model in (
        case.make().partial_fit(X, y, sample_weight=np.zeros(20)),
        case.make(class_weight={0: 0.0, 1: 0.0}).partial_fit(X, y),
    ):
        for again in (model, reloaded(model, tmp_path), pickle.loads(pickle.dumps(model))):
            for ask in (
                again.predict,
                again.predict_proba,
                again.predict_log_proba,
                again.decision_function,
                lambda X, again=again: again.probabilities_one(X[0]),
                lambda X, again=again: again.decision_one(X[0]),
                lambda X, again=again: again.explain(X[0]),
            ):
                with pytest.raises(NotFittedError, match=r"^no class is known yet: [^\n]*$"):
                    ask(X)
            assert again.n_support_ == 0
            assert again.classes_.size == 0
            assert prequential(again, X, y) is not None
    weighed = case.make().partial_fit(X, y, sample_weight=np.zeros(20)).partial_fit(X, y)
    same_state(weighed, case.make().partial_fit(X, y))


def test_a_river_model_that_knows_no_class_answers_none() -> None:
    river, pandas = pytest.importorskip("budgetron.river"), pytest.importorskip("pandas")
    X, y = stream(20)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for name in ("rbp", "fogd", "nogd", "budgetron"):
        model = river.make(name, class_weight={0: 0.0, 1: 0.0})
        model.learn_many(frame, pandas.Series(y))
        for row, label in zip(frame.to_dict("records"), y.tolist(), strict=True):
            model.learn_one(row, label)
            assert model.predict_one(row) is None
            assert model.predict_proba_one(row) == {}
        assert model.predict_many(frame).tolist() == [None] * 20
        assert model.predict_proba_many(frame).shape == (20, 0)


# ---- labels that stay distinct -------------------------------------------------------------------


def typed_labels(rng: Rng) -> Any:
    """Labels of one type; other types would round some of them."""
    near = [0, 1, 5, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**62 + 1]
    kinds: dict[str, list[int]] = {
        "int64": [*near, -1, -(2**53) - 1, 2**63 - 1],
        "uint64": [*near, 2**63 + 5, 2**63 + 6],
        "float64": [0, 1, 5, -1, 2**53, 2**53 + 2],
        "int8": [0, 1, 5, -1],
        "list": [*near, -1, 2**63 + 5],
    }
    kind = chosen(rng, kinds)
    picked = [chosen(rng, kinds[kind]) for _ in range(rng.integers(1, 5))]
    if kind == "list":
        return [float(value) if rng.random() < 0.2 and value < 2**53 else value for value in picked]
    return np.array(picked, dtype=kind)


def taken(model: Any, X: np.ndarray, y: Any) -> bool:
    """Whether labels were learned; otherwise they were refused in one line."""
    if hasattr(model, "partial_fit"):
        learn, rows = model.partial_fit, X
    else:
        frames = pytest.importorskip("pandas")
        learn, rows = model.learn_many, frames.DataFrame(X, columns=list("abc"))
    try:
        learn(rows, y)
    except ValueError as error:
        if "\n" in str(error):
            raise
        return False
    return True


def test_labels_stay_distinct_or_refused() -> None:
    river = pytest.importorskip("budgetron.river")
    rng = np.random.default_rng(5)
    answers = []
    for draw in range(2 * DRAWS):
        model = river.make("rbp") if draw % 2 else BY_NAME["rbp"].make()
        seen: set[int] = set()
        for _ in range(4):
            y = typed_labels(rng)
            answers.append(taken(model, rng.normal(size=(len(y), 3)), y))
            if answers[-1]:
                seen |= {int(label) for label in y}
            known = getattr(getattr(model, "_estimator", model), "classes_", np.empty(0)).tolist()
            assert {int(label) for label in known} == seen, draw
            assert len(known) == len(seen)
    assert 0.05 < 1 - np.mean(answers) < 0.5


def test_a_label_joins_at_its_place_whatever_its_type() -> None:
    X = np.eye(3)
    model = BY_NAME["rbp"].make().partial_fit(X[:2], np.array([2**53, 2**53 + 1]))
    model.partial_fit(X[2:], np.array([5], dtype=np.uint64))
    assert model.classes_.tolist() == [5, 2**53, 2**53 + 1]
    model.partial_fit(X[2:], [7.0])
    assert model.classes_.tolist() == [5, 7, 2**53, 2**53 + 1]
    before = to_bytes(model)
    for strange in ([2**53 + 3, 0.5], [-1, 2**63 + 5]):
        with pytest.raises(ValueError, match=r"^[^\n]*$"):
            model.partial_fit(X[:2], strange)
    model.partial_fit(X[2:], [-1])
    with pytest.raises(ValueError, match=r"no type holds all exactly, 9223372036854775813 among"):
        model.partial_fit(X[2:], [2**63 + 5])
    assert to_bytes(model) != before
    closed = BY_NAME["rbp"].make().partial_fit(X[:2], [-1, 2**53 + 1], classes=[-1, 2**53 + 1])
    for label in (np.float64(2**53), np.uint64(2**63 + 5)):
        with pytest.raises(ValueError, match="is not among the classes"):
            closed.partial_fit(X[:1], np.array([label]))


# ---- classes that join ---------------------------------------------------------------------------


def asked_of_python(call: Callable[[], Any]) -> int:
    """How many functions a call calls, including compiled ones."""
    asked = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal asked
        asked += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return asked


def test_a_join_asks_no_more_the_more_classes_there_are() -> None:
    """Counted, not timed: once each class that joined was searched for in a list."""
    asked = []
    for count in (50, 200):
        X, y = np.random.default_rng(0).normal(size=(count, 3)), np.arange(count)[::-1].copy()
        model = BY_NAME["rbp"].make().partial_fit(X[:1], y[:1])
        asked.append(asked_of_python(partial(model.partial_fit, X[1:], y[1:])))
        assert model.classes_.tolist() == list(range(count))
    assert asked[1] < 4.2 * asked[0]
