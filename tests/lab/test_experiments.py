"""The tables are valid, a run follows its protocol, and finished runs are kept."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import budgetron
from budgetron import datasets
from budgetron.catalogue import as_printed
from budgetron.datasets import DataSet, File
from budgetron.lab.baselines import BASELINES
from budgetron.lab.formulas import needs_p, value
from budgetron.lab.reproduce import Row, Set, data, names, protocols, read, report, runner
from budgetron.lab.reproduce.protocols import PROTOCOLS, Outcome
from budgetron.lab.reproduce.runner import Lab, Measured, Run
from budgetron.lab.reproduce.tables import Params, Table
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers
from studies.proof.sets import SETS
from tests.conftest import made_set


class Here(Workers):
    """Runs at once, in this process; counts."""

    def __init__(self) -> None:
        super().__init__(1)
        self.runs = 0

    def unordered(self, work: Any, jobs: Any) -> Any:
        self.runs += len(jobs)
        return super().unordered(work, jobs)


def small(protocol: str = "online", **fields: Any) -> tuple[Table, Set]:
    row = Row("P", "perceptron", {"gamma": 0.5}, {}, {}, mean=10.0, sd=1.0)
    data_set = Set("noisy", 600, flip=0.05, published=(fields.pop("row", row),))
    return Table("t", "p", "T", "c", "x", (data_set,), protocol=protocol, **fields), data_set


@pytest.mark.parametrize("name", names())
def test_a_table_names_learners_and_settings_that_exist(name: str) -> None:
    table = read(name)
    task = PROTOCOLS[table.protocol].task
    assert table.tables or table.figures
    for data_set in table.sets:
        for row in data_set.published:
            for setting in row.settings() if row.learner not in BASELINES else ():
                params = {**row.params, **setting}
                params = {k: value(v, data_set.rows, 100) for k, v in params.items()}
                budgetron.make(row.learner, task=task, **params)
            assert row.sd is None or row.sd > 0
            assert set(row.chosen) <= set(row.grid)
            assert all(chosen in row.grid[key] for key, chosen in row.chosen.items())
            for part in (row.validation, data_set.validation, table.validation):
                assert part is None or (part <= 1.0 if isinstance(part, float) else part >= 100)
    sets = {data_set.name for data_set in table.sets}
    algorithms = {row.algorithm for data_set in table.sets for row in data_set.published}
    for figure in table.figures:
        assert set(figure.sets) <= sets
        assert set(figure.algorithms) <= algorithms


def test_avm_has_one_setting_for_a_set_and_an_algorithm_in_both_tables() -> None:
    """Le et al. 2017, section 9.4: settings of the batch task apply to the online task."""
    tables = [read(name) for name in ("avm_table3", "avm_table4")]
    batch, online = (
        {
            (data_set.name, row.algorithm): {**row.params, **row.chosen}
            for data_set in table.sets
            for row in data_set.published
        }
        for table in tables
    )
    both = batch.keys() & online.keys()
    assert len(both) == 8 * 4
    assert {key: batch[key] for key in both} == {key: online[key] for key in both}


def test_the_figures_of_avm_have_the_settings_of_its_table() -> None:
    table = {
        (data_set.name, row.algorithm): {**row.params, **row.chosen}
        for data_set in read("avm_table4").sets
        for row in data_set.published
    }
    for data_set in read("avm_figures").sets:
        for row in data_set.published:
            swept = {"delta": "AVM-Hinge", "beta": "AVM-Hinge"}.get(row.algorithm, row.algorithm)
            theirs = table[data_set.name, swept]
            same = row.params.keys() - {"beta", "rho", "budget"} - {row.algorithm}
            assert {key: row.params[key] for key in same} == {key: theirs[key] for key in same}


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
    more = {"ok": "ok", "worse": "better", "better": "worse"}[expected]
    assert report.verdict(row, mean, PROTOCOLS["batch"]) == more


def test_a_sweep_is_a_line_for_each_combination() -> None:
    figures = read("avm_figures")
    swept = [row.params for row in figures.sets[0].published if row.algorithm == "beta"]
    assert len(swept) == 25 == len({(p["beta"], p["rho"]) for p in swept})
    assert [f.number for f in figures.drawn("2")] == ["2a", "2a-size", "2b"]
    assert [f.number for f in figures.drawn("2b")] == ["2b"]
    needed = figures.behind(figures.drawn("2b")).sets
    assert [(s.name, {row.algorithm for row in s.published}) for s in needed] == [("a9a", {"beta"})]


def test_forgetrons_figures_have_the_rows_of_its_table() -> None:
    def rows(name: str) -> dict[str, Set]:
        bare = (replace(each, published=(), permutations=None) for each in read(name).sets)
        return {each.name: replace(each, preparation="") for each in bare}

    of_table, of_figures = rows("forgetron_table8"), rows("forgetron_figures")
    shared = set(of_table) & set(of_figures)
    assert {"MNIST", "USPS", "ADULT"} < shared
    assert all(of_table[name] == of_figures[name] for name in shared)


# ---- rows ----------------------------------------------------------------------------------------


def test_npz_parts_holdout_scale_and_labels(
    tmp_path: Path,
    known: dict[str, DataSet],
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = [File(part, part, "http://x", 9, held=("s.npz",)) for part in ("train", "test")]
    known["s"] = made_set("s", *held)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    X = np.arange(40).reshape(20, 2)
    np.savez(tmp_path / "s.npz", X_train=X[:15], y_train=X[:15, 0], X_test=X[15:], y_test=X[15:, 0])
    both = Set("s", 20, files=("s/train",), test=("s/test",), scale="unit", above=20.0)
    rows = data.permuted(both, 3)
    order = np.random.default_rng(3).permutation(15)
    np.testing.assert_allclose(rows.X[:, 0], order / 19, rtol=1e-6)
    np.testing.assert_array_equal(rows.y, (2 * order > 20).astype(int))
    np.testing.assert_allclose(rows.test_X[:, 1], np.arange(15, 20) / 19, rtol=1e-6)
    rows = data.permuted(Set("s", 15, files=("s/train",), holdout=0.2), 3)
    np.testing.assert_array_equal(rows.test_y, 2 * order[12:])
    np.testing.assert_array_equal(rows.y, 2 * order[:12])
    rows = data.whole(Set("s", 8, files=("s/train", "s/test"), first=4))
    X, y = rows.X, rows.y
    np.testing.assert_array_equal(X[:, 0], [0, 2, 4, 6, 30, 32, 34, 36])
    np.testing.assert_array_equal(y, X[:, 0])
    absent = Set("s", 9, files=("s/train", "a9a/train"), test=("casp",))
    assert data.missing(absent) == "not here; fetch it: budgetron data get a9a/train casp"


# Labels that are words at the origin, by their number in the local folder.
WORDS = {
    "magic04": {1.0: "g", -1.0: "h"},
    "census-income": {-1.0: "- 50000.", 1.0: "50000+."},
}


def sets_with_origins() -> Iterator[Any]:
    """Those of tables and proof that have rows at an origin, each choice of rows once."""
    every = [each for name in names() for each in read(name).sets]
    every += [each.rows for each in SETS]
    for data_set in {(s.files, s.test, s.scale): s for s in every if s.files}.values():
        known, files = datasets.named(data_set.files[0])
        if files[0].by_hand is None and files[0].held:
            yield pytest.param(data_set, known, id=f"{'+'.join(data_set.files)}-{data_set.scale}")


@pytest.mark.parametrize(("data_set", "known"), list(sets_with_origins()))
def test_rows_are_the_same_from_the_origin_and_from_the_local_folder(
    tmp_path: Path,
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    data_set: Set,
    known: DataSet,
) -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    cut: dict[str, str] = {}
    empty_cache.mkdir(parents=True)
    for file in known.files:
        held = next((name for name in file.held if name.endswith(".npz")), file.held[0])
        whole = held.endswith(".npz")
        X = rng.integers(0, 200, size=(30, known.features)).astype(np.float64)
        X /= 1 if whole else 7
        X[rng.random(X.shape) < (0.9 if known.features > 100 else 0.1)] = 0.0
        words = WORDS.get(known.name, {})
        y = rng.choice(list(words) or [0.0, 1.0, 2.0], size=30)
        write_origin(empty_cache / file.name, file, X, y, words)
        ending = "" if file.part == "all" or file.held_part else f"_{file.part}"
        rows = {f"X{ending}": X.astype(np.uint8), f"y{ending}": y.astype(np.uint8)}
        for name, part in rows.items():
            both = file.held_part and name in arrays
            arrays[name] = np.concatenate([arrays[name], part]) if both else part
        if file.held_part:  # as long as the rows made here
            start = len(arrays["y"]) - len(y)
            cut[file.part] = f"{start}:{start + len(y)}"
        if whole:
            np.savez(tmp_path / held, **arrays)
        elif ".csv" in held:
            names = [f"F{j}" for j in range(X.shape[1] + 1)]
            write_packed(tmp_path / held, [names, *table(file, X, y, words)], ",")
        else:
            write_libsvm(tmp_path / held, X, y)
    entry = known
    if cut:
        files = tuple(replace(file, held_part=cut[file.part]) for file in known.files)
        entry = replace(known, files=files)
    monkeypatch.setitem(datasets.data_sets(), known.name, entry)
    theirs = data.whole(data_set)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    ours = data.whole(data_set)
    assert len(ours.y) in (30, 60)
    for a, b in ((theirs.X, ours.X), (theirs.y, ours.y)):
        assert type(a) is type(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        same = [(a, b)] if isinstance(a, np.ndarray) else [(a.data, b.data), (a.indices, b.indices)]
        assert all(one.tobytes() == other.tobytes() for one, other in same)


def write_libsvm(path: Path, X: Any, y: Any) -> None:
    pairs = [[f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v] for row in X]
    write_packed(path, [[repr(float(c)), *row] for row, c in zip(pairs, y, strict=True)], " ")


def write_origin(path: Path, file: File, X: Any, y: Any, words: dict[float, str]) -> None:
    """As the file's `read` has it: LIBSVM text, or a table with the label last or first."""
    if not file.read:
        write_libsvm(path, X, y)
        return
    lines = table(file, X, y, words)
    if file.read["label"] != -1:
        lines.insert(0, [file.read["label"], *(f"F{j}" for j in range(X.shape[1]))])
    write_packed(path, lines, ",")


