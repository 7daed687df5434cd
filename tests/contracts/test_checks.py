"""The public contract checks: each notices a learner that breaks its contract, and says where."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

import budgetron
from budgetron import BudgetronError, KernelClassifier, parts
from budgetron.catalogue import as_printed
from budgetron.checks import (
    ContractBroken,
    check_learner,
    check_part,
    contracts,
    learner_checks,
    part_checks,
)
from budgetron.checks.same import same_rows, same_values
from tests.support.cases import CASES, REGRESSION, Case

Base = budgetron.BudgetPerceptronClassifier
PARAMS: dict[str, Any] = {"budget": 10, "gamma": 0.5, "random_state": 0}


# ---- learners that break one contract each -------------------------------------------------------


class Backwards(Base):
    """Learns the rows of a call from the last to the first."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        return super().partial_fit(X[::-1], y[::-1], classes, sample_weight)

    def prequential(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        return super().prequential(X[::-1], y[::-1], classes, sample_weight)[::-1]


class Leaping(Base):
    """`learn_one` leaves out every tenth row."""

    def learn_one(self, x: Any, y: Any) -> Any:
        if self.n_seen_ % 10 == 9:
            self.partial_fit(0 * x[None], [y])
            return self.decision_one(x)
        return super().learn_one(x, y)


class ScalingSparse(Base):
    """Sparse rows count twice."""

    def _rows(self, X: Any, **how: Any) -> Any:
        return super()._rows(2 * X if scipy.sparse.issparse(X) else X, **how)


class Sorting(Base):
    """Puts the features of the user's own matrix in order."""

    def _rows(self, X: Any, **how: Any) -> Any:
        if scipy.sparse.issparse(X):
            X.sum_duplicates()
        return super()._rows(X, **how)


class MisreadingFortran(Base):
    def _rows(self, X: Any, **how: Any) -> Any:
        wrong = isinstance(X, np.ndarray) and X.ndim == 2 and not X.flags.c_contiguous
        return super()._rows(np.ravel(X, order="K").reshape(X.shape) if wrong else X, **how)


class Overwriting(Base):
    """Centres the user's own rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X -= 1.0
        return super().partial_fit(X, y, classes, sample_weight)


class Keeping(Base):
    """Answers with the help of the rows it was given, not of copies."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        self.kept = X
        return super().partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X) + float(np.sum(self.kept))


class LearningToPredict(Base):
    """Learns the rows it is asked about, with what it answers."""

    def predict(self, X: Any) -> Any:
        said = super().predict(X)
        self.partial_fit(X, said)
        return said


class Forgetful(Base):
    """Moves all rows by what it found in the first call; a copy does not know it."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if not hasattr(self, "_engine"):
            self.moved = X[0]
        return super().partial_fit(X - self.moved, y, classes, sample_weight)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "moved": 0.0}


class Related(Base):
    """What one learned is known to the next."""

    rows = 0

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        Related.rows += len(y)
        return super().partial_fit(X * (1 + Related.rows / 1000), y, classes, sample_weight)


class Guessing(Base):
    def predict(self, X: Any) -> Any:
        return super().predict(X) if hasattr(self, "_engine") else np.zeros(len(X))


class Greedy(Base):
    """Stores three examples more than its budget says."""

    def _machine(self, kernel: Any) -> Any:
        self.budget += 3
        return super()._machine(kernel)


class Growing(Base):
    @property
    def memory_bytes_(self) -> int:
        return super().memory_bytes_ + self.n_seen_ // 50


class DividingByLength(Base):
    """As if it normalised rows without a look at their length."""

    def decision_function(self, X: Any) -> Any:
        rows = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X, dtype=float)
        with np.errstate(all="ignore"):
            return super().decision_function(X) * (np.abs(rows).sum(1) / np.abs(rows).sum(1))


class Squaring(Base):
    """Squares float32, which overflows."""

    def decision_function(self, X: Any) -> Any:
        with np.errstate(all="ignore"):
            square = np.square(np.asarray(X, dtype=np.float32)).sum(1) ** 2
            return super().decision_function(X) + 0 * square


class Swallowing(Base):
    """Takes NaN for 0."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            X = np.where(np.isnan(X), 0.0, X)
        return super().partial_fit(X, y, classes, sample_weight)


class FillingByTheCall(Base):
    """Takes for a missing value the mean of the rows it came with."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any, **how: Any) -> Any:
        means = np.nan_to_num(X).mean(axis=0)
        return super()._rows(np.where(np.isnan(X), means, X), **how)


class Halfway(Base):
    """Learns the rows before the one it refuses."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
            finite = np.isfinite(X).all(axis=1)
            if not finite.all() and y is not None:
                super().partial_fit(X[finite], np.asarray(y)[finite])
        return super().partial_fit(X, y, classes, sample_weight)


