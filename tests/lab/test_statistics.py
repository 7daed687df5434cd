"""Means, tests and the conclusion of a comparison, on records made by hand."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from budgetron.lab.report import figures
from budgetron.lab.report.tables import detail, pivot
from budgetron.lab.statistics import Line, algorithms, conclusion, paired_p, ranked, summarise
from budgetron.lab.workers import Workers

nan, inf = math.nan, math.inf


def made(
    name: str, *values: float | None, task: str = "regression", **more: Any
) -> list[dict[str, Any]]:
    """One record per value; None: that repeat failed."""
    common = {"stream": "s", "task": task, "algorithm": name, "budget": 7, **more}
    metric = "rmse" if task == "regression" else "mistake_rate"
    point = {"seconds": 1.0, "stored": 3.0, "bytes": 9.0, "mae": 1.0, "window_rmse": 1.0}
    return [
        {
            **common,
            "repeat": repeat,
            "checkpoints": [{**point, "rows": rows, metric: value} for rows in (5.0, 10.0)],
        }
        for repeat, value in enumerate(values)
        if value is not None
    ]


def bar(*values: float, **more: Any) -> list[dict[str, Any]]:
    return made("mean", *values, reference=True, **{"budget": None, **more})


@pytest.mark.parametrize(("bad", "repeats"), [(nan, 1), (inf, 1), (nan, 3), (inf, 3), (1.7e308, 3)])
def test_a_line_that_diverged_is_last_and_never_the_best(
    tmp_path: Path, bad: float, repeats: int
) -> None:
    wrong = made("a", *[bad] * repeats)
    summary = summarise(wrong + made("b", *[1.0, 1.5, 1.25][:repeats]) + bar(*[9.0] * repeats))
    a, b, _ = lines = summary["s"]
    assert (a.shown, a.best, a.even, a.mean) == ("diverged", False, False, inf)
    assert math.isnan(a.deviation)
    assert b.best
    assert algorithms(lines) == ["b", "a", "mean"]
    assert [line.algorithm for line in ranked(lines)[0][1]] == ["b", "a"]
    assert [row[0].text for row in pivot(lines).rows] == ["b", "a", "mean"]
    assert detail(lines, None).rows[1][3].sort == ""
    text = conclusion(summary)
    assert text.startswith("On s b has the least RMSE (1.")
    assert "; a (budget 7) diverged; of all 2 lines 1 is no better than the mean." in text
    drawn = figures.draw(tmp_path, summary, Workers(1))["s"]
    assert len(drawn) == 4
    figures.draw_panels(tmp_path / "panels", summary)


def test_if_all_diverged_none_is_the_best(tmp_path: Path) -> None:
    summary = summarise(made("a", nan, 1.0) + bar(inf, 1.0))
    assert not any(line.best for line in summary["s"])
    assert conclusion(summary) == "Every learner diverged, so there is nothing to conclude."
    assert len(figures.draw(tmp_path, summary, Workers(1))["s"]) == 1
    figures.draw_panels(tmp_path / "panels", summary)


def test_the_rival_must_be_worse_on_the_repeats_both_have() -> None:
    a = made("a", None, 5.0, 5.1, 5.2, 0.0, 0.0, 0.0)  # the least mean, by repeats b does not have
    b = made("b", None, 4.0, 4.11, 4.2)
    assert paired_p(b, a) < 0.05
    text = conclusion(summarise(a + b))
    assert text.endswith(", but not significantly less than b (budget 7).")


def test_no_better_and_not_significantly_better_are_two_things() -> None:
    good, unsure = made("good", 1.0, 1.1, 1.2), made("unsure", 1.0, 2.5, 8.9)
    poor = made("poor", 9.0, 9.5, 9.9)
    base = bar(9.0, 9.1, 9.0)
    assert conclusion(summarise(good + unsure + poor + base)).endswith(
        "; of all 3 lines 1 is not significantly better than the mean and 1 is no better than the "
        "mean."
    )


def test_lines_are_named_with_their_budgets() -> None:
    a = made("a", 1.0, 2.0, 3.0)
    rbp = made("rbp", 1.0, 2.1, 2.95, budget=20) + made("rbp", 2.0, 3.1, 4.0, budget=10)
    assert conclusion(summarise(a + rbp)).endswith(
        ", significantly less than 1 of 2 other lines, but not than rbp (budget 20)."
    )
    free = made("free", 1.0, 2.1, 2.95, budget=None)
    assert conclusion(summarise(a + free)).endswith("not significantly less than free (no budget).")


def test_one_learner_alone() -> None:
    rbp = made("rbp", 0.213, task="classification", budget=20)
    assert conclusion(summarise(rbp)) == "On s rbp made 21.30 % mistakes (budget 20)."
    most = made("majority class", 0.2, task="classification", budget=None, reference=True)
    assert conclusion(summarise(rbp + most)) == (
        "On s rbp made 21.30 % mistakes (budget 20); it is no better than the majority class."
    )
    assert conclusion(summarise(made("rbp", 0.5) + bar(0.6))) == (
        "On s rbp has an RMSE of 0.5000 (budget 7); it is better than the baselines."
    )
    both = made("rbp", 0.5) + made("rbp", 0.5, stream="t")
    assert conclusion(summarise(both)) == "On both sets rbp is the only learner."


def test_ties_and_plurals_over_sets() -> None:
    def stream(name: str, first: str, second: str) -> list[dict[str, Any]]:
        return made(first, 1.0, stream=name) + made(second, 2.0, stream=name)

    said = "; with one permutation there is no test."
    one, two = stream("s", "a", "b"), stream("t", "b", "a")
    text = conclusion(summarise(one + two))
    assert text == f"a and b each has the least RMSE on 1 of 2 sets{said}"
    text = conclusion(summarise(one + stream("t", "a", "b")))
    assert text == f"On both sets a has the least RMSE{said}"
    text = conclusion(summarise(one + stream("t", "a", "b") + stream("u", "c", "a")))
    assert text == f"On 2 of 3 sets a has the least RMSE (on the other c){said}"


def test_a_line_some_of_whose_cells_failed_says_how_many_it_is_of() -> None:
    records = [*made("a", 0.1, 0.1, 0.1), *made("b", 0.2, None, 0.2), *made("c", nan, None, nan)]
    (lines,) = summarise(records).values()
    shown = ["0.1000 ± 0.0000", "0.2000 ± 0.0000, n = 2", "diverged, n = 2"]
    assert [line.shown for line in lines] == shown
    assert [row[1].text for row in pivot(lines).rows] == shown


def test_nearly_equal_differences_warn_of_nothing() -> None:
    a, b = made("a", 0.1, 0.2, 0.3), made("b", 0.4, 0.5, 0.6)  # 0.3 each, but for rounding
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_p(b, a) == 0.0
        assert paired_p(made("c", 0.1 + 1e-17, 0.1 + 0.1, 0.1 + 0.2), a) == 1.0
        assert 0.0 <= paired_p(made("d", 0.4, 0.5, 0.6 + 1e-11), a) < 1e-6


def test_other_metrics_may_overflow() -> None:
    records = made("a", 1.0, 2.0)
    for record, value in zip(records, (inf, -inf), strict=True):
        record["checkpoints"][-1]["mae"] = value
    line: Line = summarise(records)["s"][0]
    assert math.isnan(line.means["mae"])
