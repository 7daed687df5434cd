"""Counters and times for Prometheus; the values of a model are read on request."""

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
    writers : the writers of its models
    """

    def __init__(self, writers: Sequence[Writer]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter(
            "budgetron_http_requests",
            "Requests by verb and status.",
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
            "Time to log a group of rows.",
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
        """Count an answered request."""
        known = self._known.get((verb, code))
        if known is None:
            known = self.requests.labels(verb, str(code)), self.seconds.labels(verb)
            self._known[verb, code] = known
        known[0].inc()
        known[1].observe(seconds)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self._registry)


class Models:
    """Reads the values of models, logs and waiting rows on request."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = writers

    def collect(self) -> Iterator[Any]:
        """The families of metrics, each with one sample per model."""
        found: dict[str, Any] = {}
        for writer in self._writers:
            for name, (text, value, total) in self._values(writer).items():
                kind = CounterMetricFamily if total else GaugeMetricFamily
                full = f"budgetron_{name}"
                if name not in found:
                    found[name] = kind(full, text, labels=["model"])
                found[name].add_metric([writer.served.name], value)
        yield from found.values()

    @staticmethod
    def _values(writer: Writer) -> dict[str, tuple[str, float, bool]]:
        stats, waiting, log = writer.served.stats(), writer.waiting, writer.log
        broken = writer.failing is not None
        source = writer.source()
        fed: dict[str, tuple[str, float, bool]] = {}
        if source is not None:
            fed = {
                "source_rows": ("Rows learned from the source.", source["rows"], True),
                "source_bad": ("Bad messages of the source.", source["bad"], True),
                "source_failing": ("1 while it is not readable.", bool(source["problem"]), False),
            }
            if source["lag"] is not None:
                text = f"{source['unit'].capitalize()} waiting in the source."
                fed["source_lag"] = (text, source["lag"], False)
        return {
            **fed,
            "rows_learned": ("Rows the model has learned.", stats["rows"], True),
            "rows_answered": ("Rows answered.", stats["answered"], True),
            "rows_learned_here": ("Rows learned by this server.", stats["rows_here"], True),
            "loss": ("Mistakes, or absolute errors, here.", stats["loss_here"], True),
            "majority_loss": ("Loss of the most frequent label.", stats["majority_here"], True),
            "last_label_loss": ("Loss of the last label.", stats["last_label_here"], True),
            "stored_examples": ("Examples the model stores.", stats["stored"], False),
            "memory_bytes": ("Bytes of the compiled model.", stats["memory_bytes"], False),
            "budget_bytes": ("Its limit in bytes, 0 if none.", stats["budget_bytes"] or 0, False),
            "drifts": ("Drifts that the model detected.", stats["drifts"], True),
            "unit_changes": ("Changes of the feature units.", stats["unit_changes"], True),
            "unread_cells": ("Cells that were not readable.", sum(stats["unread"].values()), True),
            "queued_rows": ("Rows that wait to be learned.", writer.queued, False),
            "repeated_requests": ("Retries of learned requests.", writer.repeats, True),
            "log_bytes": ("Bytes of the log.", 0 if log is None else log.bytes, False),
            "log_failing": ("1 while nothing can be learned.", broken, False),
            "checkpoint_failing": ("1 while none is written.", bool(writer.stale), False),
            "checkpoints": ("Checkpoints written.", writer.checkpoints, True),
            "replayed_rows": ("Rows learned again at the start.", writer.replayed, True),
            "waiting_rows": ("Requests that wait for a label.", len(waiting), False),
            "waiting_labels": ("Labels that wait for a row.", waiting.labels, False),
            "waiting_bytes": ("Bytes of all that waits.", waiting.size, False),
            "waiting_failing": ("1 while these are not written.", bool(waiting.failing), False),
            "waiting_matched": ("Requests whose label came.", waiting.matched, True),
            "waiting_unmatched": ("Labels without a row.", waiting.unmatched, True),
            "waiting_expired": ("Requests whose time ran out.", waiting.expired, True),
            "waiting_lost": ("Requests lost in a crash.", waiting.lost, True),
        }
