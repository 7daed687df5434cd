"""Counts and times for Prometheus; what a model knows of itself is read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from budgetron.serve.writer import Writer

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """All metrics of a server.

    Parameters
    ----------
    writers : of its models
    """

    def __init__(self, writers: Sequence[Writer]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter(
            "budgetron_http_requests",
            "Requests by what they ask and status.",
            ["verb", "code"],
            **own,
        )
        self.seconds = Histogram(
            "budgetron_http_request_seconds",
            "Time from a request to its answer.",
            ["verb"],
            buckets=SECONDS,
            **own,
        )
        self.group = Histogram(
            "budgetron_learn_group_rows", "Rows logged together.", ["model"], buckets=ROWS, **own
        )
        self.log_seconds = Histogram(
            "budgetron_log_write_seconds",
            "Time to have a group of rows in the log.",
            ["model"],
            buckets=SECONDS,
            **own,
        )
        self._registry.register(Models(writers))
        for writer in writers:
            name = writer.served.name
            group, took = self.group.labels(name), self.log_seconds.labels(name)

            def on_group(rows: int, seconds: float, group: Any = group, took: Any = took) -> None:
                group.observe(rows)
                took.observe(seconds)

            writer.on_group = on_group
        self._known: dict[tuple[str, int], tuple[Any, Any]] = {}

    def count(self, verb: str, code: int, seconds: float) -> None:
        """A request was answered."""
        known = self._known.get((verb, code))
        if known is None:
            known = self.requests.labels(verb, str(code)), self.seconds.labels(verb)
            self._known[verb, code] = known
        known[0].inc()
        known[1].observe(seconds)

    def text(self) -> bytes:
        """All of them as Prometheus reads them."""
        return generate_latest(self._registry)


class Models:
    """What models, logs and waiting rows say of themselves when they are asked."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = writers

    def collect(self) -> Iterator[Any]:
        """The families of metrics, each with a sample for every model."""
        found: dict[str, Any] = {}
        for writer in self._writers:
            for name, (text, value, total) in self._told(writer).items():
                kind = CounterMetricFamily if total else GaugeMetricFamily
                full = f"budgetron_{name}"
                if name not in found:
                    found[name] = kind(full, text, labels=["model"])
                found[name].add_metric([writer.served.name], value)
        yield from found.values()

    @staticmethod
    def _told(writer: Writer) -> dict[str, tuple[str, float, bool]]:
        stats, waiting, log = writer.served.stats(), writer.waiting, writer.log
        broken = writer.failing is not None
        return {
            "rows_learned": ("Rows the model has learned.", stats["rows"], True),
            "rows_answered": ("Rows answered.", stats["answered"], True),
            "rows_learned_here": ("Rows learned by this server.", stats["rows_here"], True),
            "loss": ("Mistakes, or absolute errors, here.", stats["loss_here"], True),
            "majority_loss": ("The same of the commonest label.", stats["majority_here"], True),
            "last_label_loss": ("The same of the last label.", stats["last_label_here"], True),
            "stored_examples": ("Examples the model stores.", stats["stored"], False),
            "memory_bytes": ("Bytes of the compiled model.", stats["memory_bytes"], False),
            "budget_bytes": ("The most it may take.", stats["budget_bytes"] or 0, False),
            "drifts": ("Changes of the stream it saw.", stats["drifts"], True),
            "unit_changes": ("Changes of its units.", stats["unit_changes"], True),
            "unread_cells": ("Cells that were not readable.", sum(stats["unread"].values()), True),
            "queued_rows": ("Rows that wait to be learned.", writer.queued, False),
            "repeated_requests": ("Retries of learned requests.", writer.repeats, True),
            "log_bytes": ("Bytes of the log.", 0 if log is None else log.bytes, False),
            "log_failing": ("1 while nothing can be learned.", broken, False),
            "checkpoint_failing": ("1 while none can be written.", bool(writer.stale), False),
            "checkpoints": ("Checkpoints written.", writer.checkpoints, True),
            "replayed_rows": ("Rows learned again at the start.", writer.replayed, True),
            "waiting_rows": ("Requests that wait for a label.", len(waiting), False),
            "waiting_bytes": ("Bytes of these.", waiting.bytes, False),
            "waiting_failing": ("1 while they are not written.", bool(waiting.failing), False),
            "waiting_matched": ("Requests whose label came.", waiting.matched, True),
            "waiting_unmatched": ("Labels without a row.", waiting.unmatched, True),
            "waiting_expired": ("Requests given up.", waiting.expired, True),
            "waiting_lost": ("Requests lost in a crash.", waiting.lost, True),
        }
