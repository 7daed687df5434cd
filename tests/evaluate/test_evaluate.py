"""Prequential evaluation: metrics against scikit-learn's, the loop against a plain one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import metrics as reference
from sklearn.linear_model import SGDClassifier, SGDRegressor

import budgetron
from budgetron.catalogue import as_printed
from budgetron.errors import BudgetronError
from budgetron.evaluate import ClassificationMetrics, RegressionMetrics, prequential
from budgetron.evaluate.auc import binned_auc, bins
from budgetron.evaluate.curve import POINTS, Curve, Point
from budgetron.evaluate.metrics import BLOCK
from budgetron.streams import two_gaussians
from tests.support.cases import (
    BY_NAME,
    KINDS,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    same_state,
    stream,
)

X, Y = two_gaussians(700, seed=3)
THREE = (X[:, 0] > 0.9).astype(int) + (X[:, 1] > 0)
TARGET = np.sin(X[:, 0]) + 0.1 * X[:, 1]
N = len(Y)


def same(left: Any, right: Any, *but: str) -> None:
    """Equal to the bit, nan included, but for the seconds."""
    for one, other in zip(left.checkpoints, right.checkpoints, strict=True):
        assert one.keys() == other.keys()
        for name in one.keys() - {"seconds", *but}:
            np.testing.assert_equal(one[name], other[name], name)


# ---- metrics -------------------------------------------------------------------------------------


def classified(n: int, classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=n)
    scores = random.normal(size=n) + (truth == 1)
    guess = np.where(random.random(n) < 0.6, truth, random.integers(classes, size=n))
    return truth, guess, scores


def expected(truth: Any, guess: Any, weights: Any = None) -> dict[str, float]:
    average = "binary" if len(np.unique(truth)) == 2 else "macro"
    options = {"average": average, "sample_weight": weights, "zero_division": 0}
    return {
        "mistake_rate": reference.zero_one_loss(truth, guess, sample_weight=weights),
        "precision": reference.precision_score(truth, guess, **options),
        "recall": reference.recall_score(truth, guess, **options),
        "f1": reference.f1_score(truth, guess, **options),
        "kappa": reference.cohen_kappa_score(truth, guess, sample_weight=weights),
    }


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("n", [500, 2 * BLOCK, 2 * BLOCK + 77])
def test_metrics_are_those_of_scikit_learn(classes: int, n: int) -> None:
    truth, guess, _ = classified(n, classes)
    counted = ClassificationMetrics(window=300, fading=0.99)
    counted.add(truth, guess)
    values = counted.values()
    fading = 0.99 ** np.arange(n - 1, -1, -1)
    for name, value in expected(truth, guess).items():
        assert values[name] == pytest.approx(value, rel=1e-12)
    for name, value in expected(truth[-300:], guess[-300:]).items():
        assert values[f"window_{name}"] == pytest.approx(value, rel=1e-12)
    for name, value in expected(truth, guess, fading).items():
        assert values[f"fading_{name}"] == pytest.approx(value, rel=1e-9)


def test_auc_and_hinge_loss() -> None:
    truth, guess, scores = classified(3000, 2)
    sign = 2 * truth - 1
    counted = ClassificationMetrics(window=400, fading=0.999)
    counted.add(truth, guess, margins=sign * scores, scores=scores)
    values = counted.values()
    others, positives = np.zeros((2, 1 << 16))
    np.add.at(others, bins(scores[truth == 0]), 1)
    np.add.at(positives, bins(scores[truth == 1]), 1)
    binned, most_off = binned_auc(others, positives)
    exact = reference.roc_auc_score(truth, scores)
    assert values["auc"] == binned
    assert 0 < most_off < 2e-3
    assert 0 < abs(binned - exact) <= most_off
    window = reference.roc_auc_score(truth[-400:], scores[-400:])
    assert values["window_auc"] == pytest.approx(window, rel=1e-12)
    fading = 0.999 ** np.arange(2999, -1, -1)
    faded = reference.roc_auc_score(truth, scores, sample_weight=fading)
    assert values["fading_auc"] == pytest.approx(faded, abs=2e-3)
    assert values["hinge_loss"] == pytest.approx(reference.hinge_loss(truth, scores), rel=1e-12)
    weighted = reference.hinge_loss(truth, scores, sample_weight=fading)
    assert values["fading_hinge_loss"] == pytest.approx(weighted, rel=1e-9)


def test_log_loss_and_majority_rate() -> None:
    truth, guess, _ = classified(2 * BLOCK + 5, 3)
    chances = np.random.default_rng(1).random(len(truth))
    chances[7], chances[8] = 0.0, 1.0
    there = np.arange(len(truth)) > 2  # those before had no probability
    counted = ClassificationMetrics(window=300)
    counted.add(truth, guess, chances=np.where(there, chances, np.nan))
    values = counted.values()
    shares = np.column_stack([chances, 1 - chances])[there]
    of_own = np.zeros(there.sum(), int)
    losses = reference.log_loss(of_own, shares, labels=[0, 1])
    assert values["log_loss"] == pytest.approx(losses, rel=1e-12)
    assert values["majority_rate"] == 1 - np.bincount(truth).max() / len(truth)
    assert values["window_majority_rate"] == 1 - np.bincount(truth[-300:]).max() / 300


def test_classes_one_by_one() -> None:
    words = np.array(["ant", "bee", "cat"])
    truth, guess, _ = classified(BLOCK + 5, 3)
    counted = ClassificationMetrics(None, None)
    counted.add(words[truth], words[guess])
    found = counted.by_class()
    arguments = (truth, guess)
    precision, recall, f1, rows = reference.precision_recall_fscore_support(*arguments)
    assert [each["label"] for each in found] == words.tolist()
    assert [each["rows"] for each in found] == rows.tolist()
    for name, expected in {"precision": precision, "recall": recall, "f1": f1}.items():
        np.testing.assert_allclose([each[name] for each in found], expected, rtol=1e-12)
    assert sum(each["predicted"] for each in found) == len(truth)
    assert set(counted.values()) == {
        *("mistake_rate", "majority_rate", "precision", "recall", "f1"),
        *("kappa", "hinge_loss", "log_loss", "auc"),
    }


@pytest.mark.parametrize("labels", [Y, THREE])
def test_chances_are_those_of_predict_proba(labels: Any) -> None:
    """The model's probability of a row's own class right before the row was learned."""
    model = budgetron.make("budgetron", budget=30, gamma=0.5)
    twin = budgetron.make("budgetron", budget=30, gamma=0.5)
    chances = np.full(400, np.nan)
    model._prequential_growing(X[:400], labels[:400], growing=False, chances=chances)
    for i in range(400):
        known = getattr(twin, "classes_", np.empty(0)).tolist()
        expected = np.nan
        if len(known) > 1 and labels[i] in known:
            expected = twin.predict_proba(X[i : i + 1])[0, known.index(labels[i])]
        np.testing.assert_equal(chances[i], expected)
        twin.partial_fit(X[i : i + 1], labels[i : i + 1])
    assert np.isfinite(chances).sum() > 390
    same_state(model, twin)


@pytest.mark.parametrize("cut", [0, 1, BLOCK, BLOCK + 300])
def test_counting_goes_on_from_what_was_written_down(cut: int) -> None:
    import json

    truth, guess, scores = classified(2 * BLOCK + 5, 2)
    words = np.array(["no", "yes"])
    more = {"scores": scores, "chances": 1 / (1 + scores**2)}

    def counted(metrics: Any, rows: slice) -> Any:
        given = {name: each[rows] for name, each in more.items()}
        metrics.add(words[truth][rows], words[guess][rows], **given)
        return metrics

    whole = counted(ClassificationMetrics(None, None), slice(None))
    first = counted(ClassificationMetrics(None, None), slice(0, cut))
    second = ClassificationMetrics(None, None)
    second.restore(json.loads(json.dumps(first.state())))
    counted(second, slice(cut, None))
    np.testing.assert_equal(second.values(), whole.values())
    np.testing.assert_equal(second.by_class(), whole.by_class())
    target = scores + 1e6
    whole = RegressionMetrics(None, None)
    whole.add(target, truth)
    first, second = RegressionMetrics(None, None), RegressionMetrics(None, None)
    first.add(target[:cut], truth[:cut])
    second.restore(json.loads(json.dumps(first.state())))
    second.add(target[cut:], truth[cut:])
    assert second.values() == whole.values()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", -1),
        ("rows", 1.0),
        ("rows", 1),
        ("block", "?"),
        ("block", 3),
        ("sums", ""),
        ("labels", [1.0, "a"]),
        ("labels", []),
        ("labels", None),
        ("counts", ["", "", "AAAAAAAAAAA="]),
        ("bins", "/////w=="),
        ("scores", "AAAAAAAAAAA="),
    ],
)
def test_what_was_not_written_by_metrics_is_refused(name: str, value: Any) -> None:
    truth, guess, scores = classified(100, 2)
    counted = ClassificationMetrics(None, None)
    counted.add(truth, guess, scores=scores)
    state = counted.state()
    ClassificationMetrics(None, None).restore(state)
    with pytest.raises((BudgetronError, ValueError)):
        ClassificationMetrics(None, None).restore({**state, name: value})


def test_a_curve_has_even_points_of_any_stream() -> None:
    curve = Curve(Point)
    for rows in range(1, 50_001):
        if rows == curve.next:
            curve.add(Point(rows, rows, rows / 2, rows / 3))
    steps = np.diff([0, *(point.rows for point in curve.points)])
    assert set(steps) == {curve.step}
    assert POINTS / 2 <= len(curve.points) < POINTS
    again = Curve(Point)
    again.restore(curve.state(), 50_000)
    assert (again.points, again.step, again.next) == (curve.points, curve.step, curve.next)
    for rows, state in [(60_000, {}), (50_000, {"step": 0}), (50_000, {"points": "AAAA"})]:
        with pytest.raises(BudgetronError):
            Curve(Point).restore({**curve.state(), **state}, rows)


def test_bins_in_use_are_all_that_count() -> None:
    """Fading rows, later ones in their own bins, against weights in all bins."""
    truth, guess, scores = classified(3 * BLOCK + 77, 2)
    truth[:2] = 0, 1  # so that codes are labels
    scores[BLOCK:] *= 1e3
    scores[5:9] = np.nan
    counted = ClassificationMetrics(fading=0.9999)
    for start in range(0, len(truth), 700):
        part = slice(start, start + 700)
        counted.add(truth[part], guess[part], scores=scores[part])
        weights = 0.9999 ** np.arange(min(start + 700, len(truth)) - 1.0, -1.0, -1.0)
        there = ~np.isnan(scores[: len(weights)])
        every = np.zeros((2, 2, 1 << 16))
        for each, weight in zip(every, (np.ones_like(weights), weights), strict=True):
            where = truth[: len(weights)][there], bins(scores[: len(weights)][there])
            np.add.at(each, where, weight[there])
        values = counted.values()
        assert values["auc"] == binned_auc(*every[0])[0]
        assert values["fading_auc"] == pytest.approx(binned_auc(*every[1])[0], rel=1e-12)
        np.testing.assert_equal(counted.values(), values)
    assert 100 < len(counted._bins) < 1 << 14


def test_bins_keep_the_order_of_scores() -> None:
    scores = np.array([-np.inf, -1e300, -3.0, -1e-40, -0.0, 0.0, 1e-40, 0.5, 3.0, 1e300, np.inf])
    found = bins(scores).astype(int)
    assert (np.diff(found) >= 0).all()
    assert found[4] == found[5]
    assert len(set(found.tolist())) >= 7


def test_positive_is_the_larger_label_whatever_comes_first() -> None:
    for labels in (["b", "a", "b", "b"], ["a", "b", "b", "b"]):
        counted = ClassificationMetrics()
        counted.add(labels, ["b"] * 4, scores=[0.0, 1.0, 2.0, 3.0])
        values = counted.values()
        assert values["precision"] == 0.75
        assert values["recall"] == 1
        assert values["auc"] == (2 / 3 if labels[0] == "b" else 1)


def test_a_row_without_prediction_is_a_mistake() -> None:
    counted = ClassificationMetrics()
    counted.add([1, 1, 0], [1, 1, 0], known=[True, False, True])
    values = counted.values()
    assert values["mistake_rate"] == pytest.approx(1 / 3)
    assert values["recall"] == 0.5
    assert values["precision"] == 1


@pytest.mark.parametrize("n", [10, 2 * BLOCK + 5])
def test_regression_metrics(n: int) -> None:
    random = np.random.default_rng(1)
    truth, guess = random.normal(size=(2, n))
    counted = RegressionMetrics(window=50, fading=0.99)
    for start in range(0, n, 13):
        counted.add(truth[start : start + 13], guess[start : start + 13])
    values = counted.values()
    fading = 0.99 ** np.arange(n - 1, -1, -1)
    for prefix, rows, weights in [
        ("", slice(None), None),
        ("window_", slice(-50, None), None),
        ("fading_", slice(None), fading),
    ]:
        arguments = (truth[rows], guess[rows])
        rmse = reference.root_mean_squared_error(*arguments, sample_weight=weights)
        mae = reference.mean_absolute_error(*arguments, sample_weight=weights)
        assert values[f"{prefix}rmse"] == pytest.approx(rmse, rel=1e-9)
        assert values[f"{prefix}mae"] == pytest.approx(mae, rel=1e-9)
        r2 = reference.r2_score(*arguments, sample_weight=weights)
        assert values[f"{prefix}r2"] == pytest.approx(r2, rel=1e-9)
    means = np.cumsum(truth) - truth
    means[1:] /= np.arange(1, n)
    assert values["mean_rmse"] == pytest.approx(np.sqrt(np.mean((truth - means) ** 2)), rel=1e-9)
    assert values["mean_mae"] == pytest.approx(np.mean(np.abs(truth - means)), rel=1e-9)


def test_a_target_far_from_0_has_its_variance() -> None:
    target = 1e9 + np.random.default_rng(0).normal(size=3 * BLOCK)
    counted = RegressionMetrics(None, None)
    counted.add(target, np.full(len(target), 1e9), known=np.arange(len(target)) > 0)
    values = counted.values()
    assert values["rmse"] == pytest.approx(1, rel=0.05)  # row 1 does not count
    assert values["r2"] == pytest.approx(0, abs=0.01)
    assert values["mean_rmse"] == pytest.approx(1, rel=0.05)
    one = RegressionMetrics(None, None)
    one.add([1.0], [0.0], known=False)
    assert np.isnan(list(one.values().values())).all()


@pytest.mark.parametrize("size", [1e160, 1e300, 1.7e308])
def test_sums_that_are_too_large_are_infinite_or_nan(size: float) -> None:
    target = size * np.random.default_rng(0).uniform(-1, 1, size=3 * BLOCK)
    counted = RegressionMetrics(100, 0.99)
    for start in range(0, len(target), 700):
        part = target[start : start + 700]
        counted.add(part, np.zeros(len(part)), known=np.arange(start, start + len(part)) > 0)
    values = counted.values()
    for prefix in ("", "window_", "fading_"):
        assert values[f"{prefix}rmse"] == np.inf
        assert np.isnan(values[f"{prefix}r2"])
    if size < 1e305:
        assert values["mae"] == pytest.approx(np.mean(np.abs(target[1:])), rel=1e-9)


@pytest.mark.parametrize("delay", [0, 3])
def test_rows_before_the_first_target_do_not_count(delay: int) -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = 1e6 + X[:, 0]
    last = prequential(budgetron.BudgetronRegressor(), X, y, delay=delay).last
    assert last["rmse"] < 1e3
    assert last["mean_rmse"] < 2
    far = prequential(SGDRegressor(eta0=1e-9), X, y, delay=delay).last  # learns next to nothing
    assert far["rmse"] == pytest.approx(np.sqrt(np.mean(y[1 + delay :] ** 2)), rel=1e-3)


@pytest.mark.parametrize("options", [{"window": 0}, {"fading": 0}, {"fading": 1.5}])
def test_metrics_refuse_nonsense(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        RegressionMetrics(**options)


# ---- the loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [Y, THREE, np.array(["no", "yes"])[(Y > 0).astype(int)]])
def test_mistakes_are_the_models_own(labels: Any) -> None:
    model = budgetron.make("ahpatron", budget=20, gamma=0.5)
    found = prequential(model, X, labels, every=400)
    assert found.column("rows").tolist() == [400, 800, 1200, 1400]
    assert found.last["mistake_rate"] == model.n_mistakes_ / N
    assert found.last["stored"] == model.n_support_
    assert found.last["bytes"] == model.memory_bytes_
    assert found.last["seconds"] > 0
    assert 0 < found.last["hinge_loss"] < 2
    assert 0.5 < found.last["auc"] < 1
    assert np.isnan(found.last["window_auc"]) == (labels is THREE)


@pytest.mark.parametrize("labels", [Y, THREE, TARGET])
@pytest.mark.parametrize("delay", [0, 30])
def test_chunks_and_layout_change_nothing(labels: Any, delay: int) -> None:
    task = "regression" if labels is TARGET else "classification"

    def run(rows: Any, **options: Any) -> Any:
        model = as_printed("rbp", task, budget=20, gamma=0.5, random_state=1)
        return prequential(model, rows, labels[:350], every=[1, 150], delay=delay, **options)

    whole = run(X[:350])
    assert whole.task == task
    assert whole.column("rows").tolist() == [1, 150, 350]
    for chunk_rows in (1, 101):
        same(whole, run(X[:350], chunk_rows=chunk_rows))
    same(whole, run(csr_array(X[:350])), "bytes")
    chunks = [(X[:1], labels[:1]), (X[1:220], labels[1:220]), (X[220:350], labels[220:350])]
    model = as_printed("rbp", task, budget=20, gamma=0.5, random_state=1)
    same(whole, prequential(model, chunks, every=[1, 150], delay=delay))


# State that continues from one chunk to the next: weights, their counts, the scaler, the warm-up.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "classification": [
        {"class_weight": {0: 3.0, 1: 0.5}, "scale": None},
        {"class_weight": {0: 0.0}},  # a class that never joins
        {"class_weight": "balanced", "scale": "standard"},
        {"class_weight": "balanced", "scale": "auto", "gamma": "median"},
    ],
    "regression": [{"scale": None}, {"scale": "standard"}, {"scale": "auto", "gamma": "median"}],
}


ALL = [*KINDS, *REGRESSION_KINDS]


@pytest.mark.parametrize(
    ("case", "delay"),
    [*((case, 0) for case in ALL), *((case, 7) for case in ALL[::3])],  # the latter is row by row
    ids=str,
)
def test_cuts_change_no_bit(case: Case, delay: int) -> None:
    """Rows cut by chunks and by checkpoints give the same metrics and the same model."""
    n, drawn = 220, numeric_stream if case.task == "regression" else stream
    rows, targets = drawn(n)
    three = stream(n, classes=3)[1]
    for number, options in enumerate(OPTIONS[case.task]):
        if case.task == "classification" and number % 2:
            targets = three

        def run(*, rows: Any = rows, y: Any = targets, more: Any = options, **cuts: Any) -> Any:
            model = case.make(**more)
            found = prequential(model, rows, y, delay=delay, window=50, **cuts)
            return model, {point["rows"]: point for point in found.checkpoints}

        whole, expected = run(every=[90, n])
        for cuts in ({"every": 90, "chunk_rows": 7}, {"every": [1, 37, 90]}):
            model, found = run(**cuts)
            same_state(whole, model)
            for end in expected.keys() & found.keys():
                for name in expected[end].keys() - {"seconds"}:
                    np.testing.assert_equal(found[end][name], expected[end][name], name)


def test_class_weights_are_those_of_partial_fit() -> None:
    """The evaluation learns like `partial_fit`; with a delay, the rows whose labels came."""
    rows, y = stream(300)
    for weight in ({0: 5.0, 1: 0.2}, "balanced"):
        for delay in (0, 7):
            evaluated, plain, unweighted = (
                BY_NAME["rbp"].make(class_weight=rule) for rule in (weight, weight, None)
            )
            prequential(evaluated, rows, y, every=20, delay=delay)
            come = slice(None, len(y) - delay)
            same_state(evaluated, plain.partial_fit(rows[come], y[come]))
            unweighted.partial_fit(rows[come], y[come])
            assert not np.array_equal(evaluated.dual_coef_, unweighted.dual_coef_)


@pytest.mark.parametrize("delay", [0, 3])
def test_bad_rows_are_refused_whenever_their_labels_come(delay: int) -> None:
    bad = X[:40].copy()
    bad[20, 1] = np.nan
    model = budgetron.make("rbp", gamma=0.5, scale=None)
    with pytest.raises(ValueError, match="NaN"):
        prequential(model, bad, Y[:40], every=5, delay=delay)


def test_a_label_of_weight_zero_is_a_mistake_that_is_not_learned() -> None:
    for classes, weight in ((Y, {-1: 0.0}), (Y, {-1: 0.0, 1: 0.0}), (THREE, {2: 0.0})):
        model = budgetron.make("ogd", gamma=0.5, class_weight=weight)
        found = prequential(model, X, classes, every=50)
        come = [label not in weight for label in classes.tolist()]
        assert set(model.classes_.tolist()) == set(classes[come].tolist())
        assert found.last["mistake_rate"] >= 1 - np.mean(come)


@pytest.mark.parametrize("delay", [0, 1, 25])
def test_delay_is_the_plain_loop(delay: int) -> None:
    """Predict at arrival, learn when the label comes: written out with predict and partial_fit."""
    n = 400
    found = prequential(
        budgetron.make("forgetron", budget=15, gamma=0.5), X[:n], Y[:n], delay=delay
    )
    model = budgetron.make("forgetron", budget=15, gamma=0.5)
    wrong = 0
    for t in range(n):
        known = getattr(model, "classes_", [])
        decided = model.decision_function(X[t : t + 1])[0] if len(known) else 0.0
        guess = known[int(decided >= 0)] if len(known) == 2 else None
        if len(known) == 1 and decided >= 0:
            guess = known[0]
        if t >= delay:  # before that no label has come, and no row counts
            wrong += guess != Y[t]
            model.partial_fit(X[t - delay : t - delay + 1], Y[t - delay : t - delay + 1])
    assert found.last["mistake_rate"] == wrong / (n - delay)
    assert model.n_seen_ == n - delay


def test_a_delay_beyond_the_stream_learns_nothing() -> None:
    model = budgetron.make("perceptron", gamma=0.5)
    found = prequential(model, X[:20], Y[:20], delay=20)
    assert np.isnan(found.last["mistake_rate"])
    assert found.last["stored"] == 0


def test_a_delay_costs_nothing_where_labels_say_nothing_new() -> None:
    """One class only: after the first label all is right, so the rows before it must not count."""
    found = prequential(budgetron.make("rbp", budget=5), X[:300], np.ones(300), delay=100, every=50)
    rates = found.column("mistake_rate")
    assert np.isnan(rates[:2]).all()
    np.testing.assert_allclose(rates[2:], [1 / 50, 1 / 100, 1 / 150, 1 / 200])


def test_closed_classes_score_from_the_first_row() -> None:
    model = as_printed("perceptron", gamma=0.5)
    found = prequential(model, X, Y, classes=[-1, 1])
    again = as_printed("perceptron", gamma=0.5)
    decisions = again.prequential(X, Y, classes=[-1, 1])
    assert found.last["window_auc"] == reference.roc_auc_score(Y[-1000:], decisions[-1000:])
    assert found.last["hinge_loss"] == pytest.approx(reference.hinge_loss(Y, decisions))


def test_multiclass_hinge_loss() -> None:
    found = prequential(budgetron.make("ogd", gamma=0.5), X, THREE, classes=[0, 1, 2])
    decisions = budgetron.make("ogd", gamma=0.5).prequential(X, THREE, classes=[0, 1, 2])
    loss = reference.hinge_loss(THREE, decisions, labels=[0, 1, 2])
    assert found.last["hinge_loss"] == pytest.approx(loss, rel=1e-12)


# ---- other learners ------------------------------------------------------------------------------


def test_scikit_learn_classifier() -> None:
    n = 120
    found = prequential(SGDClassifier(random_state=0), X[:n], Y[:n])
    model = SGDClassifier(random_state=0).partial_fit(X[:1], Y[:1], classes=[-1, 1])
    wrong = 1  # nothing could be predicted of the first row
    for t in range(1, n):
        wrong += model.predict(X[t : t + 1])[0] != Y[t]
        model.partial_fit(X[t : t + 1], Y[t : t + 1])
    assert found.last["mistake_rate"] == wrong / n
    assert found.last["bytes"] > 100
    assert np.isnan(found.last["stored"])
    assert 0.5 < found.last["auc"] <= 1
    assert found.last["hinge_loss"] > 0
    with pytest.raises(ValueError, match="classes="):
        prequential(SGDClassifier(), [(X, Y)])


def test_scikit_learn_regressor() -> None:
    found = prequential(SGDRegressor(random_state=0), X[:200], TARGET[:200])
    assert found.task == "regression"
    assert 0 < found.last["mae"] <= found.last["rmse"] < 10


class Majority:
    """The most frequent label so far, by River's interface."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def learn_one(self, x: dict[int, float], y: Any) -> None:
        assert len(x) == 2
        self.counts[y] = self.counts.get(y, 0) + 1

    def predict_one(self, x: dict[int, float]) -> Any:
        return max(self.counts, key=lambda label: self.counts[label]) if self.counts else None


