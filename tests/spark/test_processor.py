"""The parts of budgetron.spark that need no Spark: packs, sequence numbers, the processor."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

import budgetron
from budgetron.errors import BudgetronError
from budgetron.fleet.keys import encode
from budgetron.spark import learn_fleet, score, train
from budgetron.spark.packing import Columns, Packer, unpacked
from budgetron.spark.processor import COUNTS, FleetProcessor
from budgetron.spark.sequences import Sequences

COLUMNS = Columns("user", "number", "y", ("a", "b"))
CLASSES = ["buys", "leaves"]
BUCKETS = 3


def made() -> budgetron.Fleet:
    return budgetron.Fleet("forgetron", memory="1MB", classes=CLASSES, shared=10, budget=3)


def rows(n: int, start: int = 0, seed: int = 0) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    return pa.record_batch(
        {
            "user": [f"user {each}" for each in random.integers(0, 20, n)],
            "number": start + np.arange(n),
            "y": random.choice(CLASSES, n),
            "a": random.normal(size=n),
            "b": random.normal(size=n),
            "other": np.zeros(n),
        }
    )


def packer(**changed: Any) -> Packer:
    arguments: dict[str, Any] = {"columns": COLUMNS, "classes": CLASSES, "buckets": BUCKETS}
    return Packer(**{**arguments, "gaps": True, **changed})


class State:
    """A state store of one operator, as in Spark: one value per key."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Any, ...]] = {}
        self.key = -1

    def getValueState(self, name: str, schema: str) -> State:
        assert (name, len(schema.split(","))) == ("fleet", 2 + len(COUNTS))
        return self

    def get(self) -> tuple[Any, ...] | None:
        return self.values.get(self.key)

    def update(self, value: tuple[Any, ...]) -> None:
        self.values[self.key] = value


def run(
    processor: FleetProcessor, state: State, batches: list[pa.RecordBatch], **packing: Any
) -> pandas.DataFrame:
    """Run a micro-batch; returns the output of all buckets."""
    packs = pa.Table.from_batches(list(packer(**packing)(batches))).to_pandas()
    processor = pickle.loads(pickle.dumps(processor))
    processor.init(state)
    found = []
    for bucket, frame in packs.groupby("bucket"):
        state.key = int(bucket)
        found += list(processor.handleInputRows((bucket,), iter([frame]), None))
    processor.close()
    return pandas.concat(found) if found else pandas.DataFrame()


def processor(output: str = "totals", remember: int = 1000) -> FleetProcessor:
    return FleetProcessor(made(), COLUMNS, output, remember)


# ---- the processor -------------------------------------------------------------------------------


def test_a_bucket_is_the_fleet_that_learned_its_rows_alone() -> None:
    state, both = State(), [rows(300), rows(300, 300, seed=1)]
    for batch in both:
        totals = run(processor(), state, [batch])
    whole = pa.Table.from_batches(both)
    where = made().bucket_of(whole["user"], BUCKETS)
    X = np.column_stack([whole["a"], whole["b"]])
    assert len(state.values) == BUCKETS
    for bucket, (data, *_) in state.values.items():
        mine = np.flatnonzero(where == bucket)
        fleet = made().learn(whole["user"].take(mine), X[mine], np.array(whole["y"])[mine])
        assert fleet.to_bytes() == data
        told = totals[totals["bucket"] == bucket].iloc[0]
        assert told["rows"] == fleet.n_seen_ == len(mine)
        assert told["mistakes"] == fleet.n_mistakes_ > 0
        assert told["keys"] == len(fleet)
        assert told["batches"] == 2
        assert told["state_bytes"] > len(data)


def test_the_order_in_which_rows_come_changes_no_bit() -> None:
    one, other = State(), State()
    batch = pa.Table.from_batches([rows(400)])
    twice = pa.concat_tables([batch, batch.slice(0, 50).set_column(3, "a", [np.ones(50)])])
    mixed = twice.take(np.random.default_rng(5).permutation(len(twice)))
    run(processor(), one, twice.combine_chunks().to_batches())
    run(processor(), other, mixed.combine_chunks().to_batches(max_chunksize=100))
    assert one.values == other.values


def test_a_batch_that_is_run_again_from_its_state_comes_to_the_same_bits() -> None:
    state = State()
    run(processor(), state, [rows(200)])
    before = copy.deepcopy(state)
    run(processor(), state, [rows(200, 200, seed=1)])
    run(processor(), before, [rows(200, 200, seed=1)])
    assert state.values == before.values


def test_rows_that_come_again_or_late_are_counted_and_not_learned() -> None:
    state = State()
    run(processor(), state, [rows(200, 1000)])
    data = {bucket: value[0] for bucket, value in state.values.items()}
    totals = run(processor(), state, [rows(200, 1000), rows(200, 0)])
    assert totals["repeated"].sum() == 400
    assert totals["rows"].sum() == 200
    assert {bucket: value[0] for bucket, value in state.values.items()} == data


