"""Merging: eight workers, one base, and the merged model beside one learner of all rows.

    python -m studies.merging [--only a9a,casp] [--permutations 3] > docs/results/merging.md

Shuffled: up to 46,000 rows of each set in a random order; the last 6,000 (also for magic04 and
casp) are the test rows. The base learns the first 2,000 rows; eight workers learn the rest, row i
by worker i modulo 8; they are merged once at the end, or four times, each time as the base of the
next round. Compared with: the base, one worker alone, the mean of the workers' coefs (equal to the
mean of their answers, because all have the same stored examples), and one sequential learner of all
rows with the same parameters. Budgetron, B = 100, otherwise default settings. Test error in per
cent, for casp the root mean squared error; means over permutations. covtype is class 2 against the
others, covtype 7 and mnist are all classes.

Drift: streams that change, B = 100, the first 2,000 rows for the base. The rest is dealt to eight
workers row by row, or cut into eight pieces in the order of time, or into eight pieces that are
merged one after the other, each as the base of the next. Test error on the last 2,000 rows, which
no learner has seen, also for the sequential learner.

Never met: two models that learned halves of the rows from the first row on, merged into one of the
same budget; compared with each half, and with one learner of all rows.

Classes: halves of the classes, of mnist and of scikit-learn's digits.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import budgetron
from budgetron import BudgetronClassifier, BudgetronRegressor, datasets
from budgetron.streams.synthetic import synthetic

ROWS, TESTED, BASE, WORKERS, BUDGET = 46_000, 6_000, 2_000, 8, 100
HELD = ("a9a", "cod-rna", "ijcnn1", "covtype", "magic04", "w8a")
ALSO = ("covtype 7", "mnist", "casp")
DRIFTS = (
    "sea,drift=abrupt,at=5000",
    "sea,drift=gradual,at=5000,over=10000",
    "checkerboard,drift=abrupt,at=10000",
    "gaussians,drift=recurring,every=6000",
)


def rows_of(name: str, seed: int) -> tuple[Any, Any]:
    """The rows of a set in a random order."""
    parts = ("train",) if name in ("cod-rna", "mnist") else ()
    X, y = datasets.load(name.split()[0], parts, dtype="float64")
    if name == "covtype":
        y = (y == 2).astype(int)
    order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    return X[order], y[order]


def make(name: str) -> Any:
    kind = BudgetronRegressor if name == "casp" else BudgetronClassifier
    return kind(budget=BUDGET)


def learn(model: Any, X: Any, y: Any, classes: Any) -> Any:
    if isinstance(model, BudgetronRegressor):
        return model.partial_fit(X, y)
    first = not hasattr(model, "classes_")
    return model.partial_fit(X, y, classes=classes if first else None)


def error(answers: Any, y: Any, classes: Any) -> float:
    """Per cent of wrong decisions; for a regressor the root mean squared error."""
    if classes is None:
        return float(np.sqrt(np.mean((answers - y) ** 2)))
    at = answers.argmax(1) if answers.ndim > 1 else (answers >= 0).astype(int)
    return 100 * float(np.mean(classes[at] != y))


def answers(model: Any, X: Any) -> Any:
    return model.predict(X) if isinstance(model, BudgetronRegressor) else model.decision_function(X)


def rounds(base: Any, X: Any, y: Any, merges: int) -> tuple[Any, list[Any]]:
    """The model after so many merges, and the workers of the last one."""
    model, workers = base, []
    for part in np.array_split(np.arange(len(y)), merges):
        held = model.base()
        workers = [held.snapshot() for _ in range(WORKERS)]
        for at, worker in enumerate(workers):
            worker.partial_fit(X[part[at::WORKERS]], y[part[at::WORKERS]])
        deltas = [worker.delta(held, str(at)) for at, worker in enumerate(workers)]
        model = budgetron.merge(held, deltas)
    return model, workers


def shuffled(name: str, seed: int) -> list[float]:
    """Errors: base, one worker, mean of coefs, one merge, four merges, sequential; never replacing.

    The last is sequential as well, but calls no drift: false alarms replace examples, which may
    help
    or hurt by chance.
    """
    X, y = rows_of(name, seed)
    tested, labels, X, y = X[-TESTED:], y[-TESTED:], X[:-TESTED], y[:-TESTED]
    classes = None if name == "casp" else np.unique(y)
    sequential = learn(make(name), X, y, classes)
    base = learn(make(name), X[:BASE], y[:BASE], classes)
    once, workers = rounds(base, X[BASE:], y[BASE:], 1)
    often, _ = rounds(base, X[BASE:], y[BASE:], 4)
    mean = np.mean([answers(worker, tested) for worker in workers], axis=0)
    found = [answers(model, tested) for model in (base, workers[0])]
    never = learn(make(name).set_params(replace="never"), X, y, classes)
    found += [mean, *(answers(model, tested) for model in (once, often, sequential, never))]
    return [error(each, labels, classes) for each in found]


def drifting(text: str) -> list[float]:
    """Errors: base, sequential, dealt and merged once, dealt and four times, by time, in turn."""
    stream = synthetic(f"{text},rows=22000,seed=1")
    chunks = list(stream)
    X = np.vstack([np.asarray(each[0]) for each in chunks])
    y = np.concatenate([each[1] for each in chunks])
    tested, labels, X, y = X[20_000:], y[20_000:], X[:20_000], y[:20_000]
    classes = np.unique(y)
    sequential = learn(make(text), X, y, classes)
    base = learn(make(text), X[:BASE], y[:BASE], classes)
    X, y = X[BASE:], y[BASE:]
    held = base.base()
    deltas = []
    for at, part in enumerate(np.array_split(np.arange(len(y)), WORKERS)):
        deltas.append(held.snapshot().partial_fit(X[part], y[part]).delta(held, str(at)))
    by_time = budgetron.merge(held, deltas)
    in_turn = base
    for part in np.array_split(np.arange(len(y)), WORKERS):
        held = in_turn.base()
        worker = held.snapshot().partial_fit(X[part], y[part])
        in_turn = budgetron.merge(held, [worker.delta(held, "one")])
    models = [base, sequential, rounds(base, X, y, 1)[0], rounds(base, X, y, 4)[0]]
    models += [rounds(base, X, y, 16)[0], by_time, in_turn]
    return [error(answers(model, tested), labels, classes) for model in models]


def strangers(name: str, seed: int) -> list[float]:
    """Errors of two models of half of the rows each, of both merged, and of one of all rows."""
    X, y = rows_of(name, seed)
    tested, labels, X, y = X[-TESTED:], y[-TESTED:], X[:-TESTED], y[:-TESTED]
    classes = None if name == "casp" else np.unique(y)
    half = len(y) // 2
    one = learn(make(name), X[:half], y[:half], classes)
    other = learn(make(name), X[half:], y[half:], classes)
    both = budgetron.merge_models([one, other], budget=BUDGET)
    whole = learn(make(name), X, y, classes)
    return [error(answers(model, tested), labels, classes) for model in (one, other, both, whole)]


def half_classes(name: str) -> list[float]:
    """Errors on all classes: workers that saw classes 0 to 4 and 5 to 9, merged, and sequential."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        X, y, tests, start = X[order], y[order], 400, 300
    else:
        X, y = rows_of(name, 0)
        X, y, tests, start = X[:22_000], y[:22_000], TESTED, BASE
    tested, labels, X, y = X[-tests:], y[-tests:], X[:-tests], y[:-tests]
    classes = np.unique(y)
    sequential = learn(make(name), X, y, classes)
    held = learn(make(name), X[:start], y[:start], classes).base()
    low = (y < 5) & (np.arange(len(y)) >= start)
    high = (y >= 5) & (np.arange(len(y)) >= start)
    workers = [held.snapshot().partial_fit(X[of], y[of]) for of in (low, high)]
    merged = budgetron.merge(
        held, [worker.delta(held, str(at)) for at, worker in enumerate(workers)]
    )
    models = [held, *workers, merged, sequential]
    return [error(answers(model, tested), labels, classes) for model in models]


