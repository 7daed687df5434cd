"""The study of real streams: cells, resumption, input of other learners, damage, the page."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.lab.cells import Cell, Settings, Setup
from budgetron.lab.rows import Rows
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers
from studies.proof import again, recorded
from studies.proof.sets import SETS
from studies.proof.standing import Table as ProofTable
from studies.real_streams import figure, harm, others, plan, report
from studies.real_streams import results as found
from studies.real_streams.__main__ import run
from studies.real_streams.results import Results, Run, Table
from studies.real_streams.sources import Source

pytest.importorskip("river")
pytestmark = pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning")


def made(rows: int = 400, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32)
    return Rows("tiny", X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(np.int64))


TINY = Source("tiny", made, True, "a cloud")
LEARNERS = ("budgetron", "forgetron", "LogisticRegression", "last label", "majority class")


def run_tiny(folder: Path) -> None:
    with Workers(1) as pool:
        for group in ("quick", "ours"):
            run(group, TINY, Store(folder, plan.table(group)), pool, LEARNERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("streams")
    run_tiny(place)
    return place


@pytest.fixture
def only_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (found, report):
        monkeypatch.setattr(module, "SOURCES", (TINY,))


def test_a_tiny_stream_goes_through_and_its_errors_are_the_learners(folder: Path) -> None:
    table = Table(Store(folder).values())
    assert set(table.runs["tiny"]) == set(LEARNERS)
    rows = made()
    model = budgetron.make("budgetron", budget=plan.BUDGET, random_state=0)
    model.prequential(rows.X, rows.y)
    ours = table.runs["tiny"]["budgetron"]
    assert ours.errors[400] == pytest.approx(100 * model.n_mistakes_ / 400)
    assert len(ours.errors) == plan.POINTS
    assert ours.microseconds > 0
    assert ours.bytes > 1000


def test_rivers_learner_gets_what_river_passes(folder: Path) -> None:
    from river import linear_model, metrics, preprocessing

    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    right = metrics.Accuracy()
    rows = made()
    for x, label in zip(rows.X.tolist(), rows.y.tolist(), strict=True):
        row = dict(enumerate(x))
        right.update(bool(label), model.predict_one(row))
        model.learn_one(row, bool(label))
    mine = Table(Store(folder).values()).runs["tiny"]["LogisticRegression"]
    assert mine.errors[400] == pytest.approx(100 * (1 - right.get()))


def test_the_same_command_runs_nothing_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(Store(folder))
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("run again"))
    run_tiny(folder)
    assert dict(Store(folder)) == before


def test_another_build_runs_budgetron_alone_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("studies.build._module", lambda: "another")
    monkeypatch.setattr(Cell, "run", lambda self: ran.append(self.setup.label) or {})
    for each in (*plan.cells("ours", TINY), *plan.cells("quick", TINY)):
        if each.setup.label in LEARNERS and each.key not in Store(folder):
            each.run()
    assert ran == ["budgetron"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from budgetron.lab.cells import Cell
from tests.lab.test_real_streams import run_tiny
whole = Cell.run
def dies(self):
    if self.setup.label == "LogisticRegression":
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self)
Cell.run = dies
run_tiny(Path(sys.argv[1]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_cell_is_repeated_and_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    done = Table(Store(tmp_path).values()).runs["tiny"]
    assert set(done) == {"majority class", "last label"}
    ran = []
    whole = Cell.run
    monkeypatch.setattr(Cell, "run", lambda self: ran.append(self.setup.label) or whole(self))
    run_tiny(tmp_path)
    assert sorted(ran) == ["LogisticRegression", "budgetron", "forgetron"]
    errors = [
        {name: run.errors for name, run in Table(Store(place).values()).runs["tiny"].items()}
        for place in (folder, tmp_path)
    ]
    assert errors[0] == errors[1]


def test_a_cell_with_too_little_time_ends_with_the_rows_it_has_come_to() -> None:
    rows = made(2000)
    setup = Setup("knn", "studies.real_streams.others:knn", None, {"labels": [0, 1]}, "")
    timed = Settings(repeats=1, keep_order=True, checkpoints=20, seconds=0.001)
    run_ = Run(Cell(rows, setup, 0, timed).run())
    assert run_.rows == 100
    plain = Settings(repeats=1, keep_order=True, checkpoints=20)
    assert Cell(rows, setup, 0, timed).key != Cell(rows, setup, 0, plain).key


def record(learner: str, errors: dict[int, float], **more: Any) -> dict[str, Any]:
    points = [
        {"rows": rows, "mistake_rate": error / 100, "seconds": rows * 1e-6, "bytes": 10.0}
        for rows, error in errors.items()
    ]
    return {"stream": "tiny", "task": "classification", "algorithm": learner, **more} | {
        "checkpoints": points
    }


def test_learners_are_compared_after_as_many_rows(only_tiny: None) -> None:
    table = Table(
        [
            record("budgetron", {100: 30.0, 200: 20.0, 400: 10.0}),
            record("ARF(10)", {100: 30.0, 200: 10.0, 250: 5.0}),  # the clock ended it at 250
            record("last label", {100: 0.0, 200: 0.0, 400: 0.0}),
        ]
    )
    assert table.relative("ARF(10)", "tiny") == pytest.approx(0.5)
    assert table.relative("last label", "tiny") == pytest.approx(0.25 / 10)  # one mistake at least
    assert np.isnan(table.relative("KNN", "tiny"))
    assert table.best("tiny")[0] == "last label"
    assert table.mean("ARF(10)", ["tiny"]) == (pytest.approx(0.5), 1)
    said = report.goals(table)
    assert "**missed**" in said
    assert "ARF(10) 10.00, budgetron 20.00" in said
    assert "(250)" in report.cells(table, ["tiny"])


def test_the_page_and_its_figures_come_from_a_store(
    folder: Path, tmp_path: Path, only_tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results.of(folder)
    text = report.page(results)
    assert text.startswith("# Real streams in their own order\n\n**With nothing given")
    for learner in LEARNERS:
        assert f"| {learner} |" in text
    assert "\\n" not in text
    figure.draw(results.first, tmp_path / "figure")
    for name in ("figure", "figure-streams"):
        for ending in ("png", "svg"):
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 1000
    drawn: list[Any] = []
    monkeypatch.setattr(figure, "_large", lambda *given: drawn.append(given))
    figure.draw(results.first, tmp_path / "again")
    figure.draw_from_page(text, tmp_path / "again")
    (points, streams, _, partly), (read, *others) = drawn
    assert others == [streams, tmp_path / "again", partly]
    assert [name for name, _, _ in read] == [name for name, _, _ in points]
    for (_, x, y), (_, micro, error) in zip(points, read, strict=True):
        assert (micro, error) == (pytest.approx(x, abs=0.06), pytest.approx(y, abs=0.006))


def test_harm_is_what_it_says_and_the_same_every_time() -> None:
    rows = made(4000)
    X, y = rows.X, rows.y
    for name, do in harm.HARMS.items():
        one, two = (do(X, y, np.random.default_rng(1)) for _ in range(2))
        for left, right in zip(one, two, strict=True):
            np.testing.assert_array_equal(left, right, err_msg=name)
    same, labels = harm.flipped(X, y, np.random.default_rng(1))
    assert same is X
    assert np.mean(labels != y) == pytest.approx(0.1, abs=0.02)
    gaps, kept = harm.missing(X, y, np.random.default_rng(1))
    assert np.isnan(gaps).mean() == pytest.approx(0.1, abs=0.01)
    assert kept is y
    wide, _ = harm.noisy(X, y, np.random.default_rng(1))
    assert wide.shape == (4000, 13)
    np.testing.assert_array_equal(wide[:, :3], X)
    scaled, _ = harm.other_units(X, y, np.random.default_rng(1))
    ratios = scaled / X
    assert np.ptp(np.log10(ratios.mean(axis=0))) > 0.1
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[0], ratios.shape), rtol=1e-5)


def test_a_value_that_is_missing_is_not_in_rivers_row() -> None:
    learner = others.logistic_regression([0, 1])
    assert learner._rows(np.array([[1.0, np.nan, 3.0]])) == [{0: 1.0, 2: 3.0}]


def test_vowpal_wabbit_learns_a_line() -> None:
    pytest.importorskip("vowpalwabbit")
    X = made(600).X
    for labels in ([0, 1], [0, 1, 2]):
        target = X[:, : len(labels)].argmax(axis=1)
        said = others.vw_linear(labels).test_then_train(X, target)
        assert np.mean(said.values[300:] != target[300:]) < 0.15


def test_every_learner_of_the_catalogue_is_planned() -> None:
    planned = {cell.setup.label for cell in plan.cells("ours", TINY)}
    assert planned == {each.name for each in budgetron.algorithms("classification")}


# ---- the proof, run again ----------------------------------------------------------------------


def test_parameters_on_record_are_values_of_the_grids() -> None:
    for each in SETS:
        if not each.only:
            assert len(recorded.parameters(each)) >= 7
    cells = recorded.cells(SETS[0])
    assert cells["bsgd-merge"]["100KB"].mean == 6.04
    assert cells["bsgd-merge"]["100KB"].bytes == 99_100
    assert recorded.parameters(SETS[0])["bpas"] == {"gamma": 4.0, "C": 0.5}


def test_the_page_of_the_proof_run_again_says_who_is_first() -> None:
    def cell(learner: str, budget: Any, repeat: int, error: float) -> dict[str, Any]:
        point = {"rows": 10.0, "mistake_rate": error, "seconds": 1.0, "stored": 1.0, "bytes": 9e4}
        names = {"stream": "phishing", "task": "classification", "algorithm": learner}
        rest = {"learner": learner, "budget": budget, "repeat": repeat, "checkpoints": [point]}
        return {**names, **rest}

    cells = [
        cell("budgetron", budget, i, 0.05 + i / 1e4) for budget in (100, "100KB") for i in (0, 1)
    ]
    cells += [cell("fogd", "100KB", i, 0.04) for i in (0, 1)]
    contests = list(again.contests([ProofTable(SETS[0], cells)]))
    assert [(each.budget, each.other, each.first) for each in contests] == [
        (100, "bsgd-merge", True),  # on record: 6.37
        ("100KB", "fogd", False),
    ]
    text = again.page([ProofTable(SETS[0], cells)])
    assert "on 0 of 1 sets at 100KB" in text
    assert "**4.00 ± 0.00**" in text