def test_rows_that_cannot_be_learned_are_counted() -> None:
    frame = rows(200).to_pandas()
    frame.loc[0, "user"] = None
    frame.loc[1, "y"] = "wonders"
    frame.loc[2, "y"] = None
    frame.loc[3, "a"] = -np.inf
    frame.loc[4, "b"] = None
    batch = pa.RecordBatch.from_pandas(frame)
    batch = batch.set_column(
        1, "number", pa.array([None if each == 5 else each for each in range(200)])
    )
    totals = run(processor(), State(), [batch])
    assert (totals["bad"].sum(), totals["rows"].sum()) == (5, 195)
    plain = budgetron.Fleet("forgetron", memory="1MB", classes=CLASSES, scale=None)
    without = FleetProcessor(plain, COLUMNS, "totals", 1000)
    totals = run(without, State(), [batch], gaps=False)
    assert (totals["bad"].sum(), totals["rows"].sum()) == (6, 194)


def test_a_bucket_without_a_row_to_learn_waits() -> None:
    state = State()
    bad = rows(30).to_pandas().assign(y="wonders")
    totals = run(processor(), state, [pa.RecordBatch.from_pandas(bad)])
    assert (totals["bad"].sum(), totals["rows"].sum(), totals["keys"].sum()) == (30, 0, 0)
    totals = run(processor(), state, [rows(30)])
    assert (totals["bad"].sum(), totals["rows"].sum()) == (30, 30)


def test_rows_are_reported_with_the_prediction_made_before() -> None:
    state, batch = State(), rows(300)
    told = run(processor("rows"), state, [batch]).sort_values("number")
    assert list(told.columns) == ["user", "number", "y", "prediction"]
    assert told["user"].tolist() == batch["user"].to_pylist()
    assert told["y"].tolist() == batch["y"].to_pylist()
    wrong = sum(value[2 + COUNTS.index("mistakes")] for value in state.values.values())
    assert (told["y"] != told["prediction"]).sum() == wrong > 0


def test_a_bucket_starts_with_the_fleet_it_is_given() -> None:
    learned = made().learn(["user 1"] * 50, rows(50).to_pandas()[["a", "b"]], rows(50)["y"])
    state = State()
    begins = processor()
    begins.init(state)
    for bucket in learned.buckets(BUCKETS):
        state.key = bucket.number
        given = pandas.DataFrame({"fleet": [learned.to_bytes(bucket)]})
        begins.handleInitialState((bucket.number,), given, None)
    totals = run(begins, state, [rows(200, seed=2)])
    assert totals["rows"].sum() == 200
    fleets = [budgetron.Fleet.from_bytes(value[0]) for value in state.values.values()]
    assert sum(fleet.n_seen_ for fleet in fleets) == 200 + BUCKETS * 50


# ---- packs and sequence numbers ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["columns", "arrays"])
def test_packs_hold_the_rows_of_their_bucket(kind: str) -> None:
    batch = rows(500)
    X = np.column_stack([batch["a"], batch["b"]])
    columns = COLUMNS
    if kind == "arrays":
        columns = COLUMNS._replace(features="x")
        batch = batch.append_column("x", pa.array(list(X)))
    packs = pa.Table.from_batches(list(packer(columns=columns)([batch]))).to_pydict()
    assert sorted(packs["bucket"]) == list(range(BUCKETS))
    for bucket, pack in zip(packs["bucket"], packs["rows"], strict=True):
        found, _ = unpacked([pack])
        mine = np.flatnonzero(made().bucket_of(batch["user"], BUCKETS) == bucket)
        assert found.keys.to_pylist() == batch["user"].take(mine).to_pylist()
        assert (found.numbers == mine).all()
        assert (np.array(CLASSES)[found.labels] == np.array(batch["y"])[mine]).all()
        assert (found.features == X[mine]).all()


@pytest.mark.parametrize(
    ("column", "values", "classes", "message"),
    [
        ("number", [0.5, 1.5], CLASSES, "'number' holds double: sequence numbers are whole"),
        ("y", [0, 1], CLASSES, r"'y' holds int64, and the classes of the fleet are \['buys'"),
        ("y", ["0", "1"], [0, 1], "'y' holds string, and the classes"),
        ("a", ["x", "y"], CLASSES, "'a' holds string, not numbers"),
    ],
)
def test_a_column_of_a_wrong_type_is_a_line(
    column: str, values: list[Any], classes: list[Any], message: str
) -> None:
    batch = rows(2)
    batch = batch.set_column(batch.schema.get_field_index(column), column, pa.array(values))
    with pytest.raises(BudgetronError, match=message):
        list(packer(classes=classes)([batch]))


@pytest.mark.parametrize("labels", [[True, False, None], [1, 0, 7], [1.0, 0.0, float("nan")]])
def test_labels_that_are_no_text_are_known_by_their_value(labels: list[Any]) -> None:
    batch = rows(3).set_column(2, "y", pa.array(labels))
    classes = [False, True] if labels[0] is True else [0, 1]
    found = pa.Table.from_batches(list(packer(classes=classes)([batch]))).to_pydict()
    assert sum(found["bad"]) == 1
    assert sorted(unpacked(found["rows"])[0].labels.tolist()) == [0, 1]


