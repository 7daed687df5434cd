"""One model shared by threads: any number predict while one learns; snapshots do not change.

ThreadSanitizer checks the same for the compiled model (core/tests/model/threads_test.cpp).
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.model_file import to_bytes
from tests.support.cases import (
    BY_NAME,
    KINDS,
    REGRESSION_KINDS,
    Case,
    numeric_stream,
    same_state,
    stream,
)
from tests.support.native import native_of


def test_other_threads_run_while_a_model_learns() -> None:
    """With the GIL held for the whole call, this thread could not count meanwhile."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 40))
    y = rng.integers(2, size=len(X))
    model = budgetron.make("ahpatron", budget=400).partial_fit(X[:10], y[:10], classes=[0, 1])
    inside = threading.Event()
    done = threading.Event()

    def learn() -> None:
        inside.set()
        model.partial_fit(X, y)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    inside.wait()
    ticks = 0
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks >= 20


def test_two_models_in_two_threads_equal_two_in_one() -> None:
    X, y = stream(2000)
    alone = [BY_NAME["ahpatron"].make(random_state=0).partial_fit(X, y) for _ in range(2)]
    together = [BY_NAME["ahpatron"].make(random_state=0) for _ in range(2)]
    threads = [threading.Thread(target=m.partial_fit, args=(X, y)) for m in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together, strict=True):
        same_state(one, other)


def test_deciding_while_learning_is_safe() -> None:
    X, y = stream(3000)
    model = BY_NAME["ahpatron"].make(random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1])
    failures: list[str] = []
    stop = threading.Event()

    def decide() -> None:
        while not stop.is_set():
            if not np.isfinite(model.decision_function(X[:50])).all():
                failures.append("not finite")

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    model.partial_fit(X[100:], y[100:])
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    same_state(model, BY_NAME["ahpatron"].make(random_state=0).partial_fit(X, y, classes=[0, 1]))


def test_a_class_may_join_while_another_thread_predicts() -> None:
    """Labels and decisions belong to the same classes, however many there are by then."""
    X, _ = stream(2000)
    failures: list[str] = []
    for attempt in range(8):
        labels = [f"{label}" for label in range(10, 22)]
        model = BY_NAME["rbp"].make().partial_fit(X[:10], np.full(10, labels[6]))
        stop = threading.Event()

        def decide(model: Any = model, stop: threading.Event = stop) -> None:
            while not stop.is_set():
                try:
                    before = set(model.classes_)
                    answers = set(model.predict(X[:300]))
                    if not answers <= set(model.classes_) or (len(before) == 1 and not answers):
                        failures.append(str(answers))
                    if not np.isfinite(model.decision_function(X[:300])).all():
                        failures.append("not finite")
                    model.support_vectors_  # noqa: B018
                except Exception as error:
                    failures.append(repr(error))

        thread = threading.Thread(target=decide)
        thread.start()
        for label in labels:
            model.partial_fit(X[50 + attempt : 60 + attempt], np.full(10, label))
        stop.set()
        thread.join()
        assert len(model.classes_) == 12
    assert not failures


def test_predictions_do_not_wait_for_a_long_batch() -> None:
    X, y = stream(1_000_000)
    model = BY_NAME["rbp"].make(budget=100).partial_fit(X[:100], y[:100], classes=[0, 1])
    done = threading.Event()

    def learn() -> None:
        model.partial_fit(X, y)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    seen = []
    while not done.is_set():
        model.predict(X[:10])
        seen.append(model.n_seen_)
    thread.join()
    assert len(set(seen)) > 10  # different states of one call


