"""A fleet whose buckets an engine holds: what a death, or a broken connection, must not lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from budgetron import BudgetronError, Fleet
from budgetron.engines.buckets import TRIES, SpreadFleet
from budgetron.engines.protocol import Died, Wrong
from tests.support.keyed import keyed

SETTINGS: dict[str, Any] = {"algorithm": "forgetron", "classes": [0, 1], "shared": 10, "budget": 3}
BUCKETS = 4


class Here:
    """An engine in this process. What it is told makes a call fail.

    `breaks`: asked at each answer, by its number from 0, whether the connection breaks there: the
    object lives on and has done what it was asked, and its answer is lost.
    """

    name = "here"
    count = 2

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}
        self.made = self.answers = 0
        self.breaks: Callable[[int], bool] = lambda number: False

    def hold(self, make: Callable[..., Any], *arguments: Any) -> int:
        self.made += 1
        self.held[self.made] = make(*arguments)
        return self.made

    def call(self, held: int, method: str, *arguments: Any) -> tuple[int, Any]:
        if held not in self.held:
            raise Died("it is gone")
        return held, getattr(self.held[held], method)(*arguments)

    def answer(self, reference: tuple[int, Any]) -> Any:
        number, self.answers = self.answers, self.answers + 1
        if self.breaks(number):
            raise Died("the connection broke")
        if isinstance(reference[1], Wrong):
            raise reference[1].error
        return reference[1]

    def release(self, held: int) -> None:
        del self.held[held]


def spread_over(engine: Here, **settings: Any) -> SpreadFleet:
    given: dict[str, Any] = {"buckets": BUCKETS, "actors": 2, "memory": "8MB", **SETTINGS}
    return SpreadFleet(engine, **{**given, **settings})  # type: ignore[arg-type]


def learned(engine: Here, before: Callable[[SpreadFleet, int], None]) -> tuple[Any, Any]:
    """Decisions and bytes of six calls; `before` each something may happen."""
    keys, X, y = keyed(1200, 60)
    with spread_over(engine, snapshot_rows=500) as spread:
        found = []
        for start in range(0, 1200, 200):
            before(spread, start)
            rows = slice(start, start + 200)
            found.append(spread.prequential(keys[rows], X[rows], y[rows]))
        engine.breaks = lambda number: False
        return np.concatenate(found), dict(spread.to_bytes())


def undisturbed() -> tuple[Any, Any]:
    return learned(Here(), lambda spread, start: None)


@pytest.mark.parametrize("broken", range(BUCKETS))
def test_a_connection_that_breaks_loses_no_row_and_leaves_no_object(broken: int) -> None:
    """Whichever answer of a call is lost, those of other buckets were learned or learned again."""
    engine = Here()

    def before(spread: SpreadFleet, start: int) -> None:
        at = engine.answers + broken
        if start in (200, 800):
            engine.breaks = lambda number: number == at
        assert len(engine.held) == 2

    decisions, states = learned(engine, before)
    expected, bytes_of = undisturbed()
    np.testing.assert_array_equal(decisions, expected)
    assert states == bytes_of
    assert engine.made == 4
    assert not engine.held


@pytest.mark.parametrize("ahead", range(8))
def test_one_that_breaks_while_it_learns_again_is_replaced_too(ahead: int) -> None:
    engine = Here()

    def before(spread: SpreadFleet, start: int) -> None:
        if start == 400:
            at = engine.answers
            engine.breaks = lambda number: number in (at, at + 1 + ahead)

    decisions, states = learned(engine, before)
    expected, bytes_of = undisturbed()
    np.testing.assert_array_equal(decisions, expected)
    assert states == bytes_of
    assert not engine.held


def test_a_dead_object_is_replaced_and_one_that_always_dies_is_one_line() -> None:
    engine = Here()

    def before(spread: SpreadFleet, start: int) -> None:
        if start == 600:
            engine.held.pop(min(engine.held))

    decisions, _ = learned(engine, before)
    np.testing.assert_array_equal(decisions, undisturbed()[0])
    keys, X, y = keyed(400, 60)
    engine = Here()
    with spread_over(engine) as spread:
        spread.learn(keys[:200], X[:200], y[:200])
        engine.breaks = lambda number: True
        with pytest.raises(BudgetronError, match=f"died {TRIES} times") as error:
            spread.learn(keys[200:], X[200:], y[200:])
        assert "\n" not in str(error.value)
        engine.breaks = lambda number: False
        # Nothing of the call that failed was learned, and all of the one before is there.
        fleets = [Fleet.from_bytes(data) for _, data in spread.to_bytes()]
        assert sum(each.n_seen_ for each in fleets) == 200
        spread.learn(keys[200:], X[200:], y[200:])
    assert not engine.held


def test_arguments_are_checked_and_no_rows_are_no_change() -> None:
    for name in ("buckets", "snapshot_rows", "actors"):
        for value in (0, -1, 1.5, "two"):
            with pytest.raises(BudgetronError, match=f"{name}=.* must be a whole number"):
                spread_over(Here(), **{name: value})
    with pytest.raises(BudgetronError, match="memory=None must be a number of bytes"):
        spread_over(Here(), memory=None)
    keys, X, y = keyed(200)
    engine = Here()
    with spread_over(engine) as spread:
        for nothing in range(2):
            assert spread.prequential([], X[:0], []).shape == (0,)
            assert spread.predict([], X[:0]).shape == (0,)
            assert spread.predict_proba([], X[:0]).shape == (0, 2)
            if not nothing:
                spread.learn(keys, X, y)
        for wrong in (None, 1):
            with pytest.raises(BudgetronError, match="must be one label per row"):
                spread.learn(keys[:1], X[:1], wrong)
        with pytest.raises(BudgetronError, match="label 7 is not among the classes"):
            spread.learn(keys[:1], X[:1], [7])
        assert sum(each["seen"] for each in spread.info()) == 200
