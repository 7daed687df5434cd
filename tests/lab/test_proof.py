"""The proof's code: planning, tuning, storing, reporting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import budgetron
from budgetron.datasets import File
from budgetron.datasets import registry as catalogue
from budgetron.lab.cells import Cell
from budgetron.lab.reproduce.tables import Set
from studies.proof import figure, plan, report, rivals, standing, tuning
from studies.proof.__main__ import main
from studies.proof.running import Results, run
from studies.proof.sets import SETS, ProofSet
from tests.conftest import made_set

TINY = ProofSet(
    Set("tiny", 240, ("tiny",)), raw=True, unbounded=True, targets=((6, 60.0), (5, 0.0))
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::budgetron.PrecisionWarning"),
    pytest.mark.xdist_group("proof"),
]


def few(task: str, *, bounded: bool) -> list[str]:
    return ["stoptron", "fogd"] if bounded else ["perceptron"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rivals, few budgets, one of which is too small for anything."""
    _make_small(monkeypatch)


def _make_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rivals, "rivals", few)
    patch.setattr(tuning, "ROWS", 100)
    patch.setattr(plan, "BUDGETS", (5, "20KB", "10B"))


def _place(patch: pytest.MonkeyPatch, folder: Path, name: str, features: int = 2) -> None:
    """The catalogue has a set of this name, and this folder its rows."""
    made = made_set(name, File("all", f"{name}.npz", "http://x", 1), features=features)
    patch.setattr(catalogue, "data_sets", lambda: {name: made})
    patch.setenv("BUDGETRON_DATA", str(folder))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with two permutations done, and what there was after the first."""
    place = tmp_path_factory.mktemp("proof")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2)).astype(np.float32) * [1.0, 50.0]
    np.savez(place / "tiny.npz", X=X, y=(X[:, 0] * X[:, 1] > 0).astype(int))
    with pytest.MonkeyPatch.context() as patch:
        _make_small(patch)
        _place(patch, place, "tiny")
        run([TINY], Results(place), permutations=1, processes=1)
        first = dict(Results(place).cells)
        run([TINY], Results(place), permutations=2, processes=1)
    return place, first


def test_every_learner_of_the_catalogue_is_compared() -> None:
    for task in ("classification", "regression"):
        bounded, free = (rivals.rivals(task, bounded=each) for each in (True, False))
        every = [algorithm.name for algorithm in budgetron.algorithms(task)]
        assert sorted([*bounded, *free, rivals.OURS]) == sorted(every)
        assert "fogd" in bounded
        assert "pa" in free


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_grids_and_fixed_parameters_make_learners(task: str) -> None:
    for name in rivals.rivals(task, bounded=True) + rivals.rivals(task, bounded=False):
        grid = rivals.grid(name, task, rows=400)
        fixed = rivals.fixed(name, task, 400, raw=True)
        assert not grid.keys() & fixed.keys()
        assert {"median", 16.0} <= set(grid["gamma"])
        for parameter, values in grid.items():
            for value in values:
                size = rivals.sized(name, task, 50)
                budgetron.make(name, task, **{**fixed, parameter: value, **size})


def test_formulas_are_worked_out_for_the_whole_stream() -> None:
    assert 5.0 in rivals.grid("nogd", "classification", rows=400)["step"]  # 100/sqrt(T)
    unscaled = {"scale": None}
    assert rivals.fixed("pomdr", "classification", 400, raw=False) == {"horizon": 400, **unscaled}
    assert rivals.fixed("stoptron", "classification", 400, raw=True) == {"scale": "auto"}
    assert rivals.fixed("rbp", "regression", 400, raw=False) == {"target_scale": None, **unscaled}
    assert rivals.sized("fogd", "classification", 50) == {"n_components": 200}
    assert rivals.sized("fogd", "classification", "9KB") == {"n_components": "9KB"}


def test_sets_are_those_asked_for() -> None:
    shown = [each.name for each in SETS if not each.only]
    assert len(shown) == 10
    assert all(each.length <= 100_000 for each in SETS if not each.only)
    assert all(each.length < 50_000 for each in SETS if each.unbounded)


def test_large_sets_are_drawn_from_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _place(monkeypatch, tmp_path, "classes", features=1)
    y = np.arange(300) % 3 + 1
    np.savez(tmp_path / "classes.npz", X=np.arange(300.0)[:, None], y=y)
    whole = ProofSet(Set("classes", 300, ("classes",), against=2))
    rows = whole.load()
    assert rows.y.tolist() == (y == 2).astype(int).tolist()
    few = ProofSet(whole.rows, most=50)
    drawn = few.load().X[:, 0]
    assert few.length == len(drawn) == 50
    assert np.all(np.diff(drawn) > 0)
    assert drawn[-1] > 200  # not the first ones
    assert np.array_equal(drawn, few.load().X[:, 0])


def _record(learner: str, repeat: int, error: float, budget: int = 100) -> dict[str, Any]:
    last = {"mistake_rate": error / 100, "bytes": 1000.0}
    about = {"stream": "tiny", "task": "classification", "algorithm": learner, "budget": budget}
    return {**about, "repeat": repeat, "checkpoints": [last]}


def test_verdicts_are_paired_tests_against_budgetron() -> None:
    noise = [0.0, 3.0, 1.0, 2.0, 5.0]  # of the permutations, larger than their differences
    shifts = {
        "budgetron": [0.0] * 5,
        "worse": [0.5, 0.6, 0.5, 0.4, 0.5],
        "better": [-0.5, -0.6, -0.5, -0.4, -0.5],
        "even": [0.5, -0.6, 0.2, -0.1, 0.0],
    }
    records = [
        _record(name, repeat, 10 + noise[repeat] + shift)
        for name, all_shifts in shifts.items()
        for repeat, shift in enumerate(all_shifts)
        if not (name == "even" and repeat == 4)
    ]
    table = standing.Table(TINY, [*records, _record("budgetron", 0, 10.0)])  # once more: the same
    for name in ("worse", "better", "even"):
        assert table.entries[100][name].verdict == name
    assert table.entries[100]["budgetron"].n == 5
    (duel,) = table.duels
    assert duel.tally == (1, 1, 1)
    alone = [_record("late", 9, 1.0), _record("late", 8, 1.0)]  # not paired with anything yet
    more = standing.Table(TINY, [*records, *alone])
    pages = report.pages([table])
    assert [report.pages([more])[name] == pages[name] for name in ("summary", "totals")] == [
        True
    ] * 2
    text = pages["cells"]
    assert "**11.70 ± 1.91, 1.0 kB, p < 0.001**" in text
    assert "| even | not run | ≈ 11.50 ± 0.83, 1.0 kB, p 1.000, n = 4 |" in text
    assert "| 5 | 1 of 3 | 1, 1, 1 |" in pages["summary"]
    shown = "| 100 | 1.0 kB to 1.0 kB | 0 of 1 sets | 1 of 3 | 1 | 1 | 1 |"
    assert shown in pages["totals"]


@pytest.mark.usefixtures("small")
def test_a_run_goes_on_where_it_stopped(
    finished: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, first = finished
    # Budgetron and two rivals at two budgets that work, Budgetron at its target, the free one, and
    # the two that look at no feature.
    assert len(first) == 3 * 2 + 1 + 1 + 2
    assert {record["repeat"] for record in first.values()} == {0}
    assert len(Results(place).refused) == 2 * 3
    both = Results(place).cells
    assert len(both) == len(first) + 3 * 2 + 1 + 2
    assert all(both[key] == record for key, record in first.items())

    def refuse(job: Any) -> None:
        raise AssertionError(job)

    monkeypatch.setattr(Cell, "run", refuse)
    monkeypatch.setattr(tuning.Search, "run", refuse)
    _place(monkeypatch, place, "tiny")
    run([TINY], Results(place), permutations=2, processes=1)
    assert len(Results(place).cells) == len(both)
    assert len(Results(place).refused) == 2 * 3


def test_rivals_get_what_was_tuned_and_budgetron_nothing(
    finished: tuple[Path, dict[str, Any]],
) -> None:
    results = Results(finished[0])
    tuned = {record["learner"]: record for record in results.tuned.values()}
    assert [tuned[name]["combinations"] for name in ("stoptron", "fogd")] == [8, 56]
    for record in results.cells.values():
        params = dict(record["params"])
        if record["learner"] == "budgetron":
            assert params == {"budget": record["budget"]}
            continue
        if record["algorithm"] in ("majority class", "last label"):
            assert params == {}
            continue
        chosen = tuned[record["learner"]]["params"]
        assert params.pop("scale") == "auto"
        size = rivals.sized(record["learner"], "classification", record["budget"])
        assert params == {**chosen, **size}


@pytest.mark.usefixtures("small")
def test_tables_say_what_is_missing(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    results = Results(finished[0])
    table = standing.Table(TINY, list(results.cells.values()), results.refused.values())
    pages = report.pages([table], list(results.tuned.values()))
    text = pages["cells"]
    assert text.count("too small") == 3
    assert "failed" not in text.lower()
    assert text.count("| majority class |") == text.count("| last label |") == 1
    assert [entry.learner for entry in table.rivals(None)] == ["perceptron"]
    assert "not run" not in text
    assert "n = 2" in text
    targets = pages["targets"].splitlines()
    assert targets[2].startswith("| tiny | 6 | 60 |")
    assert targets[2].endswith("| reached |")
    assert targets[3].endswith("| missed |")
    assert "| perceptron | γ " in pages["parameters"]
    assert pages["unbounded"].count("| tiny | perceptron |") == 1
    figure.draw([table], tmp_path / "figure")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_a_failure_is_kept_as_what_it_is_and_tried_again(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    small: None,
    finished: tuple[Path, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _place(monkeypatch, finished[0], "tiny")
    run_cell = Cell.run

    def fail(cell: Cell) -> Any:
        if cell.setup.learner == "stoptron" and cell.setup.budget == 5:
            raise MemoryError("no room \x1b")
        return run_cell(cell)

    monkeypatch.setattr(Cell, "run", fail)
    run([TINY], Results(tmp_path), permutations=1, processes=1)
    assert "failed: stoptron on tiny: MemoryError: no room" in capsys.readouterr().out
    results = Results(tmp_path)

    def cells() -> str:
        return report.pages(
            [standing.Table(TINY, results.cells.values(), results.refused.values())]
        )["cells"]

    assert "| stoptron | failed |" in cells()
    assert "Failed: stoptron at 5: MemoryError: no room \\x1b" in cells()
    assert cells().count("too small") == 3
    monkeypatch.setattr(Cell, "run", run_cell)
    run([TINY], Results(tmp_path), permutations=1, processes=1)
    assert "failed" not in cells().lower()


def test_the_command_names_what_it_does_not_have(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(main)
    answer = CliRunner().invoke(app, ["--out", str(tmp_path), "--sets", "phising"])
    assert answer.exit_code != 0
    assert "no set of the proof is called 'phising'" in answer.output
    environment = {"BUDGETRON_DATA": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    answer = CliRunner().invoke(app, ["--out", str(tmp_path)], env=environment)
    assert answer.exit_code != 0
    assert "phishing: not here; fetch it: budgetron data get phishing" in answer.output