def test_threads_that_learn_take_turns() -> None:
    """Whole calls, one after the other, though each adds classes of its own."""
    X, _ = stream(400)
    for _ in range(10):
        model = BY_NAME["rbp"].make()
        start = threading.Barrier(4)

        def learn(part: int, model: Any = model, start: threading.Barrier = start) -> None:
            start.wait()
            for i in range(5):
                rows = slice(100 * part + 20 * i, 100 * part + 20 * i + 20)
                labels = (np.arange(20) + 3 * i) % 7 + part
                model.partial_fit(X[rows], labels)

        threads = [threading.Thread(target=learn, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert model.n_seen_ == 400
        assert model.classes_.tolist() == list(range(10))
        assert native_of(model).classes == 10
        native_of(model).check_invariants()


def test_a_refused_call_does_not_undo_what_another_thread_learns() -> None:
    X, _ = stream(300)
    for _ in range(8):
        model = BY_NAME["rbp"].make().partial_fit(X[:10], np.arange(10) % 2)
        stop = threading.Event()

        def refuse(model: Any = model, stop: threading.Event = stop) -> None:
            while not stop.is_set():
                with pytest.raises(ValueError, match="NaN"):
                    model.partial_fit(X[:20] * np.nan, np.zeros(20))

        thread = threading.Thread(target=refuse)
        thread.start()
        for label in range(2, 8):
            model.partial_fit(X[label : label + 5], np.full(5, label))
        stop.set()
        thread.join()
        assert len(model.classes_) == native_of(model).classes == 8


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_the_gil_stays_off() -> None:
    """A module that does not declare itself for free threading turns the GIL on again."""
    code = "import sys, budgetron._core; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- snapshots -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", KINDS + REGRESSION_KINDS, ids=lambda case: f"{case} {case.task[:3]}"
)
def test_a_snapshot_is_the_model_and_stays_it(case: Case) -> None:
    X, y = stream(260) if case.task == "classification" else numeric_stream(260)
    model = case.make(random_state=3).partial_fit(X[:150], y[:150])
    answers = model.predict(X)
    fixed = model.snapshot()
    saved = to_bytes(fixed)
    assert saved == to_bytes(model)
    model.partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(fixed.predict(X), answers)
    assert to_bytes(fixed) == saved
    fixed.partial_fit(X[150:], y[150:])  # it continues like the model
    same_state(fixed, model)
    assert to_bytes(fixed) == to_bytes(model)


def test_a_snapshot_has_all_that_is_beside_the_compiled_model() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = stream(300, classes=3)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    params = {"class_weight": "balanced", "gamma": "median", "scale": "auto", "average": "mean"}
    model = BY_NAME["rbp"].make(**params).partial_fit(frame[:120], y[:120])
    fixed = model.snapshot()
    assert to_bytes(fixed) == to_bytes(model)
    assert fixed._class_weights is not model._class_weights
    for one in (model, fixed):
        one.partial_fit(frame[120:], y[120:] + (y[120:] == 2))  # a class joins
    assert to_bytes(fixed) == to_bytes(model)
    assert not hasattr(BY_NAME["rbp"].make().snapshot(), "classes_")


def test_snapshots_of_a_model_that_learns_are_whole() -> None:
    """Each snapshot by another thread is the model after some number of calls."""
    X, y = stream(1200, classes=4)
    case = BY_NAME["ahpatron"]
    model = case.make().partial_fit(X[:20], y[:20])
    taken: list[Any] = []
    done = threading.Event()

    def learn() -> None:
        for i in range(20, 1200, 20):
            model.partial_fit(X[i : i + 20], y[i : i + 20])
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    while not done.is_set() and len(taken) < 30:
        taken.append(model.snapshot())
    thread.join()
    for fixed in taken[:: max(1, len(taken) // 5)]:
        alone = case.make().partial_fit(X[:20], y[:20])
        for i in range(20, fixed.n_seen_, 20):
            alone.partial_fit(X[i : i + 20], y[i : i + 20])
        assert fixed.n_seen_ % 20 == 0
        assert to_bytes(fixed) == to_bytes(alone)


def test_a_snapshot_of_a_river_model() -> None:
    river = pytest.importorskip("budgetron.river")
    X, y = stream(120, classes=3)
    rows = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
    model = river.make("ahpatron", budget=10, seed=1)
    for x, label in zip(rows[:60], y[:60].tolist(), strict=True):
        model.learn_one(x, label)
    answers = [model.predict_proba_one(x) for x in rows]
    fixed = model.snapshot()
    for x, label in zip(rows[60:], y[60:].tolist(), strict=True):
        model.learn_one({**x, "new": 1.0}, label)
    assert [fixed.predict_proba_one(x) for x in rows] == answers
    for x, label in zip(rows[60:], y[60:].tolist(), strict=True):
        fixed.learn_one({**x, "new": 1.0}, label)
    assert [fixed.predict_proba_one(x) for x in rows] == [model.predict_proba_one(x) for x in rows]
