"""The load of a model: rows and requests in each recent second, and their latency."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

SECONDS = 180
TIMES = 2048  # number of recent requests whose latency is kept
LATELY = 0.25  # seconds


class Pulse:
    """Counts of recent seconds.

    Attributes
    ----------
    answered, learned : rows since the start
    """

    def __init__(self) -> None:
        self.answered = self.learned = 0
        self._times: deque[float] = deque(maxlen=TIMES)
        self._before = (0, 0)
        self._asked = -LATELY
        self.seconds: deque[list[float]] = deque(maxlen=SECONDS)

    def took(self, seconds: float, rows: int) -> None:
        """Count rows that were answered in so many seconds."""
        self.answered += rows
        self._times.append(seconds)
        self._asked = time.monotonic()

    def asked_lately(self) -> bool:
        """Whether a request is likely just now."""
        return time.monotonic() - self._asked < LATELY

    def beat(self) -> None:
        """End a second."""
        answered, learned = self.answered, self.learned
        rates = [answered - self._before[0], learned - self._before[1]]
        self._before = (answered, learned)
        self.seconds.append([*map(float, rates), *self.latency()])

    def latency(self) -> tuple[float, float]:
        """Median and 99th percentile of recent latencies, in seconds; 0 before any request."""
        times = sorted(self._times)
        if not times:
            return 0.0, 0.0
        return times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]

    def summary(self) -> dict[str, Any]:
        """For the page: rates over the last ten seconds, and every second."""
        last = list(self.seconds)[-10:]
        n = max(len(last), 1)
        median, slow = self.latency()
        return {
            "answered_per_second": sum(each[0] for each in last) / n,
            "learned_per_second": sum(each[1] for each in last) / n,
            "latency_p50": median,
            "latency_p99": slow,
            "seconds": [[float(f"{x:.4g}") for x in each] for each in self.seconds],
        }
