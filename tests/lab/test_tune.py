"""`budgetron tune`: the winner of a grid, losers dropped early, the command that uses it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.cli import main
from budgetron.estimators._base.widths import median_factor
from budgetron.lab.formulas import value
from budgetron.lab.learners_by_name import named
from budgetron.lab.tune import FEWEST_ROWS, combinations, default_grid, paper_grid, tune
from budgetron.streams import two_gaussians

X, Y = two_gaussians(1000, seed=5)
NOISY = ("noisy", X, Y)
FIXED: dict[str, Any] = {"params": {"budget": 20}, "processes": 1}
GRID = {"gamma": [1e-6, 0.5, 1e6], "epsilon": [0.5, 0.9]}


def error_of(params: dict[str, Any], rows: int, seed: int = 0) -> float:
    order = np.random.default_rng(seed).permutation(len(Y))[:rows]
    model = budgetron.make("ahpatron", budget=20, random_state=seed, **params)
    model.prequential(X[order], Y[order])
    return float(model.n_mistakes_ / rows)


def test_every_candidate_on_all_rows() -> None:
    found = tune(NOISY, "ahpatron", GRID, halving=False, **FIXED)
    assert len(found.candidates) == 6
    for candidate in found.candidates:
        assert candidate.rows == len(Y)
        assert candidate.error == error_of(candidate.params, len(Y))
    assert found.best.params["gamma"] == 0.5
    errors = [candidate.error for candidate in found.candidates]
    assert errors == sorted(errors)


def test_losers_are_stopped_early() -> None:
    trials: list[int] = []
    found = tune(NOISY, "ahpatron", GRID, begin=trials.append, **FIXED)
    assert trials == [6 + 2]
    rows = [candidate.rows for candidate in found.candidates]
    assert rows == [2000] * 2 + [2000 // 3] * 4
    assert FEWEST_ROWS <= 2000 // 3
    for candidate in found.candidates:
        assert candidate.error == error_of(candidate.params, candidate.rows)
    first = {str(each): error_of(each, 666) for each in combinations(GRID, 2000)}
    best = sorted(first, key=lambda each: first[each])[:2]
    assert {str(candidate.params) for candidate in found.candidates[:2]} == set(best)


def test_held_out_error() -> None:
    found = tune(NOISY, "rbp", {"gamma": [0.5]}, by="held-out", rows=500, keep_order=True, **FIXED)
    model = budgetron.make("rbp", budget=20, gamma=0.5, random_state=0)
    model.partial_fit(X[:400], Y[:400])
    assert found.best.error == pytest.approx(np.mean(model.predict(X[400:500]) != Y[400:500]))


def test_regression() -> None:
    stream = ("wave", X, np.sin(X[:, 0]))
    found = tune(stream, "bogd", {"step": [1e-6, 0.5]}, rows=500, halving=False, **FIXED)
    assert found.task == "regression"
    assert found.best.params == {"step": 0.5}


def test_a_candidate_that_fails_loses() -> None:
    grid = {"step": [4.0, 0.5], "regularization": [0.3]}  # 4 * 0.3 >= 1 is refused
    found = tune(NOISY, "bogd", grid, rows=300, **FIXED)
    assert [candidate.params["step"] for candidate in found.candidates] == [0.5, 4.0]
    assert "regularization" in found.candidates[1].what
    with pytest.raises(ValueError, match="regularization"):
        tune(NOISY, "bogd", {"step": [4.0], "regularization": [0.3]}, rows=300, **FIXED)


def test_a_failure_is_named_below_the_table(cli: Any) -> None:
    arguments = ["tune", "noisy file", "-a", "bogd", "--set", "regularization=0.3", "--rows", "300"]
    arguments += ["--grid", "step=4.0,5.0,0.5", "--gamma", "0.5", "--budget", "20"]
    out, err = cli(*arguments, "--processes", "1")
    assert [line.split()[-1] for line in out.splitlines() if "300" in line][-4:-2] == ["failed"] * 2
    failed = [line for line in err.splitlines() if line.startswith("budgetron: failed: ")]
    assert len(failed) == len(err.splitlines()) >= 1
    assert all("regularization" in line for line in failed)


def test_the_papers_grids_are_of_parameters_there_are() -> None:
    for name in [each.name for each in budgetron.algorithms()]:
        known = named(name).parameters("classification")
        grid = paper_grid(name, known)
        assert "gamma" in grid
        for parameter, values in grid.items():
            assert parameter in (known or [])
            assert all(isinstance(value(each, 10_000), float) for each in values)
    assert paper_grid("ahpatron", ["epsilon"])["epsilon"] == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert len(paper_grid("bogd", named("bogd").parameters("classification"))) == 4


def test_without_a_grid_widths_are_multiples_of_the_median_and_scaling_is_tried() -> None:
    for name in [each.name for each in budgetron.algorithms()]:
        known = named(name).parameters("classification")
        grid = default_grid(name, known)
        factors = [median_factor(each) for each in grid["gamma"]]
        assert factors == [0.25, 0.5, 1.0, 2.0, 4.0, 16.0]
        assert grid["scale"] == ["auto", "standard", None]
        own = {key: values for key, values in grid.items() if key not in ("gamma", "scale")}
        assert own.items() <= paper_grid(name, known).items()
    mine = "sklearn.svm:SVC"
    assert default_grid(mine, ["gamma"]) == paper_grid(mine, ["gamma"])


def test_units_do_not_keep_the_default_grid_from_a_good_setting() -> None:
    raw = ("raw", X * [1e-3, 1e4], Y)
    found = tune(raw, "perceptron", rows=600, processes=1)
    assert len(found.candidates) == 18
    assert found.best.params["scale"] in ("auto", "standard")
    assert found.best.error < 0.15 < min(found.references.values())


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    text = "".join(f"{label} 1:{row[0]!r} 2:{row[1]!r}\n" for row, label in rows)
    (tmp_path / "noisy file").write_text(text)

    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as exit:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert exit.value.code == code, err
        assert "Traceback" not in err
        return out, err

    return run


def test_the_printed_command_uses_the_winner(cli: Any) -> None:
    arguments = ["tune", "noisy file", "-a", "fogd", "--grid", "step=0.1,10/sqrt(T)"]
    arguments += ["--grid", "gamma=0.5,1e3", "--set", "n_components=50", "--rows", "400"]
    out, err = cli(*arguments, "--processes", "1", "--seed", "3")
    assert err == ""
    assert "400" in out
    command = shlex.split(out.splitlines()[-1])
    assert command[:5] == ["budgetron", "run", "noisy file", "--algorithm", "fogd"]
    result = json.loads(cli(*command[1:], "--json")[0])
    assert result["params"]["n_components"] == 50
    assert result["params"]["random_state"] == 3
    tuned = json.loads(cli(*arguments, "--processes", "1", "--seed", "3", "--json")[0])
    assert tuned["command"].startswith("budgetron run 'noisy file'")
    assert tuned["best"] == {name: result["params"][name] for name in ("step", "gamma")}
    assert len(tuned["candidates"]) == 4
    widths = ["--grid", "gamma=2*median", "--grid", "scale=none", "--set", "n_components=50"]
    out, _ = cli("tune", "noisy file", "-a", "fogd", *widths, "--rows", "400", "--processes", "1")
    assert "--gamma=2*median" in shlex.split(out.splitlines()[-1])
    result = json.loads(cli(*shlex.split(out.splitlines()[-1])[1:], "--json")[0])
    assert (result["params"]["gamma"], result["params"]["scale"]) == ("2*median", None)
    assert tuned["best"]["step"] in (0.1, 0.5)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-a", "ahpatorn"], "did you mean 'ahpatron'?"),
        (["-a", "ahpatron", "--grid", "epsilon"], "--grid takes"),
        (["-a", "ahpatron", "--grid", "eps=1,2"], "no parameter 'eps'"),
        (["-a", "ahpatron", "--grid", "epsilon=7,8"], "epsilon"),
        (["-a", "ahpatron", "--by", "luck"], "--by is"),
        (["-a", "sklearn.linear_model:SGDClassifier"], "no grid for"),
        (["-a", "ahpatron", "--budget", "256KX", "--grid", "epsilon=0.5"], "256KX"),
    ],
)
def test_mistakes_are_one_line(cli: Any, arguments: list[str], complaint: str) -> None:
    out, err = cli("tune", "noisy file", *arguments, "--processes", "1", code=2)
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err


def test_ones_own_learner(cli: Any) -> None:
    out, _ = cli(
        "tune", "noisy file", "-a", "sklearn.linear_model:SGDClassifier", "--rows", "60",
        "--grid", "alpha=0.0001,1", "--processes", "1",
    )  # fmt: skip
    assert "budgetron compare 'noisy file' --algorithms sklearn.linear_model:SGDClassifier" in out


def test_the_printed_command_reads_the_table_the_same_way(cli: Any, tmp_path: Path) -> None:
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    lines = [f"{a};{'up' if b > 0 else 'down'};{b};{label:g}" for (a, b), label in rows]
    lines.insert(5, "not;enough")
    (tmp_path / "people.data").write_text("left;side;right;kind\n" + "\n".join(lines) + "\n")
    arguments = ["people.data", "-a", "rbp", "--grid", "gamma=0.5,1", "--budget", "20"]
    reading = ["--format", "csv", "--label", "kind", "--columns", "left,side", "--dtype", "float64"]
    reading += ["--categorical", "side", "--delimiter", ";", "--header", "--skip-bad"]
    out, err = cli("tune", *arguments, *reading, "--rows", "400", "--processes", "1")
    assert err.startswith("budgetron: people.data: columns: 1 number, 1 category ")
    assert "\nbudgetron: 1 bad row skipped; the first: people.data" in err
    command = shlex.split(out.splitlines()[-1])
    assert command[:3] == ["budgetron", "run", "people.data"]
    result = json.loads(cli(*command[1:], "--json")[0])
    assert result["rows"] == len(Y)
    assert result["n_features"] == 1 + 2 + 9
    assert result["bad_lines"] == 1
    assert cli("tune", *arguments, "--label", "none", code=2)[1].startswith("budgetron: learning")


def test_the_printed_command_of_synthetic_streams_and_regression(cli: Any) -> None:
    arguments = ["-a", "bogd", "--grid", "step=0.1,0.5", "--gamma", "0.5", "--processes", "1"]
    out, _ = cli("tune", "synthetic:checkerboard", *arguments, "--rows", "300")
    command = shlex.split(out.splitlines()[-1])
    assert json.loads(cli(*command[1:], "--json")[0])["rows"] == 300
    out, _ = cli("tune", "noisy file", *arguments, "--task", "regression", "--rows", "300")
    command = shlex.split(out.splitlines()[-1])
    assert command[1] == "run"
    result = json.loads(cli(*command[1:], "--json")[0])
    assert "rmse" in result
