"""The papers' numbers: two permutations of the small sets, not worse than published.

The tables, their settings and the bar (published mean and three standard deviations) are those of
`budgetron reproduce`, which runs ten permutations of everything.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.experiments import Row, Set, data, read, report, runner
from budgetron.experiments.protocols import PROTOCOLS

SEEDS = (0, 1)
SMALL = {
    "ahpatron_table2": {"phishing", "a9a"},
    "bogd_tables": {"german", "magic04"},
    "forgetron_table8": {"synthetic 5 %", "synthetic 10 %"},
}
# Of the tables with several budgets the larger ones say nothing new, and Projectron is slow there.
LARGE = {1000, 1500}


def lines() -> Iterator[Any]:
    for name, sets in SMALL.items():
        for data_set in read(name).sets:
            if data_set.name not in sets:
                continue
            for row in data_set.published:
                budget = row.params.get("budget")
                if row.mean is not None and budget not in LARGE:
                    label = f"{name}-{data_set.name}-{row.algorithm}-{budget}".replace(" ", "")
                    group = pytest.mark.xdist_group(f"{name}-{data_set.name}")
                    yield pytest.param(data_set, row, id=label, marks=group)


@pytest.mark.parametrize(("data_set", "row"), list(lines()))
def test_not_worse_than_published(data_set: Set, row: Row) -> None:
    reason = data.missing(data_set)
    if reason is not None:
        pytest.skip(reason)
    rates = []
    for seed in SEEDS:
        outcome = runner.work(runner.Job(data_set, row, row.chosen, seed))
        assert outcome.value is not None
        rates.append(outcome.value)
    assert report.verdict(row, statistics.fmean(rates)) != "worse", (rates, row.mean, row.sd)


@pytest.mark.xdist_group("avm")
@pytest.mark.parametrize(
    ("name", "set_name", "algorithm"),
    [
        ("avm_table3", "a9a", "AVM-Hinge"),
        ("avm_table3", "a9a", "AVM-Logit"),
        ("avm_table3", "a9a", "BSGD-M"),
        ("avm_table3", "ijcnn1", "AVM-Hinge"),
        ("avm_table4", "ijcnn1", "AVM-Hinge"),
        ("avm_table4", "ijcnn1", "AVM-Logit"),
        ("avm_table5", "casp", "AVM-l1"),
        ("avm_table5", "casp", "AVM-l2"),
    ],
)
def test_avm_is_not_worse_than_published(name: str, set_name: str, algorithm: str) -> None:
    table = read(name)
    data_set = next(s for s in table.sets if s.name == set_name)
    reason = data.missing(data_set)
    if reason is not None:
        pytest.skip(reason)
    row = next(row for row in data_set.published if row.algorithm == algorithm)
    protocol = PROTOCOLS[table.protocol]
    values = []
    for seed in SEEDS:
        job = runner.Job(data_set, row, row.chosen, seed, table.protocol)
        outcome = runner.work(job)
        assert outcome.value is not None
        values.append(outcome.value)
        if row.stored is not None:  # core points: a few more or less with the order of the rows
            assert outcome.stored == pytest.approx(row.stored, rel=0.25)
    assert report.verdict(row, statistics.fmean(values), protocol) != "worse", (values, row)


def test_ten_digits_are_learned_sooner_than_by_a_linear_machine() -> None:
    table = read("mnist_online")
    (data_set,) = table.sets
    reason = data.missing(data_set)
    if reason is not None:
        pytest.skip(reason)
    rates = {}
    for row in data_set.published:
        job = runner.Job(data_set, row, row.chosen, 0, prefix=2500)
        outcome = runner.work(job)
        assert outcome.stored <= 1000
        rates[row.algorithm] = outcome.value
    linear = rates.pop("linear SGD")
    assert linear is not None
    assert all(rate is not None and rate < linear - 2 for rate in rates.values()), (rates, linear)


def test_every_learner_of_the_tables_is_held_to_them() -> None:
    named = {row.learner for name in SMALL for s in read(name).sets for row in s.published}
    held = {param.values[1].learner for param in lines()}
    # Drawn in a figure of the Forgetron paper, without a number; or there for comparison only.
    assert named - held <= {"remove-oldest"}


@pytest.mark.parametrize("seed", SEEDS)
def test_ahpatron_on_a9a_at_its_defaults(load_real: Callable[..., Any], seed: int) -> None:
    """ahpatron.txt table 2 has 16.42 +- 0.06 % with the best epsilon; 0.5 is close to it."""
    X, y = load_real("a9a")
    order = np.random.default_rng(seed).permutation(len(y))
    model = budgetron.make("ahpatron", budget=150, gamma=0.125, epsilon=0.5)
    model.prequential(X[order], y[order])
    assert model.n_seen_ == 48_842
    assert model.n_support_ <= 150
    assert 100 * model.n_mistakes_ / model.n_seen_ == pytest.approx(16.4, abs=0.3)


@pytest.mark.parametrize(
    ("name", "params", "rmse"),
    [
        ("rbp", {"budget": 400}, 0.310),  # 0.3195
        ("forgetron", {"budget": 400}, 0.308),  # 0.3174
        ("projectron", {"budget": 400}, 0.266),  # 0.2688
        ("bogd", {"budget": 400, "max_coef": 0.5}, 0.282),  # 0.2858
    ],
)
def test_regression_on_casp(
    load_real: Callable[..., Any], name: str, params: dict[str, Any], rmse: float
) -> None:
    """avm.txt table 5 (beside each): RMSE with B = 400, features and target in [0, 1]."""
    X, y = load_real("casp", "float64")
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    y = (y - y.min()) / np.ptp(y)
    order = np.random.default_rng(0).permutation(len(y))
    model = budgetron.make(name, task="regression", gamma=1.0, random_state=0, **params)
    errors = model.prequential(X[order], y[order]) - y[order]
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rmse, abs=0.005)