def table(file: File, X: Any, y: Any, words: dict[float, str]) -> list[list[str]]:
    """The rows as text, the label last or first."""
    cells = [[repr(float(v)) for v in row] for row in X]
    labels = [words.get(c, repr(float(c))) for c in y]
    if file.read["label"] == -1:
        return [[*row, c] for row, c in zip(cells, labels, strict=True)]
    return [[c, *row] for row, c in zip(cells, labels, strict=True)]


def write_packed(path: Path, table: list[list[str]], between: str) -> None:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    text = "".join(between.join(line) + "\n" for line in table).encode()
    path.write_bytes(pack.get(path.suffix, bytes)(text))


def test_factor_balance_and_rows_of_one_npz(
    tmp_path: Path,
    known: dict[str, DataSet],
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both parts lie in one array; one class has 5 rows of 20."""
    held = [
        File(part, part, "http://x", rows, held=("s.npz",), held_part=cut)
        for part, rows, cut in (("train", 12, "0:12"), ("test", 8, "12:20"))
    ]
    known["s"] = made_set("s", *held)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    X, y = np.arange(40.0).reshape(20, 2), (np.arange(20) % 4 == 0).astype(int)
    np.savez(tmp_path / "s.npz", X=X, y=y)
    assert [datasets.rows_missing(file, tmp_path / "s.npz") for file in held] == [0, 0]
    rows = data.whole(Set("s", 8, files=("s/test",), scale="whole", factor=0.5))
    got, labels = rows.X, rows.y
    np.testing.assert_allclose(got, 0.5 * (X[12:] - 24) / 15, rtol=1e-6)
    np.testing.assert_array_equal(labels, y[12:])
    some = X * (np.arange(20) % 3 > 0)[:, None]
    np.savez(tmp_path / "s.npz", X=some, y=y)
    data._load.cache_clear()
    rows = data.whole(Set("s", 13, files=("s",), nonzero=True))
    kept, labels = rows.X, rows.y
    np.testing.assert_array_equal(kept, X[np.arange(20) % 3 > 0])
    np.testing.assert_array_equal(labels, y[np.arange(20) % 3 > 0])
    np.savez(tmp_path / "s.npz", X=X, y=y)
    data._load.cache_clear()
    drawn = [data.permuted(Set("s", 10, files=("s",), balanced=True), seed) for seed in range(30)]
    rare = set(X[y == 1, 0])
    for rows in drawn:
        assert len(rows.y) == 10
        assert rows.y.sum() == 5
        assert rare < set(rows.X[:, 0]) <= set(X[:, 0])
        np.testing.assert_array_equal(rows.y, y[(rows.X[:, 0] / 2).astype(int)])
    assert set().union(*(set(rows.X[:, 0]) for rows in drawn)) == set(X[:, 0])
    assert len({tuple(rows.y) for rows in drawn}) > 5  # not one class after the other


def test_sparse_rows_are_scaled_as_dense_ones() -> None:
    X = np.array([[0.0, 5.0, 2.0], [4.0, 7.0, 2.0], [0.0, 9.0, 2.0]])
    kept = data.scaled(scipy.sparse.csr_array(X), "unit")
    assert scipy.sparse.issparse(kept)
    np.testing.assert_array_equal(kept.toarray(), data.scaled(X, "unit"))
    for how, rows in (("unit", -X), ("both", X)):
        dense = data.scaled(scipy.sparse.csr_array(rows), how)
        np.testing.assert_array_equal(dense, data.scaled(rows, how))


def test_every_split_into_halves_comes_once() -> None:
    splits = {tuple(data.half_of(list(range(10)), seed)) for seed in range(126)}
    assert len(splits) == 126
    assert all(len(set(split)) == 5 for split in splits)


# ---- protocols -----------------------------------------------------------------------------------


def noisy(rows: int = 600) -> data.Split:
    X, y = budgetron.streams.two_gaussians(rows // 2, flip=0.05, seed=0)
    return data.Split(X[:-100], y[:-100], X[-100:], y[-100:])


def test_protocols_give_what_they_say() -> None:
    rows = noisy()
    row = Row("A", "ahpatron", {"gamma": 0.5, "budget": 50, "epsilon": 0.5}, {}, {})
    model = as_printed("ahpatron", gamma=0.5, budget=50, epsilon=0.5)
    decisions = model.prequential(rows.X, rows.y)
    margins = decisions * np.where(rows.y == rows.y.max(), 1, -1)
    online = protocols.online(row, {}, rows, 0)
    assert online.value == 100 * model.n_mistakes_ / 500
    assert online.stored == model.n_support_
    assert [point[0] for point in online.curve] == list(range(25, 501, 25))
    assert online.curve[-1][1:] == (online.value, online.seconds)
    near = protocols.near(row, {}, rows, 0).value
    assert near == np.sum((margins > 0) & (margins < 0.5)) > 10
    batch = protocols.batch(row, {}, rows, 0)
    assert batch.value == 100 * model.score(rows.test_X, rows.test_y)
    numbers = rows._replace(y=rows.X[:, 0] / 4)
    tube = Row("R", "rbp", {"gamma": 0.5, "budget": 50}, {}, {})
    predicted = as_printed("rbp", task="regression", gamma=0.5, budget=50, random_state=0)
    errors = predicted.prequential(numbers.X, numbers.y) - numbers.y
    rmse = protocols.regression(tube, {}, numbers, 0).value
    assert rmse == pytest.approx(math.sqrt(np.mean(errors**2)))


@pytest.mark.parametrize(
    ("learner", "params"),
    [
        ("svc", {"gamma": 0.5, "C": 1.0}),
        ("sgd", {"alpha": 0.01}),
        ("nystroem-svc", {"gamma": 0.5, "C": 1.0, "n_components": 50}),
    ],
)
def test_batch_baselines(learner: str, params: Params) -> None:
    outcome = protocols.batch(Row("B", learner, params, {}, {}), {}, noisy(), 0)
    assert outcome.value is not None
    assert 85 < outcome.value < 100
    assert outcome.seconds > 0


def test_the_linear_baseline_tests_before_it_trains() -> None:
    rows = noisy()
    flipped = rows._replace(y=-rows.y)
    row = Row("L", "sgd", {"alpha": 0.01}, {}, {})
    rates = [protocols.online(row, {}, part, 0).value for part in (rows, flipped)]
    assert all(rate is not None and 2 < rate < 30 for rate in rates)


# ---- runs ----------------------------------------------------------------------------------------


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    table, data_set = small()
    first = Here()
    before = runner.measure(table, data_set, 3, Lab(first, Store(tmp_path)))
    assert first.runs == 3
    second = Here()
    after = runner.measure(table, data_set, 4, Lab(second, Store(tmp_path)))
    assert second.runs == 1
    assert isinstance(before[0], Measured)
    assert isinstance(after[0], Measured)
    assert [o.value for o in after[0].outcomes[:3]] == [o.value for o in before[0].outcomes]
    assert len(Store(tmp_path)) == 4
    other = replace(data_set, flip=0.1)
    third = Here()
    runner.measure(table, other, 1, Lab(third, Store(tmp_path)))
    assert third.runs == 1


@pytest.mark.parametrize(("most", "seeds", "runs"), [(None, 4, 3), (2, 2, 2), (1, 1, 1)])
def test_a_line_has_its_own_number_of_permutations_and_runs(
    most: int | None, seeds: int, runs: int
) -> None:
    table, data_set = small()
    row = data_set.published[0]
    random = replace(row, learner="rbp", params={"gamma": 0.5, "budget": 20}, runs=3)
    both = replace(data_set, permutations=4, published=(random, replace(row, permutations=2)))
    pool = Here()
    lab = Lab(pool, Store())
    several, once = runner.measure(table, both, most, lab)
    assert pool.runs == seeds * runs + min(seeds, 2)
    assert isinstance(several, Measured)
    assert isinstance(once, Measured)
    assert (len(several.outcomes), len(once.outcomes)) == (seeds, min(seeds, 2))
    each = [
        runner.Run(both, random, {}, 0, table.protocol, number=run).outcome().value
        for run in range(runs)
    ]
    assert len(set(each)) == runs  # other random choices on the same rows
    assert several.outcomes[0].value == pytest.approx(np.mean([v for v in each if v is not None]))


def test_a_set_without_a_number_has_ten_permutations() -> None:
    table, data_set = small()
    (line,) = runner.measure(table, data_set, None, Lab(Here(), Store()))
    assert isinstance(line, Measured)
    assert len(line.outcomes) == 10


def test_grids_come_from_the_table_or_a_new_search() -> None:
    grid = {"gamma": [100.0, 0.5]}
    row = Row("P", "perceptron", {}, grid, {"gamma": 100.0})
    table, data_set = small(row=row)
    given, tuned, held, begun = (
        runner.measure(entry, data_set, 1, Lab(Here(), Store()), tune=tune)[0]
        for entry, tune in (
            (table, False),
            (table, True),
            (replace(table, validation=300), True),
            (replace(table, prefix=300), True),
        )
    )
    assert isinstance(given, Measured)
    assert isinstance(tuned, Measured)
    assert isinstance(held, Measured)
    assert isinstance(begun, Measured)
    assert given.chosen == {"gamma": 100.0}
    assert tuned.chosen == held.chosen == begun.chosen == {"gamma": 0.5}
    assert len(tuned.outcomes[0].curve) == 20
    assert tuned.mean < given.mean


class Asked(Here):
    """Records the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Run] = []

    def unordered(self, work: Any, jobs: Any) -> Any:
        self.jobs += jobs
        return super().unordered(work, jobs)