def table(head: str, rows: dict[str, list[str]]) -> None:
    print(f"| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(flush=True)


def means(function: Any, name: str, permutations: int) -> list[float]:
    found = [function(name, seed) for seed in range(permutations)]
    return [float(each) for each in np.mean(found, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--permutations", type=int, default=3)
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [*HELD, *ALSO]
    warnings.simplefilter("ignore")
    print("# Merging\n\nBy `python -m studies.merging`; its head says what is measured.\n")
    print(f"One base of 2,000 rows, eight workers, B = {BUDGET}. The last three columns are ratios")
    print(
        "to the error of one sequential learner; at most 1.06 after one merge, 1.03 after four.\n"
    )
    rows = {}
    for name in names:
        found = means(shuffled, name, options.permutations)
        ratios = [f"{each / found[5]:.3f}" for each in found[2:5]]
        rows[name] = [f"{each:.2f}" for each in found] + ratios
    columns = "set | base | one worker | mean of coefs | one merge | four merges | sequential"
    table(f"{columns} | never replacing | mean/seq. | one/seq. | four/seq.", rows)
    if options.only:
        return
    print("Streams that change; test error on the 2,000 rows after the last one learned.\n")
    columns = "stream | base | sequential | dealt, one merge | four | sixteen"
    found_of = {text: [f"{each:.2f}" for each in drifting(text)] for text in DRIFTS}
    table(f"{columns} | pieces of time, one merge | one after the other", found_of)
    print("Models that never met: halves of the rows, merged within the budget of one.\n")
    rows = {}
    for name in [*HELD, "casp"]:
        found = means(strangers, name, 1)
        rows[name] = [f"{each:.2f}" for each in found]
    table("set | one half | other half | merged | all rows", rows)
    print("Halves of the classes: one worker learns only 0 to 4, one only 5 to 9.\n")
    rows = {name: [f"{each:.2f}" for each in half_classes(name)] for name in ("digits", "mnist")}
    table("set | base | 0 to 4 | 5 to 9 | merged | sequential", rows)


if __name__ == "__main__":
    main()
