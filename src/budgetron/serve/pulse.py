"""How much a model does: rows and requests of each of the last seconds, and how long they took."""

from __future__ import annotations

from collections import deque
from typing import Any

SECONDS = 180
TIMES = 2048  # of the last requests


class Pulse:
    """Counts of the last seconds.

    Attributes
    ----------
    answered, learned : rows since the start
    """

    def __init__(self) -> None:
        self.answered = self.learned = 0
        self._times: deque[float] = deque(maxlen=TIMES)
        self._before = (0, 0)
        self.seconds: deque[list[float]] = deque(maxlen=SECONDS)

    def took(self, seconds: float, rows: int) -> None:
        """So many rows were answered in so long."""
        self.answered += rows
        self._times.append(seconds)

    def beat(self) -> None:
        """A second is over."""
        answered, learned = self.answered, self.learned
        rates = [answered - self._before[0], learned - self._before[1]]
        self._before = (answered, learned)
        self.seconds.append([*map(float, rates), *self.latency()])

    def latency(self) -> tuple[float, float]:
        """Median and 99th percentile of the last requests, in seconds; 0 before there was one."""
        times = sorted(self._times)
        if not times:
            return 0.0, 0.0
        return times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]

    def told(self) -> dict[str, Any]:
        """For the page: rates of the last ten seconds, and all seconds."""
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