@pytest.mark.parametrize(
    ("line", "of_set", "expected"),
    [(None, None, (300, None)), (None, 0.5, (0.5, None)), (1.0, 0.5, (1.0, None))],
)
def test_a_line_then_its_set_then_its_table_says_where_to_choose(
    line: float | None, of_set: float | None, expected: tuple[float, None]
) -> None:
    row = Row("P", "perceptron", {}, {"gamma": [100.0, 0.5]}, {}, validation=line)
    table, data_set = small("batch", row=row, validation=300, prefix=200)
    pool = Asked()
    (ours,) = runner.measure(table, replace(data_set, validation=of_set), 0, Lab(pool, Store()))
    assert isinstance(ours, Measured)
    assert ours.chosen == {"gamma": 0.5}
    assert [(job.validation, job.prefix) for job in pool.jobs] == [expected] * 2


def test_lines_chosen_on_held_out_rows_and_over_a_run_stand_in_one_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Row("H", "perceptron", {}, {"gamma": [100.0, 0.5]}, {}, validation=1.0)
    table, data_set = small("batch")
    data_set = replace(data_set, published=(held, replace(held, validation=None)))
    rows = noisy()
    monkeypatch.setattr(data, "permuted", lambda data_set, seed: rows)
    pool = Asked()
    given = runner.measure(table, data_set, 0, Lab(pool, Store()))
    assert [line.chosen for line in given if isinstance(line, Measured)] == [{"gamma": 0.5}] * 2
    assert [job.validation for job in pool.jobs] == [1.0, 1.0, None, None]


