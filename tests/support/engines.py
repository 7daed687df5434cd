"""Checks that every engine must pass: sweeps, shards, fleets, killed processes."""

from __future__ import annotations

import os
import signal
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import budgetron
from budgetron.cli._workers import Crew
from budgetron.engines.buckets import SpreadFleet
from budgetron.engines.protocol import Engine
from budgetron.evaluate.adapters import face
from budgetron.fleet import Fleet
from budgetron.lab.cells import Cell, Settings, finish, planned, setups
from budgetron.lab.rows import load
from budgetron.lab.store import Record, Store
from budgetron.lab.workers import Workers
from budgetron.streams import two_gaussians


def die_once(marker: str) -> int:
    """Kill the process, unless this was done before; returns the process that lives."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def count_of(values: Any) -> int:
    """The number of rows."""
    return len(values)


def die(_: Any = None) -> None:
    """Kill the process."""
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Mortal(Cell):
    """A cell whose process dies the first time, or each time if there is no marker."""

    marker: str = ""

    def run(self) -> Record:
        if self.marker:
            die_once(self.marker)
        else:
            die()
        return super().run()


@dataclass(frozen=True)
class Warned(Cell):
    """A cell that warns and then fails."""

    def run(self) -> Record:
        warnings.warn("beware", UserWarning, stacklevel=1)
        raise budgetron.BudgetronError("a mistake")


def cells(rows: int = 2000, repeats: int = 3) -> list[Cell]:
    """Cells of two learners on so many permutations of one stream."""
    (stream,) = load([("noisy", *two_gaussians(rows))])
    chosen = setups(["budgetron", "forgetron"], [20], "classification", {"gamma": 0.5}, {})
    return planned([(stream, chosen)], Settings(repeats=repeats, checkpoints=3))


def like(cell: Cell, kind: Any, **more: Any) -> Any:
    """The cell as one of another kind."""
    return kind(cell.rows, cell.setup, cell.repeat, cell.settings, **more)


def finished(pool: Workers, some: list[Cell]) -> tuple[dict[str, Record], list[str]]:
    """The stored results of cells, without times; and the failures."""
    store = Store()
    failures = finish(some, store, pool)
    records = {}
    for key in store:
        record = dict(store[key])
        record["checkpoints"] = [
            {name: value for name, value in each.items() if "seconds" not in name}
            for each in record["checkpoints"]
        ]
        records[key] = record
    return records, sorted(str(each) for each in failures)


def check_sweep(pool: Workers, folder: Path) -> None:
    """The same cells, to the bit, as in one process, one worker killed in the middle."""
    plain = cells()
    with Workers(1) as alone:
        expected, _ = finished(alone, plain)
    mortal = [like(plain[0], Mortal, marker=str(folder / "died")), *plain[1:]]
    found, failures = finished(pool, mortal)
    assert (folder / "died").exists()
    assert failures == []
    assert found == expected
    assert len(found) == len(plain)


def check_wrong_cells(pool: Workers) -> None:
    """A cell that kills every process, and one that warns and raises: the others finish."""
    plain = cells(repeats=2)
    found, failures = finished(pool, [like(plain[0], Mortal), like(plain[1], Warned), *plain[2:]])
    assert len(found) == len(plain) - 2
    assert failures == [
        "budgetron on noisy: its process died, each time it was tried",
        "forgetron on noisy: a mistake",
    ]
    assert pool.warnings["beware"] == 1


# ---- shards --------------------------------------------------------------------------------------


def frame(rows: int = 30_000, classes: int = 3) -> pd.DataFrame:
    """Rows whose third class comes late."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y[(X[:, 2] > 1) & (np.arange(rows) > rows // 2)] = classes - 1
    return pd.DataFrame(X, columns=list("abc")).assign(y=[f"class {each}" for each in y])


def model() -> Any:
    """The model that learns them."""
    return budgetron.make("budgetron", budget=40, random_state=0)


EVERY, WORKERS = 6_000, 3


def by_threads(table: pd.DataFrame) -> Any:
    """The model that `budgetron run --workers` would have."""
    learned = model()
    crew = Crew(learned, WORKERS, EVERY)
    try:
        faces = partial(face, task="classification", classes=None, growing=True)
        crew.test_then_train(faces, table[["a", "b", "c"]].to_numpy(), table["y"].to_numpy())
        crew.merge()
    finally:
        crew.close()
    assert crew.merges > 2
    return learned


def check_same_model(one: Any, other: Any, table: pd.DataFrame) -> None:
    """Equal to the bit: decisions and counts."""
    X = table[["a", "b", "c"]].to_numpy()
    assert one.n_seen_ == other.n_seen_ == len(table)
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_array_equal(_decided(one, X), _decided(other, X))


def _decided(learned: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no feature names
        return learned.decision_function(X)


# ---- fleets --------------------------------------------------------------------------------------

SETTINGS: dict[str, Any] = {
    "algorithm": "budgetron",
    "memory": "8MB",
    "classes": [0, 1],
    "shared": 20,
    "random_state": 0,
}


def keyed(rows: int = 4000) -> tuple[Any, Any, Any]:
    """Keys, rows and labels; half of the keys are reversed."""
    rng = np.random.default_rng(3)
    keys = np.array([f"key {each}" for each in rng.integers(0, 40, rows)])
    X = rng.normal(size=(rows, 2))
    odd = np.array([int(each[4:]) % 2 for each in keys])
    return keys, X, ((X[:, 0] > 0) ^ (odd == 1)).astype(int)


def check_fleet(engine: Engine, folder: Path, kill: Any) -> None:
    """Each bucket equals a fleet that had only its rows; a killed process loses nothing; `save`
    works.

    `kill` ends the process of one of the objects.
    """
    keys, X, y = keyed()
    buckets = 4
    part = Fleet(**{**SETTINGS, "memory": 2_000_000}).bucket_of(keys, buckets)
    alone = [Fleet(**{**SETTINGS, "memory": 2_000_000}) for _ in range(buckets)]
    expected = np.zeros(len(y))
    for start in range(0, len(y), 500):
        rows = np.arange(start, start + 500)
        for number, fleet in enumerate(alone):
            mine = rows[part[rows] == number]
            expected[mine] = fleet.prequential(keys[mine], X[mine], y[mine])
    with SpreadFleet(engine, buckets=buckets, actors=2, snapshot_rows=1200, **SETTINGS) as spread:
        found = []
        for start in range(0, 3000, 500):
            rows = slice(start, start + 500)
            if start == 2000:
                kill(spread)
            found.append(spread.prequential(keys[rows], X[rows], y[rows]))
        assert spread.restarts == 1
        spread.save(folder)
    with SpreadFleet.load(folder, engine, actors=3) as again:
        for start in range(3000, len(y), 500):
            rows = slice(start, start + 500)
            found.append(again.prequential(keys[rows], X[rows], y[rows]))
        np.testing.assert_array_equal(np.concatenate(found), expected)
        for number, data in again.to_bytes():
            assert data == alone[number].to_bytes()
        assert len(again) == sum(map(len, alone))
        answers = again.predict(keys[:50], X[:50])
        each = [alone[b].predict(keys[i : i + 1], X[i : i + 1])[0] for i, b in enumerate(part[:50])]
        assert answers.tolist() == each
