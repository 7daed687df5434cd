"""A Kafka server for tests: librdkafka's mock cluster, in this process or in one that is killed.

A producer hosts it; `address` is its address. It has four partitions per topic, creates topics when
they are first used, and supports producers and consumers without groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Cluster:
    """A mock cluster that lives as long as this object."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._producer: Any = Producer(
            {"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0}
        )
        [broker] = self._producer.list_topics(timeout=10).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def send(self, topic: str, messages: Iterable[tuple[int, bytes]]) -> None:
        """Put messages into partitions."""
        for partition, value in messages:
            while True:
                try:
                    self._producer.produce(topic, value, partition=partition)
                    break
                except BufferError:
                    self._producer.poll(0.05)
        self._producer.flush()
