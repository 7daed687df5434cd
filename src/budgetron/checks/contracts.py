"""The contracts of a learner, one function per contract.

Each takes a learner that has not learned, learns with clones of it, and raises `ContractBroken`.
"Equal" means to the bit. Keywords change how much is checked; the defaults take milliseconds.
"""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import pairwise, product
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import budgetron
from budgetron.checks.rows import Rows, class_rows, number_rows
from budgetron.checks.same import (
    ContractBroken,
    all_finite,
    can_be_saved,
    learned_by,
    same_rows,
    same_values,
)
from budgetron.evaluate.adapters import task_of

Check = Callable[..., None]
ROWS = 300
DTYPES = (np.float64, np.float32)


def contract(check: Check) -> Check:
    """Name the learner and the contract in what a check says, or in what the learner raises."""

    @wraps(check)
    def checked(learner: Any, **how: Any) -> None:
        what = f"{' '.join(repr(learner).split())}: {check.__name__}"
        try:
            check(learner, **how)
        except ContractBroken as broken:
            raise ContractBroken(f"{what}: {broken}") from None
        except Exception as error:
            error.add_note(f"in {what}")
            raise

    return checked


# ---- learners and rows ---------------------------------------------------------------------------


def fresh(learner: Any) -> Any:
    """A copy that has learned nothing and draws the same random numbers as every other copy."""
    if not hasattr(learner, "get_params"):
        return copy.deepcopy(learner)
    made = clone(learner)
    drawing = {
        name: 0
        for name, value in made.get_params().items()
        if name.split("__")[-1] == "random_state" and not isinstance(value, Integral)
    }
    return made.set_params(**drawing) if drawing else made


def some_rows(learner: Any, rows: int, *, classes: int = 2, **how: Any) -> tuple[Rows, Rows]:
    """Rows and targets for the task of the learner."""
    if task_of(learner) == "regression":
        return number_rows(rows, **how)
    return class_rows(rows, classes=classes, **how)


def learn(model: Any, X: Any, y: Any, labels: Any = None) -> Any:
    """`partial_fit`, with all labels if they are given and the learner is a classifier."""
    if labels is None or task_of(model) == "regression":
        return model.partial_fit(X, y)
    return model.partial_fit(X, y, classes=labels)


def before_learning(model: Any, X: Any, y: Any, labels: Any = None) -> NDArray[Any]:
    """Each row's answer before it was learned; if there is none, all answers at the end."""
    if not hasattr(model, "prequential"):
        learn(model, X, y, labels)
        return answers(model, X)
    if labels is None or task_of(model) == "regression":
        return np.asarray(model.prequential(X, y))
    return np.asarray(model.prequential(X, y, classes=labels))


def answers(model: Any, X: Any) -> NDArray[Any]:
    """The learner's answers: decisions, else probabilities, else predictions."""
    names = ("decision_function", "predict_proba", "predict")
    name = next(each for each in names if hasattr(model, each))
    return np.asarray(getattr(model, name)(X))


def takes_sparse(learner: Any) -> bool:
    """Whether the learner says that it takes sparse rows."""
    tags = getattr(learner, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.sparse)


