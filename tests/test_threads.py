"""The GIL is released while rows are learned; one model is safe to share."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from cases import BY_NAME, same_state, stream

import budgetron


def test_other_threads_run_while_a_model_learns() -> None:
    """With the GIL held for the whole call, this thread could not count while the other learns."""
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
    X, _ = stream(2000)
    failures: list[str] = []
    for attempt in range(20):
        model = BY_NAME["rbp"].make().partial_fit(X[:50], np.arange(50) % 2)
        stop = threading.Event()

        def decide(model: Any = model, stop: threading.Event = stop) -> None:
            while not stop.is_set():
                decisions = model._engine.predict(X[:300])
                if decisions.shape[0] != 300 or not np.isfinite(decisions).all():
                    failures.append(str(decisions.shape))
                model.support_vectors_  # noqa: B018

        thread = threading.Thread(target=decide)
        thread.start()
        for label in range(2, 12):
            model.partial_fit(X[50 + attempt : 60 + attempt], np.full(10, label))
        stop.set()
        thread.join()
        assert len(model.classes_) == 12
    assert not failures
