"""Any parameters, any stream: a model that is saved and loaded on the way continues unchanged.

Parameters are drawn from what each estimator accepts, up to both ends of its ranges, rows from
streams of all shapes. BUDGETRON_EXAMPLES sets the number of examples.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import Interval, StrOptions

import budgetron
from budgetron import KernelClassifier, model_file, parts
from budgetron.catalogue import CATALOGUE
from budgetron.parts.ranges import constraints, ranges_of
from tests.support.native import state_of

OF_PARTS = "of parts"
LEARNERS = [(name, task) for name, entry in CATALOGUE.items() for task in entry.tasks]
LEARNERS.append((OF_PARTS, "classification"))
EXAMPLES = int(os.environ.get("BUDGETRON_EXAMPLES", "20"))
LARGEST = 60  # largest budget or number of components, so that streams of some rows fill them
# Larger than a stream of some rows needs; they change nothing that is tested here.
LEFT_OUT = ("n_jobs", "n_epochs", "shuffle")

# ---- parameters ----------------------------------------------------------------------------------

USUAL = st.floats(-3, 3).map(lambda power: float(10.0**power))


def numbers(interval: Interval) -> st.SearchStrategy[Any]:
    """Numbers of an interval: ordinary ones, and those at its ends."""
    low, high, closed = interval.left, interval.right, interval.closed
    if interval.type is Integral:
        bottom, top = int(low), min(int(high or LARGEST), LARGEST)
        return st.one_of(st.integers(bottom, top), st.sampled_from([bottom, top]))
    ends = [end for end, shut in ((low, "left"), (high, "right")) if closed in (shut, "both")]
    ends = [float(end) for end in ends if end is not None]
    if closed in ("right", "both") and high is None:
        ends.append(float("inf"))
    far = [1e-100, 1e-9, 1e9, 1e100] if high is None else [(low or 0.0) + 1e-12, high - 1e-12]
    usual = (
        USUAL if high is None else st.floats(low or 0.0, high, exclude_min=True, exclude_max=True)
    )
    inside = [end for end in (*ends, *far) if end in interval]
    return st.one_of(usual, usual, usual, st.sampled_from(inside))


def values(constraints: list[Any]) -> st.SearchStrategy[Any]:
    """The values of a parameter, by its constraints."""
    kinds: list[st.SearchStrategy[Any]] = []
    for constraint in constraints:
        if isinstance(constraint, StrOptions):
            kinds.append(st.sampled_from(sorted(constraint.options)))
        elif isinstance(constraint, Interval):
            kinds.append(numbers(constraint))
        elif constraint is str:
            kinds.append(st.sampled_from(["4KB", "40KB", "200KB"]))
        elif constraint == "boolean":
            kinds.append(st.booleans())
        elif constraint == "random_state":
            kinds.append(st.integers(0, 9))
        elif constraint is None:
            kinds.append(st.none())
        elif constraint is dict:
            kinds.append(st.sampled_from([{0: 3.0}, {0: 1e-9, 1: 1e9}]))
        else:
            raise AssertionError(f"the generator has no values for {constraint!r}")
    return st.one_of(kinds)


def part(draw: st.DrawFn, kind: type[parts.Part]) -> parts.Part:
    """A part of this kind."""
    params: dict[str, Any] = {}
    for field in fields(kind):
        if field.name == "loss":
            params["loss"] = part(draw, draw(st.sampled_from(parts.LOSSES)))
        else:
            params[field.name] = draw(values(constraints(ranges_of(field))))
    return kind(**params)


def of_parts(draw: st.DrawFn) -> dict[str, Any]:
    families = {"kernel": parts.KERNELS, "update": parts.UPDATES, "budget": parts.BUDGETS}
    drawn = {name: part(draw, draw(st.sampled_from(of))) for name, of in families.items()}
    return {**drawn, "loss": None}


@st.composite
def models(draw: st.DrawFn, name: str, task: str) -> Any:
    """A learner with some of its parameters changed."""
    if name == OF_PARTS:
        fixed, estimator = of_parts(draw), KernelClassifier
    else:
        fixed, estimator = CATALOGUE[name].fixed, CATALOGUE[name].estimator(task)
    params = {"random_state": draw(st.integers(0, 9)), **fixed}
    if "budget" in estimator._parameter_constraints and name != OF_PARTS:
        params["budget"] = draw(st.sampled_from([3, 8, 20]))
    free = {
        name: constraints
        for name, constraints in estimator._parameter_constraints.items()
        if name not in fixed and name not in LEFT_OUT
    }
    for parameter in draw(st.lists(st.sampled_from(sorted(free)), unique=True, max_size=6)):
        params[parameter] = draw(values(free[parameter]))
    return estimator(**params)


# ---- streams -------------------------------------------------------------------------------------


@dataclass
class Stream:
    """Rows in chunks, their targets and weights."""

    X: Any
    y: np.ndarray
    classes: list[Any] | None
    weights: np.ndarray | None
    cuts: list[int]
    half: int  # the cut at which it is stopped

    @property
    def numeric(self) -> bool:
        return self.y.dtype.kind == "f"

    def __repr__(self) -> str:
        y = "numbers" if self.numeric else Counter(self.y.tolist())
        weights = None if self.weights is None else np.unique(self.weights).tolist()
        X = f"{type(self.X).__name__} {self.X.shape} {self.X.dtype}"
        return f"Stream({X}, {y=}, {self.classes=}, {weights=}, {len(self.cuts) - 1} chunks)"

    def chunks(self, start: int, end: int) -> Iterator[dict[str, Any]]:
        """The rows between two cuts, in the form that `prequential` takes."""
        for low, high in zip(self.cuts[start:end], self.cuts[start + 1 : end + 1], strict=True):
            chunk = {"X": self.X[low:high], "y": self.y[low:high]}
            if self.weights is not None:
                chunk["sample_weight"] = self.weights[low:high]
            yield chunk if self.classes is None else {**chunk, "classes": self.classes}


def laid_out(X: np.ndarray, layout: str, rng: np.random.Generator) -> Any:
    if layout == "dense":
        return X
    sparse = scipy.sparse.csr_array(X)
    if layout == "wide":
        where = np.sort(rng.choice(2**20, X.shape[1], replace=False)).astype(np.int32)
        sparse = scipy.sparse.csr_array(
            (sparse.data, where[sparse.indices], sparse.indptr), shape=(len(X), 2**20)
        )
    return sparse


@st.composite
def streams(draw: st.DrawFn, task: str) -> Stream:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, width = draw(st.sampled_from([40, 90, 230])), draw(st.integers(1, 6))
    X = rng.normal(size=(rows, width))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = 0.0
    odd = draw(st.sets(st.sampled_from(["idle", "copies", "constant", "ones", "large", "small"])))
    if "ones" in odd:
        X = (X > 0).astype(float)
    if "copies" in odd:
        X[::2] = X[rng.integers(min(4, rows), size=len(X[::2]))]
    if "constant" in odd:
        X[:, 0] = 3.0
    if "large" in odd:
        X[:, -1] *= 1e3
    if "small" in odd:
        X *= 1e-6
    if "idle" in odd:
        X[rng.random(rows) < 0.3] = 0.0
    X = X.astype(draw(st.sampled_from(["float32", "float64"])))
    classes = None
    if task == "regression":
        y = draw(st.sampled_from([1.0, 1e-6, 1e6])) * (X[:, 0] + rng.normal(size=rows))
    else:
        known = draw(st.sampled_from([[0, 1], [2, 5, 9], ["a", "b", "c", "d"], [False, True], [7]]))
        codes = (np.abs(X[:, 0]) * 3 + (rng.random(rows) < 0.3)).astype(int) % len(known)
        codes[: draw(st.sampled_from([0, rows // 2]))] %= 2  # others join later
        y = np.array(known)[codes]
        classes = known if draw(st.booleans()) else None
    weights = draw(st.sampled_from([None, None, 0.0, 1e-20, 10.0, 1e20]))
    largest = draw(st.sampled_from([1 if rows == 40 else 9, 30, rows]))
    cuts = [0]
    while cuts[-1] < rows:
        cuts.append(min(rows, cuts[-1] + int(rng.integers(1, largest + 1))))
    rows_laid_out = laid_out(X, draw(st.sampled_from(["dense", "csr", "wide"])), rng)
    return Stream(
        rows_laid_out,
        y,
        classes,
        None if weights is None else np.where(rng.random(rows) < 0.2, weights, 1.0),
        cuts,
        max(1, len(cuts) // 2),
    )


# ---- the test ------------------------------------------------------------------------------------


def again(model: Any) -> Any:
    """Save and load; the result has the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.btn"
        budgetron.save(model, path)
        loaded = budgetron.load(path)
    assert model_file.to_bytes(loaded) == model_file.to_bytes(model)
    return loaded


