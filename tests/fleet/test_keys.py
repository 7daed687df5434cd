"""Keys of any type: which are equal, which are not, and what is returned."""

from __future__ import annotations

import datetime
import decimal
import fractions
import uuid
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from budgetron.errors import BudgetronError
from budgetron.fleet.keys import decode, encode

DAY = datetime.datetime(2026, 3, 1, 12, 30)
NANO = np.datetime64("2026-03-01T12:30:00.000000001", "ns")


@pytest.mark.parametrize(
    "same",
    [
        [1, 1.0, True, np.int8(1), np.uint64(1), np.float32(1), decimal.Decimal(1)],
        [2**70, float(2**70), decimal.Decimal(2**70), fractions.Fraction(2**70)],
        [2.5, np.float32(2.5), decimal.Decimal("2.50"), fractions.Fraction(5, 2)],
        [decimal.Decimal("0.1"), decimal.Decimal("0.10"), fractions.Fraction(1, 10)],
        [float("inf"), decimal.Decimal("inf"), np.float32("inf")],
        [DAY, np.datetime64(DAY, "s"), np.datetime64(DAY, "ns"), pandas.Timestamp(DAY)],
        [DAY.date(), np.datetime64(DAY.date()), np.datetime64(DAY.date(), "D")],
        [NANO, pandas.Timestamp(NANO)],
        ["Rome", np.str_("Rome")],
        [DAY, np.datetime64(DAY)],
        [(1, "a"), (1.0, "a")],
        [frozenset({"x", "y", "z"}), frozenset({"z", "y", "x"})],
    ],
)
def test_equal_keys_are_one(same: list[Any]) -> None:
    assert len(np.unique(encode(same), axis=0)) == 1


def test_different_keys_are_not() -> None:
    keys = [
        *(1, -1, "1", b"1", 1.5, 2**64 + 1, float("inf"), "a" * 13, "a" * 14, "a" * 15, "a" * 16),
        *("", b"", (), ("",), ("", ""), (("",),), ("ab", "c"), ("a", "bc"), frozenset({1})),
        *(DAY, DAY.date(), DAY.replace(tzinfo=datetime.UTC), uuid.UUID(int=7), uuid.UUID(int=8)),
        *("\u00e9", "e\u0301", "\ud800"),
        *(0.1, decimal.Decimal("0.1"), NANO, NANO + 1, np.datetime64("2026-03-01", "h")),
    ]
    assert len(np.unique(encode(keys), axis=0)) == len(keys)


@pytest.mark.parametrize(
    "values", [[3, 1, 3, -7], ["b", "a", "b", "\u00e5" * 20], [0.5, 2.0, 0.5, -1e300]]
)
def test_columns_of_any_library_give_the_same_ids(values: list[Any]) -> None:
    expected = encode(values)
    columns = [
        np.array(values),
        np.array(values, dtype=object),
        pandas.Series(values),
        pandas.Series(values).astype("category"),
        pandas.Categorical(values),
        polars.Series(values),
        pyarrow.array(values),
        pyarrow.chunked_array([values[:2], values[2:]]),
        pyarrow.array(values).dictionary_encode(),
        tuple(values),
        iter(values),
    ]
    for column in columns:
        np.testing.assert_array_equal(encode(column), expected)


def test_times_of_numpy_and_arrow_are_those_of_python() -> None:
    days = [DAY, DAY + datetime.timedelta(days=1)]
    expected = encode(days)
    units = [np.array(days, dtype=f"datetime64[{unit}]") for unit in ("s", "us", "ns")]
    for column in (*units, list(units[2]), pyarrow.array(days), pandas.Series(days)):
        np.testing.assert_array_equal(encode(column), expected)
    dates = [day.date() for day in days]
    for column in (np.array(dates), pyarrow.array(dates), pandas.Series(dates)):
        np.testing.assert_array_equal(encode(column), encode(dates))


@pytest.mark.parametrize(
    "keys",
    [
        [1, None],
        [1.0, float("nan")],
        [1.0, decimal.Decimal("nan")],
        [1.0, np.datetime64("NaT")],
        np.array([1.0, np.nan]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        pandas.Series(["a", None]),
        pandas.Series(["a", None]).astype("category"),
        pandas.Series([1, None], dtype="Int64"),
        polars.Series(["a", None]),
        pyarrow.array(["a", None]),
    ],
)
def test_a_missing_key_is_named(keys: Any) -> None:
    with pytest.raises(BudgetronError, match="row 1 has no key"):
        encode(keys)


@pytest.mark.parametrize("keys", ["text", 5, np.zeros((2, 2)), [lambda: 0], [{}]])
def test_an_invalid_key_is_reported(keys: Any) -> None:
    with pytest.raises(BudgetronError):
        encode(keys)


def test_short_keys_come_back() -> None:
    keys = [7, -1, 2.5, "Rome", b"\x00\xff", DAY, DAY.date(), "", 2**62]
    assert decode(encode(keys)) == keys
    (hashed,) = decode(encode(["a long text that is kept by its hash"]))
    assert hashed.startswith("#ff")
    assert len(hashed) == 33


def test_no_keys() -> None:
    for keys in ([], np.array([]), pyarrow.array([], type=pyarrow.string())):
        assert encode(keys).shape == (0, 2)
