"""Units of the targets of a regression, which follow the stream, in plain NumPy.

    z = (y - m)/s, at most FARTHEST of either sign ;   the answer is m + s f(x)

m is the median of the kept targets, s is 1.4826 times the median |y - m| of those that differ from
m. This is our addition; see core/model/target_units.hpp for the rules and
docs/develop/decisions/0036 for the reasons.
"""

from __future__ import annotations

import numpy as np

KEPT = 200  # targets: the first so many, then ...
EVERY = 5  # ... every fifth, which replaces the oldest
LONGEST = 64  # most rows between two evaluations
FIRST = 4  # targets before there is an s
OFF = 1.5  # the factor by which s is off
FARTHEST = 20.0
FALL = 4.0  # if s later falls by this factor at once, |f| is at most 1
JUMP = 8  # targets in a row beyond FARTHEST
LEAST = 1e-60


class TargetUnits:
    """Centre m and scale s of the targets so far."""

    def __init__(self) -> None:
        self.centre, self.scale = 0.0, 1.0
        self.changes = 0
        self.largest = 0.0  # largest |f| since the last evaluation
        self.start_anew()

    def start_anew(self) -> None:
        self.kept: list[float] = []
        self.far = 0  # targets in a row beyond FARTHEST
        self.seen, self.known, self.off = 0, False, False

    def scaled(self, y: float) -> float:
        return float(np.clip((y - self.centre) / self.scale, -FARTHEST, FARTHEST))

    def learns(self) -> bool:
        """Whether the row of the last counted target should be learned."""
        return self.known and self.far < 2

    def count(self, y: float, f: float) -> float:
        """Count the target of a row whose answer was f; returns the factor for f."""
        self.largest = max(self.largest, abs(f))
        self.far = self.far + 1 if self.known and abs(self.scaled(y)) == FARTHEST else 0
        differs = not self.known and self.seen >= FIRST and y != self.centre
        if differs or self.far == JUMP:
            self.start_anew()
        self.seen += 1
        if self.seen <= KEPT:
            self.kept.append(y)
        elif (self.seen - KEPT - 1) % EVERY == 0:
            self.kept[(self.seen - KEPT - 1) // EVERY % KEPT] = y
        spacing = min(max(2 ** int(np.log2(self.seen)) // 8, 1), LONGEST)
        return self.look() if self.seen % spacing == 0 else 1.0

    def look(self) -> float:
        largest, self.largest = self.largest, 0.0
        targets = np.array(self.kept)
        self.centre = float(np.median(targets))
        others = targets[targets != self.centre]
        if others.size == 0 or self.seen < FIRST:
            return 1.0
        found = 1.4826 * float(np.median(np.abs(others - self.centre)))
        found = min(max(found, LEAST), 1 / LEAST)
        before, self.off = self.off, not self.scale / OFF <= found <= self.scale * OFF
        if self.known and not (self.off and (before or self.seen <= KEPT)):
            return 1.0
        self.known, self.off = True, False
        self.changes += 1
        factor, self.scale = self.scale / found, found
        if factor <= 1 or largest == 0:
            return factor
        wrong = factor >= FALL and self.seen > KEPT
        most = 1.0 if wrong else max(FARTHEST, largest)
        return min(factor, most / largest)
