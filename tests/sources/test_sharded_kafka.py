"""A topic learned by one process per partition: the same result each time, also after kills."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from budgetron.cli import _sharded
from budgetron.sources.protocol import Address
from tests.support.killed_runs import call, killed, result_of, same
from tests.support.messages import json_messages

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("confluent_kafka") is None, reason="takes confluent-kafka"
    ),
    pytest.mark.xdist_group("kafka"),
]

ROWS = 11_000  # 7,000 of them are learned before there are processes
BAD = range(50, ROWS, 997)  # places of messages that are no rows
SETTINGS = ["--algorithm", "budgetron", "--budget", "20", "--seed", "3", "--json"]
SHARDED = ["--workers", "2", "--merge-every", "1000", "--rows", str(ROWS)]


@pytest.fixture(scope="module")
def cluster() -> Any:
    from tests.support.kafka_cluster import Cluster

    held = Cluster()
    messages = json_messages(ROWS)
    for at in BAD:
        messages[at] = b"no row"
    held.send("rows", ((at % 4, each) for at, each in enumerate(messages)))
    more = json_messages(len(BAD))
    held.send("rows", ((at % 4, each) for at, each in enumerate(more)))
    return held


@pytest.mark.long
def test_two_runs_are_one_and_a_process_that_dies_is_repeated(
    cluster: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["run", f"kafka://{cluster.address}/rows", *SETTINGS, *SHARDED]
    models = [tmp_path / name for name in ("a.btn", "b.btn")]
    one = result_of([*command, "--save", str(models[0])], capsys)
    assert (one["rows"], one["bad_lines"]) == (ROWS, len(BAD))
    shards: list[Any] = []
    rounds = _sharded.Shards.learn

    def learn(self: Any, *given: Any) -> Any:
        shards.append(self)
        if len(shards) == 3:
            threading.Timer(0.0, os.kill, (self.each[0].process.pid, signal.SIGKILL)).start()
        return rounds(self, *given)

    monkeypatch.setattr(_sharded.Shards, "learn", learn)
    other = result_of([*command, "--save", str(models[1])], capsys)
    assert len(shards) > 3
    assert shards[0].restarts == 1
    assert same(one, other)
    assert models[0].read_bytes() == models[1].read_bytes()


@pytest.mark.long
def test_a_run_that_is_killed_goes_on(cluster: Any, tmp_path: Path, capsys: Any) -> None:
    kept, models = tmp_path / "kept.btn", [tmp_path / name for name in ("a.btn", "b.btn")]
    common = ["run", f"kafka://{cluster.address}/rows", *SETTINGS, *SHARDED]
    resumable = [*common, "--checkpoint", str(kept), "--every", "1000", "--save", str(models[0])]
    assert killed(resumable, kept, 1) == 1
    resumed = result_of(resumable, capsys)
    assert 0 < resumed["resumed_from"] < ROWS
    whole = result_of([*common, "--save", str(models[1])], capsys)
    assert same(resumed, whole)
    assert models[0].read_bytes() == models[1].read_bytes()


@pytest.mark.long
def test_a_topic_that_ends_is_learned_to_its_end(cluster: Any, capsys: Any) -> None:
    cluster.send("uneven", ((0, each) for each in json_messages(8000)))
    cluster.send("uneven", ((3, each) for each in json_messages(300)))
    command = ["run", f"kafka://{cluster.address}/uneven", *SETTINGS, "--idle", "0.5"]
    found = result_of([*command, "--workers", "4", "--merge-every", "1000"], capsys)
    assert found["rows"] == 8300


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workers", "5"], "--workers 5: the topic has 4 partitions"),
        (["--workers", "2", "--out", "answers"], "--out does not work with --workers"),
        (["--workers", "2", "-a", "avm"], "--workers 2: AVMClassifier cannot be merged"),
    ],
)
def test_what_does_not_go_is_one_line(
    cluster: Any, capsys: Any, monkeypatch: Any, tmp_path: Path, more: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    words = ["run", f"kafka://{cluster.address}/rows", "--rows", "8000", "--budget", "20"]
    assert call([*words, *more]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.mark.parametrize("most", [7, 640])
def test_the_mark_behind_any_message_goes_on_there(cluster: Any, most: int) -> None:
    from budgetron.sources.kafka import KafkaTopic

    def topic() -> Any:
        return KafkaTopic(Address.of(f"kafka://{cluster.address}/rows"))

    source = topic()
    batches = []
    until = time.monotonic() + 10
    while sum(len(each.values) for each in batches) < 2500 and time.monotonic() < until:
        batches.append(source.read(most, 1.0))
    source.close()
    values = [value for each in batches for value in each.values]
    before = 0
    for batch in batches[:: max(1, len(batches) // 4)]:
        before = sum(len(each.values) for each in batches[: batches.index(batch)])
        for count in {0, 1, len(batch.values) // 2, len(batch.values)}:
            again = topic()
            again.seek(batch.where.mark(count))
            found: list[bytes] = []
            while len(found) < 600:
                found += again.read(600 - len(found), 1.0).values
            again.close()
            assert found[:500] == values[before + count :][:500] or before + count > 2000
