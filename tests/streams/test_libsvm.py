"""The native LIBSVM parser: what it reads, what it refuses, and that cuts never show."""

from __future__ import annotations

import threading
import time
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from budgetron import _core

PARSERS = {np.float32: _core.LibsvmParser32, np.float64: _core.LibsvmParser64}
NO_LIMIT = 2**60


def parse(text: bytes, dtype: Any = np.float64, **options: Any) -> Any:
    parser = PARSERS[dtype](**options)
    assert parser.feed(text, 0, NO_LIMIT) <= len(text)
    parser.finish()
    return parser


# ---- reading -----------------------------------------------------------------------------------


def test_reads_every_allowed_form() -> None:
    text = b"\xef\xbb\xbf+1 1:0.5 3:-2e1 # a note\r\n\n# a comment\n \t\n-1\t10:1\t\r\n0\n2.5 7:.5"
    parser = parse(text)
    assert (parser.rows, parser.lines, parser.max_index, parser.bytes) == (4, 7, 10, len(text))
    labels, indptr, indices, values, _ = parser.take()
    assert_array_equal(labels, [1, -1, 0, 2.5])
    assert_array_equal(indptr, [0, 2, 3, 3, 4])
    assert_array_equal(indices, [0, 2, 9, 6])
    assert_array_equal(values, [0.5, -20, 1, 0.5])
    assert (labels.dtype, indptr.dtype, indices.dtype) == (np.float64, np.int64, np.int32)
    assert parser.rows == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_have_the_parsers_dtype(dtype: Any) -> None:
    values = parse(b"1 1:0.1\n", dtype).take()[3]
    assert values.dtype == dtype
    assert values[0] == dtype(0.1)


def test_unsorted_indices_are_sorted() -> None:
    _, _, indices, values, _ = parse(b"1 5:5 2:2 9:9 1:1\n").take()
    assert_array_equal(indices, [0, 1, 4, 8])
    assert_array_equal(values, [1, 2, 5, 9])


def test_underflow_reads_as_zero() -> None:
    assert_array_equal(parse(b"1 1:1e-400 2:-1e-4000\n").take()[3], [0, 0])
    assert_array_equal(parse(b"1 1:1e-60\n", np.float32).take()[3], [0])


def test_arrays_outlive_the_parser_and_are_not_shared() -> None:
    parser = parse(b"1 1:1 2:2\n" * 100)
    first = parser.take()
    kept = [array.copy() for array in first]
    parser.feed(b"7 1:9 2:9\n" * 100, 0, NO_LIMIT)
    parser.take()[3][:] = -1
    del parser
    for array, copy in zip(first, kept, strict=True):
        assert_array_equal(array, copy)
        assert array.flags.writeable


def test_max_rows_stops_and_goes_on() -> None:
    parser = _core.LibsvmParser64()
    text = b"1 1:1\n2 1:1\n3 1:1\n"
    assert parser.feed(text, 0, 2) == 12
    assert parser.feed(text, 12, 2) == 12
    assert_array_equal(parser.take()[0], [1, 2])
    assert parser.feed(text, 12, 2) == 18
    parser.discard()
    assert parser.rows == 0
    with pytest.raises(IndexError):
        parser.feed(text, 19, 2)


def test_same_rows_as_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30)) * (rng.random((200, 30)) < 0.3)
    y = rng.integers(0, 5, 200)
    file = BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False, comment="made for a test")
    file.seek(0)
    theirs, labels = load_svmlight_file(file, n_features=30, zero_based=False)
    ours = parse(file.getvalue()).take()
    assert_array_equal(ours[0], labels)
    assert_array_equal(ours[1], theirs.indptr)
    assert_array_equal(ours[2], theirs.indices)
    assert_array_equal(ours[3], theirs.data)


# ---- the property: rows -> text in any style -> rows, cut anywhere ------------------------------

BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])
NEWLINES = st.sampled_from(["\n", "\r\n", "\n\n", "\n# a comment\n", " \n\t\r\n", "#x\n", " # é\n"])


@st.composite
def texts(draw: st.DrawFn, dtype: Any) -> tuple[bytes, list[float], list[dict[int, float]]]:
    """A text, its labels, and its rows as {index from 0: value}."""
    width = 32 if dtype == np.float32 else 64
    values = st.floats(width=width, allow_nan=False, allow_infinity=False)
    whole = st.integers(-20_000_000, 20_000_000).map(dtype).map(float)
    indices = st.one_of(st.integers(1, 8), st.integers(1, 2**31 - 1))
    labels, rows, text = [], [], draw(st.sampled_from(["", "\ufeff", "\n", "# head\n"]))
    for _ in range(draw(st.integers(0, 8))):
        row = draw(st.dictionaries(indices, st.one_of(values, whole), max_size=6))
        label = draw(st.one_of(st.sampled_from([-1.0, 1.0, 0.0]), st.floats(-1e9, 1e9)))
        blank = draw(BLANKS)
        text += draw(st.sampled_from(["", " ", "\t"])) + ("+" if label == 1 else "") + _show(label)
        text += "".join(f"{blank}{index}:{_show(value)}" for index, value in row.items())
        text += draw(NEWLINES)
        labels.append(label)
        rows.append({index - 1: value for index, value in sorted(row.items())})
    if rows and draw(st.booleans()):
        text = text.rstrip("\r\n")
    return text.encode(), labels, rows


