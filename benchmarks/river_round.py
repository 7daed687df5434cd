"""A round through River's interface, predict_one and learn_one on a dict, against River's own.

Prints microseconds per round at a full budget of 300 on dicts of 14 features, and the ratio to
River's LogisticRegression on the same rows in the same run: at most 2 is expected, and the exit
code is 1 if a ratio is above. Processor time of one thread; learners take turns and the best of
several passes counts, so that a busy machine affects both sides alike.

All learners with a budget are timed. Those whose updates cost O(B^2) are printed without a bar,
except budgetron.

    python benchmarks/river_round.py
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from river import linear_model
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import budgetron
from budgetron.river import make

FEATURES, VALUES, BUDGET, ROWS, PASSES = 14, 9, 300, 1000, 15
ALLOWED = 2.0
QUADRATIC = {"cks", "forgetron-greedy", "projectron", "projectron++", "bsgd-project"}


def rows(count: int, seed: int) -> list[tuple[dict[str, float], bool]]:
    """Rows of a one-hot table: 14 of 126 features; about a sixth of the labels is noise."""
    draw, fixed = random.Random(seed), random.Random(0)
    weights = {(a, v): fixed.gauss(0.0, 1.0) for a in range(FEATURES) for v in range(VALUES)}
    made = []
    for _ in range(count):
        chosen = [(a, min(VALUES - 1, int(draw.expovariate(0.6)))) for a in range(FEATURES)]
        score = sum(weights[pair] for pair in chosen) + draw.gauss(0.0, 1.5)
        made.append(({f"attribute {a} = {v}": 1.0 for a, v in chosen}, score > 1.0))
    return made


def seconds_a_round(model: Any, stream: list[tuple[dict[str, float], bool]]) -> float:
    started = time.thread_time()
    for x, y in stream:
        model.predict_one(x)
        model.learn_one(x, y)
    return (time.thread_time() - started) / len(stream)


def main() -> int:
    warm, stream = rows(6 * ROWS, 0), rows(ROWS, 1)
    models = {"river LogisticRegression": linear_model.LogisticRegression()}
    for algorithm in budgetron.algorithms():
        if "budget" in algorithm.parameters:
            own = {} if algorithm.name == "budgetron" else {"scale": None}
            models[algorithm.name] = make(algorithm.name, seed=0, budget=BUDGET, **own)
    models["fogd"] = make("fogd", seed=0, scale=None)
    for model in models.values():
        seconds_a_round(model, warm)
    best = dict.fromkeys(models, float("inf"))
    for _ in range(PASSES):
        for name, model in models.items():
            best[name] = min(best[name], seconds_a_round(model, stream))
    theirs = best["river LogisticRegression"]
    print(f"{'predict + learn':<28}{'us a round':>12}{'ratio':>8}{'stored':>8}")
    for name, taken in best.items():
        stored = getattr(models[name], "n_support_", "")
        note = "  O(B^2)" if name in QUADRATIC else ""
        print(f"{name:<28}{1e6 * taken:>12.1f}{taken / theirs:>8.2f}{stored:>8}{note}")
    worst = max(taken / theirs for name, taken in best.items() if name not in QUADRATIC)
    print(f"largest ratio, without those of O(B^2): {worst:.2f}; expected: at most {ALLOWED}")
    return 0 if worst <= ALLOWED else 1


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