class Complaining(Base):
    """Says what is wrong with an exception that nobody expects."""

    def predict(self, X: Any) -> Any:
        if np.ndim(X) == 1:
            raise IndexError("tuple index out of range")
        return super().predict(X)


class Coding(Base):
    """Predicts the numbers of classes, not their labels."""

    def predict(self, X: Any) -> Any:
        return np.searchsorted(self.classes_, super().predict(X))


class Exaggerating(Base):
    def explain(self, x: Any) -> Any:
        why = super().explain(x)
        why.shares[:] *= 2.0
        return why


class OutOfTheBall(KernelClassifier):
    def _machine(self, kernel: Any) -> Any:
        self.radius *= 2
        return super()._machine(kernel)


class MisreadingMatrices(Base):
    """A csr_matrix counts twice, a csr_array does not."""

    def _rows(self, X: Any, **how: Any) -> Any:
        return super()._rows(2 * X if isinstance(X, scipy.sparse.spmatrix) else X, **how)


class Plain(ClassifierMixin, BaseEstimator):
    """A learner that has nothing of this library: the nearest of the last rows, `size` of them."""

    def __init__(self, budget: int = 10, gamma: float = 1.0, random_state: Any = None) -> None:
        self.budget = budget
        self.gamma = gamma
        self.random_state = random_state

    def size(self) -> int:
        return self.budget

    def wanted(self, y: Any) -> Any:
        return np.full(len(y), True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        first = not hasattr(self, "classes_")
        X = validate_data(self, X, reset=first, dtype=float)
        known = np.unique(classes) if first else self.classes_
        if y is None or np.shape(y) != (len(X),) or not np.isin(y, known).all():
            raise ValueError("y is not one label per row")
        if first:
            self.classes_, self.rows_, self.labels_ = known, X[:0], known[:0]
        wanted = self.wanted(y)
        self.rows_ = np.concatenate([self.rows_, X[wanted]])[-self.size() :]
        self.labels_ = np.concatenate([self.labels_, y[wanted]])[-self.size() :]
        self.n_support_ = len(self.rows_)  # set here, as scikit-learn's learners do: not a property
        return self

    def predict(self, X: Any) -> Any:
        if not hasattr(self, "rows_"):
            raise NotFittedError("not learned yet")
        X = validate_data(self, X, reset=False, dtype=float)
        if not len(self.rows_):
            return np.full(len(X), self.classes_[0])
        return self.labels_[((X[:, None, :] - self.rows_) ** 2).sum(axis=2).argmin(axis=1)]


class Hoarding(Plain):
    """Stores every row, whatever its budget is."""

    def size(self) -> int:
        return 10**6


class Swelling(Plain):
    """Takes more and more bytes."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        super().partial_fit(X, y, classes)
        self.memory_bytes_ = getattr(self, "memory_bytes_", 0) + 8
        return self


class KeepingTheMean(Plain):
    """Compares with the mean of the rows it was given, which is near 0, not of copies."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        self.kept = X
        return super().partial_fit(X, y, classes)

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.asarray(X)[:, 2] > np.mean(self.kept)).astype(int)]