def test_a_part_of_the_rows_is_of_those_to_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    _, data_set = small()
    rows = noisy()
    monkeypatch.setattr(data, "permuted", lambda data_set, seed: rows)
    row = Row("P", "pegasos", {"gamma": 0.5, "regularization": "1/T"}, {}, {})
    part, number = (Run(data_set, row, {}, 0, validation=v).outcome() for v in (0.6, 300))
    model = budgetron.make("pegasos", gamma=0.5, regularization=1 / 240, random_state=0)
    model.fit(rows.X[:240], rows.y[:240])
    wrong = 100 * float(np.mean(model.predict(rows.X[240:300]) != rows.y[240:300]))
    assert part.value == number.value == wrong > 0
    assert Run(data_set, row, {}, 0, validation=1.0).outcome().value not in (wrong, 0.0)


def test_where_a_setting_was_chosen_is_no_part_of_a_finished_run() -> None:
    _, data_set = small()
    row = replace(data_set.published[0], validation=1.0)
    known = Run(data_set, data_set.published[0], {}, 0).key
    assert Run(replace(data_set, validation=0.01), row, {}, 0).key == known
    assert Run(data_set, row, {}, 0, validation=1.0).key != known


def test_formulas_are_in_the_length_of_the_stream_a_prefix_begins() -> None:
    _, data_set = small()
    row = Row("P", "pegasos", {"gamma": 0.5, "regularization": "1/T"}, {}, {})
    number = replace(row, params={"gamma": 0.5, "regularization": 1 / 600})
    formula, written = (Run(data_set, line, {}, 0, prefix=100).outcome() for line in (row, number))
    assert [point[:2] for point in formula.curve] == [point[:2] for point in written.curve]
    assert formula.curve[-1][0] == 100


