"""The streams: real ones in the order of their files, and seeded generators of drift.

The table encoder turns words into numbers, with the categories of the first 1,000 rows, in the same
way for all learners. Nothing is scaled. Generators are River's, with 20,000 rows each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from budgetron import TableEncoder, datasets
from budgetron.lab.rows import Rows

FIRST = 20_000  # rows that every learner gets
INFER = 1000  # rows in which the categories of words are found


@dataclass(frozen=True)
class Source:
    """A stream by name.

    Attributes
    ----------
    name : in the tables
    read : reads all its rows
    real : whether it is real data; otherwise a generator made it
    about : a short description
    ordered : whether its rows have an order of their own
    """

    name: str
    read: Callable[[], Rows]
    real: bool
    about: str
    ordered: bool = True

    def rows(self, most: int | None = None) -> Rows:
        """The first so many of its rows, or all. The last result is cached."""
        return _rows(self, most)


@lru_cache(maxsize=1)
def _rows(source: Source, most: int | None) -> Rows:
    whole = source.read()
    return Rows(whole.name, whole.X[:most], whole.y[:most], given_task=whole.given_task)


def _of_file(name: str) -> Callable[[], Rows]:
    def read() -> Rows:
        with np.load(Path(os.environ["BUDGETRON_DATA"]) / "streams" / f"{name}.npz") as file:
            return Rows(name, file["X"].astype(np.float32), file["y"])

    return read


def _of_set(name: str, known: str, task: str = "classification") -> Callable[[], Rows]:
    def read() -> Rows:
        X, y = datasets.load(known)
        return Rows(name, X, y if task == "regression" else y.astype(np.int64), given_task=task)

    return read


def _kddcup99() -> Rows:
    """Three columns are codes of words in the file: back to words, then the table encoder."""
    with np.load(Path(os.environ["BUDGETRON_DATA"]) / "kddcup99.npz") as file:
        names = file["feature_names"].tolist()
        words = json.loads(str(file["categories"]))
        values, y = file["X_train"], file["y_train"].astype(np.int64)
    table: dict[str, Any] = dict(zip(names, values.T, strict=True))
    for column, categories in words.items():
        table[column] = np.array(categories)[table[column].astype(np.intp)]
    encoder = TableEncoder(
        categorical=list(words),
        numeric=[name for name in names if name not in words],
        infer_rows=INFER,
    )
    encoder.partial_fit({name: column[:INFER] for name, column in table.items()})
    X = encoder.transform(table).astype(np.float32)
    return Rows("kddcup99", X, y)


# ---- generators --------------------------------------------------------------------------------


def _generated(name: str, draw: Callable[[], Iterable[Any]]) -> Callable[[], Rows]:
    def read() -> Rows:
        rows, labels = zip(*islice(draw(), FIRST), strict=True)
        X = np.array([[float(v) for v in row.values()] for row in rows], dtype=np.float32)
        return Rows(name, X, np.array(labels).astype(np.int64))

    return read


def _turns(streams: Iterable[Any], every: int) -> Iterator[Any]:
    """So many rows of each generator, one after the other."""
    return chain.from_iterable(stream.take(every) for stream in streams)


def _sea_abrupt() -> Iterable[Any]:
    from river.datasets import synth

    each = (synth.SEA(variant=i, noise=0.1, seed=i) for i in range(4))
    return _turns(each, FIRST // 4)


def _sea_gradual() -> Iterable[Any]:
    from river.datasets import synth

    before, after = (synth.SEA(variant=i, noise=0.1, seed=i) for i in (2, 3))
    middle = FIRST // 2
    drift: Iterable[Any] = synth.ConceptDriftStream(
        before, after, seed=0, position=middle, width=4000
    )
    return drift


def _stagger_recurring() -> Iterable[Any]:
    from river.datasets import synth

    each = (synth.STAGGER(classification_function=i % 3, seed=i) for i in range(8))
    return _turns(each, FIRST // 8)


def _led_abrupt() -> Iterable[Any]:
    from river.datasets import synth

    kinds = ({"n_drift_features": n} for n in (0, 3, 5, 7))
    each = (
        synth.LEDDrift(seed=i, noise_percentage=0.1, irrelevant_features=True, **kind)
        for i, kind in enumerate(kinds)
    )
    return _turns(each, FIRST // 4)


def _hyperplane_incremental() -> Iterable[Any]:
    from river.datasets import synth

    plane: Iterable[Any] = synth.Hyperplane(
        seed=0, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05
    )
    return plane


def _rbf_incremental() -> Iterable[Any]:
    from river.datasets import synth

    centres: Iterable[Any] = synth.RandomRBFDrift(
        seed_model=0,
        seed_sample=0,
        n_classes=5,
        n_features=10,
        n_centroids=50,
        change_speed=0.001,
        n_drift_centroids=50,
    )
    return centres


def _file(name: str, about: str, real: bool = True) -> Source:
    return Source(name, _of_file(name), real, about)


def _made(name: str, draw: Callable[[], Iterable[Any]], about: str) -> Source:
    return Source(name, _generated(name, draw), False, about)


REAL = (
    _file("elec2", "prices of electricity, up or down"),
    _file("outdoor", "objects in changing light"),
    _file("rialto", "buildings over 20 days of light and weather"),
    _file("spam", "words of mails"),
    _file("gmsc", "people who ask for credit"),
    Source("census_income", _of_set("census_income", "census-income"), True, "people, in words"),
    Source("kddcup99", _kddcup99, True, "connections of a network, most of them attacks"),
    Source("covtype", _of_set("covtype", "covtype"), True, "trees of a forest, by place"),
    Source("poker", _of_set("poker", "poker"), True, "hands of cards"),
    Source(
        "airlines",
        _of_set("airlines", "airlines-nyc2013", "regression"),
        True,
        "delay of flights in minutes",
    ),
)
MADE = (
    _file("squares", "squares that move steadily", real=False),
    _file("tree_abrupt", "random trees, three abrupt changes", real=False),
    _file("mixed_gradual", "labels invert, gradually", real=False),
    _made("SEA, abrupt", _sea_abrupt, "three abrupt changes of the threshold"),
    _made("SEA, gradual", _sea_gradual, "one gradual change of the threshold"),
    _made("STAGGER, recurring", _stagger_recurring, "three concepts in turn"),
    _made("LED, abrupt", _led_abrupt, "0, 3, 5, 7 segments change places"),
    _made("hyperplane, incremental", _hyperplane_incremental, "a plane that turns"),
    _made("RBF, incremental", _rbf_incremental, "50 centres that move"),
)
SOURCES = (*REAL, *MADE)
SHUFFLED = (  # only for damage
    Source("phishing", _of_set("phishing", "phishing"), True, "addresses that lie", False),
    Source("magic04", _of_set("magic04", "magic04"), True, "showers of particles", False),
)