BROKEN: dict[str, list[tuple[type, str]]] = {
    "chunks_do_not_matter": [
        (Backwards, r"the answer to row \d+ is .* in one call, .* in chunks that end before rows 1")
    ],
    "batch_equals_loop": [
        (Leaping, r"the answer to row \d+ is .* in a batch, .* one row at a time"),
        (Backwards, "in a batch"),
    ],
    "dense_equals_sparse": [
        (ScalingSparse, r"the answer to row \d+ is .* of dense rows, .* of CSR rows \(csr_array\)"),
        (MisreadingMatrices, r"the answer to row \d+ is .* of CSR rows \(csr_matrix\)"),
    ],
    "sparse_rows_are_put_in_order": [(Sorting, r"data has the shape \(2,\) afterwards")],
    "memory_layout_does_not_matter": [(MisreadingFortran, "in Fortran's order")],
    "arrays_are_neither_changed_nor_kept": [
        (Overwriting, r"X\[0, 0\] is .* after learning, .* as given"),
        (Keeping, "after the arrays were overwritten"),
        (KeepingTheMean, "after the arrays were overwritten"),
    ],
    "missing_values_are_taken": [
        (FillingByTheCall, "in a batch, .* one row at a time"),
    ],
    "deciding_changes_nothing": [(LearningToPredict, "after it was asked, .* never asked")],
    "resumes_exactly": [(Forgetful, "without a stop, .* copied after 137 rows")],
    "clones_learn_alike": [(Related, "of a model, .* of its clone")],
    "asked_too_early_says_so": [(Guessing, "predict answers .* before anything was learned")],
    "odd_rows_stay_finite": [(DividingByLength, "zeros: the answer to row 0 is nan")],
    "scales_stay_finite": [(Squaring, r"rows times 1e\+15 in float32: the answer to row 0 is nan")],
    "refused_calls_change_nothing": [
        (Swallowing, "partial_fit with nan is not refused"),
        (Halfway, "after partial_fit refused nan"),
        (Complaining, "predict with one dimension raises IndexError: .*, not a ValueError"),
    ],
    "labels_of_any_type": [(Coding, "of labels of type str")],
    "budget_is_kept": [
        (Greedy, "1[1-3] examples are stored after row .*, with a budget of 10"),
        (Hoarding, "20 examples are stored after row 19, with a budget of 10"),
    ],
    "memory_is_constant_once_full": [
        (Growing, r"bytes after row 3\d\d, .* after the row before"),
        (Swelling, "2,416 bytes after row 301, 2,408 after the row before"),
    ],
    "shares_sum_to_the_decision": [
        (Exaggerating, r"shares sum to \[.*\] in row 0, whose decision")
    ],
    "norm_ball_is_kept": [(OutOfTheBall, "the norm is .* after row")],
}
PAIRS = [(name, kind, says) for name, broken in BROKEN.items() for kind, says in broken]


@pytest.mark.parametrize(
    ("name", "kind", "says"), PAIRS, ids=[f"{name}-{kind.__name__}" for name, kind, _ in PAIRS]
)
def test_a_check_notices_who_breaks_its_contract(name: str, kind: type, says: str) -> None:
    params = {**PARAMS, "scale": None} if issubclass(kind, Base) else PARAMS
    learner = kind(radius=0.5) if kind is OutOfTheBall else kind(**params)
    applying = {each for each, _ in learner_checks(learner)}
    assert name in applying or name == "norm_ball_is_kept"
    with pytest.raises(ContractBroken, match=says) as caught:
        getattr(contracts, f"check_{name}")(learner)
    text = str(caught.value)
    assert text.startswith(f"{kind.__name__}(")
    assert f": check_{name}: " in text
    assert "\n" not in text


def test_every_check_has_a_learner_that_breaks_it() -> None:
    checks = {name for name in vars(contracts) if name.startswith("check_")}
    assert checks == {f"check_{name}" for name in BROKEN}
    for name in checks:
        assert inspect.getdoc(getattr(contracts, name))


def test_a_budget_that_is_never_full_is_not_taken_for_constant_memory() -> None:
    with pytest.raises(ContractBroken, match="take a budget of about 10"):
        contracts.check_memory_is_constant_once_full(Base(budget=1000, gamma=0.5))


# ---- learners that keep them ---------------------------------------------------------------------


@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[-1], REGRESSION[0]], ids=str)
def test_learners_of_this_library_keep_them(case: Case) -> None:
    learner = case.make()
    names = check_learner(learner)
    assert not hasattr(learner, "_engine"), "it has learned"
    assert ("budget_is_kept" in names) == (case.budget is not None)
    assert ("labels_of_any_type" in names) == (case.task == "classification")
    assert set(names) < set(BROKEN)


@pytest.mark.parametrize(("make", "budget"), [(as_printed, "10KB"), (budgetron.make, "100KB")])
def test_a_learner_with_a_budget_in_bytes_keeps_them(make: Any, budget: str) -> None:
    names = check_learner(make("ahpatron", budget=budget))
    assert {"budget_is_kept", "shares_sum_to_the_decision"} < set(names)


class Drawing(Plain):
    """Stores a row with a probability of one half."""

    def wanted(self, y: Any) -> Any:
        if not hasattr(self, "_draws"):
            self._draws = check_random_state(self.random_state)
        return self._draws.random_sample(len(y)) < 0.5


class Wrapping(Plain):
    """Has a learner that draws as a parameter."""

    def __init__(self, inner: Any = None, budget: int = 10) -> None:
        self.inner = inner
        self.budget = budget

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "inner_"):
            self.inner_ = clone(self.inner)
        self.inner_.partial_fit(X, y, classes)
        self.classes_, self.n_support_ = self.inner_.classes_, self.inner_.n_support_
        return self

    def predict(self, X: Any) -> Any:
        return (self.inner_ if hasattr(self, "inner_") else self.inner).predict(X)