@pytest.mark.long
def test_a_run_over_its_limit_is_stopped() -> None:
    slow = Row("S", "sgd", {"alpha": 1.0}, {}, {}, limit=0.3)
    data_set = Set("long", 2_000_000, flip=0.05)
    begun = time.monotonic()
    outcome = Run(data_set, slow, {}, 0).outcome()
    assert outcome == Outcome(None)
    assert time.monotonic() - begun < 30
    table, _ = small()
    data_set = replace(data_set, published=(slow,))
    text = report.markdown(table, [(data_set, [Measured({}, (outcome,))])])
    assert "| long | S |  | - | – | - | - |" in text


@pytest.mark.long
def test_a_limit_lets_quick_runs_and_errors_through() -> None:
    quick = Row("P", "perceptron", {"gamma": 0.5}, {}, {}, limit=60.0)
    outcome = Run(Set("noisy", 600, flip=0.05), quick, {}, 0).outcome()
    assert outcome.value is not None
    wrong = replace(quick, params={"gamma": -1.0})
    with pytest.raises(ValueError, match="gamma"):
        Run(Set("noisy", 600, flip=0.05), wrong, {}, 0).outcome()
    job = Run(Set("noisy", 600, flip=0.05), quick, {}, 0)
    with Workers(2) as pool:  # also where it is run by another process
        (found,) = [result for _, result in pool.unordered(Run.outcome, [job])]
    assert found.value == outcome.value


def lines(text: str, start: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith(start))


def test_report_says_what_was_not_run_and_why() -> None:
    table, data_set = small(protocol="batch")
    row = data_set.published[0]
    rows = (replace(row, seconds=5.0, reason="luck."), replace(row, not_run="too slow"))
    data_set = replace(data_set, published=rows)
    ours = Measured({}, (Outcome(5.0, 7, 0.5), Outcome(6.0, 7, 0.7)))
    results: report.Results = [
        (data_set, [ours, "too slow"]),
        (replace(data_set, name="b"), "gone"),
    ]
    text = report.markdown(replace(table, sets=(data_set,)), results)
    expected = (
        "| noisy | P |  | 10.00 ± 1.00 | 5.50 ± 0.71 (7) | -4.5 sd | worse | 5.00 | 0.60 | 2 |"
    )
    assert list(lines(text, "| noisy")) == [expected]
    assert "- **worse** noisy P: luck." in text
    assert list(lines(text, "- "))[-2:] == ["- noisy, P: too slow.", "- b: gone."]
    assert not report.unexplained(table, results)