def histories() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    for batch in range(20):
        n = int(random.integers(0, 60))
        yield random.integers(0, 12, n), random.integers(-10, 10, n) + 3 * batch


def test_sequence_numbers_are_accepted_as_a_dict_would() -> None:
    known, last = Sequences(), {}
    for batch, (keys, numbers) in enumerate(histories()):
        expected = []
        for row in np.argsort(numbers, kind="stable").tolist():
            key, number = int(keys[row]), int(numbers[row])
            if key not in last or number > last[key]:
                last[key] = number
                expected.append(row)
        found = known.accept(encode(keys), numbers, batch)
        assert sorted(found.tolist()) == sorted(expected)
        assert (np.diff(numbers[found]) >= 0).all()
        known = Sequences(known.to_bytes())
    assert len(known) == len(last)


def test_keys_that_were_not_seen_for_the_longest_are_forgotten() -> None:
    known = Sequences(most=2)
    for batch, key in enumerate(["a", "b", "a", "c"]):
        assert len(known.accept(encode([key]), np.array([batch]), batch)) == 1
    assert len(known) == 2
    assert len(known.accept(encode(["a"]), np.array([2]), 4)) == 0
    assert len(known.accept(encode(["b"]), np.array([1]), 5)) == 1  # which is forgotten


# ---- without Spark -------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["learn_fleet", "score", "train"])
def test_without_pyspark_a_line_says_what_to_install(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.types"):
        monkeypatch.setitem(sys.modules, name, None)  # by which Python refuses to import it
    names = {"key": "user", "sequence": "number", "label": "y", "features": ["a"]}
    calls: dict[str, Any] = {
        "learn_fleet": lambda: learn_fleet(None, made(), **names),
        "score": lambda: score(None, None),
        "train": lambda: train(budgetron.make("budgetron"), None, "y"),
    }
    with pytest.raises(BudgetronError, match="needs the package pyspark") as raised:
        calls[call]()
    assert str(raised.value).endswith(": pip install 'budgetron[spark]'")


# ---- arrays of features --------------------------------------------------------------------------


def arrays(n: int, start: int = 0, kind: Any = None) -> pa.RecordBatch:
    """The rows of `rows`, with their features in one column of arrays."""
    batch = rows(n, start)
    both = np.column_stack([batch["a"], batch["b"]]).tolist()
    names = ["user", "number", "y", "ab"]
    features = pa.array(both, kind or pa.list_(pa.float64()))
    return pa.RecordBatch.from_arrays([batch["user"], batch["number"], batch["y"], features], names)


def with_arrays(batch: pa.RecordBatch, changed: dict[int, Any]) -> pa.RecordBatch:
    features = [changed.get(i, each) for i, each in enumerate(batch["ab"].to_pylist())]
    return batch.set_column(3, "ab", pa.array(features, batch["ab"].type))


AB = COLUMNS._replace(features="ab")


@pytest.mark.parametrize("large", [False, True])
def test_a_row_whose_array_is_missing_or_of_another_length_is_a_bad_one(large: bool) -> None:
    kind = pa.large_list(pa.float64()) if large else pa.list_(pa.float64())
    odd = {3: None, 5: [1.0], 7: [1.0, 2.0, 3.0], 8: []}
    batch = with_arrays(arrays(40, kind=kind), odd)
    packs = [each for found in packer(columns=AB)([batch]) for each in found.to_pylist()]
    assert sum(each["bad"] for each in packs) == len(odd)
    found, left_out = unpacked([each["rows"] for each in packs])
    assert left_out == 0
    order = np.argsort(found.numbers)
    kept = [i for i in range(40) if i not in odd]
    assert found.numbers[order].tolist() == kept
    expected = [batch["ab"][i].as_py() for i in kept]
    np.testing.assert_array_equal(found.features[order], expected)


def test_a_fleet_that_has_learned_says_how_long_arrays_are() -> None:
    batch = with_arrays(arrays(6), {i: [1.0, 2.0, 3.0] for i in range(5)})
    for width, bad in ((2, 5), (3, 1), (None, 1)):
        packs = [
            each for found in packer(columns=AB, width=width)([batch]) for each in found.to_pylist()
        ]
        assert sum(each["bad"] for each in packs) == bad
    # Batches of one micro-batch that took other lengths: those of the fleet are learned.
    state = State()
    run(processor(), state, [arrays(60)], columns=AB)
    longer = with_arrays(arrays(30, 60), {i: [1.0, 2.0, 3.0] for i in range(30)})
    totals = run(processor(), state, [arrays(20, 100), longer], columns=AB)
    assert totals["rows"].sum() == 80
    assert totals["bad"].sum() == 30


def test_a_batch_without_any_array_is_all_bad() -> None:
    state = State()
    nothing = with_arrays(arrays(9), dict.fromkeys(range(9)))
    totals = run(processor(), state, [nothing], columns=AB)
    assert (totals["rows"].sum(), totals["bad"].sum()) == (0, 9)
    assert run(processor(), state, [arrays(60)], columns=AB)["rows"].sum() == 60