@pytest.mark.parametrize("seed", [None, 3, np.int64(3), np.random.RandomState(0)], ids=str)
def test_learners_that_draw_are_compared_with_the_same_draws(seed: Any) -> None:
    assert "budget_is_kept" in check_learner(Base(budget=10, random_state=seed))
    for learner in (Drawing(random_state=seed), Wrapping(Drawing(random_state=seed))):
        assert "clones_learn_alike" in check_learner(learner)


@pytest.mark.parametrize("budget", [10, np.int64(10)])
def test_a_budget_of_any_whole_number_is_checked(budget: Any) -> None:
    names = check_learner(Plain(budget=budget))
    assert "budget_is_kept" in names
    assert "memory_is_constant_once_full" not in names  # it does not say what it takes


def test_a_budget_that_a_learner_raises_itself_is_not_believed() -> None:
    class Raising(Plain):
        def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
            self.budget = 10**6
            return super().partial_fit(X, y, classes)

    with pytest.raises(ContractBroken, match=r"20 examples .* with a budget of 10"):
        contracts.check_budget_is_kept(Raising(budget=10))


# ---- equal means to the bit ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (0.0, -0.0, r"w\[1\] is 0.0 here, -0.0 there"),
        (1.0, np.nextafter(1.0, 2.0), r"w\[1\] is 1.0 here, 1.0000000000000002 there"),
        (np.float32(1), np.int64(1), "w has the dtype float32 here, int64 there"),
        ("a", "b", r"w\[1\] is 'a' here, 'b' there"),
    ],
)
def test_equal_means_to_the_bit(one: Any, other: Any, says: str) -> None:
    names, a, b = ("here", "there"), np.array([one, one]), np.array([one, one]).astype(type(other))
    b[1] = other
    with pytest.raises(ContractBroken, match=says):
        same_values({"w": a}, {"w": b}, names)
    with pytest.raises(ContractBroken, match=r"the answer to row 1 is|answers have the dtype"):
        same_rows(a, b, names)
    same_values({"w": a}, {"w": a.copy()}, names)


def test_what_is_equal_in_other_bits() -> None:
    nan = np.array([np.nan])
    same_rows(nan, -nan, ("here", "there"))
    same_values({"w": np.array(["a"])}, {"w": np.array(["a"], dtype="U9")}, ("here", "there"))


def test_the_model_file_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Base.partial_fit

    def forgetting(self: Any, X: Any, *rest: Any, **more: Any) -> Any:
        try:
            return plain(self, X, *rest, **more)
        except ValueError:
            self.random_state = 1  # which is only in the file: drawing has begun
            raise

    monkeypatch.setattr(Base, "partial_fit", forgetting)
    with pytest.raises(
        ContractBroken, match=r"the model file\[\d+\] is .* after partial_fit refused"
    ):
        contracts.check_refused_calls_change_nothing(Base(**PARAMS))


# ---- learners of one's own -----------------------------------------------------------------------


