"""The C header: compiles without warnings, decides like Python, keeps its guarantees."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron.export import ExportError, to_c
from budgetron.export.c_header import header
from tests.export.exported import (
    APART,
    COMPILERS,
    Setting,
    clear,
    in_c,
    needs_compiler,
    off,
    rows,
    settings,
    truth,
)

pytestmark = needs_compiler


def same(setting: Setting, folder: Path, compiler: str) -> None:
    model, X = setting.taught(), setting.unseen()
    decisions, said, shares = in_c(model, X, folder, compiler)
    expected = truth(model, X)
    assert off(decisions, expected) < APART
    if not setting.classes:
        assert np.array_equal(said, decisions[:, 0])
        return
    sure = clear(expected)
    assert np.array_equal(model.classes_[said.astype(int)][sure], model.predict(X)[sure])
    # The slope of probabilities is that of their line: of f that is off by 1e-5 they are off more.
    np.testing.assert_allclose(shares[sure], model.predict_proba(X)[sure], atol=2e-3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert np.array_equal(shares.argmax(axis=1), said)


@pytest.mark.parametrize("setting", list(settings(60)), ids=str)
def test_some_learners(setting: Setting, tmp_path: Path) -> None:
    same(setting, tmp_path, COMPILERS[0])


@pytest.mark.long
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("setting", list(settings()), ids=str)
def test_every_learner(setting: Setting, compiler: str, tmp_path: Path) -> None:
    same(setting, tmp_path, compiler)


@pytest.mark.parametrize("name", ["budgetron", "rbp", "fogd"])
def test_rows_of_float32(name: str, tmp_path: Path) -> None:
    X, y = rows(10_000, 0, 3, gaps=True)
    X = X.astype(np.float32)
    model = budgetron.make(name).partial_fit(X[:2000], y[:2000])
    decisions, said, _ = in_c(model, X, tmp_path)
    expected = truth(model, X)
    assert off(decisions, expected) < APART
    sure = clear(expected)
    assert np.array_equal(model.classes_[said.astype(int)][sure], model.predict(X)[sure])


def test_clipped_rows(tmp_path: Path) -> None:
    X, y = rows(2000, 0, 2, gaps=True)
    model = budgetron.BudgetronClassifier(budget=30).partial_fit(X, y)
    assert np.isfinite(model.clip_)
    far = 20 * X[:500]
    assert off(in_c(model, far, tmp_path)[0], truth(model, far)) < APART


def test_ill_conditioned_coefs_are_double(tmp_path: Path) -> None:
    """Coefs of a polynomial kernel that cancel each other out: float would be off by 100 %."""
    random = np.random.default_rng(1)
    X = random.normal(size=(2000, 4)) * [1, 10, 0.1, 3] + [0, 5, 0, 100]
    y = np.digitize(X[:, 0] + (X[:, 3] > 101), [0, 1])
    model = budgetron.BudgetronClassifier(
        budget=10, kernel="poly", gamma=0.5, degree=2, coef0=1.0, scale=None
    ).partial_fit(X, y)
    assert "computed in double" in to_c(model)
    assert off(in_c(model, X, tmp_path)[0], truth(model, X)) < APART


@pytest.mark.parametrize("classes", [2, 4])
def test_int8(classes: int, tmp_path: Path) -> None:
    X, y = rows(30_000, 3, classes, gaps=True)
    model = budgetron.BudgetronClassifier(budget=100).partial_fit(X[:10_000], y[:10_000])
    rest, labels = X[10_000:], y[10_000:]
    codes = in_c(model, rest, tmp_path, precision="int8")[1]
    error, wrong = (model.predict(rest) != labels).mean(), (codes != labels).mean()
    assert abs(wrong - error) < 0.003
    small, large = header(model, precision="int8"), header(model)
    assert small.constant_bytes < 0.8 * large.constant_bytes


def test_sparse_examples_take_little_room(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = (random.random((3000, 400)) < 0.02) * random.normal(size=(3000, 400))
    y = (X[:, :200].sum(axis=1) > 0).astype(int)
    for kernel in ("rbf", "laplacian", "linear", "sigmoid"):
        model = budgetron.BudgetPerceptronClassifier(budget=50, kernel=kernel).partial_fit(X, y)
        made = header(model)
        assert "_place[" in made.text
        assert made.constant_bytes < 50 * 400 * 4 / 2
        assert off(in_c(model, X, tmp_path)[0], truth(model, X)) < APART
        quantised = in_c(model, X, tmp_path, precision="int8")[1]
        assert (quantised != model.predict(X)).mean() < 0.02


def test_it_needs_nothing_but_mathematics() -> None:
    X, y = rows(400, 0, 3, gaps=True)
    text = to_c(budgetron.BudgetronClassifier(budget=20).fit(X, y), name="three")
    assert re.findall(r"#include <(.*)>", text) == ["math.h", "stdint.h"]
    for word in ("malloc", "calloc", "realloc", "free(", "alloca(", "static int "):
        assert word not in text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 110


def test_names_and_labels_cannot_break_out(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows(300, 0, 2, gaps=False)
    named = pandas.DataFrame(X, columns=["*/ int x; /*", "??/", "a@@b", "é\n"])
    labels = np.array(['"; exit(1); "', "??/\\@"])[y]
    model = budgetron.BudgetronClassifier(budget=9).fit(named, labels)
    codes = in_c(model, X, tmp_path)[1]
    assert np.array_equal(model.classes_[codes.astype(int)], model.predict(named))


def test_size_and_cost() -> None:
    X, y = rows(400, 0, 2, gaps=False)
    model = budgetron.BudgetPerceptronClassifier(budget=20, scale=None, gamma=0.5).fit(X, y)
    made = header(model)
    assert (made.functions, made.function) == (20, "exponentials")
    assert made.multiplies == 20 * 4 + 20 + 4
    labels, link = 2 * (2 + 8), 2 * 3 * 8
    assert made.constant_bytes == 20 * 4 * 4 + 20 * 4 + 8 + labels + link


def test_mistakes() -> None:
    X, y = rows(300, 0, 2, gaps=False)
    model = budgetron.BudgetronClassifier(budget=9).fit(X, y)
    with pytest.raises(ExportError, match="name='3d' must be letters"):
        to_c(model, name="3d")
    with pytest.raises(ExportError, match="precision='int4' must be one of float32, int8"):
        to_c(model, precision="int4")
    with pytest.raises(ExportError, match="FOGDClassifier stores no examples"):
        to_c(budgetron.FOGDClassifier(n_components=9).fit(X, y), precision="int8")
