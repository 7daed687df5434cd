"""Listeners: every example that leaves is an event, for all budgeted learners; nothing changes."""

from __future__ import annotations

import gc
import logging
import pickle
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import budgetron
from budgetron import _core
from budgetron.events import Event
from budgetron.model_file import to_bytes
from tests.support.cases import (
    BUDGETED,
    BY_NAME,
    REGRESSION,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import native_of

ALL = [*BUDGETED, *(case for case in REGRESSION if case.budget)]
each_case = pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case} {case.task[:3]}")
# Learners whose stored examples never leave report only new examples: their budget is full, and
# nothing is replaced.
SILENT = {
    f"budgetron {label}".strip()
    for label in ("", "never", "straight", "diagonal", "full", "reflex", "reflex never")
} | {f"budgetron {form} reflex" for form in ("none", "full", "diagonal")}  # in regression


def rows_for(case: Case, rows: int) -> tuple[np.ndarray, np.ndarray]:
    return stream(rows) if case.task == "classification" else numeric_stream(rows)


def stored(model: Any) -> Counter[int]:
    """The rounds of the stored examples; a merged point and the new example have the same."""
    return Counter(native_of(model).ids().tolist())


@each_case
def test_every_example_that_leaves_is_an_event(case: Case) -> None:
    X, y = rows_for(case, 220)
    heard: list[Event] = []
    model = case.make(random_state=0).watch(heard.append)
    model.partial_fit(X[:2], y[:2])
    kinds: Counter[str] = Counter()
    for i in range(2, len(X)):
        before, heard[:] = stored(model), []
        model.learn_one(X[i], y[i])
        after = stored(model)
        kinds.update(event.kind for event in heard)
        assert all(event.round == i for event in heard)
        named = {event.example for event in heard} | {event.other for event in heard}
        assert (before - after).keys() <= named
        gone = {event.example for event in heard if event.kind in ("evict", "project", "refuse")}
        assert all(after[example] < max(before[example], 1) for example in gone)
        assert all(event.coef >= 0 and np.isfinite(event.coef) for event in heard)
    assert bool(kinds) == (str(case) not in SILENT)


@each_case
def test_watching_changes_nothing(case: Case) -> None:
    X, y = rows_for(case, 400)
    plain = case.make(random_state=0).partial_fit(X, y)
    watched = case.make(random_state=0).watch(lambda event: None)
    watched.partial_fit(X[:300], y[:300])
    watched.prequential(X[300:], y[300:])
    same_state(plain, watched)
    assert to_bytes(plain) == to_bytes(watched)


@pytest.mark.parametrize("name", ["bogd", "bogd++"])
@pytest.mark.parametrize("classes", [2, 3])
def test_who_leaves_does_not_grow_with_those_that_stay(name: str, classes: int) -> None:
    X = stream(60)[0]
    y = np.arange(60) % classes
    heard: list[Event] = []
    model = budgetron.make(name, budget=3, gamma=1.0, max_coef=1e6, random_state=0)
    model.watch(heard.append)
    model.partial_fit(X[:4], y[:4], classes=np.arange(classes))
    left = 0
    for i in range(4, len(X)):
        heard.clear()
        sizes = np.sqrt((1 if classes == 2 else 2) * (model.dual_coef_**2).sum(axis=0))
        before = dict(zip(native_of(model).ids().tolist(), sizes, strict=True))
        model.learn_one(X[i], y[i])
        for event in heard:
            np.testing.assert_allclose(event.coef, before[event.example], rtol=1e-5)
            left += 1
    assert left > 20


def test_a_batch_reports_the_events_of_its_rows() -> None:
    X, y = stream(900)
    one_by_one: list[Event] = []
    batch: list[Event] = []
    model = BY_NAME["bsgd-merge"].make().watch(one_by_one.append)
    model.partial_fit(X[:2], y[:2])
    for i in range(2, len(X)):
        model.learn_one(X[i], y[i])
    BY_NAME["bsgd-merge"].make().watch(batch.append).fit(X, y)
    assert batch == one_by_one
    assert batch[0].kind == "merge"
    assert None not in (batch[0].example, batch[0].other)


