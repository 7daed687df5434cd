"""The tables are sound, and the command that runs them says what it does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

import budgetron
from budgetron.experiments import Row, names, read, report
from budgetron.experiments.__main__ import main
from budgetron.experiments.tables import needs_p, value


@pytest.mark.parametrize("name", names())
def test_a_table_names_learners_and_settings_that_exist(name: str) -> None:
    for data_set in read(name).sets:
        for row in data_set.published:
            for setting in row.settings():
                params = {**row.params, **setting}
                T = data_set.rows
                budgetron.make(row.learner, **{k: value(v, T, 100) for k, v in params.items()})
            assert row.sd is None or row.sd > 0
            assert set(row.chosen) <= set(row.grid)
            assert all(chosen in row.grid[key] for key, chosen in row.chosen.items())


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("T", 400),
        ("8/T^2", 8 / 160_000),
        ("1e-3/sqrt(T)", 1e-3 / 20),
        ("p", 99),
        ("p/4", 24),
        ("none", None),
        ("aggressive", "aggressive"),
        (0.5, 0.5),
    ],
)
def test_formulas(formula: object, expected: object) -> None:
    assert value(formula, T=400, p=99) == expected


def test_p_must_be_known_where_it_is_used() -> None:
    assert needs_p({"budget": "p/2"})
    assert not needs_p({"step": "1/sqrt(T)"})
    with pytest.raises(ValueError, match="p/2"):
        value("p/2", T=400)


@pytest.mark.parametrize(
    ("mean", "expected"), [(10.0, "ok"), (10.59, "ok"), (10.7, "worse"), (9.3, "better")]
)
def test_verdict(mean: float, expected: str) -> None:
    row = Row("A", "perceptron", {}, {}, {}, mean=10.0, sd=0.2)
    assert report.verdict(row, mean) == expected


def test_absent_data_are_said_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path / "nowhere"))
    assert main(["ahpatron_table2", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    assert "- phishing: phishing.libsvm.xz not in the data folder." in out
    assert (tmp_path / "ahpatron_table2.md").read_text() in out
    assert (tmp_path / "ahpatron_table2.json").read_text() == "[]\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["bogd_tables", "--sets", "nonsense"]])
def test_unknown_names_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "nonsense" in capsys.readouterr().err
