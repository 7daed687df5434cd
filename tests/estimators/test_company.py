"""With scikit-learn: its meta-estimators, metadata routing, joblib, the HTML display."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

import budgetron
from budgetron.parts import RemoveSmallest
from tests.support.cases import BY_NAME, REGRESSION, Case, numeric_stream, same_state, stream

FEW = ("ahpatron", "fogd", "nogd", "budgetron")  # all share the tested code
each_learner = pytest.mark.parametrize("case", [BY_NAME[name] for name in FEW], ids=FEW)
WORDS = np.array(["no", "yes", "ja"])


# ---- meta-estimators ----------------------------------------------------------------------------


@each_learner
def test_calibrated_and_one_against_the_rest(case: Case) -> None:
    X, y = stream(120, classes=3)
    model = case.make(budget=40) if case.budget else case.make()
    rest = OneVsRestClassifier(model).fit(X, WORDS[y])
    single = clone(model).fit(X, y == 1)  # WORDS in their order are ja, no, yes
    np.testing.assert_array_equal(
        rest.decision_function(X)[:, 2], single.decision_function(X), strict=False
    )
    assert set(rest.predict(X)) <= set(WORDS)
    calibrated = CalibratedClassifierCV(model, cv=2, ensemble=False).fit(X, WORDS[y])
    shares = calibrated.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert calibrated.classes_.tolist() == sorted(WORDS)
    assert np.mean(calibrated.predict(X) == WORDS[y]) > np.bincount(y).max() / len(y) - 0.05


def test_one_against_the_rest_goes_on() -> None:
    X, y = stream(120, classes=3)
    model = BY_NAME["ahpatron"].make()
    rest = OneVsRestClassifier(model)
    for part in (slice(0, 50), slice(50, 120)):
        rest.partial_fit(X[part], y[part], classes=[0, 1, 2])
    for label, each in enumerate(rest.estimators_):
        same_state(each, clone(model).fit(X, y == label), but="counts")


# ---- joblib -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [BY_NAME["rbp"], REGRESSION[0]], ids=lambda case: case.task)
def test_joblib_dump_goes_on_to_the_bit(case: Case) -> None:
    X, y = numeric_stream(120) if case.task == "regression" else stream(120, classes=3)
    model = case.make().partial_fit(X[:60], y[:60])
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    again = joblib.load(file)
    same_state(model.partial_fit(X[60:], y[60:]), again.partial_fit(X[60:], y[60:]))


def test_workers_of_joblib() -> None:
    """Models go to another process, and return as if they had learned here."""
    X, y = stream(120, classes=3)
    models = [BY_NAME[name].make() for name in FEW]
    work = (joblib.delayed(model.fit)(X, y) for model in models)
    there = joblib.Parallel(n_jobs=2, backend="multiprocessing")(work)  # quicker to start than loky
    for model, other in zip(models, there, strict=True):
        assert model is not other
        same_state(clone(model).fit(X, y), other)


# ---- sparse rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("case", [BY_NAME["rbp"], REGRESSION[0]], ids=lambda case: case.task)
def test_sparse_arrays_and_matrices_are_rows(case: Case, kind: Any) -> None:
    regression = case.task == "regression"
    X, y = numeric_stream(80, sparse=True) if regression else stream(80, sparse=True)
    rows = kind(X)
    dense, sparse = case.make().fit(X, y), case.make().fit(rows, y)
    np.testing.assert_array_equal(sparse.predict(rows), dense.predict(X))
    np.testing.assert_array_equal(sparse.prequential(rows, y), dense.prequential(X, y))
    assert type(sparse.support_vectors_) is scipy.sparse.csr_array
    assert cross_val_score(case.make(), rows, y, cv=2).shape == (2,)


# ---- metadata routing ---------------------------------------------------------------------------


@pytest.fixture
def routed() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def weighted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = stream(120)
    w = np.where(y == 1, 0.01, 3.0)
    return X, y, w


@pytest.mark.usefixtures("routed")
@each_learner
def test_weights_are_routed_through_a_pipeline(case: Case, weighted: Any) -> None:
    X, y, w = weighted
    model = case.make().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, sample_weight=w)
    alone = case.make().fit(pipeline[:-1].transform(X), y, sample_weight=w)
    same_state(pipeline[-1], alone)
    deaf = case.make().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), deaf)
    pipeline.fit(X, y, sample_weight=w)
    rows = pipeline[:-1].transform(X)
    same_state(pipeline[-1], case.make().fit(rows, y))
    heard = case.make().fit(rows, y, sample_weight=w)
    assert not np.array_equal(heard.decision_function(rows), deaf.decision_function(rows))


@pytest.mark.usefixtures("routed")
@pytest.mark.parametrize("case", [BY_NAME["ahpatron"], REGRESSION[0]], ids=lambda c: c.task)
def test_weights_are_routed_through_validation_and_search(case: Case, weighted: Any) -> None:
    X, y, w = weighted
    plain = case.make().set_fit_request(sample_weight=False).set_score_request(sample_weight=True)
    model = case.make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    half = np.arange(120) < 60
    folds = [(half.nonzero()[0], (~half).nonzero()[0])]
    fitted = case.make().fit(X[half], y[half], sample_weight=w[half])
    unweighted = case.make().fit(X[half], y[half])
    for asks, fits in ((model, fitted), (plain, unweighted)):
        expected = fits.score(X[~half], y[~half], sample_weight=w[~half])
        scores = cross_val_score(asks, X, y, cv=folds, params={"sample_weight": w})
        assert scores.tolist() == [expected]
    expected = fitted.score(X[~half], y[~half], sample_weight=w[~half])
    search = GridSearchCV(model, {"gamma": [0.5, 1.0]}, cv=folds).fit(X, y, sample_weight=w)
    assert search.cv_results_["mean_test_score"][0] == expected
    best = case.make(**search.best_params_).fit(X, y, sample_weight=w)
    same_state(search.best_estimator_, best)
    unsaid = case.make()
    with pytest.raises(ValueError, match=r"sample_weight.* not explicitly set as requested or not"):
        cross_val_score(unsaid, X, y, cv=folds, params={"sample_weight": w}, error_score="raise")


class Passing(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A meta-estimator that passes on what its estimator's `partial_fit` requested."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def partial_fit(self, X: Any, y: Any, **params: Any) -> Passing:
        routed = process_routing(self, "partial_fit", **params)
        self.estimator.partial_fit(X, y, **routed.estimator.partial_fit)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        mapping = MethodMapping().add(caller="partial_fit", callee="partial_fit")
        router = MetadataRouter(owner=self)
        return router.add(estimator=self.estimator, method_mapping=mapping)


@pytest.mark.usefixtures("routed")
@each_learner
def test_classes_and_weights_are_routed_to_partial_fit(case: Case, weighted: Any) -> None:
    X, y, w = weighted
    model = case.make().set_partial_fit_request(classes=True, sample_weight=True)
    Passing(model).partial_fit(X, y, classes=[0, 1, 2], sample_weight=w)
    assert model.classes_.tolist() == [0, 1, 2]
    same_state(model, case.make().partial_fit(X, y, classes=[0, 1, 2], sample_weight=w))
    with pytest.raises(TypeError, match="unexpected argument"):
        Passing(model).partial_fit(X, y, groups=w)


# ---- the HTML display ---------------------------------------------------------------------------


class Table(HTMLParser):
    """The rows of the tables in a display: their class, and the text of their cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append((dict(attrs).get("class", ""), []))
        elif tag in ("td", "th") and self.rows:
            self.rows[-1][1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += data.strip()

    def values(self, kind: str) -> dict[str, str]:
        cells = ([cell for cell in row if cell] for own, row in self.rows if own == kind)
        return {row[0]: row[-1] for row in cells}


@each_learner
def test_the_display_shows_what_was_set_and_what_was_learned(case: Case) -> None:
    X, y = stream(60)
    model = case.make(gamma=0.25)
    fresh = model._repr_html_()
    assert "<span>Not fitted</span>" in fresh
    chosen = Table(fresh).values("user-set")
    assert chosen["gamma"] == "0.25"
    unchanged = type(model)().get_params()
    assert chosen.keys() == {k for k, v in model.get_params().items() if v != unchanged[k]}
    assert Table(fresh).values("default")["kernel"] == "'rbf'"
    learned = model.fit(X, y)._repr_html_()
    assert "<span>Fitted</span>" in learned
    shown = Table(learned).values("default")
    assert shown["n_seen_"] == "60"
    assert shown["n_mistakes_"] == str(model.n_mistakes_)
    assert shown["memory_bytes_"] == str(model.memory_bytes_)
    assert type(model).__name__ in re.sub("<style>.*?</style>", "", learned, flags=re.DOTALL)


def test_the_display_of_parts_and_pipelines() -> None:
    X, y = stream(60)
    machine = budgetron.KernelClassifier(budget=RemoveSmallest(size=10), update="alma")
    page = make_pipeline(StandardScaler(), machine).fit(X, y)._repr_html_()
    chosen = Table(page).values("user-set")
    assert chosen["budget"] == "RemoveSmallest(size=10)"
    assert chosen["budget__size"] == "10"
    assert Table(page).values("default")["budget_"] == "10"


@pytest.mark.parametrize("budget", ["nonsense", None, 3, [1]])
def test_a_wrong_part_can_be_looked_at(budget: Any) -> None:
    model = budgetron.KernelClassifier(budget=budget)
    assert "fit" in dir(model)
    assert repr(budget) in repr(model)
    assert "Not fitted" in model._repr_html_()