def test_rivers_interface() -> None:
    found = prequential(Majority(), X, Y)
    counts = {-1: 0, 1: 0}
    wrong = 0
    for t, label in enumerate(Y.tolist()):
        first = Y[0]
        wrong += t == 0 or max((first, -first), key=lambda name: counts[name]) != label
        counts[label] += 1
    assert found.last["mistake_rate"] == wrong / N
    assert np.isnan(found.last["auc"])
    same(found, prequential(Majority(), csr_array(X), Y), "bytes")


def test_river_itself() -> None:
    linear_model = pytest.importorskip("river.linear_model")
    found = prequential(linear_model.LogisticRegression(), X[:300], Y[:300] > 0)
    assert 0.6 < found.last["auc"] <= 1
    # River's two classes are False and True, whatever the labels are called.
    for labels in (Y[:300], np.where(Y[:300] > 0, "yes", "no")):
        named = prequential(linear_model.LogisticRegression(), X[:300], labels)
        same(found, named)
    with pytest.raises(ValueError, match="two classes"):
        prequential(linear_model.LogisticRegression(), X, THREE)
    with pytest.raises(ValueError, match="classes="):
        prequential(linear_model.LogisticRegression(), [(X, Y)])
    assert found.last["bytes"] > 100
    assert prequential(linear_model.LinearRegression(), X[:50], TARGET[:50]).task == "regression"


def test_what_is_no_learner() -> None:
    with pytest.raises(TypeError, match="object has neither partial_fit"):
        prequential(object(), X, Y)
    with pytest.raises(ValueError, match="no rows"):
        prequential(Majority(), [])
    with pytest.raises(ValueError, match="delay"):
        prequential(Majority(), X, Y, delay=-1)


def test_a_growing_stream_needs_a_gamma() -> None:
    chunks = [(X[:50, :1], Y[:50]), (X[50:100], Y[50:100])]
    with pytest.raises(ValueError, match="features"):
        prequential(budgetron.make("perceptron", gamma="auto"), chunks)
    for gamma in (1.0, "median"):
        model = budgetron.make("perceptron", gamma=gamma)
        assert prequential(model, chunks).last["rows"] == 100
