"""scale= and gamma="median": the processing of rows before any learner sees them."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron.catalogue import as_printed
from papers.units import Units
from tests.support.cases import BY_NAME, CASES, KINDS, Case, same_state, stream
from tests.support.native import native_of, state_of

WARM_UP = 200
RULES: dict[str, dict[str, Any]] = {
    "median": {"gamma": "median"},
    "standard": {"scale": "standard"},
    "standard and median": {"scale": "standard", "gamma": "median"},
    "auto and median": {"scale": "auto", "gamma": "median"},
    "auto": {"scale": "auto"},
}
RBF = [case for case in CASES if "rbf" in case.kernels]
each_case = pytest.mark.parametrize("case", RBF, ids=str)
each_kind = pytest.mark.parametrize("case", KINDS, ids=str)
each_rule = pytest.mark.parametrize("rule", RULES)
# Two learners that together cover everything, for the tests over all learners.
main_rules = pytest.mark.parametrize("rule", ["standard and median", "auto and median"])
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def uneven(rows: int = 260, **more: Any) -> tuple[np.ndarray, np.ndarray]:
    """A stream whose features have scales from 0.1 to 100, the last one constant."""
    X, y = stream(rows, **more)
    X = X * np.geomspace(0.1, 100.0, X.shape[1])
    return np.column_stack([X, np.full(rows, 3.0)]), y


def learned(model: Any) -> dict[str, np.ndarray]:
    """The learner, without counts and without its history.

    Statistics for a metric are counted only if gamma is found too.
    """
    state = state_of(model)
    return {
        name: value
        for name, value in state.items()
        if name.startswith(("learner", "random")) and "/relevance/" not in name
    }


# ---- the same rules in plain NumPy ---------------------------------------------------------------


def scaled(X: np.ndarray) -> np.ndarray:
    """Row t divided by the standard deviations of the rows before it; 0 if there is none."""
    out = np.zeros(X.shape)
    for t in range(len(X)):
        divisor = deviations(X[:t])
        np.divide(X[t], divisor, out=out[t], where=divisor > 0)
    return out


def in_units(X: np.ndarray, rows: int) -> np.ndarray:
    """X in the units that "auto" finds from its first rows."""
    units = Units(X.shape[1])
    units.start(X[:rows].astype(np.float64))
    return np.array([units.transform(x) for x in X.astype(np.float64)])


def deviations(X: np.ndarray) -> np.ndarray:
    """The deviation of every feature, exactly 0 for a constant one."""
    if len(X) == 0:
        return np.zeros(X.shape[1])
    return np.where(np.ptp(X, axis=0) == 0, 0.0, X.astype(np.float64).std(axis=0))


def median_gamma(X: np.ndarray) -> float:
    distances = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)[np.triu_indices(len(X), 1)]
    distances = distances[distances != 0]
    return 1 / np.median(distances) if distances.size else 1 / X.shape[1]


def stored_rows(model: Any) -> np.ndarray:
    """The stored examples in the order in which they were stored, dense."""
    rows = model.support_vectors_
    order = np.argsort(native_of(model).ids(), kind="stable")
    return (rows.toarray() if scipy.sparse.issparse(rows) else rows)[order]


@pytest.mark.parametrize("scale", ["standard", "auto"])
def test_scaled_rows_are_those_of_the_definition(scale: str) -> None:
    X, y = uneven(sparse=True)
    divided = scaled(X) if scale == "standard" else in_units(X, WARM_UP)
    # Passive-aggressive stores every row with loss; with steps this small, every row.
    model = as_printed("pa", C=1e-9, gamma=1.0, scale=scale).partial_fit(X, y, classes=[0, 1])
    assert model.n_support_ == len(X)
    np.testing.assert_allclose(stored_rows(model), divided, rtol=1e-9)
    np.testing.assert_array_equal(stored_rows(model)[:, -1], 0.0)
    # Deciding uses the statistics of all rows, or the units in force, and changes nothing.
    probe = divided[:5]
    if scale == "standard":
        probe = X[:5] / deviations(X).clip(1e-300)
        probe[:, -1] = 0.0
    plain = as_printed("pa", C=1e-9, gamma=1.0).partial_fit(divided, y, classes=[0, 1])
    np.testing.assert_allclose(
        model.decision_function(X[:5]), plain.decision_function(probe), rtol=1e-6
    )


def test_a_column_like_a_unix_time_keeps_its_deviation() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.normal(size=300), rng.normal(size=300)])
    model = as_printed("pa", C=1e-9, gamma=1.0, scale="standard")
    model.partial_fit(X, rng.integers(2, size=300), classes=[0, 1])
    np.testing.assert_allclose(stored_rows(model)[2:], scaled(X)[2:], rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@each_rule
def test_gamma_is_that_of_the_definition_after_every_row(rule: str, kernel: str) -> None:
    X, y = uneven()
    params = {"gamma": 0.5} | RULES[rule]
    model = as_printed("rbp", budget=10, kernel=kernel, random_state=0, **params)
    expected, divided = 1 / X.shape[1], scaled(X)
    for t in range(1, len(X) + 1):
        model.partial_fit(X[t - 1 : t], y[t - 1 : t], classes=[0, 1])
        undecided = params.get("scale") == "auto" and t < WARM_UP
        rows = X if params.get("scale") is None else divided
        if t in {2, 4, 8, 16, 32, 64, 128, WARM_UP}:
            rows = in_units(X[:t], t) if params.get("scale") == "auto" else rows
            expected = median_gamma(rows[:t])
        if params["gamma"] == "median":
            assert model.gamma_ == pytest.approx(expected, rel=1e-9)
        else:
            assert model.gamma_ == 0.5
        assert model.scaling_ == ("undecided" if undecided else params.get("scale") and "standard")


# ---- results are a function of the rows alone ----------------------------------------------------


@each_rule
@each_kind
def test_the_learner_is_the_one_that_had_this_gamma_from_the_start(case: Case, rule: str) -> None:
    # Classes join on the way, and the generator is where it would be.
    X, y = uneven(classes=3)
    y[:5] = 1
    model = case.make(**RULES[rule])
    model.partial_fit(X, y)
    # "auto" scales its warm-up in another way than "standard".
    scale = RULES[rule].get("scale")
    fixed = case.make(gamma=model.gamma_, scale=scale).partial_fit(X, y)
    assert model.scaling_ == (scale and "standard")
    ours, theirs = learned(model), learned(fixed)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert model.n_seen_ == len(X)


@pytest.mark.parametrize("rule", ["auto and median"])
@each_case
def test_chunks_and_resuming_do_not_matter(case: Case, rule: str) -> None:
    X, y = uneven(classes=3)
    whole = case.make(**RULES[rule])
    decisions = whole.prequential(X, y)
    cuts = [0, 1, 2, 3, 4, 7, 9, 100, 128, 199, 200, 201, len(X)]
    parts, pieces = case.make(**RULES[rule]), []
    for a, b in itertools.pairwise(cuts):
        pieces.append(parts.prequential(X[a:b], y[a:b]))
        parts = pickle.loads(pickle.dumps(parts))
    same_state(whole, parts)
    assert (whole.n_mistakes_, whole.n_updates_) == (parts.n_mistakes_, parts.n_updates_)
    # All three classes are known after row 9: from there on the shapes are alike.
    np.testing.assert_array_equal(decisions[9:], np.concatenate(pieces[6:]))


@each_dtype
@main_rules
@each_kind
def test_batch_equals_one_row_at_a_time(case: Case, rule: str, dtype: type) -> None:
    X, y = uneven()
    X = X.astype(dtype)
    batch = case.make(**RULES[rule])
    decisions = batch.prequential(X, y, classes=[0, 1])
    loop = case.make(**RULES[rule]).partial_fit(X[:1], y[:1], classes=[0, 1])
    one = [loop.learn_one(x, label) for x, label in zip(X[1:], y[1:], strict=True)]
    same_state(batch, loop)
    np.testing.assert_array_equal(decisions[1:], one)
    assert loop.decision_one(X[0]) == batch.decision_function(X[:1])[0]


@each_dtype
@main_rules
@each_kind
def test_dense_equals_csr(case: Case, rule: str, dtype: type) -> None:
    X, y = uneven(sparse=True)
    X = X.astype(dtype)
    dense, sparse = case.make(**RULES[rule]), case.make(**RULES[rule])
    np.testing.assert_array_equal(
        dense.prequential(X, y), sparse.prequential(scipy.sparse.csr_array(X), y)
    )
    assert (dense.gamma_, dense.scaling_) == (sparse.gamma_, sparse.scaling_)
    np.testing.assert_array_equal(
        dense.decision_function(X), sparse.decision_function(scipy.sparse.csr_array(X))
    )


def test_a_stream_that_grows_does_not_depend_on_its_chunks() -> None:
    X, y = uneven()
    rows = [X[:, :2], X[:, :3], X]  # each width for a while
    chunks = [rows[min(i // 60, 2)][i : i + 1] for i in range(len(X))]
    for kernel in ("rbf", "poly", "linear"):
        params = {"kernel": kernel, "gamma": "median", "scale": "standard", "random_state": 0}
        one = as_printed("perceptron", **params)
        for i, chunk in enumerate(chunks):
            one._prequential_growing(scipy.sparse.csr_array(chunk), y[i : i + 1])
        other = as_printed("perceptron", **params)
        padded = [np.pad(chunk, ((0, 0), (0, 5 - chunk.shape[1]))) for chunk in chunks]
        other._prequential_growing(scipy.sparse.csr_array(np.concatenate(padded)), y)
        same_state(one, other)


def test_features_with_large_numbers_take_no_room_for_the_others() -> None:
    X = scipy.sparse.csr_array(
        (np.arange(1.0, 11.0), np.full(10, 2_000_000_000), np.arange(11)), shape=(10, 2_000_000_001)
    )
    model = as_printed("perceptron", gamma="median", scale="standard")
    model.partial_fit(X, np.arange(10) % 2)
    assert model.memory_bytes_ < 100_000


# ---- counting and memory -------------------------------------------------------------------------


@each_rule
def test_each_row_counts_once_and_a_recorded_decision_stands(rule: str) -> None:
    X, y = uneven()
    model = as_printed("rbp", budget=12, random_state=0, **({"gamma": 0.5} | RULES[rule]))
    decisions = model.prequential(X, y, classes=[0, 1])
    assert model.n_seen_ == len(X)
    assert model.n_mistakes_ == ((decisions >= 0) != y).sum()
    # In the Perceptron family the rounds that changed the model are those with y f <= 0.
    assert model.n_updates_ == (decisions * (2 * y - 1) <= 0).sum()


@pytest.mark.parametrize("rule", ["median", "auto and median", "auto"])
def test_the_kept_rows_are_counted_and_then_freed(rule: str) -> None:
    X, y = uneven(width=50)
    model = as_printed("rbp", budget=5, random_state=0, **RULES[rule])
    model.partial_fit(X[: WARM_UP - 1], y[: WARM_UP - 1], classes=[0, 1])
    full = model.memory_bytes_
    model.partial_fit(X[WARM_UP - 1 : WARM_UP], y[WARM_UP - 1 : WARM_UP])
    assert full - model.memory_bytes_ > 0.9 * X[: WARM_UP - 1].nbytes
    assert not state_of(model)["preparation/warmup/values"].size
    settled = model.partial_fit(X[:1], y[:1]).memory_bytes_  # with room for a scaled row
    model.partial_fit(X, y)
    assert model.memory_bytes_ == settled


def test_deciding_changes_nothing() -> None:
    X, y = uneven()
    for rows in (3, 100, 260):
        for rule in RULES.values():
            model = BY_NAME["ahpatron"].make(**rule).partial_fit(X[:rows], y[:rows])
            twin = BY_NAME["ahpatron"].make(**rule).partial_fit(X[:rows], y[:rows])
            model.predict(X)
            model.decision_one(X[0])
            same_state(model, twin)


# ---- rows that could do harm ---------------------------------------------------------------------

HARMFUL = {
    "zeros": np.zeros((220, 3)),
    "one row again and again": np.tile([[1.0, -2.0, 0.0]], (220, 1)),
    "constant but for one feature": np.column_stack([np.full((220, 2), 7.0), np.arange(220) % 3]),
    "huge and tiny": np.tile([[1e30, 1e-30, 0.0], [0.0, 1e30, 1e-30]], (110, 1)),
    "a late jump": np.vstack([np.full((210, 3), 1e-30), np.full((5, 3), 1e-29), np.ones((5, 3))]),
}


@each_dtype
@pytest.mark.parametrize("rows", HARMFUL)
@each_rule
@pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")
def test_constants_duplicates_and_extremes_do_no_harm(rule: str, rows: str, dtype: type) -> None:
    X = HARMFUL[rows].astype(dtype)
    y = np.arange(len(X)) % 2
    for name in ("rbp", "fogd", "projectron", "bsgd-merge"):
        model = BY_NAME[name].make(**RULES[rule])
        assert np.isfinite(model.prequential(X, y, classes=[0, 1])).all()
        assert np.isfinite(model.decision_function(X)).all()
        assert 0 < model.gamma_ < np.inf


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of sums that scikit-learn takes
@pytest.mark.parametrize("largest", [1e155, 1.7e308])
@pytest.mark.parametrize("scale", ["auto", "standard"])
def test_values_too_large_to_square_stop_no_model_from_resuming(scale: str, largest: float) -> None:
    X, y = uneven(300)
    X[:, 0] /= np.abs(X[:, 0]).max()
    X[:, 0] *= largest  # of both signs
    X[50, 1] = X[230, 2] = largest
    whole = BY_NAME["rbp"].make(scale=scale, gamma="median")
    decisions = whole.prequential(X, y, classes=[0, 1])
    assert np.isfinite(decisions).all()
    assert np.ptp(stored_rows(whole)[:, 0]) > 0
    for cut in (60, 200, 240):
        half = BY_NAME["rbp"].make(scale=scale, gamma="median")
        half.partial_fit(X[:cut], y[:cut], classes=[0, 1])
        rest = pickle.loads(pickle.dumps(half)).prequential(X[cut:], y[cut:])
        np.testing.assert_array_equal(rest, decisions[cut:])


@each_rule
def test_one_row(rule: str) -> None:
    model = as_printed("perceptron", **({"gamma": "auto"} | RULES[rule]))
    model.partial_fit(np.ones((1, 4)), [1], classes=[0, 1])
    assert model.gamma_ == 1 / 4
    assert np.isfinite(model.decision_function(np.ones((1, 4)))).all()
    assert pickle.loads(pickle.dumps(model)).n_seen_ == 1


def test_kernels_without_a_distance_take_one_over_d() -> None:
    X, y = uneven()
    for kernel in ("poly", "sigmoid"):
        model = as_printed("perceptron", kernel=kernel, gamma="median").fit(X, y)
        assert model.gamma_ == 1 / X.shape[1]
        same = as_printed("perceptron", kernel=kernel, gamma="auto").fit(X, y)
        np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)
    assert as_printed("perceptron", kernel="linear", gamma="median").fit(X, y).gamma_ is None


def test_a_kernel_given_as_a_part_has_its_own_gamma() -> None:
    X, y = uneven()
    part = budgetron.parts.Gaussian(0.25)
    model = budgetron.KernelClassifier(kernel=part, gamma="median", scale="standard").fit(X, y)
    assert (model.gamma_, model.scaling_) == (0.25, "standard")
    assert budgetron.KernelClassifier(gamma="median").fit(X, y).gamma_ != 0.25


def test_bad_values_are_refused() -> None:
    X, y = uneven(20)
    for params in ({"scale": "minmax"}, {"scale": 1.0}, {"gamma": "mean"}):
        (name,) = params
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            as_printed("perceptron", **params).fit(X, y)


def test_the_precision_warning_speaks_of_scaled_rows_and_the_final_gamma() -> None:
    X, y = uneven()
    X = (X * 1e4).astype(np.float32)
    with pytest.warns(budgetron.PrecisionWarning):
        as_printed("perceptron", gamma=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rule in RULES.values():
            model = as_printed("perceptron", **({"gamma": "auto"} | rule))
            for i in range(0, len(X), 13):
                model.partial_fit(X[i : i + 13], y[i : i + 13], classes=[0, 1])
    rng = np.random.default_rng(0)
    times = (1.7e9 + 1e4 * rng.normal(size=(300, 1))).astype(np.float32)
    with pytest.warns(budgetron.PrecisionWarning):
        as_printed("perceptron", gamma="median").fit(times, y[:1].repeat(300))


# ---- what "auto" chooses -------------------------------------------------------------------------


def test_auto_needs_a_deviation_above_one_and_above_twice_the_median() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(WARM_UP) % 2
    for deviations, choice in [
        ([0.1, 0.1, 0.9], None),  # none above 1
        ([50.0, 60.0, 70.0], None),  # all alike
        ([0.1, 0.1, 5.0], "standard"),
        ([0.0, 5.0], None),  # a feature that is always 0 does not count
        ([1.0, 5.0], "standard"),  # of two features the other one
    ]:
        X = rng.choice([-1.0, 1.0], size=(WARM_UP, len(deviations))) * deviations
        model = as_printed("perceptron", scale="auto").partial_fit(X, y, classes=[0, 1])
        assert model.scaling_ == choice


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("magic04", "standard"),
        ("cod-rna/train", "standard"),
        ("german", "standard"),
        ("phishing", None),
        ("a9a/train", None),
        ("w8a/train", None),
        ("ijcnn1/train", None),
    ],
)
def test_auto_on_real_data(load_real: Any, name: str, choice: str | None) -> None:
    X, y = load_real(name)
    model = as_printed("perceptron", scale="auto", gamma="median")
    model.partial_fit(X[:WARM_UP], y[:WARM_UP])
    assert model.scaling_ == choice
    rows = X[:WARM_UP].astype(np.float64)
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    expected = median_gamma(in_units(rows, WARM_UP))
    assert model.gamma_ == pytest.approx(expected, rel=1e-4)
