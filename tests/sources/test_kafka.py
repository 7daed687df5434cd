"""Kafka: a fixed order over partitions, places in it, and a server that goes away."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import threading
import time
from typing import Any

import pytest

from budgetron.sources.protocol import Address, Gone
from budgetron.streams.base import StreamError
from tests.support.killed_runs import call
from tests.support.messages import SETTINGS, json_messages, objects, rows_of

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("confluent_kafka") is None, reason="takes confluent-kafka"
    ),
    pytest.mark.xdist_group("kafka"),
]


@pytest.fixture(scope="module")
def cluster() -> Any:
    from tests.support.kafka_cluster import Cluster

    held = Cluster()
    held.send("a", [(0, b"there")])
    return held


def topic_of(cluster: Any, name: str, more: str = "") -> Any:
    from budgetron.sources.kafka import KafkaTopic

    return KafkaTopic(Address.of(f"kafka://{cluster.address}/{name}{more}"))


def all_of(source: Any, most: int) -> tuple[list[bytes], list[dict[str, Any]]]:
    """All messages that are there, and the mark behind every batch."""
    values, marks = [], []
    while (batch := source.read(most, 1.0)).values:
        values += batch.values
        marks.append((len(values), json.loads(json.dumps(batch.mark))))
    return values, marks


def by_turns(of: dict[int, list[bytes]], turn: int) -> list[bytes]:
    """The documented order, computed in another way."""
    left = {number: list(each) for number, each in sorted(of.items())}
    found: list[bytes] = []
    while any(left.values()):
        for each in left.values():
            found += each[:turn]
            del each[:turn]
    return found


def test_partitions_take_turns_whatever_comes_first(cluster: Any) -> None:
    from budgetron.sources.kafka import TURN

    of = {
        number: [f"{number}.{i}".encode() for i in range(count)]
        for number, count in {0: 1700, 1: 200, 2: 0, 3: 1100}.items()
    }
    for number in (3, 0, 1):
        cluster.send("turns", ((number, each) for each in of[number]))
    wanted = by_turns(of, TURN)
    source = topic_of(cluster, "turns")
    values, marks = all_of(source, 333)
    assert values == wanted
    assert source.lag == 0
    source.close()
    for count, mark in (marks[0], marks[2], marks[-2]):
        source = topic_of(cluster, "turns")
        source.seek(mark)
        assert all_of(source, 1000)[0] == wanted[count:]
        source.close()


def test_strict_order_waits_for_a_partition_without_messages(cluster: Any) -> None:
    cluster.send("strict", [(number, b"a") for number in (0, 1, 3) for _ in range(600)])
    source = topic_of(cluster, "strict", "?order=strict")
    assert len(all_of(source, 100)[0]) == 1000  # turns of 0 and 1; then 2 has none
    source.close()


def test_some_partitions_and_the_end(cluster: Any) -> None:
    cluster.send("some", [(number, f"{number}".encode()) for number in (0, 1, 2, 3)])
    source = topic_of(cluster, "some", "?partitions=3,1")
    assert all_of(source, 10)[0] == [b"1", b"3"]
    source.close()
    source = topic_of(cluster, "some", "?from=end")
    assert all_of(source, 10)[0] == []
    cluster.send("some", [(2, b"later")])
    batch = source.read(10, 10.0)
    assert batch.values == [b"later"]
    assert batch.where(0) == "2:1"
    source.close()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("?partitions=9", "partitions are 0, 1, 2, 3, not 9"),
        ("?from=middle", "from must be start or end, not 'middle'"),
        ("/b", "has no topic"),
    ],
)
def test_what_makes_no_sense_is_refused(cluster: Any, more: str, says: str) -> None:
    with pytest.raises(StreamError, match=says):
        topic_of(cluster, "a", more)


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from budgetron.sources import kafka

    monkeypatch.setattr(kafka, "CALLING", 0.2)
    for make in (kafka.KafkaTopic, kafka.KafkaAnswers):
        with pytest.raises(StreamError, match="start the server, or choose another"):
            make(Address.of("kafka://127.0.0.1:1/a"))


def test_a_place_that_is_no_place(cluster: Any) -> None:
    source = topic_of(cluster, "a")
    for mark in ({}, {"offsets": {"0": "x"}, "turn": [0, 0]}, {"offsets": {}, "turn": [0, 1]}):
        with pytest.raises(StreamError, match="the checkpoint has no position in it"):
            source.seek(mark)
    with pytest.raises(StreamError, match="its partitions were 0, 1 at the checkpoint"):
        source.seek({"offsets": {"0": 1, "1": 1}, "turn": [0, 1]})
    source.seek({"offsets": {"0": 10**6, "1": 0, "2": 0, "3": 0}, "turn": [0, 0]})
    with pytest.raises(StreamError, match="offset 1000000 of partition 0 does not exist"):
        _ = [source.read(10, 1.0) for _ in range(30)]  # it is said when the server comes to it
    source.close()


def hold(pipe: Any, count: int) -> None:
    """In a process: a cluster with so many messages, until it is killed."""
    from tests.support.kafka_cluster import Cluster

    cluster = Cluster()
    cluster.send("rows", ((i % 3, each) for i, each in enumerate(json_messages(count))))
    pipe.send(cluster.address)
    time.sleep(60)


@pytest.mark.long
def test_a_server_that_is_killed_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(there, 1100))
    process.start()
    name = f"kafka://{here.recv()}/rows"
    told: list[str] = []
    from budgetron.sources import kafka
    from budgetron.sources.messages import Live
    from budgetron.streams import open_stream

    answers = kafka.KafkaAnswers(Address.of(f"{name}-said"))
    answers.write([("c1", b"{}")])
    answers.flush()
    with open_stream(name, live=Live(idle=3.0, tell=told.append), ids=False) as stream:
        rows = 0
        while rows < 1100:
            chunk = stream.next_chunk(2000)
            assert chunk is not None
            rows += len(chunk[1])
        process.kill()
        process.join()
        assert list(stream) == []
    monkeypatch.setattr(kafka, "CALLING", 0.5)
    answers.write([("c2", b"{}")])
    with pytest.raises(Gone):
        answers.flush()
    [line] = told
    assert line.startswith(f"{name}: not reachable (")
    assert line.endswith("): waiting for it")


def test_a_server_that_comes_back_is_read_on(cluster: Any) -> None:
    """It goes away while rows are read, and while answers are sent; nothing is lost or repeated."""
    from budgetron.sources.kafka import KafkaAnswers
    from budgetron.sources.messages import Live
    from budgetron.streams import open_stream
    from tests.support.kafka_proxy import Proxy

    messages = json_messages(3000)
    cluster.send("away", ((i % 3, each) for i, each in enumerate(messages[:1500])))
    proxy = Proxy(cluster.address)
    name = f"kafka://{proxy.address}/away"
    answers = KafkaAnswers(Address.of(f"kafka://{proxy.address}/away-said"))
    told: list[str] = []
    came: list[Any] = []
    with open_stream(name, live=Live(idle=20.0, tell=told.append), ids=False) as stream:
        for _ in range(2):
            while stream.position < 1500 * (1 + len(told) // 2):
                X, _ = stream.next_chunk(400)
                came += X.tolist()
            if len(told) == 2:
                break
            proxy.stop()
            cluster.send("away", ((i % 3, each) for i, each in enumerate(messages[1500:])))
            answers.write([("c1", b"{}")])
            back = threading.Timer(1.5, proxy.start)
            back.start()
            X, _ = stream.next_chunk(400)  # waits for it
            came += X.tolist()
            back.join()
    answers.flush()
    assert [each.partition(": ")[2].split(" ")[0] for each in told] == ["not", "back"], told
    rows = {tuple(each) for each in came}
    assert len(came) == 3000
    wanted = {tuple(row[f"x{j}"] for j in range(4)) for row in objects(3000)}
    assert {tuple(round(float(v), 4) for v in each) for each in rows} == wanted
    source = topic_of(cluster, "away-said")
    assert all_of(source, 10)[0] == [b"{}"]
    source.close()
    proxy.stop()


def test_no_server_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    from budgetron.sources import kafka

    before, kafka.CALLING = kafka.CALLING, 1.0
    try:
        assert call(["run", "kafka://127.0.0.1:1/rows", *SETTINGS]) == 2
    finally:
        kafka.CALLING = before
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("budgetron: kafka://127.0.0.1:1/rows: ")


def test_csv_and_rows(cluster: Any) -> None:
    cluster.send("csv", [(0, b"1,2,a"), (0, b"3,4,b"), (1, b"5,6,a"), (2, b"7,8")])
    X, y, stream = rows_of(
        f"kafka://{cluster.address}/csv", format="csv", label=2, header=False, idle=1.0
    )
    assert X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (y, stream.n_bad) == (["a", "b", "a"], 1)
    assert stream.lag == "lag 0 messages"