def takes_gaps(learner: Any) -> bool:
    """Whether the learner says that it takes missing values, NaN."""
    tags = getattr(learner, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def tried(learner: Any) -> Any:
    """A copy that has learned a few rows, to see which attributes learning sets.

    The learner itself if it cannot learn them: the checks say why.
    """
    X, y = some_rows(learner, 20)
    try:
        return learn(fresh(learner), X, y, np.unique(y))
    except Exception:
        return learner


def budget_of(learner: Any, model: Any) -> int | None:
    """The budget of a learner in examples; `model` has learned; None if it has none."""
    if not getattr(model, "_stores_examples", True):
        return None
    budget = getattr(model, "budget_", getattr(learner, "budget", None))
    return int(budget) if isinstance(budget, Integral) else None


def stores(learner: Any, model: Any) -> bool:
    """Whether it has a budget, and `model`, which has learned, counts its stored examples."""
    return budget_of(learner, model) is not None and hasattr(model, "n_support_")


def _check_inside(model: Any) -> None:
    """What the compiled model caches equals what would be computed from its examples."""
    if hasattr(model, "_engine"):
        model._engine.native.check_invariants()


# ---- results do not depend on how rows arrive ----------------------------------------------------


@contract
def check_chunks_do_not_matter(
    learner: Any,
    *,
    cuts: Sequence[int] = (1, 12, 41, 150),
    rows: int = ROWS,
    classes: int = 2,
    joining: bool = False,
) -> None:
    """Rows in chunks of any size are learned as in one call.

    `joining`: the classes are not given, they are added with their first rows.
    """
    X, y = some_rows(learner, rows, classes=classes)
    labels = None if joining else np.unique(y)
    whole, parts, taught = fresh(learner), fresh(learner), fresh(learner)
    said = before_learning(whole, X, y, labels)
    bounds = [0, *sorted(cuts), rows]
    chunks = [(X[a:b], y[a:b]) for a, b in pairwise(bounds)]
    names = ("in one call", f"in chunks that end before rows {', '.join(map(str, bounds[1:]))}")
    if hasattr(learner, "prequential"):
        pieces = [before_learning(parts, *chunk, labels) for chunk in chunks]
        same_rows(said, np.concatenate(pieces), names)
        same_values(learned_by(whole), learned_by(parts), names)
    for chunk in chunks:
        learn(taught, *chunk, labels)
    same_rows(answers(whole, X), answers(taught, X), names)
    same_values(learned_by(whole), learned_by(taught), names)
    all_finite(answers(whole, X), "at the end")
    _check_inside(whole)


@contract
def check_batch_equals_loop(
    learner: Any, *, dtypes: Sequence[Any] = DTYPES, rows: int = ROWS
) -> None:
    """A batch is learned as its rows one at a time, by `learn_one` if there is one."""
    given, y = some_rows(learner, rows)
    labels = np.unique(y)
    for dtype in dtypes:
        X = given.astype(dtype)
        batch, loop = fresh(learner), fresh(learner)
        said = before_learning(batch, X, y, labels)
        names = ("in a batch", "one row at a time")
        learn(loop, X[:1], y[:1], labels)
        if hasattr(learner, "learn_one") and hasattr(learner, "prequential"):
            one = [loop.learn_one(x, target) for x, target in zip(X[1:], y[1:], strict=True)]
            same_rows(said[1:], np.asarray(one), names)
        else:
            for row in range(1, rows):
                learn(loop, X[row : row + 1], y[row : row + 1])
        same_rows(answers(batch, X), answers(loop, X), names)
        same_values(learned_by(batch), learned_by(loop), names)


@contract
def check_dense_equals_sparse(
    learner: Any, *, dtypes: Sequence[Any] = DTYPES, rows: int = ROWS, joining: bool = False
) -> None:
    """Sparse rows are learned and answered like the dense rows with their zeros.

    `joining`: the classes are not given, they are added with their first rows.
    """
    given, y = some_rows(learner, rows, sparse=True)
    labels = None if joining else np.unique(y)
    for dtype, form in product(dtypes, (scipy.sparse.csr_array, scipy.sparse.csr_matrix)):
        X, csr = given.astype(dtype), form(given.astype(dtype))
        names = ("of dense rows", f"of CSR rows ({form.__name__})")
        dense, sparse = fresh(learner), fresh(learner)
        said = before_learning(dense, X, y, labels)
        same_rows(said, before_learning(sparse, csr, y, labels), names)
        same_rows(answers(dense, X), answers(sparse, csr), names)
        same_rows(answers(dense, csr), answers(sparse, X), names)
        if hasattr(dense, "_engine"):
            stored = [(model.dual_coef_, model.support_vectors_) for model in (dense, sparse)]
            one = {"dual_coef_": stored[0][0], "support_vectors_": stored[0][1]}
            other = {"dual_coef_": stored[1][0], "support_vectors_": stored[1][1].toarray()}
            same_values(one, other, names)


@contract
def check_sparse_rows_are_put_in_order(learner: Any) -> None:
    """CSR with unsorted or repeated features is read correctly, and not changed."""
    data, indices = np.array([1.0, 1.0, 2.0]), np.array([2, 0, 0], dtype=np.int32)
    given = {"data": data.copy(), "indices": indices.copy()}
    bounds = np.array([0, 3], dtype=np.int32)
    messy = scipy.sparse.csr_array((data, indices, bounds), shape=(1, 3))
    y = np.array([1])
    one = learn(fresh(learner), messy, y, [0, 1])
    other = learn(fresh(learner), np.array([[3.0, 0.0, 1.0]]), y, [0, 1])
    probe = np.arange(6.0).reshape(2, 3)
    same_rows(answers(one, probe), answers(other, probe), ("out of order", "in order"))
    kept = {"data": messy.data, "indices": messy.indices}
    same_values(kept, given, ("afterwards", "as given"))


@contract
def check_memory_layout_does_not_matter(learner: Any, *, rows: int = 200) -> None:
    """Read-only, Fortran-ordered and strided arrays are learned as plain ones."""
    X, y = some_rows(learner, rows)
    labels = np.unique(y)
    frozen = X.copy()
    frozen.setflags(write=False)
    plain = learn(fresh(learner), X, y, labels)
    for name, other in {
        "read-only": frozen,
        "in Fortran's order": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
    }.items():
        model = learn(fresh(learner), other, y, labels)
        same_rows(answers(plain, X), answers(model, X), ("of a plain array", name))
        same_values(learned_by(plain), learned_by(model), ("of a plain array", name))


@contract
def check_arrays_are_neither_changed_nor_kept(learner: Any, *, rows: int = 200) -> None:
    """Learning and answering do not change X and y, and do not use them later."""
    X, y = some_rows(learner, rows)
    given = {"X": X.copy(), "y": y.copy()}
    model = learn(fresh(learner), X, y, np.unique(y))
    same_values({"X": X, "y": y}, given, ("after learning", "as given"))
    before = answers(model, X[:20])
    same_values({"X": X, "y": y}, given, ("after answering", "as given"))
    probe = X[:20].copy()
    X[:], y[:] = 1e3, y[0]
    same_rows(before, answers(model, probe), ("before", "after the arrays were overwritten"))


@contract
def check_missing_values_are_taken(
    learner: Any, *, dtypes: Sequence[Any] = DTYPES, rows: int = ROWS, share: float = 0.2
) -> None:
    """Rows with NaN are learned and answered, alike in a batch, one by one, sparse and resumed.

    One column is missing in all rows, one until row 240, one from row 100 on, and so are all values
    of the first row.
    """
    given, y = some_rows(learner, rows, width=6)
    rng = np.random.default_rng(5)
    given[rng.random(given.shape) < share] = np.nan
    given[0], given[:, 3], given[:240, 4], given[100:, 5] = np.nan, np.nan, np.nan, np.nan
    labels = np.unique(y)
    for dtype in dtypes:
        X = given.astype(dtype)
        batch, loop, resumed = fresh(learner), fresh(learner), fresh(learner)
        said = before_learning(batch, X, y, labels)
        all_finite(said, "before learning")
        for row in range(rows):
            learn(loop, X[row : row + 1], y[row : row + 1], labels)
        names = ("in a batch", "one row at a time")
        same_rows(answers(batch, X), answers(loop, X), names)
        same_values(learned_by(batch), learned_by(loop), names)
        resumed = pickle.loads(pickle.dumps(learn(resumed, X[:137], y[:137], labels)))
        learn(resumed, X[137:], y[137:], labels)
        same_rows(answers(batch, X), answers(resumed, X), ("in a batch", "resumed"))
        if takes_sparse(learner):
            csr, sparse = scipy.sparse.csr_array(X), fresh(learner)
            names = ("of dense rows", "of CSR rows")
            same_rows(said, before_learning(sparse, csr, y, labels), names)
            same_rows(answers(batch, csr), answers(sparse, X), names)
        if hasattr(batch, "n_missing_") and batch.n_missing_ != np.isnan(X).sum():
            raise ContractBroken(f"{batch.n_missing_} missing values, not {np.isnan(X).sum()}")
        _check_inside(batch)


# ---- a model in use ------------------------------------------------------------------------------


@contract
def check_deciding_changes_nothing(learner: Any, *, rows: int = 200) -> None:
    """`predict` and the like do not change the model: it learns as one that was never asked."""
    X, y = some_rows(learner, rows)
    half = rows // 2
    asked = learn(fresh(learner), X[:half], y[:half], np.unique(y))
    quiet = learn(fresh(learner), X[:half], y[:half], np.unique(y))
    names = ("after it was asked", "never asked")
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(asked, name):
            getattr(asked, name)(X)
    for name in ("decision_one", "prediction_one", "probabilities_one"):
        if hasattr(asked, name):
            getattr(asked, name)(X[0])
    same_values(learned_by(asked), learned_by(quiet), names)
    learn(asked, X[half:], y[half:])
    learn(quiet, X[half:], y[half:])
    same_rows(answers(asked, X), answers(quiet, X), names)
    same_values(learned_by(asked), learned_by(quiet), names)


@contract
def check_resumes_exactly(
    learner: Any, *, rows: int = ROWS, at: int | None = None, classes: int = 2
) -> None:
    """A model that is copied, pickled or saved continues as if it had not been."""
    X, y = some_rows(learner, rows, classes=classes)
    at = rows * 137 // 300 if at is None else at
    whole = learn(fresh(learner), X, y, np.unique(y))
    half = learn(fresh(learner), X[:at], y[:at], np.unique(y))
    copies = {"copied": copy.deepcopy(half), "pickled": pickle.loads(pickle.dumps(half))}
    if hasattr(half, "snapshot"):
        copies["a snapshot"] = half.snapshot()
    if can_be_saved(half):
        with tempfile.TemporaryDirectory(prefix="budgetron-") as folder:
            path = Path(folder) / "model.btn"
            budgetron.save(half, path)
            copies["saved and loaded"] = budgetron.load(path)
    copies["the original of copies"] = half  # last: learning in a copy must not have changed it
    for name, model in copies.items():
        learn(model, X[at:], y[at:])
        names = ("without a stop", f"{name} after {at} rows")
        same_rows(answers(whole, X), answers(model, X), names)
        same_values(learned_by(whole), learned_by(model), names)


@contract
def check_clones_learn_alike(learner: Any, *, rows: int = 200) -> None:
    """A clone has the parameters and nothing that was learned; two clones learn the same."""
    X, y = some_rows(learner, rows)
    labels = np.unique(y)
    first = learn(fresh(learner), X, y, labels)
    before = answers(first, X)
    second = fresh(first)
    same_params = fresh(learner).get_params(deep=False)
    given = {name: repr(value) for name, value in second.get_params(deep=False).items()}
    same_values(
        given,
        {name: repr(value) for name, value in same_params.items()},
        ("of a clone of one that learned", "of a clone of one that did not"),
    )
    learn(second, X, y, labels)
    same_rows(before, answers(second, X), ("of a model", "of its clone"))
    same_rows(before, answers(first, X), ("before its clone learned", "afterwards"))


@contract
def check_asked_too_early_says_so(learner: Any) -> None:
    """A model that has learned nothing answers with scikit-learn's NotFittedError."""
    try:
        found = fresh(learner).predict(np.zeros((1, 2)))
    except NotFittedError:
        return
    raise ContractBroken(f"predict answers {found!r} before anything was learned")


# ---- the budget ----------------------------------------------------------------------------------


@contract
def check_budget_is_kept(
    learner: Any, *, rows: int = 150, seed: int = 0, every: int = 10, classes: int = 2
) -> None:
    """After every call there are at most as many examples as the budget allows."""
    X, y = some_rows(learner, rows, seed=seed, classes=classes)
    budget, labels = budget_of(learner, tried(learner)), np.unique(y)
    assert budget is not None
    model = fresh(learner)
    for start in range(0, rows, every):
        end = min(start + every, rows)
        learn(model, X[start:end], y[start:end], labels)
        if model.n_support_ > budget:
            raise ContractBroken(
                f"{model.n_support_} examples are stored after row {end - 1}, "
                f"with a budget of {budget}"
            )
        all_finite(answers(model, X), f"after row {end - 1}")
    _check_inside(model)


@contract
def check_memory_is_constant_once_full(
    learner: Any, *, rows: int = 600, settled: int = 300, full: int | None = None
) -> None:
    """Once the budget is full, a model has the same size in bytes after every row.

    `full`: the largest number of stored examples; else the largest of the first `settled` rows, in
    which buffers are used for the first time.
    """
    X, y = some_rows(learner, rows)
    model, labels = fresh(learner), np.unique(y)
    most, taken = 0, None
    for row in range(rows):
        learn(model, X[row : row + 1], y[row : row + 1], labels)
        most = max(most, model.n_support_)
        if row < settled:
            continue
        if taken is not None and model.memory_bytes_ != taken:
            raise ContractBroken(
                f"{model.memory_bytes_:,} bytes after row {row}, {taken:,} after the row before"
            )
        taken = model.memory_bytes_
        if row == settled and full is None and 2 * most < (budget_of(learner, model) or 0):
            raise ContractBroken(
                f"only {most} examples were stored in {row} rows: take a budget of about 10"
            )
    if full is not None and most != full:
        raise ContractBroken(f"{most} examples were stored at most, not {full}")


# ---- rows that are odd, and rows that are wrong --------------------------------------------------


@contract
def check_odd_rows_stay_finite(learner: Any) -> None:
    """Rows that are all zero, all one or copies of each other give finite answers."""
    _, y = some_rows(learner, 200)
    repeated = np.repeat(class_rows(4, width=3)[0], 50, axis=0)
    for name, X in {
        "zeros": np.zeros((200, 3)),
        "ones": np.ones((200, 3)),
        "copies": repeated,
    }.items():
        forms: list[Any] = [X, X.astype(np.float32)]
        forms += [scipy.sparse.csr_array(X)] if takes_sparse(learner) else []
        for rows in forms:
            model = learn(fresh(learner), rows, y, np.unique(y))
            all_finite(answers(model, rows), name)
            if hasattr(model, "_engine"):
                all_finite(model.dual_coef_, f"{name}, the coefs")


@contract
def check_scales_stay_finite(
    learner: Any, *, scales: Sequence[float] = (1e-30, 1e-8, 1e8, 1e15)
) -> None:
    """Features of any size give finite answers."""
    X, y = some_rows(learner, 200)
    for scale in scales:
        for dtype in (np.float32, np.float64):
            rows = (X * scale).astype(dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", budgetron.PrecisionWarning)
                model = learn(fresh(learner), rows, y, np.unique(y))
            all_finite(answers(model, rows), f"rows times {scale:g} in {dtype.__name__}")


def bad_calls(learner: Any, X: Rows, y: Rows) -> dict[str, tuple[Any, Any]]:
    """Rows and targets that a learner of width X.shape[1] must refuse, by what is wrong.

    Names with "target" or "label" are wrong in y; `predict` refuses the others too.
    """

    def spoiled(value: float) -> Rows:
        bad = X.copy()
        bad[-1, 1] = value  # the last row: those before it must not have been learned
        return bad

    seventh = np.arange(len(y)) == 7
    gaps = takes_gaps(learner)
    calls: dict[str, tuple[Any, Any]] = {
        **({} if gaps else {"nan": (spoiled(np.nan), y)}),
        "infinity": (spoiled(-np.inf), y),
        "wide": (np.hstack([X, X]), y),
        "narrow": (X[:, :-1], y),
        "empty": (X[:0], y[:0]),
        "one dimension": (X[0], y[:1]),
        "text": (np.full(X.shape, "x"), y),
        "fewer targets": (X, y[:-1]),
        "nan target": (X, np.where(seventh, np.nan, y)),
        "no target": (X, None),
    }
    if takes_sparse(learner):
        name, value = ("sparse infinity", np.inf) if gaps else ("sparse nan", np.nan)
        calls[name] = (scipy.sparse.csr_array(spoiled(value)), y)
    if task_of(learner) == "classification":
        calls["strange label"] = (X, np.where(seventh, 5, y))
        calls["text label"] = (X, y.astype(str))
    return calls


@contract
def check_refused_calls_change_nothing(
    learner: Any, *, says: Mapping[str, str] | None = None
) -> None:
    """Wrong rows or targets are a ValueError, and the model is as it was before the call.

    `says`: the required message, by the name of the call (`bad_calls`): a regular expression.
    """
    X, y = some_rows(learner, 90)
    model = learn(fresh(learner), X[:60], y[:60], np.unique(y))
    before = learned_by(model)
    decided = answers(model, X)
    for what, (bad, targets) in bad_calls(learner, X[60:], y[60:]).items():
        calls: list[tuple[str, tuple[Any, ...]]] = [("partial_fit", (bad, targets))]
        if hasattr(model, "prequential"):
            calls.append(("prequential", (bad, targets)))
        if "target" not in what and "label" not in what:
            calls.append(("predict", (bad,)))
        for name, given in calls:
            _refuses(getattr(model, name), given, f"{name} with {what}", (says or {}).get(what))
            names = ("before", f"after {name} refused {what}")
            same_values(before, learned_by(model), names)
            same_rows(decided, answers(model, X), names)
    learn(model, X[60:], y[60:])  # and it is not only that nothing changes any more
    if hasattr(model, "n_seen_") and model.n_seen_ != 90:
        raise ContractBroken(f"{model.n_seen_} rows were learned, not 90: valid rows were refused")


def _refuses(call: Callable[..., Any], given: tuple[Any, ...], name: str, says: str | None) -> None:
    try:
        call(*given)
    except ValueError as error:
        if says is not None and re.search(says, str(error)) is None:
            raise ContractBroken(f"{name} says {str(error)!r}, nothing of {says!r}") from None
        return
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ContractBroken(f"{name} raises {what}, not a ValueError") from error
    raise ContractBroken(f"{name} is not refused")


# ---- classes and explanations --------------------------------------------------------------------

LABELS: dict[str, NDArray[Any]] = {
    "str": np.array(["cat", "dog", "ant"]),
    "object": np.array(["cat", "dog", "ant"], dtype=object),
    "int": np.array([7, -3, 40]),
    "bool": np.array([False, True]),
    "float": np.array([0.0, 2.0, -1.0]),
}


@contract
def check_labels_of_any_type(learner: Any, *, kinds: Sequence[str] = tuple(LABELS)) -> None:
    """Labels are text, numbers or booleans, and do not change what is learned."""
    for kind in kinds:
        names = LABELS[kind]
        ordered = np.sort(names)
        X, y = class_rows(ROWS, classes=len(names))
        model = learn(fresh(learner), X, names[y], ordered)
        codes = np.searchsorted(ordered, names[y])
        twin = learn(fresh(learner), X, codes, np.arange(len(names)))
        if list(model.classes_) != list(ordered):
            raise ContractBroken(f"classes_ are {list(model.classes_)}, not {list(ordered)}")
        words = (f"of labels of type {kind}", "of labels 0, 1, ...")
        said, expected = np.asarray(model.predict(X)), ordered[twin.predict(X)]
        same_rows(said.astype(object), expected.astype(object), words)


@contract
def check_shares_sum_to_the_decision(
    learner: Any, *, classes: int = 2, asked: Sequence[int] = (0, 77)
) -> None:
    """The shares of `explain` sum to the decision, the largest first."""
    X, y = some_rows(learner, 150, classes=classes)
    model = learn(fresh(learner), X, y, np.unique(y))
    decided = answers(model, X)
    for row in asked:
        why = model.explain(X[row])
        if not np.allclose(why.decision, np.ravel(decided[row]), rtol=1e-9, atol=1e-12):
            raise ContractBroken(
                f"shares sum to {why.decision.tolist()} in row {row}, "
                f"whose decision is {decided[row].tolist()}"
            )
        if not len(why.rounds) >= model.n_support_ > 0:
            raise ContractBroken(f"{len(why.rounds)} shares, {model.n_support_} stored examples")
        sizes = np.abs(why.shares).max(axis=1)
        if (np.diff(sizes) > 0).any():
            raise ContractBroken(f"the shares in row {row} do not begin with the largest")


# ---- parts ---------------------------------------------------------------------------------------


@contract
def check_norm_ball_is_kept(learner: Any, *, rows: int = 90, classes: int = 3) -> None:
    """The norm of f is at most the radius after every call."""
    X, y = some_rows(learner, rows, classes=classes)
    model, labels = fresh(learner), np.unique(y)
    for row in range(0, rows, 10):
        learn(model, X[row : row + 10], y[row : row + 10], labels)
        state = model._engine.native.save()
        scale, rate, square = (
            float(state[f"learner/expansion/{name}"][0])
            for name in ("scale", "rate", "squared_norm")
        )
        norm = scale * rate * square**0.5
        if not norm <= learner.radius * (1 + 1e-9):
            raise ContractBroken(f"the norm is {norm} after row {row + 9}")
