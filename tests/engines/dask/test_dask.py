"""Dask: cells, shards, fleets and scores as in one process; workers that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest

import budgetron.dask
from budgetron import BudgetronError
from budgetron.engines.dask_engine import DaskEngine
from budgetron.lab.workers import Workers
from budgetron.scoring import Scorer
from tests.support import engines


class Clusters:
    """Clusters of two workers, one after the other.

    Dask restarts a worker that died, but not one that died while it was started: then the next test
    gets a new cluster.
    """

    def __init__(self) -> None:
        self.client: Any = None
        self._cluster: Any = None

    def whole(self) -> Any:
        """A client whose two workers are there."""
        import distributed

        if self.client is not None:
            try:
                self.client.wait_for_workers(2, timeout=20)
            except TimeoutError:
                self.close()
        if self.client is None:
            self._cluster = distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
            )
            self.client = distributed.Client(self._cluster)
            self.client.wait_for_workers(2, timeout=300)
        return self.client

    def close(self) -> None:
        """End the client and its cluster."""
        if self.client is not None:
            self.client.close()
            self._cluster.close()
        self.client = self._cluster = None


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    made = Clusters()
    yield made
    made.close()


@pytest.fixture
def client(clusters: Clusters) -> Any:
    return clusters.whole()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return engines.frame()


def test_a_sweep_is_that_of_one_process_though_a_worker_dies(client: Any, tmp_path: Path) -> None:
    with Workers(backend="dask", address=client.scheduler.address) as pool:
        assert pool.count == 2
        engines.check_sweep(pool, tmp_path)


def test_the_client_passed_to_joblib_is_used(client: Any) -> None:
    with joblib.parallel_config("dask"), Workers() as pool:
        engines.check_wrong_cells(pool)
    assert client.status == "running"


def test_the_command_finds_the_same_on_a_cluster(client: Any) -> None:
    words = ["tune", "synthetic:sea,rows=900", "-a", "forgetron", "--grid", "gamma=0.1,1,10"]
    words += ["--budget", "20", "--json"]
    there = ["--backend", "dask", "--address", client.scheduler.address]
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "budgetron", *words, *more],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for more in (["--processes", "1"], there)
    ]
    assert found[0] == found[1]


def test_no_server_at_an_address_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetron.engines.dask_engine.CALLING", 1)
    with pytest.raises(BudgetronError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        DaskEngine.opened("tcp://127.0.0.1:9", None)


@pytest.mark.parametrize("partitions", [1, 7])
def test_a_model_in_shards_is_that_of_threads(
    client: Any, table: pd.DataFrame, partitions: int
) -> None:
    import dask.dataframe as dd

    learned = budgetron.dask.train(
        engines.model(),
        dd.from_pandas(table, npartitions=partitions),
        "y",
        workers=engines.WORKERS,
        merge_every=engines.EVERY,
        client=client,
    )
    engines.check_same_model(learned, engines.by_threads(table), table)


def test_a_task_whose_process_dies_is_run_again(client: Any, tmp_path: Path) -> None:
    engine = DaskEngine(client)
    kept = engine.put([1, 2])
    task = engine.submit(engines.die_once, str(tmp_path / "died"))
    assert engine.result(task) > 0
    assert engine.result(engine.submit(engines.count_of, kept)) == 2


def test_a_large_table_is_scored_where_it_is(client: Any, table: pd.DataFrame) -> None:
    import dask.dataframe as dd

    learned = engines.model().fit(table[["a", "b", "c"]][:2000], table["y"][:2000])
    scorer = Scorer(learned, probabilities=True, keep=["a"])
    found = dd.from_pandas(table, npartitions=5).map_partitions(scorer, meta=scorer(table[:0]))
    pd.testing.assert_frame_equal(
        found.compute(), scorer(table), check_dtype=False, check_column_type=False
    )


def test_a_fleet_in_actors_is_that_of_its_buckets(client: Any, tmp_path: Path) -> None:
    def kill(spread: Any) -> None:
        """Kill the process of the first actor, and wait until the scheduler has noticed."""
        address = next(iter(client.who_has([spread._holders[0]]).values()))[0]
        os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        until = time.monotonic() + 60
        while address in client.nthreads() and time.monotonic() < until:
            time.sleep(0.1)

    engines.check_fleet(DaskEngine(client), tmp_path, kill)