def _show(value: float) -> str:
    return f"{int(value)}" if value.is_integer() and abs(value) < 1e15 else repr(value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=150, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_any_text_in_any_cuts_gives_the_rows(dtype: Any, data: st.DataObject, seed: int) -> None:
    text, labels, rows = data.draw(texts(dtype))
    rng = np.random.default_rng(seed)
    parser = PARSERS[dtype]()
    got: list[Any] = []
    start = 0
    while start < len(text):
        cut = text[: start + rng.integers(1, 30)]
        while start < len(cut):
            start = parser.feed(cut, start, rng.integers(1, 4))
            got.append(parser.take())
    parser.finish()
    got.append(parser.take())
    assert not parser.failed, parser.bad
    assert_array_equal(np.concatenate([each[0] for each in got]), labels)
    counts = np.concatenate([np.diff(each[1]) for each in got])
    assert_array_equal(counts, [len(row) for row in rows])
    assert_array_equal(np.concatenate([each[2] for each in got]), [i for r in rows for i in r])
    values = np.array([v for row in rows for v in row.values()], dtype)
    assert_array_equal(np.concatenate([each[3] for each in got]), values)
    assert parser.max_index == max([i + 1 for row in rows for i in row], default=0)
    assert parser.bytes == len(text)


@settings(max_examples=300, deadline=None)
@given(text=st.binary(max_size=80), at=st.integers(0, 80))
def test_garbage_never_crashes_and_cuts_do_not_show(text: bytes, at: int) -> None:
    whole = parse(text, skip_bad=True, keep=100)
    cut = _core.LibsvmParser64(skip_bad=True, keep=100)
    for part in (text[:at], text[at:]):
        assert cut.feed(part, 0, NO_LIMIT) == len(part)
    cut.finish()
    assert (cut.bad, cut.n_bad, cut.lines) == (whole.bad, whole.n_bad, whole.lines)
    for ours, theirs in zip(cut.take(), whole.take(), strict=True):
        assert_array_equal(ours, theirs)


# ---- refusing ----------------------------------------------------------------------------------

MALFORMED = [
    (b"abc 1:1", "label 'abc' is not a number"),
    (b"1,0.5,3", "label '1,0.5,3' is not a number (a line is: label index:value index:value ...)"),
    (b"nan 1:1", "label 'nan' is not finite"),
    (b"1e400 1:1", "label '1e400' is out of range"),
    (b"1 5", "'5' is not index:value"),
    (b"1 a:5", "'a:5' is not index:value"),
    (b"1 1:1;2:2", "value '1;2:2' of feature 1 is not a number"),
    (b"1 qid:3 1:1", "qid is not supported"),
    (b"1 0:1", "feature index 0: indices start at 1"),
    (b"1 -3:1", "feature index '-3' is negative: indices start at 1"),
    (b"1 2147483648:1", "feature index '2147483648' is above 2147483647"),
    (b"1 5:1 3:1 5:2", "feature 5 stands twice"),
    (b"1 5:", "feature 5 has no value"),
    (b"1 5:x", "value 'x' of feature 5 is not a number"),
    (b"1 5:-inf", "value '-inf' of feature 5 is not finite"),
    (b"1 5:inf", "value 'inf' of feature 5 is not finite"),
    (b"1 5:1e400", "value '1e400' of feature 5 is out of range"),
    (b"1 5:1\x00", "byte 0x00 has no place in LIBSVM text"),
    (b"\x00\xff\x1b", "byte 0x00 has no place in LIBSVM text"),
    (b"1 5:1\xa0", "byte 0xa0 has no place in LIBSVM text"),
    (b"1 5:1\r6:1", "byte 0x0d has no place in LIBSVM text"),
]


@pytest.mark.parametrize(("line", "what"), MALFORMED)
def test_a_malformed_line_stops_after_the_rows_before_it(line: bytes, what: str) -> None:
    parser = parse(b"1 1:1\n\n" + line + b"\n1 1:1\n")
    assert parser.failed
    assert parser.bad == [(3, what)]
    assert parser.rows == 1
    assert_array_equal(parser.take()[1], [0, 1])
    assert parser.feed(b"1 1:1\n", 0, NO_LIMIT) == 0


@pytest.mark.parametrize(("line", "what"), MALFORMED)
def test_a_malformed_line_can_be_skipped(line: bytes, what: str) -> None:
    parser = parse(b"1 1:1\n\n" + line + b"\n2 2:1\n", skip_bad=True)
    assert not parser.failed
    assert (parser.n_bad, parser.bad) == (1, [(3, what)])
    labels, indptr, indices, values, _ = parser.take()
    assert_array_equal(labels, [1, 2])
    assert_array_equal(indptr, [0, 1, 2])
    assert_array_equal(indices, [0, 1])
    assert_array_equal(values, [1, 1])


def test_only_the_first_messages_are_kept() -> None:
    parser = parse(b"x\n" * 10, skip_bad=True, keep=3)
    assert parser.n_bad == 10
    assert [line for line, _ in parser.bad] == [1, 2, 3]


def test_utf16_is_named() -> None:
    assert parse("1 1:1\n".encode("utf-16")).bad == [(1, "the text is UTF-16, not UTF-8")]


def test_an_index_above_the_limit() -> None:
    assert parse(b"1 4:1\n", max_index=3).bad == [(1, "feature index '4' is above 3")]
    assert not parse(b"1 3:1\n", max_index=3).failed


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_an_endless_line_is_refused_without_being_held(step: int) -> None:
    text = b"1 1:1\n2 " + b"1" * 500 + b"\n3 1:1\n"
    for skip_bad in (False, True):
        parser = _core.LibsvmParser64(skip_bad=skip_bad, max_line=100)
        for start in range(0, len(text), step):
            parser.feed(text[start : start + step], 0, NO_LIMIT)
        parser.finish()
        assert parser.bad == [(2, "the line is longer than 100 bytes")]
        assert_array_equal(parser.take()[0], [1, 3] if skip_bad else [1])


# ---- running beside others ---------------------------------------------------------------------


def test_the_gil_is_released_while_parsing() -> None:
    text = b"1 1:0.123456 2:1 3:0.5\n" * 2_000_000
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    parser = parse(text, np.float32)
    during = ticks - before
    done.set()
    thread.join()
    assert parser.rows == 2_000_000
    assert during > 10
