"""One test per kind of column: its detection, and the features that it becomes."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from budgetron import BudgetronError, TableEncoder
from budgetron.tables.codings import Category
from budgetron.tables.frames import check_columns
from budgetron.tables.hashing import buckets
from budgetron.tables.parsing import GAPS, text_numbers


def encoded(values: Any, more: Any = None, **params: Any) -> tuple[TableEncoder, Any]:
    """The encoder of one column "c", and the dense features of `more` rows."""
    encoder = TableEncoder(**params).fit({"c": values})
    return encoder, encoder.transform({"c": values if more is None else more}).toarray()


def kind(values: Any, **params: Any) -> str:
    """The kind of a column that has a column of numbers beside it, so that something is left."""
    beside = [float(i % 7) for i in range(len(values))]
    return TableEncoder(**params).fit({"c": values, "n": beside}).kinds_["c"]


# ---- which kind ------------------------------------------------------------------------------

LETTERS = "abcdefghij"
RECORDED = [895529, 780094, 322068, 91501, 218986]
WORDS = [f"{a}{b}" for a in LETTERS for b in LETTERS]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 2], "number"),
        ([1.5, None, 2.0], "number"),
        (["1", "2.5", "-3e2"], "number"),
        (["1,5", "2,25"], "number"),
        (["1,234", "5,678,901.5"], "number"),
        (["1.234,5", "2.345.678,25"], "number"),
        (["1 234", "5 678"], "number"),
        (["1", "?", "NA", "2"], "number"),
        (["1"] * 96 + ["2"] * 3 + ["unknown"], "number"),
        (["1"] * 80 + ["2"] * 10 + ["unknown"] * 10, "category"),
        (["$1,234.50", "-$5"], "number"),
        (["12 %", "3.5%"], "number"),
        (["1.234,50 EUR", "3 \u20ac"], "number"),
        (["1", "-", ".", "--", "2"], "number"),
        (["12 km", "5 km"], "category"),
        (["00123", "98765"], "category"),
        (["1"] * 150 + ["01"], "number"),
        ([f"{i:04}" for i in range(60)], "id"),
        ([f"Ann Lee{i}" for i in range(60)], "id"),
        ([True, False], "boolean"),
        (["yes", "No", "?"], "boolean"),
        (["TRUE", "false"], "boolean"),
        (["0", "1"], "number"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["2024-01-31T10:00:00Z", "2024-02-01 11:30"], "date"),
        (["31.1.2024", "1.2.2024"], "date"),
        (["1/31/2024", "2/1/2024"], "date"),
        (["31 Jan 2024", "1-Feb-24"], "date"),
        (["January 31, 2024", "Feb 1, 2024"], "date"),
        (["10:30", "23:59:59"], "date"),
        (["2024-02-31", "2024-13-01"], "category"),
        ([datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)], "date"),
        ([datetime.datetime(2024, 1, 31, 5), datetime.datetime(2024, 2, 1)], "date"),
        (np.array(["2024-01-31", "2024-02-01", "NaT"], "datetime64[ns]"), "date"),
        (["a", "b", "a"], "category"),
        (["a", 1, None, 2.5], "category"),
        ([f"{w} and {v} too" for w in LETTERS for v in LETTERS], "text"),
        (["the same three words", "another three words"] * 60, "category"),
        (WORDS, "id"),
        ([*WORDS, "aa"], "category"),
        (list(range(1000, 1100)), "id"),
        ([str(i) for i in reversed(range(100))], "id"),
        ([3 * i for i in range(100)], "number"),
        ([i / 10 for i in range(100)], "number"),
        (["same"] * 5, "constant"),
        ([7] * 5, "constant"),
        ([None] * 5, "constant"),
        (["?"] * 5, "constant"),
        (["same", "?"], "category"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_the_kind_is_inferred(values: Any, expected: str) -> None:
    assert kind(values) == expected


@pytest.mark.parametrize("wanted", ["number", "category", "date", "boolean", "text"])
def test_the_kind_is_as_said(wanted: str) -> None:
    values = ["1", "0", "2024-01-01", "yes"]
    assert kind(values, types={"c": wanted}) == wanted
    assert kind([1, 0, 3], types={"c": wanted}) == wanted
    assert kind([None, None], types={"c": wanted}) == wanted


def test_what_is_left_out_is_named() -> None:
    table = {
        "id": list(range(60)),
        "always": ["x"] * 60,
        "none": [None] * 60,
        "free": [i % 3 for i in range(60)],
        "used": [i % 5 for i in range(60)],
    }
    encoder = TableEncoder(ignore=["free"]).fit(table)
    assert encoder.left_out_ == {
        "id": "id: counts the rows",
        "always": "constant: always 'x'",
        "none": "constant: no values",
        "free": "ignore: ignored",
    }
    assert encoder.get_feature_names_out().tolist() == ["used"]


# ---- numbers ---------------------------------------------------------------------------------


def test_numbers_with_decimal_points_and_thousands() -> None:
    texts = ["1", " 2.5 ", "+3", "-4e1", "1,234", "1,234,567.5", "1'000", "?", ""]
    _, X = encoded(texts)
    expected = [1, 2.5, 3, -40, 1234, 1234567.5, 1000, np.nan, np.nan]
    np.testing.assert_array_equal(X[:, 0], expected)


def test_numbers_with_decimal_commas() -> None:
    texts = ["1,5", "2", "1.234,5", "1 234,5", "-,5", "1e3"]
    _, X = encoded(texts)
    np.testing.assert_array_equal(X[:, 0], [1.5, 2, 1234.5, 1234.5, -0.5, 1000])


def test_numbers_with_signs_of_money_and_per_cent() -> None:
    texts = ["$1,234.50", "-$5", "US$ 7.25", "12 %", "3.5%", "9 USD", "EUR 4"]
    _, X = encoded(texts, [*texts, "+$-1", "$", "4 % 5"])
    assert X[:7, 0].tolist() == [1234.5, -5.0, 7.25, 12.0, 3.5, 9.0, 4.0]
    assert np.isnan(X[7:, 0]).all()
    _, X = encoded(["1.234 EUR", "1.234,50 \u20ac", "12"], decimal=",")
    assert X[:, 0].tolist() == [1234.0, 1234.5, 12.0]


def test_thousands_with_points() -> None:
    texts = ["1.234", "12.345", "7"]
    assert encoded(texts, decimal=",")[1][:, 0].tolist() == [1234.0, 12345.0, 7.0]
    assert encoded(texts)[1][:, 0].tolist() == [1.234, 12.345, 7.0]
    table = {"price": ["1,50", "2,75", "3,00"], "stock": texts, "share": ["0.5", "1.250", "2"]}
    X = TableEncoder().fit(table).transform(table).toarray()
    assert X[:, 1].tolist() == [1234.0, 12345.0, 7.0]  # as the first column says
    assert X[:, 2].tolist() == [0.5, 1.25, 2.0]


def test_a_mark_that_stands_alone_is_a_gap_unless_all_are_marks() -> None:
    encoder, X = encoded(["1.5", " - ", ".", "\u2014", "2"])
    assert np.isnan(X[:, 0]).tolist() == [False, True, True, True, False]
    assert encoder.columns_[0].gaps == 3
    assert encoder.unparsed_ == {}
    assert encoded(["Rome", "-", "Oslo"])[0].columns_[0].gaps == 1
    encoder, X = encoded(["+", "-", "-"])
    assert encoder.columns_[0].gaps == 0
    assert X[:, :2].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    # an older file, whose categories include a mark
    old = Category("c", ("-", "Rome"), 1)
    assert old.encode(pa.array(["Rome", "-", ""])).places[:, 0].tolist() == [1, 0, 2]


def test_an_ambiguous_comma_separates_thousands_by_default() -> None:
    texts = ["1,234", "2,345"]
    np.testing.assert_array_equal(encoded(texts)[1][:, 0], [1234, 2345])
    np.testing.assert_array_equal(encoded(texts, decimal=",")[1][:, 0], [1.234, 2.345])


def test_what_is_not_finite_is_no_number() -> None:
    encoder, X = encoded([1.0, np.inf, -np.inf, np.nan, 2.0])
    np.testing.assert_array_equal(X[:, 0], [1, np.nan, np.nan, np.nan, 2])
    assert encoder.unparsed_ == {"c": 2}
    encoder, X = encoded(["1", "2", "3"], ["inf", "1e400", "nan", "-5"])
    np.testing.assert_array_equal(X[:, 0], [np.nan, np.nan, np.nan, -5])
    assert encoder.unparsed_ == {"c": 2}


@pytest.mark.parametrize("point", [".", ","])
def test_a_number_is_the_same_beside_words(point: str) -> None:
    """The fast path, for columns whose texts are all numbers, reads the same as the other one."""
    texts = [
        "5.",
        ".5",
        "+.5",
        "1e5",
        "1E-5",
        "-0",
        "00012",
        "1_000",
        "0x10",
        "1d5",
        "٣",
        "--1",
        "1 2",
    ]
    for text in texts:
        alone = TableEncoder(decimal=point).fit({"c": ["1", "2"]}).transform({"c": [text]})
        beside = TableEncoder(decimal=point).fit({"c": ["1", "2"]}).transform({"c": [text, "word"]})
        np.testing.assert_array_equal(alone.toarray()[0], beside.toarray()[0])


def test_durations_are_seconds() -> None:
    seconds = pa.array([90, None, 30], pa.duration("s"))
    np.testing.assert_array_equal(encoded(seconds)[1][:, 0], [90, np.nan, 30])


def test_decimals_of_arrow_are_numbers() -> None:
    values = pa.array(["1.25", "2.50", None]).cast(pa.decimal128(10, 2))
    np.testing.assert_array_equal(encoded(values)[1][:, 0], [1.25, 2.5, np.nan])


# ---- booleans --------------------------------------------------------------------------------


def test_booleans() -> None:
    encoder, X = encoded(["yes", "no"], ["Yes", "N", "true", "F", "?", "perhaps", "1"])
    np.testing.assert_array_equal(X[:, 0], [1, 0, 1, 0, np.nan, np.nan, 1])
    assert encoder.unparsed_ == {"c": 1}
    encoder, X = encoded([True, False, None], [1, 0, 2])
    np.testing.assert_array_equal(X[:, 0], [1, 0, np.nan])
    assert encoder.unparsed_ == {"c": 1}


# ---- dates -----------------------------------------------------------------------------------


def test_dates_become_elapsed_days_and_circles() -> None:
    encoder, X = encoded(["2024-01-01 06:00", "2024-01-02 18:00", "?"])
    names = encoder.get_feature_names_out().tolist()
    assert names == [
        "c:elapsed",
        "c:hour_sin",
        "c:hour_cos",
        "c:weekday_sin",
        "c:weekday_cos",
        "c:month_sin",
        "c:month_cos",
    ]
    np.testing.assert_allclose(X[:2, 0], [0.25, 1.75])
    np.testing.assert_allclose(X[0, 1:], [1, 0, 0, 1, 0, 1], atol=1e-12)  # a Monday in January
    assert np.isclose(X[1, 1], -1)
    assert np.isnan(X[2]).all()


def test_days_have_no_hour_and_times_no_weekday() -> None:
    encoder, _ = encoded(["2024-01-01", "2024-01-02"])
    assert not any("hour" in each for each in encoder.get_feature_names_out())
    encoder, X = encoded(["00:00", "12:00"])
    assert encoder.get_feature_names_out().tolist() == ["c:elapsed", "c:hour_sin", "c:hour_cos"]
    np.testing.assert_allclose(X[:, 0], [0, 0.5])


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-03 14:05:06.5",
        "2024/2/3 14:05:06.500",
        "2024-02-03T15:05:06.5+01:00",
        "2024-02-03T14:05:06.5Z",
    ],
)
def test_one_moment_may_be_written_in_many_ways(text: str) -> None:
    first = "2024-02-01 00:00"
    expected = datetime.datetime(2024, 2, 3, 14, 5, 6, 500_000) - datetime.datetime(2024, 2, 1)
    _, X = encoded([first, text])
    assert X[1, 0] == expected / datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("3.2.2024 2:05 PM", "dmy"),
        ("2/3/2024 2:05pm", "mdy"),
        ("3-Feb-2024 14:05", "dby"),
        ("February 3, 2024, 14:05", "bdy"),
    ],
)
def test_dates_of_other_orders(text: str, order: str) -> None:
    _, X = encoded([text], types={"c": f"date:{order}"})
    _, Y = encoded(["2024-02-03 14:05"], types={"c": "date"})
    np.testing.assert_array_equal(X, Y)


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["1900 Jan", "1900 mar", "1901 DEC"], ["1900-01-01", "1900-03-01", "1901-12-01"]),
        (["Sept. 2023", "February 2024", "May-2024"], ["2023-09-01", "2024-02-01", "2024-05-01"]),
        (["1500 Q1", "1500-Q4", "1501Q2"], ["1500-01-01", "1500-10-01", "1501-04-01"]),
    ],
)
def test_months_and_quarters_are_their_first_day(texts: list[str], days: list[str]) -> None:
    encoder, X = encoded([*texts, "?"])
    assert encoder.kinds_ == {"c": "date"}
    names = ["c:elapsed", "c:month_sin", "c:month_cos"]
    assert encoder.get_feature_names_out().tolist() == names
    _, Y = encoded([*days, "?"])
    np.testing.assert_array_equal(X, Y[:, [0, 3, 4]])


@pytest.mark.parametrize("words", [["2020 Q5", "2021 Q0"], ["Marina 2020", "Junior 2021"]])
def test_words_that_begin_like_months_are_not_dates(words: list[str]) -> None:
    assert kind(words * 5) == "category"
    assert kind([f"{word[-4:]} {word[:-5]}" for word in words] * 5) == "category"


def test_day_comes_before_month_unless_a_row_says_otherwise() -> None:
    day_first, month_first = ["1/2/2024", "3/2/2024"], ["1/2/2024", "1/13/2024"]
    assert encoded(day_first)[1][1, 0] == 2
    assert encoded(month_first)[1][1, 0] == 11
    assert encoded(day_first, types={"c": "date:mdy"})[1][1, 0] == 60  # 2 January to 2 March


def test_days_that_are_none_are_gaps() -> None:
    days = ["2024-02-29", "2023-03-01"]
    more = ["2023-02-29", "2024-00-10", "2024-01-32", "2024-01-01 24:00", "soon", "2024-02-29"]
    encoder, X = encoded(days, more)
    assert np.isnan(X[:-1, 0]).all()
    assert X[-1, 0] == 365
    assert encoder.unparsed_ == {"c": 5}


def test_moments_of_arrow_pandas_and_numpy_agree() -> None:
    moments = [datetime.datetime(2024, 1, 1, 5), None, datetime.datetime(1969, 12, 31, 23)]
    expected = encoded(["2024-01-01 05:00", None, "1969-12-31 23:00"])[1]
    for unit in ("s", "ms", "us", "ns"):
        np.testing.assert_array_equal(encoded(pa.array(moments, pa.timestamp(unit)))[1], expected)
        zoned = pa.array(moments, pa.timestamp(unit, "Europe/Rome"))
        np.testing.assert_array_equal(encoded(zoned)[1], expected)
    np.testing.assert_array_equal(encoded(np.array(moments, "datetime64[ms]"))[1], expected)


# ---- categories ------------------------------------------------------------------------------


def test_categories_have_a_feature_each_and_gaps_one() -> None:
    encoder, X = encoded(["b", " a", "a ", "?", None])
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["c=a", "c=b", "c?"]
    assert names[3:] == [f"c#{i}" for i in range(8)]
    np.testing.assert_array_equal(X[:, :3], np.eye(3)[[1, 0, 0, 2, 2]])
    assert not X[:, 3:].any()


@pytest.mark.parametrize("gap", GAPS)
def test_gaps(gap: str) -> None:
    assert encoded(["b", "a"], [f" {gap} "])[1][0, 2] == 1
    assert np.isnan(encoded(["1", "2"], [f" {gap} "])[1][0, 0])


def test_unseen_categories_share_buckets_that_do_not_depend_on_what_came_before() -> None:
    encoder, X = encoded(["a", "b"], ["c", "d", "c"])
    assert (X.sum(axis=1) == 1).all()
    assert not X[:, :3].any()
    np.testing.assert_array_equal(X[0], X[2])
    alone = encoder.transform({"c": ["d"]}).toarray()
    np.testing.assert_array_equal(X[1], alone[0])


def test_beyond_the_limit_the_commonest_keep_their_features() -> None:
    values = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"]
    encoder, X = encoded(values, max_categories=2, hash_width=16)
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["c=a", "c=b", "c?"]
    assert len(names) == 3 + 16
    assert X[5:9, 1].all()
    assert (X[9:, 3:].sum(axis=1) == 1).all()


def test_rare_categories_share_the_buckets_of_unseen_ones() -> None:
    encoder, X = encoded(["a", "a", "b"], min_count=2)
    assert encoder.get_feature_names_out().tolist()[:2] == ["c=a", "c?"]
    assert X[2, 2:].sum() == 1


def test_a_long_text_is_no_category_of_its_own() -> None:
    encoder, _ = encoded(["a", "b" * 1000])
    assert encoder.get_feature_names_out().tolist()[:2] == ["c=a", "c?"]


def test_numbers_as_categories_are_the_same_as_whole_numbers_and_as_texts() -> None:
    say = {"c": "category"}
    expected = encoded(["1", "2", "?", "10"], types=say)
    for values in ([1, 2, None, 10], [1.0, 2.0, np.nan, 10.0], np.array([1, 2, np.nan, 10])):
        encoder, X = encoded(values, types=say)
        names = encoder.get_feature_names_out().tolist()
        assert names == expected[0].get_feature_names_out().tolist()
        np.testing.assert_array_equal(X, expected[1])


def test_categories_of_arrow_and_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    values = ["b", "a", None, "b"]
    expected = encoded(values)[1]
    np.testing.assert_array_equal(encoded(pa.array(values).dictionary_encode())[1], expected)
    np.testing.assert_array_equal(encoded(pandas.Series(values, dtype="category"))[1], expected)
    np.testing.assert_array_equal(encoded(np.array(values, object))[1], expected)


def test_features_of_two_columns_have_different_names() -> None:
    table = {"a": ["b=c", "x"], "a=b": ["c", "y"], "a=b=c (2)": ["1", "2"]}
    names = TableEncoder().fit(table).get_feature_names_out().tolist()
    assert len(set(names)) == len(names)


def test_gaps_may_be_filled() -> None:
    fill = {"fill_gaps": True}
    np.testing.assert_array_equal(encoded([1, None, 2, 30], **fill)[1][:, 0], [1, 2, 2, 30])
    _, X = encoded([True, False, False, None], **fill)
    assert X[3, 0] == 1 / 3
    _, X = encoded(["2024-01-01", "2024-01-03", "2024-01-31", "?"], **fill)
    np.testing.assert_array_equal(X[3], [2, 0, 0, 0, 0])
    encoder, X = encoded(["1", "2", "4"], ["x", "?", np.inf, "7"], **fill)
    np.testing.assert_array_equal(X[:, 0], [2, 2, 2, 7])
    assert encoder.unparsed_ == {"c": 2}
    _, X = encoded([None, None], types={"c": "number"}, **fill)
    np.testing.assert_array_equal(X[:, 0], [0, 0])


# ---- text ------------------------------------------------------------------------------------


def test_text_is_hashed_by_words() -> None:
    texts = ["Red wine, red fish", "RED fish: red wine", "?", "red"]
    _, X = encoded(texts, types={"c": "text"}, hash_width=64)
    assert X.shape == (4, 64)
    np.testing.assert_array_equal(X[0], X[1])
    assert not X[2].any()
    red = int(np.argmax(X[3]))
    assert X[0, red] == pytest.approx(2 / np.sqrt(6))
    np.testing.assert_allclose(np.linalg.norm(X[[0, 1, 3]], axis=1), 1)


def test_words_of_any_language() -> None:
    _, X = encoded(["été à Zürich", "ÉTÉ, À ZÜRICH!"], types={"c": "text"})
    np.testing.assert_array_equal(X[0], X[1])
    assert np.count_nonzero(X[0]) == 3


# ---- hashing ---------------------------------------------------------------------------------


def test_buckets_are_the_same_everywhere() -> None:
    """Fixed values: files with encoders hold no buckets, they are computed again."""
    texts = pa.array(["", "a", "Rome", "Zürich", "x" * 1000])
    assert buckets(texts, "town", 2**20).tolist() == RECORDED
    assert buckets(texts.slice(2, 2), "town", 2**20).tolist() == RECORDED[2:4]
    assert buckets(texts, "city", 2**20).tolist() != RECORDED


def test_buckets_are_filled_evenly() -> None:
    texts = pa.array([f"user-{i}" for i in range(10_000)])
    counts = np.bincount(buckets(texts, "user", 100), minlength=100)
    assert ((counts - 100) ** 2 / 100).sum() < 150  # chi square of 99 degrees; 148 is one in 1000


# ---- bad input -------------------------------------------------------------------------------


def test_a_value_of_another_kind_is_a_gap_and_counted() -> None:
    encoder = TableEncoder().fit({"n": ["1", "2"], "d": ["2024-01-01", "2024-01-02"]})
    for _ in range(2):
        X = encoder.transform({"n": ["x", "3"], "d": ["?", "soon"]}).toarray()
        assert np.isnan(X[0, 0])
        assert X[1, 0] == 3
    assert encoder.unparsed_ == {"n": 2, "d": 2}


def test_strict_names_row_column_and_value() -> None:
    encoder = TableEncoder(strict=True).fit({"n": ["1", "2"], "b": ["yes", "no"]})
    with pytest.raises(BudgetronError, match="row 2, column 'n' holds 'x', not a number"):
        encoder.transform({"n": ["3", "x"], "b": ["yes", "no"]})
    with pytest.raises(BudgetronError, match="row 1, column 'b' holds 'so', not true or false"):
        encoder.transform({"n": ["3"], "b": ["so"]})
    assert encoder.unparsed_ == {}


@pytest.mark.parametrize(
    ("params", "table", "message"),
    [
        ({"ignore": ["aeg"]}, {"age": [1, 2]}, "no column 'aeg'; did you mean 'age'"),
        ({"types": {"zzz": "number"}}, {"age": [1, 2]}, "the columns are age"),
        ({"types": {"age": "float"}}, {"age": [1, 2]}, "'float', not one of number, category"),
        ({"types": {"age": "date:xyz"}}, {"age": [1, 2]}, "'date:xyz', not one of"),
        ({"types": {"age": "number:ymd"}}, {"age": [1, 2]}, "'number:ymd', not one of"),
        ({"categorical": "age"}, {"age": [1, 2]}, "categorical must be a list of names|'age'"),
        (
            {"categorical": ["age"], "numeric": ["age"]},
            {"age": [1, 2]},
            "column 'age' cannot be number and category at once",
        ),
        ({"decimal": ";"}, {"age": [1, 2]}, "decimal"),
        ({"max_categories": -1}, {"age": [1, 2]}, "max_categories"),
        ({"max_bytes": "lots"}, {"age": [1, 2]}, "max_bytes='lots' is not a size"),
        ({"max_bytes": 10}, {"age": [1, 2]}, "takes .* bytes, more than 10: ignore columns"),
        ({}, {"age": [1, 1]}, r"no column is left for the features: age \(constant\)"),
        ({}, {"age": [[1], [2]]}, "column 'age' holds list.*: leave it out"),
        ({}, {"age": [1, 2], "pay": [1]}, r"the columns differ in length: \[1, 2\]"),
        ({}, {"age": []}, r"0 sample\(s\)"),
        ({}, {}, r"0 feature\(s\)"),
    ],
)
def test_bad_input_is_one_line(params: Any, table: Any, message: str) -> None:
    with pytest.raises(BudgetronError, match=message) as raised:
        TableEncoder(**params).fit(table)
    assert "\n" not in str(raised.value)


def test_bad_input_of_transform() -> None:
    encoder = TableEncoder().fit({"age": [1, 2], "pay": [3, 4]})
    with pytest.raises(BudgetronError, match="there is no column 'age'; did you mean 'Age'"):
        encoder.transform({"Age": [1], "pay": [3]})
    words = TableEncoder().fit({"town": ["Rome", "Oslo"]})
    with pytest.raises(BudgetronError, match=r"column 'town' holds list.*, not category"):
        words.transform({"town": [["Rome"]]})
    with pytest.raises(BudgetronError, match="expecting 2 features"):
        encoder.transform(np.ones((1, 3)))
    twice = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(BudgetronError, match="two columns are called 'age'"):
        encoder.transform(twice)
    assert encoder.transform({"pay": [3], "age": [1], "new": ["x"]}).toarray().tolist() == [[1, 3]]


def test_memory_is_counted_and_capped() -> None:
    many = {"c": [f"category number {i % 90}" for i in range(900)], "n": list(range(900))}
    free = TableEncoder().fit(many)
    assert free.memory_bytes_ > 90 * len("category number 10")
    tight = TableEncoder(max_bytes=free.memory_bytes_ // 2).fit(many)
    assert tight.memory_bytes_ <= free.memory_bytes_ // 2
    kept = [each for each in tight.get_feature_names_out() if each.startswith("c=")]
    assert 0 < len(kept) < 90
    assert tight.transform(many).sum(axis=1).min() >= 1
    waiting = TableEncoder().partial_fit(many).memory_bytes_
    assert waiting > 0


def test_text_numbers_take_no_separator_alone() -> None:
    texts = pa.array(["1,23", "1,2345", ",123", "1,,234", "12,34,567"])
    assert text_numbers(texts, ".").wrong.all()


def test_a_table_that_lacks_a_column_says_what_it_has() -> None:
    check_columns(["age"], ["age", "town"])
    with pytest.raises(BudgetronError, match=r"no column 'pay'; it has \['age', 'town'\]"):
        check_columns(["age", "pay"], ["age", "town"])