def test_drift_is_an_event_when_it_is_logged() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = np.where(np.arange(4000) < 2000, X[:, 0] > 0, X[:, 0] < 0)
    heard: list[Event] = []
    model = budgetron.make("budgetron", budget=20, gamma=0.5, scale=None).watch(heard.append)
    model.partial_fit(X, y)
    drifts = [event.round for event in heard if event.kind == "drift"]
    assert drifts == model.drift_log_.tolist()
    assert len(drifts) >= 1
    assert any(event.kind == "evict" and event.round >= drifts[0] for event in heard)


def test_finding_gamma_and_scale_is_an_event() -> None:
    X, y = stream(400)
    heard: list[Event] = []
    model = BY_NAME["rbp"].make(gamma="median", scale="auto").watch(heard.append)
    model.partial_fit(X, y)
    assert max(event.round for event in heard if event.kind == "restart") == 200
    last = max(i for i, event in enumerate(heard) if event.kind == "restart")
    gone = {event.example for event in heard[last:]}
    assert not gone & stored(model).keys()  # events of replayed rows are correct
    assert len(gone) > 50


def test_a_lowered_budget_reports_the_examples_that_leave() -> None:
    X, y = stream(400)
    heard: list[Event] = []
    model = BY_NAME["rbp"].make().fit(X, y).watch(heard.append)
    before = stored(model)
    model.lower_budget(5)
    assert {event.example for event in heard} == (before - stored(model)).keys()
    heard.clear()
    model.partial_fit(X[:100], y[:100])
    assert heard


def test_a_river_model_is_watched() -> None:
    river = pytest.importorskip("budgetron.river")
    heard: list[Event] = []
    model = river.make("remove-oldest", budget=3, gamma=1.0, scale=None, seed=0).watch(heard.append)
    for i in range(30):
        model.learn_one({"a": float(i), "b": 1.0}, i % 2)
    assert [event.example for event in heard[:3]] == [0, 1, 2]
    count = len(heard)
    model.watch(None).learn_one({"a": 100.0}, 0)
    assert len(heard) == count


def test_a_listener_that_raises_does_so_when_the_batch_is_learned() -> None:
    X, y = stream(1000)
    calls: list[Event] = []

    def fail(event: Event) -> None:
        calls.append(event)
        raise RuntimeError("enough")

    model = BY_NAME["rbp"].make().watch(fail)
    with pytest.raises(RuntimeError, match="enough"):
        model.partial_fit(X, y)
    assert (model.n_seen_, len(calls)) == (1000, 1)
    same_state(model, BY_NAME["rbp"].make().partial_fit(X, y))


def test_a_listener_may_look_inside_and_stop_listening() -> None:
    X, y = stream(500)
    sizes: list[int] = []
    model = BY_NAME["rbp"].make()

    def look(event: Event) -> None:
        sizes.append(len(model.snapshot().predict(X[:3])) + model.n_support_)
        model.watch(None)

    model.watch(look).partial_fit(X, y)
    assert sizes
    assert model.n_seen_ == 500
    count = len(sizes)
    model.partial_fit(X, y)
    assert len(sizes) == count


def test_a_listener_is_the_models_own() -> None:
    X, y = stream(200)
    heard: list[Event] = []
    model = BY_NAME["rbp"].make().watch(heard.append).fit(X, y)  # before the model is built
    assert heard
    copies = [pickle.loads(pickle.dumps(model)), model.snapshot(), clone(model).fit(X, y)]
    heard.clear()
    for copy in copies:
        copy.partial_fit(X, y)
    assert not heard


@pytest.mark.thread_unsafe(reason="counts the models of all threads")
def test_a_model_and_its_listener_are_collected() -> None:
    gc.collect()  # what earlier tests left
    before = _core.live_models()
    X, y = stream(50)
    model = BY_NAME["rbp"].make().fit(X, y)
    model.watch(lambda event, model=model: model.n_seen_)
    assert _core.live_models() == before + 1
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert _core.live_models() == before


@pytest.mark.thread_unsafe(reason="there is one logger for all threads")
def test_events_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    X, y = stream(300)
    with caplog.at_level(logging.DEBUG, "budgetron"):
        BY_NAME["remove-oldest"].make(gamma="median").watch().partial_fit(X, y)
    levels = {record.levelname for record in caplog.records}
    assert levels == {"DEBUG", "INFO"}
    assert caplog.records[-1].getMessage().startswith("round 29")
    assert "left (coef 1)" in caplog.records[-1].getMessage()