def same_bytes(one: Any, other: Any) -> None:
    """Files are equal; otherwise the message names the arrays that differ."""
    first, second = (state_of(model) for model in (one, other))
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), (name, array, second[name])
    assert model_file.to_bytes(one) == model_file.to_bytes(other)


def learned(model: Any, chunk: dict[str, Any]) -> bytes | None:
    """The decisions before each row was learned; None if the call was refused in one line."""
    try:
        decisions = model.prequential(**chunk)
    except ValueError as error:
        if "\n" in str(error):
            raise
        return None
    assert np.isfinite(decisions[decisions != -np.inf]).all()  # the output of a class not yet known
    return bytes(decisions.tobytes())


def go_through(model: Any, stream: Stream) -> str:
    """Learn the stream, saved at half and at the end; returns whether all of it was learned."""
    for chunk in stream.chunks(0, stream.half):
        if learned(model, chunk) is None:
            return "refused"
    other = again(model)
    for chunk in stream.chunks(stream.half, len(stream.cuts) - 1):
        decisions = learned(model, chunk)
        assert decisions == learned(other, chunk)
        if decisions is None:
            return "refused"
    same_bytes(model, other)
    loaded = again(model)
    if len(getattr(model, "classes_", [0])):
        X = stream.X[-20:]
        first, second = (
            each.predict(X) if stream.numeric else each.decision_function(X)
            for each in (model, loaded)
        )
        assert np.isfinite(first).all()
        assert first.tobytes() == second.tobytes()
    return "learned"


@pytest.mark.parametrize(("name", "task"), LEARNERS)
@settings(max_examples=max(EXAMPLES // 5, 1), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_stopped_model_goes_on_as_one_that_was_not(
    name: str, task: str, data: st.DataObject
) -> None:
    model, stream = data.draw(models(name, task)), data.draw(streams(task))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", budgetron.PrecisionWarning)
        go_through(model, stream)


@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
def test_most_configurations_are_learned() -> None:
    """Otherwise the generator would mainly test the checks of parameters."""
    ends: Counter[bool] = Counter()

    @settings(max_examples=100, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def each(data: st.DataObject) -> None:
        name, task = data.draw(st.sampled_from(LEARNERS))
        model, stream = data.draw(models(name, task)), data.draw(streams(task))
        ends[learned(model, next(stream.chunks(0, 1))) is not None] += 1

    each()
    assert ends[True] >= ends.total() / 2, ends


def test_scaled_rows_without_values_stay_sparse() -> None:
    rows = scipy.sparse.csr_array((20, 3))
    model = budgetron.make("perceptron", scale="standard").partial_fit(rows, np.arange(20) % 2)
    widths = state_of(model)["learner/expansion/support/widths"]
    assert widths.size
    assert (widths == -1).all()