class Own(ClassifierMixin, BaseEstimator):
    """A Perceptron in NumPy, as somebody might write their own."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        first = not hasattr(self, "classes_")
        X = validate_data(self, X, reset=first, dtype=float)
        known = np.unique(classes) if first else self.classes_
        if y is None or np.shape(y) != (len(X),) or not np.isin(y, known).all():
            raise ValueError("y is not one label per row")
        if first:
            self.classes_, self.coef_ = known, np.zeros((len(known), X.shape[1]))
        for x, code in zip(X, np.searchsorted(self.classes_, y), strict=True):
            said = int((self.coef_ * x).sum(axis=1).argmax())
            if said != code:
                self.coef_[code] += x
                self.coef_[said] -= x
        return self

    def decision_function(self, X: Any) -> Any:
        if not hasattr(self, "coef_"):
            raise NotFittedError("not learned yet")
        X = validate_data(self, X, reset=False, dtype=float)
        scores = (X[:, None, :] * self.coef_).sum(axis=2)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)]


def test_a_learner_of_ones_own_is_checked_by_what_it_has() -> None:
    names = check_learner(Own())
    assert "batch_equals_loop" in names
    assert "dense_equals_sparse" not in names  # it does not say that it takes sparse rows
    assert "budget_is_kept" not in names


class OwnBackwards(Own):
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        reverse = slice(None, None, -1)
        wrong = isinstance(X, np.ndarray) and X.ndim == 2 and np.shape(y) == (len(X),)
        return (
            super().partial_fit(X[reverse], y[reverse], classes)
            if wrong
            else (super().partial_fit(X, y, classes))
        )


def test_every_broken_contract_is_named() -> None:
    with pytest.raises(ContractBroken) as caught:
        check_learner(OwnBackwards())
    first, *lines = str(caught.value).splitlines()
    assert re.fullmatch(r"\d of 12 contracts are broken:", first)
    assert first.startswith(str(len(lines)))
    broken = [line.split(": ")[1] for line in lines]
    assert broken[:2] == ["check_chunks_do_not_matter", "check_batch_equals_loop"]


class Failing(Own):
    def predict(self, X: Any) -> Any:
        raise RuntimeError("no answer")


def test_a_learner_that_fails_is_named_with_the_check_it_failed_in() -> None:
    with pytest.raises(
        ContractBroken, match=r"Failing\(\): check_asked.*: RuntimeError: no answer"
    ):
        check_learner(Failing())
    with pytest.raises(RuntimeError) as caught:
        contracts.check_asked_too_early_says_so(Failing())
    assert caught.value.__notes__ == ["in Failing(): check_asked_too_early_says_so"]


def test_what_is_no_learner_is_refused() -> None:
    with pytest.raises(BudgetronError, match=r"^Gaussian has no .* so these checks do not apply"):
        check_learner(parts.Gaussian())
    with pytest.raises(BudgetronError, match=r"^a class was given; give an object: Own\(\)$"):
        check_learner(Own)
    with pytest.raises(NotFittedError):
        Own().predict([[0.0]])


# ---- parts ---------------------------------------------------------------------------------------


def test_a_part_is_checked_with_all_that_it_goes_with() -> None:
    names = check_part(parts.Merge(size=4))
    assert {name.partition(" [")[2].split(", ")[0] for name in names} == {"rbf"}
    updates = {name.partition(" [")[2].split(", ")[1] for name in names}
    assert updates == {update.kind for update in parts.UPDATES}
    assert {name.partition(" ")[0] for name in names} == {
        "chunks_do_not_matter",
        "resumes_exactly",
        "budget_is_kept",
        "norm_ball_is_kept",
    }


@pytest.mark.parametrize(
    ("part", "place"), [(parts.Linear(), 0), (parts.AvpUpdate(), 1), (parts.Hinge(), None)]
)
def test_parts_of_every_family(part: Any, place: int | None) -> None:
    names = [name for name, _ in part_checks(part)]
    kinds = [name.partition(" [")[2].rstrip("]").split(", ")[:3] for name in names]
    if place is None:
        assert {kind[1] for kind in kinds} == {"gradient", "pegasos"}
    else:
        assert {kind[place] for kind in kinds} == {part.kind}
    assert {kind[2] for kind in kinds} > {"remove-oldest", "halve", "unlimited"}


def test_a_part_that_breaks_a_contract_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = KernelClassifier.n_support_.fget
    monkeypatch.setattr(KernelClassifier, "n_support_", property(lambda self: stored(self) + 1))
    with pytest.raises(ContractBroken, match="check_budget_is_kept: 5 examples are stored after"):
        check_part(parts.Merge(size=4))


class OwnBudget(parts.budgets.Budget):
    kind = "own"


class OwnHalve(parts.Halve):
    pass


@pytest.mark.parametrize(
    "part",
    [
        3,
        None,
        "halve",
        np.zeros((9, 9)),
        parts.Squared,
        parts.Squared(),
        parts.TubeUpdate(),
        parts.Round(parts.Gaussian(), parts.AvpUpdate()),
        OwnBudget(),
        OwnHalve(),
        Base(),
    ],
    ids=lambda part: part.__name__ if isinstance(part, type) else type(part).__name__,
)
def test_what_is_no_part_is_refused(part: Any) -> None:
    with pytest.raises(
        BudgetronError, match=r" must be one of Gaussian\(\), .*Halve\(\)"
    ) as caught:
        part_checks(part)
    assert "\n" not in str(caught.value)


def test_the_class_of_a_part_is_refused() -> None:
    with pytest.raises(BudgetronError, match=r"^a class was given; give an object: Halve\(\)$"):
        check_part(parts.Halve)  # type: ignore[arg-type]


def test_a_part_that_goes_with_nothing_says_why() -> None:
    with pytest.raises(BudgetronError, match=r"Gaussian\(gamma=-1\) goes with nothing: .*'gamma'"):
        check_part(parts.Gaussian(gamma=-1))


# ---- for pytest, and without it ------------------------------------------------------------------


@pytest.mark.parametrize(("name", "check"), learner_checks(Own()))
def test_as_a_parametrized_test(name: str, check: Any) -> None:
    check()


def test_pytest_is_not_needed() -> None:
    code = (
        "import sys, budgetron.checks; print('pytest' in sys.modules, 'hypothesis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
