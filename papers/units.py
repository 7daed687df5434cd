"""Units that follow the stream: the rule of scale="auto", in plain Python.

    z = clip((x - c)/s, 4)        c, s: centre and size of the feature, its current unit

A value NaN is missing: the mean of the feature over all rows replaces it, and nothing changes.

core/model/units.hpp is the same rule, compiled; its head comment explains each number. This is our
addition; the measurements are in docs/develop/decisions/0037.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, inf, sqrt

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

KEPT = 200  # rows with which units start
FAR = 8.0  # deviations; a farther value counts as this far
SPARSE_FAR = 4.0  # the same for a feature that is 0 in most rows
CLIP = 4.0  # units; coordinates are clipped to this distance from the centre
CHECK = 100  # rows
BLOCK = 10  # values that a block needs
OFF, CENTRE_OFF = 1.5, 2.0  # a unit is off by this factor, its centre by this many units
RUNNING, RUNNING_DOWN = 2, 3  # checks in a row
UP, DOWN, FAR_DOWN, ASIDE = 4.0, 0.1, 0.01, 3.0  # a jump
BEFORE = 3.9  # units from the centre: stored before the jump
# Squared: a step is by the first and leaves the range so far by the second.
STEP, BEYOND = 2.25, 1.5
MOVED = 1.5  # deviations
STEP_CHECKS, WIDE_CHECKS = 3, 5
TOGETHER = 1.25  # growth of all sizes by one factor is by more than this
COUNTABLE = 1e152  # squares of larger numbers overflow
COMMON_OFF, WIDTH_OFF = 30.0, 4.0  # of the size of an even stream
LARGEST, SMALLEST = 1e12, 1e-12  # deviation of an even stream
ABOVE, BELOW, FEW = 2.0, 2.5, 16  # distance from the median one; features per smaller one
FARTHEST = 1000.0  # a mean's distance from 0, in deviations of all features
STANDARD = 4.0  # no deviation of standardised features exceeds it
ALL_ROWS, EVERY = 1000, 8  # rows that are all counted; then one in this many
RARE, RARER = 0.01, 0.008  # share of rows below which a feature is rare, and becomes rare again
SORTED_ROWS, TREND, TREND_LEFT, MOST_TREND = 16, 10, 3, 12  # rows; checks
WIDE = 4.0  # factor by which the unit of a trend is wider
CHANGES, CHANGE_EVERY = 10, 2000  # changes at once; rows per change in the long run
PAIRS, FEWEST = 1024, 20  # of stored examples, for gamma


@dataclass
class Unit:
    """A centre and a size; size inf: no unit, and the centre is the constant."""

    centre: float = 0.0
    size: float = inf


@dataclass
class Feature:
    """Statistics of one feature; only nonzero values change them."""

    weight: float = 0.0  # R, the sum of the numbers of their rows
    recent: float = 0.0  # Q, the same since the last jump
    mean: float = 0.0
    square: float = 0.0
    block: list[float] = field(default_factory=list)
    far: int = 0
    mean_before: float = 0.0  # of the block before
    size_before: float = -1.0
    values: list[float] = field(default_factory=list)  # different ones, up to three
    up: int = 0  # checks in a row
    down: int = 0
    wait: int = 0
    jump: str = ""
    jump_age: int = 0  # checks
    rare: bool = True  # it uses the shared unit
    low: float = inf  # range of the means of all blocks
    high: float = -inf
    rising: int = 0  # checks at which its block was above the range, or below
    falling: int = 0
    trend: bool = False
    in_force: Unit = field(default_factory=Unit)
    own: Unit = field(default_factory=Unit)  # at the last change
    next: Unit = field(default_factory=Unit)  # at the last check


@dataclass
class Pace:
    """How wide blocks are relative to the statistics: the ratio of variances, middle feature."""

    low: float = 1.0  # range of the paces that were no step
    high: float = 1.0
    last: float = 1.0  # at the last check
    kind: str = ""  # what the last check found,
    running: int = 0  # and how many checks in a row
    wide: int = 0  # checks in a row that are wider, whatever the range


class Units:
    """The units of all features.

    Parameters
    ----------
    width : number of features
    centres : whether the kernel is a distance
    """

    def __init__(self, width: int, centres: bool = True) -> None:
        self.features = [Feature(in_force=Unit(0.0, 1.0)) for _ in range(width)]
        self.centres, self.uneven = centres, False
        self.t, self.total = 0, 0.0
        self.shared, self.shared_next = inf, inf  # size of the unit of rare features
        self.credit, self.off, self.changes = CHANGES * CHANGE_EVERY, 0, 0
        self.reference = self.common = self.largest = self.middle = self.farthest = 0.0
        self.converts, self.turns, self.varying = False, False, 0
        self.pace = Pace()
        self.rounds = 0  # the last so many rounds already use the new units
        self.least_squared = 0.0  # lower bound of the median squared distance between rows

    # ---- rows ------------------------------------------------------------------------------------

    def transform(self, x: Vector) -> Vector:
        """A row in the current units."""
        return np.array([self.coordinate(f, v) for f, v in zip(self.features, x, strict=True)])

    def coordinate(self, f: Feature, x: float) -> float:
        if np.isnan(x):
            x = min(1.0, f.weight / self.total) * f.mean if f.values else 0.0
        unit = f.in_force if f.values or not self.uneven else Unit(0.0, self.shared)
        if unit.size == inf:
            return 0.0
        z = (x - unit.centre) / unit.size
        return min(max(z, -CLIP), CLIP) if self.uneven else z

    def start(self, rows: Vector) -> None:
        """Start with these rows: robust statistics, and the units that follow from them."""
        changes = self.changes
        self.__init__(len(self.features), self.centres)  # type: ignore[misc]
        self.changes, self.t = changes, len(rows)
        self.total = self.t * (self.t + 1) / 2
        for f, column in zip(self.features, rows.T, strict=True):
            number, missing = np.arange(1.0, self.t + 1), np.isnan(column)
            f.weight = f.recent = float(number[~missing & (column != 0)].sum())
            if missing.any():
                known = float(number[~missing].sum())
                f.weight = f.weight / known * self.total if known else self.total
            x = column[~missing & (column != 0)]
            for value in x:
                note_value(f, value)
            if x.size:
                f.mean, f.square = robust_moments(x)
                f.rare = f.weight / self.total < RARE
            if len(x) == (~missing).sum() >= SORTED_ROWS and len(f.values) > 2:
                up, down = (np.diff(x) > 0).sum(), (np.diff(x) < 0).sum()
                f.rising = TREND if down == 0 and 2 * up >= len(x) else 0
                f.falling = TREND if up == 0 and 2 * down >= len(x) else 0
                f.trend = max(f.rising, f.falling) > 0
        self.settle()

    def survey(self, rows: Vector) -> None:
        """The first pass of `fit`, over all its rows in a random order: finds the units of all."""
        self.start(rows[:KEPT])
        for x in rows[KEPT:]:
            self.t += 1
            self.add(x, self.t)
        for f in self.features:
            f.block, f.far, f.mean_before, f.size_before = [], 0, 0.0, -1.0
            f.rare = not f.values or min(1.0, f.weight / self.total) < RARE
        self.settle()

    def settle(self) -> None:
        self.find_units()
        self.shared = self.shared_next
        self.uneven = self.sizes_differ() or any(f.trend for f in self.features)
        for f in self.features:
            f.own = f.next
            constant = self.centres and self.different(f) < 2 and f.values
            f.in_force = f.next if self.uneven or constant else Unit(0.0, 1.0)
        self.reference = self.common

    def count(self, x: Vector) -> bool:
        """Count a row; True if units must change: call `convert` and then `commit`."""
        self.t += 1
        self.credit = min(self.credit + 1, CHANGES * CHANGE_EVERY)
        if counted(self.t):
            self.add(x, self.weight())
        return self.t % CHECK == 0 and self.check()

    def add(self, x: Vector, weight: float) -> None:
        self.total += weight
        for f, value in zip(self.features, x, strict=True):
            if not f.values and f.weight < self.total - weight:
                f.weight = 0.0  # it was missing at first, and then 0
            if np.isnan(value):
                self.hold(f, weight)
            elif value != 0:
                self.update(f, float(value), weight)

    def hold(self, f: Feature, weight: float) -> None:
        """A value is missing: its share of nonzero rows does not change."""
        if f.weight > 0:
            share = f.weight / (self.total - weight)
            f.weight = f.weight + share * weight if f.values else self.total

    def weight(self) -> float:
        return float(self.t * (EVERY if self.t > ALL_ROWS else 1))

    def update(self, f: Feature, x: float, weight: float) -> None:
        begins = not f.values
        note_value(f, x)
        if begins:  # shown as before, in the unit of rare features
            f.in_force = Unit(0.0, self.shared) if self.uneven else Unit(0.0, 1.0)
            f.own = f.in_force if self.uneven else f.own
        far = FAR if 2 * f.weight >= self.total else SPARSE_FAR
        f.weight += weight
        f.recent += weight
        gain, e, most = weight / f.recent, x - f.mean, far * sqrt(f.square)
        if abs(e) > most and not begins:
            f.far += 1
            e = copysign(most, e) if most > 0 else e
        f.mean += gain * e
        f.square = (1 - gain) * (f.square + gain * e * e)
        f.block.append(x)

    # ---- units -----------------------------------------------------------------------------------

    def different(self, f: Feature) -> int:
        """The number of different values, including 0."""
        return len(f.values) + (f.weight < self.total)

    def deviation(self, f: Feature) -> float:
        p = min(1.0, f.weight / self.total)
        return sqrt(p * f.square + f.mean**2 * p * (1 - p))

    def half(self, f: Feature) -> float:
        """The share below which a feature is 0 in most rows; near a half it keeps its kind."""
        if not self.centres or f.own.size == inf:
            return 0.5
        return 0.6 if f.own.centre == 0 else 0.4

    def own_unit(self, f: Feature) -> Unit:
        zeros, p = f.weight < self.total, min(1.0, f.weight / self.total)
        if not f.values or (self.different(f) < 2 and self.centres):
            return Unit(f.values[0] if f.values else 0.0)
        if f.rare:
            return Unit(0.0, self.shared_next)
        if self.different(f) == 2 and (self.centres or zeros):
            first, other = f.values[0], 0.0 if zeros else f.values[1]
            unit = Unit(min(first, other) if self.centres else 0.0, abs(first - other))
        elif p < self.half(f):
            unit = Unit(0.0, sqrt(f.mean**2 + f.square))
        elif self.centres:
            unit = Unit(p * f.mean, self.deviation(f))
        else:
            unit = Unit(0.0, sqrt(p * (f.mean**2 + f.square)))
        unit.size *= WIDE if f.trend else 1
        return unit if unit.size > 0 else Unit(f.in_force.centre if f.in_force.size == inf else 0.0)

    def find_shared(self) -> None:
        """The root mean square of the rare features, at most FAR times the current one."""
        rare = [f for f in self.features if f.rare and f.values]
        squares = np.array([f.mean**2 + f.square for f in rare])
        weights = np.array([f.weight for f in rare])
        self.shared_next = inf
        if squares.any():
            middle = np.sort(squares)[len(squares) // 2]
            most = FAR**2 * (self.shared**2 if self.shared < inf else middle)
            self.shared_next = float(np.sqrt(np.average(squares.clip(max=most), weights=weights)))

    def find_units(self) -> None:
        self.find_shared()
        sizes, self.farthest = [], 0.0
        for f in self.features:
            f.next = self.own_unit(f)
            if f.next.size < inf and self.different(f) > 1 and not f.trend:
                sizes.append(self.deviation(f) or f.next.size)
                self.farthest = max(self.farthest, abs(f.mean))
        self.varying = len(sizes)
        self.common = sqrt(sum(size**2 for size in sizes))
        self.largest, self.middle = max(sizes, default=0.0), float(np.median(sizes or [0.0]))
        if len(sizes) == 2:  # the larger is never twice their median
            self.middle = min(sizes)
        own = sorted(
            f.next.size
            for f in self.features
            if f.next.size < inf and self.different(f) > 1 and not (f.trend or f.rare)
        )
        self.small = own[len(own) // FEW] if own else inf

    def sizes_differ(self) -> bool:
        """Whether features differ too much, or are too large or small, to be shown as they come."""
        if self.largest > LARGEST or 0 < self.largest < SMALLEST:
            return True
        if self.centres and self.farthest > FARTHEST * self.common:
            return True
        above = self.largest > 1 and self.largest > ABOVE * self.middle
        return above or (self.largest > STANDARD and self.middle > BELOW * self.small)

    # ---- checks ----------------------------------------------------------------------------------

    def check(self) -> bool:
        step = self.find_step()
        self.rounds = STEP_CHECKS * CHECK if step else 0
        for f in self.features:
            f.rare = not f.values or min(1.0, f.weight / self.total) < (RARE if f.rare else RARER)
            f.jump_age += 1
        jumped = sum(self.check_block(f) for f in self.features) > 0
        self.find_units()
        if self.uneven and self.shared == inf:
            self.shared = self.shared_next
        for f in self.features:
            shares = self.uneven and f.rare and f.in_force.size == inf and f.values
            if (f.wait >= RUNNING or shares) and f.next.size < inf:
                self.be_born(f)
        width, now = False, step or (self.uneven and jumped)
        self.turns = False
        if self.uneven:
            both = [f for f in self.features if f.next.size < inf and f.in_force.size < inf]
            most = OFF * self.thrift()
            off = self.shared_next < inf and off_by(most, self.shared_next, self.shared)
            off = off or any(f.up == 0 and is_off(f.next, f.in_force, most) for f in both)
        else:
            for f in self.features:
                if f.jump_age > RUNNING:
                    f.jump = ""
            jumps = sum(f.jump != "" for f in self.features)
            coming = sum(f.up > 0 for f in self.features)  # the next check will find them
            waits = coming > 0 and 2 * coming >= self.varying
            known_size = self.reference > 0 and self.common > 0 and not waits
            aside = any(f.jump == "aside" for f in self.features)
            now = now or aside or (jumps > 0 and 2 * jumps >= self.varying)
            self.turns = bool(
                now
                or any(f.trend for f in self.features)
                or (not waits and self.sizes_differ())
                or (known_size and off_by(COMMON_OFF, self.common, self.reference))
            )
            width = not self.turns and known_size and self.centres
            width = width and off_by(WIDTH_OFF, self.common, self.reference)
            if width and self.changes > 1:  # for the third time
                width, self.turns = False, True
            off = self.turns or width
        self.off = self.off + 1 if off and self.pace.running == 0 else 0  # it may be a step
        if not (self.off >= RUNNING or now) or self.credit < CHANGE_EVERY:
            return False
        self.converts, self.least_squared = not width, 0.0
        if self.converts:
            self.shared_next = self.shared if self.shared_next == inf else self.shared_next
            for f in self.features:
                if not f.values:  # only in rows that were not counted
                    f.in_force = Unit(0.0, self.shared if self.uneven else 1.0)
                    f.next = Unit(0.0, self.shared_next)
                if inf in (f.next.size, f.in_force.size):
                    f.next = f.in_force
            sized = [f for f in self.features if f.next.size < inf]
            self.least_squared = sum((self.deviation(f) / f.next.size) ** 2 for f in sized) / 2
            if self.uneven and not step and self.pace.last > BEYOND:
                self.find_growth()
        return True

    def thrift(self) -> float:
        """The factor by which limits grow while few changes are left."""
        return 2.0 if 3 * self.credit < CHANGES * CHANGE_EVERY else 1.0

    def find_step(self) -> bool:
        """Whether most features changed together; then their statistics are those of two blocks."""
        known, voters, ratios, moved = 0, [], [], 0
        for f in self.features:
            f.jump = "" if f.jump == "step" else f.jump
            if f.rare or f.trend or f.in_force.size == inf or f.square == 0 or f.size_before <= 0:
                continue
            known += 1
            if len(f.block) < BLOCK or len(set(f.block)) < 2:
                continue
            mean, variance = float(np.mean(f.block)), float(np.var(f.block))
            voters.append((f, mean, variance))
            ratios.append(variance / f.square)
            size = sqrt(max(variance, f.square))
            if self.pace.kind == "elsewhere":
                there = abs(mean - f.mean_before) < size
            else:
                there = f.low <= f.high and max(mean - f.high, f.low - mean) > MOVED * size
            moved += self.centres and there and abs(mean - f.mean) > MOVED * size
        if not voters or 4 * len(voters) < known:
            return False
        if not self.follow_pace(ratios, 2 * moved >= len(voters)):
            return False
        off = 0
        for f, mean, variance in voters:
            half = (mean - f.mean_before) / 2
            f.low, f.high = min(mean, f.mean_before), max(mean, f.mean_before)
            f.mean = f.mean_before + half
            f.square = (variance + f.size_before**2) / 2 + half**2
            f.recent = 2 * len(f.block) * self.weight()
            f.up = f.down = f.jump_age = 0
            f.jump = "step"
            own, before = self.own_unit(f), f.in_force if self.uneven else f.own
            off += (
                inf in (own.size, before.size)
                or off_by(OFF, own.size, before.size)
                or abs(own.centre - before.centre) > before.size
            )
        steps = 2 * off >= len(voters)
        for f, _, _ in voters:  # no step: it was the way back
            f.jump = "step" if steps else ""
        return steps

    def follow_pace(self, ratios: list[float], moved: bool) -> bool:
        """Whether there was a step."""
        p = self.pace
        pace, all_alike = alike(ratios, STEP)
        wide = max(BEYOND, p.high) * (1 if p.kind == "wider" else BEYOND)
        narrow = min(1 / BEYOND, p.low) / (1 if p.kind == "narrower" else BEYOND)
        kind = "elsewhere" if moved else ""
        if all_alike and not narrow <= pace <= wide:
            kind = "wider" if pace > wide else "narrower"
        steady = p.running + 1 < STEP_CHECKS or not off_by(STEP, pace, p.last)
        goes_on = kind == p.kind and steady
        if not goes_on and p.kind == "wider":  # not a step: the pace varies this much
            p.high = min(p.high * STEP, COUNTABLE)
        if not goes_on and p.kind == "narrower":
            p.low = max(p.low / STEP, 1 / COUNTABLE)
        p.running = 0 if not kind else p.running + 1 if goes_on else 1
        p.kind, p.last = kind, min(max(pace, 1 / COUNTABLE), COUNTABLE)
        p.wide = p.wide + 1 if pace > STEP * self.thrift() ** 2 else 0
        if not kind:
            p.low, p.high = min(p.low, p.last), max(p.high, p.last)
        if p.running < STEP_CHECKS and p.wide < WIDE_CHECKS:
            return False
        p.running, p.wide, p.kind, p.last = 0, 0, "", 1.0
        return True

    def find_growth(self) -> None:
        """Whether sizes grew together: then stored examples keep their coordinates."""
        some = [f for f in self.features if not (f.rare or f.trend or f.in_force.size == inf)]
        some = [f for f in some if len(f.values) > 1]
        if not some:
            return
        factor, all_alike = alike([f.next.size / f.in_force.size for f in some], OFF)
        if all_alike and off_by(TOGETHER, factor, 1) and not off_by(UP, factor, 1):
            for f in some:
                f.jump = f.jump or "step"

    def check_block(self, f: Feature) -> bool:
        """Close the block of a feature; True if it jumped."""
        varies = f.in_force.size == inf and self.different(f) > 1
        f.wait = min(f.wait + varies, RUNNING)
        count = len(f.block)
        if count < BLOCK and not varies:
            return False
        mean, size = (float(np.mean(f.block)), float(np.std(f.block))) if count else (0.0, 0.0)
        before, jumps = sqrt(f.square), False
        far = 2 * f.far > count and size > 0
        if varies:
            f.up = f.down = 0
            takes = f.wait >= RUNNING and size > 0 and count >= BLOCK
        else:
            still = f.size_before > 0 and abs(mean - f.mean_before) < max(size, f.size_before)
            wider = far and (f.square == 0 or size > UP * before)
            placed = self.centres and 2 * f.weight >= self.total and f.own.size < inf
            placed = placed and size > 0 and f.low <= f.high
            out = max(mean - f.high, f.low - mean)
            leaps = placed and out > ASIDE * max(size, f.own.size)
            by = abs(mean - f.own.centre)
            aside = placed and still and f.up > 0 and by > ASIDE * f.own.size
            up = leaps or aside or (still and wider)
            unit = max(before, f.own.size if f.own.size < inf else 0.0)
            down = 0 < size < DOWN * unit and still and f.square > 0 and f.size_before < DOWN * unit
            f.up, f.down = (f.up + 1) * up, (f.down + 1) * down
            far_down = max(size, f.size_before) < FAR_DOWN * unit
            takes = f.up >= RUNNING or f.down >= (RUNNING if far_down else RUNNING_DOWN)
            jumps = takes and not f.rare
            if jumps:
                f.jump = "aside" if aside and by > self.reference else "up" if f.up else "down"
                f.jump_age = 0
            if takes:
                f.up = f.down = 0
        if takes:
            f.mean, f.square, f.recent = mean, size**2, count * self.weight()
        if count >= BLOCK:
            if f.low <= f.high:
                follow_trend(f, mean, max(size, f.size_before))
            f.low, f.high = min(f.low, mean), max(f.high, mean)
        f.mean_before, f.size_before = mean, size
        f.block, f.far = [], 0
        return jumps

    def be_born(self, f: Feature) -> None:
        """Give a unit to a feature that was constant; stored examples have coordinate 0."""
        constant = f.in_force.centre
        f.own = f.next
        if self.uneven:
            two = self.centres and not f.rare and self.different(f) == 2
            f.in_force = f.own = Unit(constant if two else f.next.centre, f.next.size)
        else:
            f.in_force = Unit(0.0 if constant == 0 else f.mean, 1.0)
        f.wait = 0

    # ---- changes ---------------------------------------------------------------------------------

    def convert(self, z: Vector, age: int) -> Vector:
        """A stored example in the new units; `age` in rounds."""
        if not self.converts:
            return z
        older = age > self.rounds
        return np.array(
            [self.converted(f, v, older) for f, v in zip(self.features, z, strict=True)]
        )

    def converted(self, f: Feature, z: float, older: bool) -> float:
        if f.in_force.size == inf:
            return float(z)
        before = self.before(f)
        x = float(z) * f.in_force.size + f.in_force.centre
        new = (x - f.next.centre) / f.next.size
        if self.steps(f):
            new = (x - before.centre) / before.size if older else new
        elif self.jumps(f):
            kept = (x - before.centre) / before.size
            up = f.next.size / before.size > 1 / UP
            earlier = abs(kept) <= BEFORE if up else abs(new) > BEFORE
            if earlier:
                new = kept
            elif self.uneven and abs(z) >= CLIP:
                new = copysign(1.0, z)  # it was clipped, so its size is lost
        return min(max(new, -CLIP), CLIP)

    def before(self, f: Feature) -> Unit:
        return f.in_force if self.uneven else f.own

    def steps(self, f: Feature) -> bool:
        """Whether values that were stored before a step keep their coordinates."""
        return self.before(f).size < inf and f.jump == "step"

    def jumps(self, f: Feature) -> bool:
        """Whether stored values of the feature keep their coordinates."""
        before = self.before(f)
        if before.size == inf or not (f.jump or not self.uneven):
            return False
        factor = f.next.size / before.size
        moved = bool(f.jump) and abs(f.next.centre - before.centre) > CLIP * before.size
        return factor > UP or factor < 1 / UP or moved

    def step(self, f: Feature) -> tuple[float, float]:
        """Ratio and shift of a converting change: the old z is ratio z + shift, unclipped.

        Where values were clipped, both are at most CLIP: no weight was learned beyond that.
        """
        keeps = self.steps(f) or self.jumps(f)
        old, new = f.in_force, self.before(f) if keeps else f.next
        if old.size == inf:
            return 1.0, 0.0
        ratio, shift = new.size / old.size, (new.centre - old.centre) / old.size
        return (min(ratio, CLIP), min(max(shift, -CLIP), CLIP)) if self.uneven else (ratio, shift)

    def commit(self) -> None:
        self.credit -= CHANGE_EVERY
        self.changes += 1
        self.off, self.reference = 0, self.common
        for f in self.features:
            if not self.converts and f.next.size == inf:
                continue
            f.own, f.jump = f.next, ""
            if self.converts:
                f.in_force = f.next
        if self.converts:
            self.shared = self.shared_next
        self.uneven = self.uneven or (self.converts and self.turns)


def counted(t: int) -> bool:
    """Whether row t is counted: later one in eight, in step with no period."""
    mixed = t // EVERY * 0x9E3779B97F4A7C15 % 2**64
    return t <= ALL_ROWS or t % EVERY == mixed >> 61


def follow_trend(f: Feature, mean: float, width: float) -> None:
    if f.low <= mean <= f.high:  # such values were seen before
        f.rising = f.falling = 0
    elif max(mean - f.high, f.low - mean) < width:
        f.rising, f.falling = max(f.rising - 2, 0), max(f.falling - 2, 0)
    else:
        f.rising = min(f.rising + 1, MOST_TREND) if mean > f.high else 0
        f.falling = min(f.falling + 1, MOST_TREND) if mean < f.low else 0
    f.trend = max(f.rising, f.falling) >= (TREND_LEFT if f.trend else TREND)


def note_value(f: Feature, x: float) -> None:
    if len(f.values) < 3 and x not in f.values:
        f.values.append(float(x))


def robust_moments(x: Vector) -> tuple[float, float]:
    """Mean and variance of the values; values far from the median are clipped."""
    n, centre = len(x), float(np.median(x))
    y = np.sort(x)
    if y[0] == y[-1]:
        return float(y[0]), 0.0
    size = (y[min(3 * n // 4, n - 1)] - y[n // 4]) / 1.349
    if not size > 0:
        apart = np.sort((y - centre) ** 2)
        nearest = apart[: n - (n + 19) // 20]
        size = sqrt(nearest.mean()) if nearest.any() else sqrt(apart.mean())
    e = (x - centre).clip(-FAR * size, FAR * size)
    return centre + float(e.mean()), max(0.0, float((e**2).mean() - e.mean() ** 2))


def is_off(unit: Unit, in_force: Unit, most: float) -> bool:
    aside = abs(unit.centre - in_force.centre) > CENTRE_OFF * in_force.size
    return aside or off_by(most, unit.size, in_force.size)


def alike(numbers: list[float], factor: float) -> tuple[float, bool]:
    """The middle number, and whether three of four numbers are within `factor` of it."""
    middle = sorted(numbers)[len(numbers) // 2]
    near = sum(not off_by(factor, each, middle) for each in numbers)
    return middle, 4 * near >= 3 * len(numbers)


def off_by(factor: float, a: float, b: float) -> bool:
    return a > factor * b or b > factor * a


def gamma_of_rows(rows: Vector) -> float:
    """1 over the median squared distance between the first rows; 1/width if all are equal.

    A row that makes up more than half of them counts once.
    """
    for i, row in enumerate(rows):
        copies = (rows == row).all(axis=1)
        if 2 * copies.sum() > len(rows):
            rows = rows[~copies | (np.arange(len(rows)) == i)]
            break
    apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)[np.triu_indices(len(rows), 1)]
    return float(1 / np.median(apart[apart != 0])) if apart.any() else 1 / rows.shape[1]


def gamma_of_stored(stored: Vector, gamma: float, least: float) -> float:
    """1 over the median squared distance between stored examples, the oldest first.

    The distance is at least `least`. AVM's delta="auto" is a share of its root.
    """
    n = len(stored)
    if n < FEWEST:
        return gamma
    step = -(-n * (n - 1) // 2 // PAIRS)
    i, j = np.tril_indices(n, -1)
    distances = ((stored[i[::step]] - stored[j[::step]]) ** 2).sum(axis=1)
    distances = distances[distances != 0]
    return float(1 / max(np.median(distances), least)) if distances.size else gamma
