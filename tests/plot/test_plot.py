"""The figures of `budgetron.plot`: data of lines, points and regions, labels, marks, errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib
import numpy as np
import pandas
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import budgetron
from budgetron import BudgetronError, plot
from budgetron.compare import Settings, compare
from budgetron.evaluate import Evaluation, prequential
from budgetron.events import Event
from budgetron.streams import two_gaussians

matplotlib.use("Agg")
X, Y = two_gaussians(300, flip=0.05, seed=1)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture
def ax() -> Any:
    return pyplot.subplots()[1]


def evaluated(name: str = "forgetron", budget: int = 20) -> Evaluation:
    return prequential(budgetron.make(name, budget=budget), X, Y, every=100, window=50)


def named(axis: Any) -> dict[str, Any]:
    """The lines that the legend shows."""
    return {line.get_label(): line for line in axis.lines if line.get_label()[0] != "_"}


# ---- over time -----------------------------------------------------------------------------------


def test_a_learning_curve_has_the_errors_of_all_rows_so_far(ax: Any) -> None:
    found = {"one": evaluated(), "two": evaluated("rbp", 5)}
    assert plot.learning_curve(found, ax=ax) is ax
    assert list(named(ax)) == ["one", "two"]
    for name, line in named(ax).items():
        assert line.get_xdata().tolist() == [100, 200, 300, 400, 500, 600]
        assert np.array_equal(line.get_ydata(), 100 * found[name].column("mistake_rate"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rows", "mistakes, %")
    colours = {to_hex(line.get_color()) for line in named(ax).values()}
    assert len(colours) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_a_learning_curve_of_another_metric_and_of_numbers() -> None:
    found = evaluated()
    axis = plot.learning_curve(found, metric="stored")
    assert np.array_equal(axis.lines[0].get_ydata(), found.column("stored"))
    assert axis.get_ylabel() == "stored"
    model = budgetron.make("forgetron", task="regression", budget=20)
    numbers = prequential(model, X, X[:, 0] ** 2, every=100)
    axis = plot.learning_curve(numbers)
    assert np.array_equal(axis.lines[0].get_ydata(), numbers.column("rmse"))
    assert axis.get_ylabel() == "RMSE"
    with pytest.raises(BudgetronError, match="classification and regression share no axis"):
        plot.learning_curve({"a": found, "b": numbers})
    with pytest.raises(BudgetronError, match="no metric 'speed' in the checkpoints; there are"):
        plot.learning_curve(found, metric="speed")
    with pytest.raises(BudgetronError, match="no evaluation to draw"):
        plot.learning_curve({})


def test_errors_over_time_are_of_the_last_rows_and_changes_are_marked(ax: Any) -> None:
    found = evaluated()
    events = [
        Event("drift", 130),
        Event("evict", 140, 3),
        Event("units", 410),
        Event("drift", 420),
        Event("rescale", 430),
    ]
    assert plot.error_over_time({"it": found}, events, ax=ax) is ax
    curve, *lines = ax.lines
    assert np.array_equal(curve.get_ydata(), 100 * found.column("window_mistake_rate"))
    assert ax.get_ylabel() == "mistakes in the last 50 rows, %"
    assert [line.get_xdata()[0] for line in lines] == [130, 420, 410]
    assert list(named(ax)) == ["it", "drift seen (2)", "units changed (1)"]
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 3
    plain = plot.error_over_time(found, [7, 9])
    assert [line.get_xdata()[0] for line in plain.lines[1:]] == [7, 9]
    assert list(named(plain)) == ["drift seen (2)"]


def test_a_watched_model_marks_the_change_that_it_saw() -> None:
    rows, y = two_gaussians(800, flip=0.05, seed=1)
    y[800:] = -y[800:]
    events: list[Event] = []
    model = budgetron.BudgetronClassifier(budget=30).watch(events.append)
    axis = plot.error_over_time(prequential(model, rows, y, every=50, window=50), events)
    drifts = [line for line in axis.lines if "drift seen" in line.get_label()]
    assert [line.get_xdata()[0] for line in drifts] == model.drift_log_.tolist()
    assert any(800 <= row <= 900 for row in model.drift_log_)


# ---- probabilities -------------------------------------------------------------------------------


def test_a_reliability_diagram_has_shares_by_probability(ax: Any) -> None:
    chances = np.repeat([0.05, 0.65, 0.95], [10, 20, 40])
    y = np.concatenate([np.arange(10) < 1, np.arange(20) < 10, np.arange(40) < 38])
    assert plot.reliability_diagram(y, chances, label="mine", ax=ax) is ax
    line = named(ax)["mine: calibration error 0.050"]  # (10 * 0.05 + 20 * 0.15 + 40 * 0) / 70
    assert np.allclose(line.get_xdata(), [0.05, 0.65, 0.95])
    assert np.allclose(line.get_ydata(), [0.1, 0.5, 0.95])
    assert ax.get_xlabel() == "probability of label True"
    (bars,) = ax.collections
    low, high = bars.get_segments()[1][:, 1]
    assert (round(low, 3), round(high, 3)) == (0.299, 0.701)  # Wilson's, 10 of 20


def test_of_many_classes_the_most_probable_counts() -> None:
    y = np.array(["a", "b", "c", "c"])
    chances = np.array([[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.2, 0.2, 0.6], [0.2, 0.2, 0.6]])
    axis = plot.reliability_diagram(y, chances, bins=5)
    line = axis.lines[1]
    assert np.allclose(line.get_xdata(), [0.6, 0.8])
    assert np.allclose(line.get_ydata(), [1.0, 0.5])
    same = plot.reliability_diagram(y[:2], chances[:2], classes=["a", "b", "c"], bins=5)
    assert np.allclose(same.lines[1].get_ydata(), [0.5])


@pytest.mark.parametrize(
    ("y", "chances", "said"),
    [
        ([0, 1], [0.5], "one row of probabilities per row"),
        ([0, 1], [0.5, 1.5], "between 0 and 1"),
        ([0, 1], [0.5, np.nan], "between 0 and 1"),
        ([0, 1, 2], [0.5, 0.1, 0.2], "one column, so two classes, but there are 3 labels"),
        ([0, 0], [[0.5, 0.5], [0.5, 0.5]], "give classes="),
        ([], [], "no rows"),
    ],
)
def test_probabilities_that_are_none_are_refused(y: Any, chances: Any, said: str) -> None:
    with pytest.raises(BudgetronError, match=said):
        plot.reliability_diagram(y, chances)


# ---- budgets -------------------------------------------------------------------------------------


def joined(axis: Any) -> dict[str, tuple[list[float], list[float]]]:
    """Learner -> amounts and errors."""
    return {
        each.get_label(): tuple(map(list, each.lines[0].get_data())) for each in axis.containers
    }


def test_budgets_against_errors_of_evaluations(ax: Any) -> None:
    found = {name: {b: evaluated(name, b) for b in (10, 5)} for name in ("forgetron", "rbp")}
    assert plot.budget_against_error(found, ax=ax) is ax
    errors = {n: {b: 100 * e.last["mistake_rate"] for b, e in r.items()} for n, r in found.items()}
    assert joined(ax) == {n: ([5, 10], [errors[n][5], errors[n][10]]) for n in found}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("budget, examples", "mistakes, %")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5", "10"]
    held = plot.budget_against_error(found, against="bytes")
    assert joined(held)["rbp"][0] == [found["rbp"][b].last["bytes"] for b in (5, 10)]
    assert held.get_xlabel() == "memory of the model"


def test_budgets_against_errors_of_a_comparison(tmp_path: Any) -> None:
    streams = [("one", X, Y), ("two", X[::2], Y[::2])]
    found = compare(
        streams,
        ["rbp", "perceptron"],
        tmp_path / "out",
        budgets=["16KB", "32KB"],
        settings=Settings(repeats=2, checkpoints=2),
        processes=1,
    )
    with pytest.raises(BudgetronError, match="several streams: give stream=, one of 'one', 'two'"):
        plot.budget_against_error(found)
    with pytest.raises(BudgetronError, match="no stream 'three'"):
        plot.budget_against_error(found, "three")
    axis = plot.budget_against_error(found, "two")
    lines = {line.budget: line for line in found.summary["two"] if line.algorithm == "rbp"}
    means = [lines["16KB"].mean, lines["32KB"].mean]
    assert joined(axis) == {"rbp": ([16000, 32000], means)}
    assert axis.get_xlabel() == "budget, bytes"
    baselines = [line for line in found.summary["two"] if line.reference]
    drawn = {line.get_label(): line.get_ydata()[0] for line in axis.lines}
    assert all(drawn[line.algorithm] == line.mean for line in baselines)


def test_budgets_of_two_kinds_share_no_axis() -> None:
    found = {"rbp": {5: evaluated("rbp", 5), "8KB": evaluated("rbp", 5)}}
    with pytest.raises(BudgetronError, match="others bytes: draw against 'bytes' or 'stored'"):
        plot.budget_against_error(found)
    with pytest.raises(BudgetronError, match="against='rows' is not one of 'budget', 'stored'"):
        plot.budget_against_error(found, against="rows")
    with pytest.raises(BudgetronError, match="no evaluation"):
        plot.budget_against_error({})


# ---- the plane -----------------------------------------------------------------------------------


def border(axis: Any) -> np.ndarray[Any, Any]:
    """Points on the lines between regions: of the last contours."""
    return np.concatenate([path.vertices for path in axis.collections[1].get_paths()])


@pytest.mark.parametrize("name", ["budgetron", "forgetron"])
def test_the_boundary_is_where_f_is_0_and_rows_are_drawn(name: str, ax: Any) -> None:
    wide = X * [1.0, 1000.0]
    model = budgetron.make(name, budget=30).fit(wide, Y)
    assert plot.decision_boundary(model, wide, Y, ax=ax) is ax
    f, scale = model.decision_function(border(ax)), np.abs(model.decision_function(wide)).mean()
    assert np.abs(f).max() < 0.1 * scale
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 0", "feature 1")
    rows = ax.collections[2:]
    assert [each.get_label() for each in rows] == ["-1", "1"]
    for each, label in zip(rows, (-1, 1), strict=True):
        assert np.allclose(each.get_offsets(), wide[label == Y])


def test_features_that_are_not_drawn_stand_at_their_medians() -> None:
    frame = pandas.DataFrame({"a": X[:, 0], "far": 7.0, "b": X[:, 1]})
    frame.loc[::3, "far"] = 99.0
    seen: list[pandas.DataFrame] = []

    class Watched:
        classes_ = np.array(["x", "y", "z"])

        def predict(self, rows: pandas.DataFrame) -> Any:
            seen.append(rows)
            return self.classes_[np.digitize(rows["b"], [-0.5, 0.5])]

    axis = plot.decision_boundary(Watched(), frame, features=(0, 2), points=20)
    (grid,) = seen
    assert list(grid.columns) == ["a", "far", "b"]
    assert set(grid["far"]) == {7.0}
    assert len(grid) == 400
    assert grid["a"].min() < frame["a"].min() < frame["a"].max() < grid["a"].max()
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("a", "b")
    step = np.ptp(grid["b"]) / 19
    assert np.abs(np.abs(border(axis)[:, 1]) - 0.5).max() <= step


def test_a_regressor_has_contours_and_a_scale() -> None:
    model = budgetron.make("budgetron", task="regression", budget=30).fit(X, X[:, 0])
    axis = plot.decision_boundary(model, X, X[:, 0], points=30)
    assert [each.get_ylabel() for each in axis.figure.axes[1:]] == ["prediction"]
    assert np.allclose(axis.collections[-1].get_array(), X[:, 0])


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda m: plot.decision_boundary(m, [["red", "blue"]]), "encode words and dates first"),
        (lambda m: plot.decision_boundary(m, X, features=(0, 2)), "two different columns"),
        (lambda m: plot.decision_boundary(m, X, features=(1, 1)), "two different columns"),
        (lambda m: plot.decision_boundary(m, X, Y[:5]), "600 rows and y 5"),
        (lambda m: plot.decision_boundary(m, X, points=1), "at least 2"),
        (lambda m: plot.decision_boundary(m, X[0]), "rows and columns"),
        (lambda m: plot.stored_examples(m, features=(0, 5)), "two different columns"),
        (
            lambda m: plot.stored_examples(make_pipeline(StandardScaler(), m)),
            r"give .* model\[-1\]",
        ),
        (lambda m: plot.stored_examples(budgetron.make("fogd").fit(X, Y)), "stores no examples"),
    ],
)
def test_mistakes_are_one_line(draw: Callable[[Any], Any], said: str) -> None:
    model = budgetron.make("forgetron", budget=10).fit(X, Y)
    with pytest.raises(BudgetronError, match=said) as raised:
        draw(model)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["budgetron", "forgetron"])
def test_stored_examples_are_where_they_came_from(name: str, ax: Any) -> None:
    wide = X * [1.0, 1000.0] + [0.0, 5000.0]
    model = budgetron.make(name, budget=20).fit(wide, Y)
    assert plot.stored_examples(model, ax=ax) is ax
    drawn = np.concatenate([each.get_offsets().data for each in ax.collections])
    assert len(drawn) == model.n_support_ == 20
    distances = np.abs(drawn[:, None] / [1, 1000] - wide[None] / [1, 1000]).max(axis=2)
    # Rows of this stream; far ones may have been clipped.
    assert np.median(distances.min(axis=1)) < 1e-6
    assert [each.get_label().split(" (")[0] for each in ax.collections] == [
        "stored: -1",
        "stored: 1",
    ]
    signs = [np.sum(model.dual_coef_[0] <= 0), np.sum(model.dual_coef_[0] > 0)]
    assert [len(each.get_offsets()) for each in ax.collections] == signs
    areas = np.concatenate([each.get_sizes() for each in ax.collections])
    coefs = np.abs(model.dual_coef_[0])
    order = np.concatenate([coefs[model.dual_coef_[0] <= 0], coefs[model.dual_coef_[0] > 0]])
    assert np.allclose(areas, 15 + 135 * order / coefs.max())


def test_stored_examples_of_many_features_and_classes() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 9, 400)
    rows = random.normal(size=(400, 5)) + 3 * np.eye(9)[y, :5]
    model = budgetron.BudgetronClassifier(budget=60).fit(rows, y)
    axis = plot.stored_examples(model)
    assert axis.get_xlabel() == "principal component 1"
    drawn = np.concatenate([each.get_offsets() for each in axis.collections])
    spread = np.linalg.svd(model.support_vectors_ - model.support_vectors_.mean(axis=0))[1]
    assert np.allclose(np.linalg.norm(drawn[:, 0]), spread[0])
    looks = {
        (to_hex(each.get_facecolor()[0]), each.get_paths()[0].vertices.tobytes())
        for each in axis.collections
        if len(each.get_offsets())
    }
    assert len(looks) == sum(len(each.get_offsets()) > 0 for each in axis.collections)
    two = plot.stored_examples(model, features=(3, 1))
    assert (two.get_xlabel(), two.get_ylabel()) == ("feature 3", "feature 1")


# ---- the import ----------------------------------------------------------------------------------


def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = (
        "import sys\nsys.modules['matplotlib'] = None\nfrom budgetron import plot\n"
        "try:\n    plot.reliability_diagram([0, 1], [0.2, 0.8])\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needs = "budgetron.plot needs Matplotlib: pip install 'budgetron[lab]'"
    assert done.stdout == f"BudgetronError {needs}\n"
