"""Ray: cells, shards, fleets and scores as in one process; workers that die."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest

import budgetron.ray
from budgetron import BudgetronError
from budgetron.engines.ray_engine import RayEngine
from budgetron.lab.workers import Workers
from budgetron.scoring import Scorer
from tests.support import engines


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    opened = RayEngine.opened(None, 2)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return engines.frame()


def test_a_sweep_is_that_of_one_process_though_a_worker_dies(
    engine: RayEngine, tmp_path: Path
) -> None:
    with Workers(backend="ray") as pool:
        assert pool.count == 2
        engines.check_sweep(pool, tmp_path)


def test_the_backend_passed_to_joblib_is_used(engine: RayEngine) -> None:
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config("ray"), Workers() as pool:
        engines.check_wrong_cells(pool)
    assert engine.count == 2


def test_the_command_finds_the_same_on_a_cluster(engine: RayEngine) -> None:
    import ray

    words = ["tune", "synthetic:sea,rows=900", "-a", "forgetron", "--grid", "gamma=0.1,1,10"]
    words += ["--budget", "20", "--json"]
    there = ["--backend", "ray", "--address", ray.get_runtime_context().gcs_address]
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


def test_a_model_in_shards_is_that_of_threads(engine: RayEngine, table: pd.DataFrame) -> None:
    import ray

    blocks = [table[:11_000], table[11_000:11_500], table[11_500:]]
    learned = budgetron.ray.train(
        engines.model(),
        ray.data.from_pandas(blocks),
        "y",
        workers=engines.WORKERS,
        merge_every=engines.EVERY,
    )
    engines.check_same_model(learned, engines.by_threads(table), table)


def test_a_column_that_is_not_there_is_a_mistake(engine: RayEngine, table: pd.DataFrame) -> None:
    import ray

    with pytest.raises(BudgetronError, match="the table has no column 'label'"):
        budgetron.ray.train(engines.model(), ray.data.from_pandas(table), "label")


def test_a_task_whose_process_dies_is_run_again(engine: RayEngine, tmp_path: Path) -> None:
    kept = engine.put([1, 2])
    task = engine.submit(engines.die_once, str(tmp_path / "died"))
    assert engine.result(task) > 0
    assert engine.result(engine.submit(engines.count_of, kept)) == 2


def test_a_large_table_is_scored_where_it_is(engine: RayEngine, table: pd.DataFrame) -> None:
    import ray

    learned = engines.model().fit(table[["a", "b", "c"]][:2000], table["y"][:2000])
    scorer = Scorer(learned, probabilities=True, keep=["a"])
    found = ray.data.from_pandas(table).map_batches(scorer, batch_format="pandas").to_pandas()
    pd.testing.assert_frame_equal(
        found.sort_values("a", ignore_index=True),
        scorer(table).sort_values("a", ignore_index=True),
        check_dtype=False,
        check_column_type=False,
    )


def test_a_fleet_in_actors_is_that_of_its_buckets(engine: RayEngine, tmp_path: Path) -> None:
    def kill(spread: Any) -> None:
        """Kill the process of the first actor."""
        import ray

        ray.kill(spread._holders[0])

    engines.check_fleet(engine, tmp_path, kill)
