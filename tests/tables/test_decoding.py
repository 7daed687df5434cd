"""The way back: `decode` of a cell's features gives the contents of the cell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetron.tables.codings import Boolean, Category, Date, Number, Text
from budgetron.tables.encoding import Encoding, Wishes


def decoded(coding: Any, values: list[Any]) -> list[Any]:
    """Cells encoded and decoded again."""
    column = pa.array(values)
    cells = coding.encode(column)
    dense = np.zeros((len(values), coding.width))
    if cells.ends is None:
        places = np.broadcast_to(cells.places, cells.values.shape)
        np.put_along_axis(dense, places, cells.values, axis=1)
    else:
        rows = np.searchsorted(cells.ends, np.arange(len(cells.values)), side="right")
        dense[rows, cells.places] = cells.values
    return [coding.decode(each) for each in dense]


@pytest.mark.parametrize(
    ("coding", "cells", "held"),
    [
        (Number("a"), [1.5, None, -3.0], [1.5, None, -3.0]),
        (Number("a", ","), ["1.234,5", "?"], [1234.5, None]),
        (Boolean("a"), ["yes", "false", "NA"], [True, False, None]),
        (
            Category("a", ("Oslo", "Rome")),
            ["Rome", "?", "Oslo", "Ulm"],
            ["Rome", None, "Oslo", "(other)"],
        ),
        (Text("a", 64), ["to be or not", "be", None], ["(4 words)", "(1 word)", None]),
        (
            Date("a", parts=("elapsed", "weekday", "month")),
            ["2024-02-29", None],
            ["2024-02-29", None],
        ),
        (
            Date("a"),
            ["2024-02-29 23:59", "0001-01-01 00:00"],
            ["2024-02-29 23:59", "0001-01-01 00:00"],
        ),
        (Date("a", "dmy", parts=("elapsed", "month")), ["31.12.1969"], ["1969-12-31"]),
        (Date("a", "hms", parts=("elapsed", "hour")), ["07:30"], ["07:30"]),
        (Date("a", fill=3.0), [None, "1970-01-04 00:00"], [None, "1970-01-04 00:00"]),
    ],
    ids=str,
)
def test_a_cell_is_what_it_was(coding: Any, cells: list[Any], held: list[Any]) -> None:
    assert decoded(coding, cells) == held


def test_features_that_are_a_little_off() -> None:
    """A learner has changed them by rounding, or replaced a gap by the mean."""
    assert Boolean("a").decode(np.array([1 + 1e-7])) is True
    assert Boolean("a").decode(np.array([0.4])) is None
    assert Boolean("a").decode(np.array([np.inf])) is None
    assert Category("a", ("x", "y")).decode(np.array([0.2, 0.7, 0, 0])) == "y"
    assert Category("a", ("x", "y")).decode(np.zeros(4)) == "(unknown)"
    assert Category("a", ("x", "y")).decode(np.full(4, np.nan)) == "(unknown)"
    day = Date("a").encode(pa.array(["2024-05-06 07:08"])).values[0]
    assert Date("a").decode(day + 1e-9) == "2024-05-06 07:08"
    assert Date("a").decode(day * 0.5) is None
    assert Date("a").decode(np.array([1e300, *day[1:]])) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dates(min_value=np.datetime64("1900-01-01").item()), min_size=1, max_size=20))
def test_every_day(days: list[Any]) -> None:
    table = pa.table({"day": [f"{each:%Y-%m-%d}".rjust(10, "0") for each in days]})
    encoding = Encoding.infer([table], Wishes({"day": "date:ymd"}))
    rows = encoding.encode(table, Counter()).toarray()
    assert [encoding.coded[0].decode(row) for row in rows] == table["day"].to_pylist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("others", 0),
        ("others", 2**31),
        ("others", True),
        ("categories", ["b", "a"]),
        ("categories", ["\ud800"]),
        ("categories", [1]),
        ("categories", "ab"),
        ("name", "town\ud800"),
        ("kind", "pickle"),
        ("more", 1),
    ],
)
def test_a_coding_that_makes_no_sense(name: str, value: Any) -> None:
    table = pa.table({"town": ["Rome", "Oslo"]})
    found = Encoding.infer([table], Wishes({})).to_dict()
    Encoding.from_dict(found)
    found["columns"][0]["coding"][name] = value
    with pytest.raises(ValueError, match=r"(is|are) not valid"):
        Encoding.from_dict(found)


@pytest.mark.parametrize(("name", "value"), [("rows", None), ("gaps", {}), ("why", 3), ("kind", 1)])
def test_a_column_that_makes_no_sense(name: str, value: Any) -> None:
    found = Encoding.infer([pa.table({"a": [1.0, 2.0]})], Wishes({})).to_dict()
    found["columns"][0][name] = value
    with pytest.raises(ValueError, match="is not valid"):
        Encoding.from_dict(found)
