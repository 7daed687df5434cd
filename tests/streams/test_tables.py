"""Tables and arrays as streams: CSV, Parquet, npz, pandas, polars, Arrow, NumPy, SciPy."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import signal
import sys
import threading
import time
import tracemalloc
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from budgetron import TableEncoder
from budgetron.streams import SourceOptions, Stream, StreamError, open_stream
from budgetron.streams.source import Source
from budgetron.streams.table import csv_text
from budgetron.streams.table.encoder import Encoder
from budgetron.streams.table.first_rows import AsTheyAre
from budgetron.streams.table.roles import Layout, Roles

N = 500
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 90, N),
        "pay": RANDOM.normal(size=N).round(3),
        "town": RANDOM.choice(["Ulm", "Bonn", "Köln", "Jena"], N),
        "sex": RANDOM.choice(["f", "m"], N),
        "label": RANDOM.choice([-1, 1], N),
    }
)


def read(source: Any, **options: Any) -> tuple[Any, Any]:
    """All rows, dense, the narrower chunks widened."""
    chunks = list(open_stream(source, **options))
    width = max(X.shape[1] for X, _ in chunks)
    rows = [X.toarray() if scipy.sparse.issparse(X) else X for X, _ in chunks]
    rows = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in rows]
    return np.concatenate(rows), np.concatenate([y for _, y in chunks])


def error_of(source: Any, **options: Any) -> str:
    with pytest.raises(StreamError) as caught:
        for _ in open_stream(source, **options):
            pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The frame in every form."""
    folder = tmp_path_factory.mktemp("tables")
    text = FRAME.to_csv(index=False)
    forms: dict[str, Any] = {"pandas": FRAME, "polars": pl.from_pandas(FRAME)}
    forms["arrow"] = pa.Table.from_pandas(FRAME)
    forms["categories"] = FRAME.astype({"town": "category", "sex": "category"})
    for name, data in {
        "rows.csv": text.encode(),
        "rows.csv.gz": gzip.compress(text.encode()),
        "rows.csv.xz": lzma.compress(text.encode()),
        "rows.csv.zst": zstandard.compress(text.encode()),
        "rows.tsv": text.replace(",", "\t").encode(),
        "semicolons.csv": text.replace(",", ";").encode(),
        "bom-crlf.csv": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        "no-newline.csv": text.rstrip("\n").encode(),
    }.items():
        forms[name] = folder / name
        forms[name].write_bytes(data)
    forms["rows.parquet"] = folder / "rows.parquet"
    pq.write_table(forms["arrow"], forms["rows.parquet"], row_group_size=120)
    return forms


FORMS = [
    "pandas",
    "polars",
    "arrow",
    "categories",
    "rows.csv",
    "rows.csv.gz",
    "rows.csv.xz",
    "rows.csv.zst",
    "rows.tsv",
    "semicolons.csv",
    "bom-crlf.csv",
    "no-newline.csv",
    "rows.parquet",
]


def one_hot() -> Any:
    """Numbers, then for each column its sorted categories, one feature for gaps, 8 for others."""
    X = np.zeros((N, 2 + (4 + 9) + (2 + 9)), np.float32)
    X[:, :2] = FRAME[["age", "pay"]]
    for name, start in (("town", 2), ("sex", 15)):
        known = sorted(set(FRAME[name]))
        for i, word in enumerate(FRAME[name]):
            X[i, start + known.index(word)] = 1
    return X


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunk_rows", [7, 4096])
def test_every_form_gives_the_same_rows(files: dict[str, Any], form: str, chunk_rows: int) -> None:
    options: dict[str, Any] = {"chunk_rows": chunk_rows}
    X, y = read(files[form], columns=["age", "pay"], **options)
    assert X.dtype == np.float32
    assert_array_equal(X, FRAME[["age", "pay"]].to_numpy(np.float32))
    assert_array_equal(y, FRAME["label"])
    X, y = read(files[form], categorical=["town", "sex"], **options)
    assert_array_equal(X, one_hot())
    assert_array_equal(y, FRAME["label"])


@pytest.mark.parametrize("form", ["pandas", "rows.csv", "rows.csv.gz", "rows.parquet"])
@pytest.mark.parametrize(
    "words", [{"columns": ["pay"]}, {"categorical": ["town"], "hashed": ["sex"]}]
)
def test_positions_and_bookmarks_resume(
    files: dict[str, Any], form: str, words: dict[str, Any]
) -> None:
    stream = open_stream(files[form], chunk_rows=130, dtype="float64", **words)
    assert isinstance(stream, Stream)
    whole, y = read(files[form], dtype="float64", **words)
    positions: list[Any] = [0, 1, 133, 247, N - 1]
    positions += [stream.bookmark for _ in stream]
    assert positions[-1] == {"rows": N, "bad": 0}
    for position in positions:
        rest = stream.at(position)
        behind = position if isinstance(position, int) else position["rows"]
        assert rest.position == behind
        chunks = list(rest)
        assert_array_equal(np.concatenate([[], *(c[1] for c in chunks)]), y[behind:])
        if chunks:
            last = chunks[-1][0]
            assert last.shape[1] == whole.shape[1]
            last = last.toarray() if scipy.sparse.issparse(last) else last
            assert_array_equal(last, whole[-len(last) :])
    assert "501 is after the end, which is 500" in error_of(files[form], position=N + 1, **words)


def test_columns_by_name_number_and_order(files: dict[str, Any]) -> None:
    for columns in (["pay", "age"], [1, 0], ["1", "age"], ["pay", -5]):
        X, _ = read(files["rows.csv"], columns=columns)
        assert_array_equal(X, FRAME[["pay", "age"]].to_numpy(np.float32))
    X, y = read(files["rows.csv"], label="pay", columns=["age"])
    assert_array_equal(y, FRAME["pay"])
    X, y = read(files["rows.csv"], label=False, columns=["age"])
    assert np.isnan(y).all()
    X, y = read(files["rows.csv"], label="town", columns=["age"])
    assert_array_equal(y, FRAME["town"])


@pytest.mark.parametrize("form", ["pandas", "rows.csv", "rows.parquet"])
def test_the_label_is_no_feature(files: dict[str, Any], form: str) -> None:
    for chosen in (["age", "label"], [0, 4]):
        said = error_of(files[form], columns=chosen)
        assert "column 'label' is the label, so it cannot be a feature" in said


def test_hashing_is_stable_and_counts_words(files: dict[str, Any]) -> None:
    X, _ = read(files["rows.csv"], hashed=["town", "sex"], hash_width=16)
    assert X.shape == (N, 2 + 2 * (1 + 16))  # and one for gaps, of each column
    assert_array_equal(X[:, 2:].sum(axis=1), np.full(N, 2))
    groups = {tuple(row[2:]): (t, s) for row, t, s in zip(X, FRAME.town, FRAME.sex, strict=True)}
    assert len(groups) > 4
    again, _ = read(files["polars"], hashed=["town", "sex"], hash_width=16, chunk_rows=3)
    assert_array_equal(X, again)
    alone, _ = read(files["rows.csv"], columns=["town"], hashed=["town"], hash_width=16)
    assert_array_equal(alone, X[:, 2 : 2 + 17])


@pytest.mark.parametrize(
    ("line", "rows", "named"),
    [
        ("a,b,2019", "1,2,3\n4,5,6\n", True),
        ("country,2018,2019,2020", "Rome,5,6,7\nOslo,8,9,1\n", True),
        ("label,1,2,3", "0,1.5,2,3\n1,2,3,4\n", True),
        ("Rome,5,yes", "Oslo,6,no\nBern,7,yes\n", False),
        ("2019,jan,35", "2020,feb,40\n", False),
        ("2019,jan", "2020,feb\n2021,mar\n", False),
        ("Rome,2019,M", "Oslo,2020,F\nBern,2018,M\n", False),
        ("5,unknown,3", "4,3,2\n1,2,3\n", False),
        ("a,1.5,b", "1,2,3\n4,5,6\n", False),
    ],
)
def test_a_header_may_have_numbers_for_names(
    tmp_path: Path, line: str, rows: str, named: bool
) -> None:
    (tmp_path / "t.csv").write_text(f"{line}\n{rows}")
    names = csv_text.CsvBatches(tmp_path / "t.csv").names
    assert names == (line.split(",") if named else [str(i) for i in range(len(names))])


def test_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("5.1,3.5,setosa\n7,3.2,versicolor\n")
    X, y = read(path, label=-1)
    assert_array_equal(X, np.array([[5.1, 3.5], [7, 3.2]], np.float32))
    assert y.tolist() == ["setosa", "versicolor"]
    assert read(path, label=2, header=True, columns=[0])[1].tolist() == ["versicolor"]
    path.write_text("2020,b,y\n1,2,3\n")
    assert read(path, label="y", columns=["2020"], header=True)[0].tolist() == [[1]]


def test_integers_then_decimals_in_a_column(tmp_path: Path) -> None:
    """Arrow alone would infer the column's type from the first block."""
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,1\n" * 1_500_000 + "0.5,-1\n")
    stream = open_stream(path, chunk_rows=10**7)
    for X, y in stream:
        last = X[-1, 0], y[-1]
    assert last == (0.5, -1)
    assert stream.position == 1_500_001
    assert stream.bytes_read == stream.bytes_total


def test_standard_input(monkeypatch: pytest.MonkeyPatch, files: dict[str, Any]) -> None:
    data = files["rows.csv.gz"].read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    X, _ = read("-", format="csv", categorical=["town", "sex"])
    assert_array_equal(X, one_hot())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert "save standard input to a file" in error_of("-", format="parquet")
    assert "save it first" in error_of("-", format="npz")


# ---- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_arrays(make: Any) -> None:
    dense = RANDOM.normal(size=(50, 4)) * (RANDOM.random((50, 4)) < 0.5)
    y = np.array(["a", "b"] * 25)
    X, labels = read((make(dense), y), chunk_rows=7, dtype="float64")
    assert_array_equal(X, dense)
    assert_array_equal(labels, y)
    X, labels = read((make(dense), y), position=33)
    assert_array_equal(X, dense[33:].astype(np.float32))
    before = dense.copy()
    for chunk, _ in open_stream((dense, y), dtype="float64"):
        chunk[:] = 7
    assert_array_equal(dense, before)  # never the caller's memory
    bad = dense.copy()
    bad[12, 3] = np.nan
    assert error_of((make(bad), y), chunk_rows=5, gaps=False) == (
        "<memory>: row 13, column 3 is nan: "
        'scale="auto" treats it as a missing value, or fill it in'
    )
    assert_array_equal(read((make(bad), y), dtype="float64")[0], bad)
    bad[13, 2] = np.inf
    said = error_of((make(bad), y), chunk_rows=5)
    assert said == (
        "<memory>: row 14, column 2 is inf: not a finite number: fill it in, "
        "or write NaN if it is missing"
    )
    bad[13, 2] = 1e300
    said = error_of((make(bad), y), chunk_rows=5)
    assert "is 1e+300: out of range of float32: take float64 (dtype, --dtype)" in said
    with pytest.raises(ValueError, match="y must have shape"):
        open_stream((dense, y[:3]))
    with pytest.raises(TypeError, match="source must be a file name"):
        open_stream(7)


def test_a_lazy_frame_is_to_be_collected() -> None:
    lazy = pl.DataFrame({"a": [1, 2], "y": ["u", "v"]}).lazy()
    for read in (TableEncoder().fit, open_stream, lambda X: open_stream((X, ["u", "v"]))):
        with pytest.raises(TypeError, match=r"^a LazyFrame has no rows yet: .*\.collect\(\)"):
            read(lazy)


def test_a_frame_and_its_labels() -> None:
    X, y = read((FRAME[["age", "town"]], FRAME["label"]), categorical=["town"])
    assert X.shape == (N, 1 + 4 + 9)
    assert_array_equal(y, FRAME["label"])
    X, y = read((np.array([[3, 1], [4, 2], [3, 5]]), [0, 1, 0]), categorical=[0])
    assert_array_equal(X[:, [0, 1, -1]], [[1, 0, 1], [0, 1, 2], [1, 0, 5]])
    assert not X[:, 2:-1].any()


@pytest.mark.parametrize("part", ["a:b", ":3", "3:", "2:2", "5:2", "-3:-1", "0:2:1", "3:9"])
def test_rows_of_an_npz_that_are_not_there(tmp_path: Path, part: str) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, X=np.zeros((5, 2)), y=np.arange(5))
    with open_stream(path, part="1:3") as stream:
        assert [y.tolist() for _, y in stream] == [[1, 2]]
    assert f"part {part!r}" in error_of(path, part=part)


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    X, y = np.arange(12).reshape(4, 3).astype(np.int16), np.array([1, 2, 3, 4], np.uint8)
    np.savez_compressed(path, X=X, y=y, feature_names=["a", "b", "c"])
    got, labels = read(path)
    assert_array_equal(got, X)
    assert_array_equal(labels, y)
    assert_array_equal(read(path, columns=["c", "a"])[0], X[:, [2, 0]])
    np.savez(path, X_train=X, y_train=y, X_test=X[:1], y_test=y[:1])
    assert read(path)[0].shape == (5, 3)
    assert read(path, part="test")[0].shape == (1, 3)
    np.savez(path, rows=X)
    assert error_of(path) == f"{path}: has no array 'X'; it has rows"
    np.savez(path, X=X)
    assert "has no array 'y'" in error_of(path)
    np.savez(path, X=X, y=y[:2])
    assert "not rows and labels" in error_of(path)
    np.savez(path, X=X, y=np.array([{}, {}, {}, {}]))  # pickled
    assert "not a valid .npz file" in error_of(path)
    for content in (b"", b"PK\x03\x04rest", path.read_bytes()[:200], b"text"):
        path.write_bytes(content)
        assert "not a valid .npz file" in error_of(path)
    assert error_of(tmp_path / "none.npz") == f"{tmp_path}/none.npz: no such file or directory"
    np.savez(path, X=X, y=np.zeros(0))
    with zipfile.ZipFile(path, "w") as archive, archive.open("X.npy", "w") as file:
        shape = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 10)}
        np.lib.format.write_array_header_1_0(file, shape)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y.npy", b"")
    assert error_of(path).startswith(f"{path}: does not fit into memory: ")
    np.save(tmp_path / "one.npy", X)
    assert "is a single array" in error_of(tmp_path / "one.npy", format="npz")


@pytest.mark.parametrize("kind", ["S3", "M8[D]", "m8[s]", "c16", [("a", "i4"), ("b", "f8")], "V4"])
def test_npz_of_other_kinds(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "set.npz"
    strange = np.zeros((4, 2), np.dtype(kind))
    np.savez(path, X=np.zeros((4, 2)), y=strange[:, 0])
    assert error_of(path).endswith(f"y holds {strange.dtype}, not numbers or words: convert it")
    np.savez(path, X=strange, y=np.zeros(4))
    assert error_of(path).endswith(f"X holds {strange.dtype}, not numbers: convert it")


# ---- what is wrong, in one line ----------------------------------------------------------------

ADVICE = "has no value: fill it in, or add --skip-bad"
NUMBER = (
    'has no value: scale="auto" (--scale auto) treats it as missing; or fill it in, leave the '
    "column out (columns, --columns) or skip such rows (skip_bad, --skip-bad)"
)


@pytest.mark.parametrize("nothing", ["", "NA", "nan", "?", "null"])
def test_missing_numbers_are_nan(tmp_path: Path, nothing: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,w,y\n" + "1,x,1\n" * 4 + f"{nothing},x,1\n" + "2,x,1\n" * 4)
    wanted = np.array([1.0] * 4 + [np.nan] + [2.0] * 4)
    for options in ({"categorical": ["w"]}, {"columns": ["a"]}, {"hashed": ["w"], "hash_width": 2}):
        for size in (2, 5, 9):
            X, _ = read(path, chunk_rows=size, skip_bad=True, **options)
            assert_array_equal(X[:, 0], wanted)
    frame = pd.DataFrame({"a": wanted, "y": 1.0})
    frame.to_parquet(tmp_path / "rows.parquet")
    nulls = pl.DataFrame({"a": [None if np.isnan(a) else int(a) for a in wanted], "y": [1.0] * 9})
    for source in (frame, tmp_path / "rows.parquet", nulls):
        assert_array_equal(read(source)[0][:, 0], wanted)
        assert "row 5, column 'a' has no value" in error_of(source, gaps=False)


@pytest.mark.parametrize("nothing", ["", "NA", "nan", "?", "null"])
@pytest.mark.parametrize("column", ["a", "y"])
def test_missing_values_name_row_and_column(tmp_path: Path, nothing: str, column: str) -> None:
    path = tmp_path / "rows.csv"
    lines = [{"a": "1", "w": "x", "y": "1"} for _ in range(9)]
    lines[4][column] = nothing
    path.write_text("a,w,y\n" + "".join(",".join(line.values()) + "\n" for line in lines))
    options: dict[str, Any] = {"categorical": ["w"], "gaps": False}
    says = f"row 5, column {column!r} {NUMBER if column == 'a' else ADVICE}"
    assert error_of(path, **options) == f"{path}:6: {says}"
    chunks = iter(open_stream(path, **options))
    assert len(next(chunks)[1]) == 4  # the rows before it come first
    with pytest.raises(StreamError):
        next(chunks)
    stream = open_stream(path, skip_bad=True, chunk_rows=2, **options)
    assert sum(len(y) for _, y in stream) == 8
    assert stream.n_bad == 1
    if column == "y":  # the flag is given: nobody is told to add it
        assert stream.skipped.endswith("row 5, column 'y' has no value: fill it in")
    assert stream.bad_messages == [f"{path}: {says}"]
    rest = stream.at({"rows": 6, "bad": 1})
    assert sum(len(y) for _, y in rest) == 2
    if nothing != "?":  # a word to pandas
        frame = pd.read_csv(path, dtype={"w": str})
        assert error_of(frame, **options) == f"<table>: {says}"


@pytest.mark.parametrize(
    ("text", "options", "what"),
    [
        (b"", {}, ": is empty: not even a first line"),
        (b"a,b\n1,2\n", {}, ": which column is the label? Pass its name"),
        (b"a,y\n1,1\n2\n", {}, ": row 2 has 1 field, not 2"),
        (b"a,y\n1,1\n2,2,2\n", {}, ": row 2 has 3 fields, not 2"),
        (
            b"a,y\n" + b"1,1\n" * 30 + b"red,2\n",
            {"strict": True},
            ": row 31, column 'a' holds 'red'",
        ),
        (
            b"a,y\n" + b"1,1\n" * 30 + b"1,red\n",
            {},
            ": row 31, column 'y' holds 'red', not a number",
        ),
        (b"a,y\n" + b"1,1\n" * 30 + b"1e400,1\n", {"strict": True}, "holds '1e400', not a number"),
        (b"a,y\n" + b"1,1\n" * 30 + b"-inf,1\n", {"strict": True}, "holds '-inf', not a number"),
        (b"a,y\n" + b"1,1\n" * 30 + b"1,inf\n", {}, ": row 31, column 'y' is not a finite number"),
        (b"a,a,y\n1,1,1\n", {}, ": two columns are called 'a'"),
        (b"a y\n1 1\n", {}, ":1: there is but one column in 'a y': add --delimiter ' '"),
        (b"a;y\n1;1\n", {"delimiter": ","}, ":1: there is but one column in 'a;y'"),
        (b"1 1:2 4:1\n", {}, ":1: this is LIBSVM text, not CSV"),
        ("a,y\n1,2\n".encode("utf-16"), {}, ": is UTF-16, not UTF-8 text"),
        ("stra\xdfe,y\n1,2\n".encode("latin-1"), {}, ":1: is not UTF-8 text (byte 0xdf)"),
        ("a,y\nK\xf6ln,2\n".encode("latin-1"), {"categorical": ["a"]}, "is not UTF-8 text"),
        (b"\x00\x01\x02,\n", {}, ":1: byte 0x00 is not allowed in CSV text"),
        (b"a,y\n1,2\n", {"columns": ["b"]}, ": there is no column 'b'; the columns are a, y"),
        (b"ages,y\n1,2\n", {"columns": ["age"]}, "; did you mean 'ages'?"),
        (b"a,y\n1,2\n", {"columns": [5]}, ": there is no column 5"),
        (b"a,b,y\n1,2,3\n", {"columns": ["a"], "hashed": ["b"]}, "is not among the features"),
        (b"y,z\n1,2\n", {"columns": []}, ": no column is left for the features"),
        (b"a,y\nu,1\nv,1\n", {"categorical": ["a"], "n_features": 1}, ": has 11 features, not 1"),
        (b"a,y\n1,1\n", {"n_features": 3}, ": has 1 features, not 3"),
    ],
)
def test_what_is_wrong_with_csv(
    tmp_path: Path, text: bytes, options: dict[str, Any], what: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    error = error_of(path, **options)
    assert error.startswith(str(path))
    assert what in error


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["3,,1", "3,x,1", "3,1"])
def test_the_line_is_named_too(tmp_path: Path, last: str, ending: str) -> None:
    """Behind a blank line and a row of two lines."""
    lines = [
        "a,b,c,y",
        "1,2,u,0",
        "",
        '1,2,"two',
        'lines",1',
        last.replace(",1", ",u,1"),
        "1,2,u,1",
    ]
    text = ending.join(lines).encode()
    for name, content in (("rows.csv", text), ("rows.csv.gz", gzip.compress(text))):
        path = tmp_path / name
        path.write_bytes(content)
        options: dict[str, Any] = {"hashed": ["c"], "types": {"b": "number"}, "gaps": False}
        assert error_of(path, **options).startswith(f"{path}:6: row 3")


def test_rows_of_the_wrong_length_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,1\n2\n3,3\n4,4,4\n")
    stream = open_stream(path, skip_bad=True)
    assert [y.tolist() for _, y in stream] == [[1, 3]]
    assert stream.n_bad == 2
    assert "has 1 field, not 2" in stream.bad_messages[0]


def test_only_who_reads_a_stream_reads_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of pyarrow must not: while Python ends, that aborts the process."""
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"word {i},{i % 2}\n" for i in range(400_000)))
    readers: list[int] = []
    read = Source.read

    def noting(self: Source) -> bytes:
        readers.append(threading.get_native_id())
        return read(self)

    monkeypatch.setattr(Source, "read", noting)
    before = threading.enumerate()
    with pytest.raises(StreamError, match="column 'a' holds 'word 0'"):
        next(iter(open_stream(path, types={"a": "number"}, strict=True)))
    at_the_error = len(readers)
    stream = open_stream(path, hashed=["a"])
    next(iter(stream))
    some = len(readers)
    time.sleep(0.05)  # whoever reads ahead would
    assert len(readers) == some > at_the_error
    assert some - at_the_error < 8  # blocks of the file, which has 20
    assert set(readers) == {threading.get_native_id()}
    assert threading.enumerate() == before


@pytest.mark.thread_unsafe(reason="sets a handler")
def test_signals_while_a_block_is_parsed_reach_their_handler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the main thread pyarrow would handle them, and stop although the handler continues."""
    from pyarrow import csv as arrow_csv

    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,0\n2\n3,1\n" * 100_000)
    parse, seen = arrow_csv.read_csv, []

    def parse_and_signal(*args: Any) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        signal.raise_signal(signal.SIGINT)
        return parse(*args)

    monkeypatch.setattr(arrow_csv, "read_csv", parse_and_signal)
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        stream = open_stream(path, skip_bad=True)
        assert sum(len(y) for _, y in stream) == 200_000
    finally:
        signal.signal(signal.SIGINT, before)
    assert stream.n_bad == 100_000
    assert set(seen) == {signal.SIGINT}
    with pytest.raises(KeyboardInterrupt):
        next(iter(open_stream(path, skip_bad=True)))


class Trickle(io.RawIOBase):
    """Standard input that returns so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = io.BytesIO(data), size

    @property
    def buffer(self) -> Trickle:
        return self

    def read1(self, size: int = -1) -> bytes:
        return self._data.read(self._size)


FRAGMENTS = ['"a\nb"', '"a,""b"', 'a"b', '""', '"', "a", ",", "\n", "\r\n", "a,b\n"]


def never_closed(text: str) -> tuple[int, int] | None:
    """Letter by letter: where the row starts, and where the quotation mark stands."""
    row, mark, before = 0, None, "\n"
    for i, letter in enumerate(text):
        if mark is None and letter == '"' and before in {*',\r\n"'}:
            mark = i
        elif letter == '"' and mark is not None:
            mark = None
            before = '"'  # a second one opens again: two stand for one
            continue
        elif mark is None and letter == "\n":
            row = i + 1
        before = letter if letter in ",\r\n" else ""
    return None if mark is None else (row, mark)


@given(
    fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=40),
    size=st.integers(1, 30),
    live=st.booleans(),
)
@example(fragments=['"'], size=3, live=False)
@settings(deadline=None)
def test_rows_are_those_of_the_whole_text_however_it_is_cut(
    fragments: list[str], size: int, live: bool
) -> None:
    from pyarrow import csv as arrow_csv

    names, skipped = ["p", "q"], []

    def skip(row: Any) -> str:
        fields = "1 field" if row.actual_columns == 1 else f"{row.actual_columns} fields"
        skipped.append(f"<stdin>: row {row.number} has {fields}, not 2")
        return "skip"

    text = "".join(["x,y\n", *fragments])
    body, open_at = text.encode(), never_closed(text)
    expected = arrow_csv.read_csv(
        pa.BufferReader(body if open_at is None else body[: open_at[0]]),
        arrow_csv.ReadOptions(use_threads=False, column_names=names),
        arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "_BLOCK", 2 * size)
        patch.setattr(sys, "stdin", Trickle(b"p,q\n" + body, size))
        batches = csv_text.CsvBatches("-", header=True, skip_bad=True)
        batches._source.live = live
        encoder = AsTheyAre(names)
        rows: list[Any] = []
        with nullcontext() if open_at is None else pytest.raises(StreamError) as failed:
            for batch in batches.read(encoder, 0, 10):
                rows += batch.to_pylist()
    if open_at is not None:
        number = len(rows) + len(skipped) + 1
        what = f"row {number} has a quotation mark that is never closed"
        assert str(failed.value) == f"<stdin>: {what}"
    assert rows == expected.to_pylist()
    assert (batches.n_bad, batches.bad_messages) == (len(skipped), skipped[:5])


def test_rows_before_damage_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    packed = gzip.compress(b"a,y\n" + b"".join(b"%d,1\n" % (i * i) for i in range(200_000)))
    path.write_bytes(packed[: len(packed) // 2])
    stream = open_stream(path)
    with pytest.raises(StreamError, match=r"row \d+ or later: the \.gz data ends too early") as end:
        for _ in stream:
            pass
    assert f": row {stream.position + 1} or later" in str(end.value)
    assert stream.position > 50_000


def test_a_quotation_mark_that_is_never_closed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,y\n1,0\n2,1\n"3,0\n' + "4,1\n" * 2_000_000)
    what = "row 3 is longer than 4 MiB: is a quotation mark never closed?"
    assert error_of(path) == f"{path}:4: {what}"


@given(
    before=st.lists(st.sampled_from(['a,"b\nc",0\n', "a,b,1\n", '"a\n\n","b",1\n', "\n"])),
    opened=st.sampled_from(['"', 'a,"', 'a,"b\nc","', '"\n",b,"']),
    behind=st.integers(0, 50),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_line_where_a_quotation_mark_opens_is_named(
    tmp_path: Path, before: list[str], opened: str, behind: int
) -> None:
    path = tmp_path / "rows.csv"
    good = "".join(["p,q,label\n", *before])
    path.write_text(good + opened + "a,b,1\n" * behind)
    line = (good + opened).count("\n") + 1
    row = len([each for each in before if each.strip()]) + 1
    what = f"{path}:{line}: row {row} has a quotation mark that is never closed"
    assert error_of(path, hashed=["p", "q"]) == what
    assert error_of(path, hashed=["p", "q"], skip_bad=True).endswith(what.partition(": ")[2])
    path.write_text(f'p,q,"label\n{good}')
    assert error_of(path).startswith(f"{path}:1: the first row has a quotation mark")


def test_rows_are_numbered_through_blocks(tmp_path: Path) -> None:
    """And lines, where a row is of two, with the column of a number or of a word."""
    path = tmp_path / "rows.csv"
    good = ['1,2,"two\nlines",0\n', "1,2,one,1\n"] * 50_000  # 2 blocks
    for bad, what in (("1,x,u,0\n", "'b' holds 'x'"), ("1,nan,u,0\n", "'b' has no value")):
        path.write_text("a,b,c,y\n" + "".join(good) + bad + "".join(good))
        error = error_of(path, hashed=["c"], gaps=False)
        assert error.startswith(f"{path}:150002: row 100001, column {what}")


def test_damaged_and_truncated_files(tmp_path: Path, files: dict[str, Any]) -> None:
    path = tmp_path / "rows.parquet"
    data = files["rows.parquet"].read_bytes()
    for content in (b"", data[:-20], data[: len(data) // 2], b"a,b\n"):
        path.write_bytes(content)
        assert error_of(path).startswith(f"{path}: ")
    path.write_bytes(data[:40] + bytes(200) + data[240:])
    assert error_of(path, columns=["age"]).startswith(f"{path}: ")
    for name in ("rows.csv.gz", "rows.csv.xz", "rows.csv.zst"):
        packed = files[name].read_bytes()
        path = tmp_path / name
        path.write_bytes(packed[: len(packed) // 2])
        assert "ends too early" in error_of(path, columns=["age"])
    assert error_of(tmp_path / "no.csv") == f"{tmp_path}/no.csv: no such file or directory"
    assert error_of(tmp_path / "no.parquet") == f"{tmp_path}/no.parquet: no such file or directory"
    assert "directory" in error_of(tmp_path, format="parquet")


def test_many_categories_are_hashed() -> None:
    frame = pl.DataFrame({"id": [str(i) for i in range(3000)]}).with_columns(y=pl.lit(1))
    stream = open_stream(frame, categorical=["id"])
    assert stream.n_features == 100 + 1 + 1024
    assert read(frame, hashed=["id"], hash_width=8)[0].shape[1] == 9


def test_kinds_that_were_no_numbers() -> None:
    frame = pl.DataFrame({"at": [1, 2], "y": [0, 1]}).with_columns(pl.col("at").cast(pl.Date))
    assert read(frame)[0][:, 0].tolist() == [0, 1]
    frame = pl.DataFrame({"on": [True, False], "y": [0, 1]})
    assert read(frame)[0].tolist() == [[1], [0]]


def test_options_that_do_not_go_with_a_format(tmp_path: Path, files: dict[str, Any]) -> None:
    (tmp_path / "rows").write_text("1 1:1\n")
    assert "is read as LIBSVM; add --format csv" in error_of(tmp_path / "rows", label="y")
    assert error_of(tmp_path, label="y").endswith(": is a folder; name a file in it")
    error = error_of(tmp_path / "rows", label="y", format="libsvm")
    assert error.endswith("label does not work with LIBSVM text")
    assert "delimiter does not work with Parquet" in error_of(files["rows.parquet"], delimiter=";")
    assert "columns does not work with synthetic" in error_of("synthetic:sea", columns=["a"])
    with pytest.raises(ValueError, match="format must be one of"):
        SourceOptions(format="xml")
    with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
        open_stream(files["rows.csv"], delimiter=",,")
    with pytest.raises(ValueError, match="hash_width"):
        open_stream(files["rows.csv"], hash_width=0)


def test_without_pyarrow_it_says_what_to_install(
    files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'budgetron[lab]'" in error_of(files["rows.csv"])


# ---- the property: any table, in any chunks, through any form ----------------------------------

WORDS = st.sampled_from(["red", "green", "blue", "Grün", "a,b", 'say "so"', "x"])


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.floats(-1e6, 1e6, width=32), WORDS, WORDS, st.integers(-2, 2)), min_size=1
    ),
    chunk_rows=st.integers(1, 9),
)
def test_csv_is_the_frame(
    rows: list[tuple[float, str, str, int]],
    chunk_rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    frame = pd.DataFrame(rows, columns=["a", "v", "w", "y"])
    path = tmp_path_factory.getbasetemp() / "property.csv"
    frame.to_csv(path, index=False)
    options = {"categorical": ["v", "w"]}
    expected, labels = read(frame, **options)
    X, y = read(path, chunk_rows=chunk_rows, **options)
    assert_array_equal(X, expected)
    assert_array_equal(y, labels)


def test_the_work_on_names_grows_as_their_number() -> None:
    class Name(str):
        """Counts how often names are compared."""

        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

    count = 2000
    names = [Name(f"c{i}") for i in range(count)]
    wanted = [str(each) for each in names[1:]]
    for roles in (
        Roles(label="c0"),
        Roles(label="c0", columns=wanted),
        Roles(label="c0", columns=range(1, count)),
        Roles(label="c0", hashed=wanted),
        Roles(label="c0", categorical=wanted[:900], hashed=wanted[900:]),
    ):
        Name.compared = 0
        Encoder("table", names, roles, np.dtype("float32"))
        assert Name.compared < 50 * count


NUMBERS = ["0", "7", "007", "-7", "-07", "+7", "1.5", "00", "9007199254740991", "9007199254740992"]
NUMBERS += ["9007199254740993", "-9007199254740993", "18446744073709551617", "1e3", "1000"]
SAME = {"+7": "7", "1e3": "1000"}  # other ways to write a number are that number


def outcome(path: Path, **options: Any) -> int | None:
    """How many classes there are; None: refused."""
    try:
        return len({label for _, y in open_stream(path, **options) for label in y.tolist()})
    except StreamError:
        return None


@given(labels=st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=6), data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_labels_that_differ_are_never_one_class(
    tmp_path: Path, labels: list[str], data: st.DataObject
) -> None:
    """The order of rows, and where they are cut, does not change the result either."""
    distinct = {SAME.get(each, each) for each in labels}
    kept = {each for each in distinct if f"{float(each):.0f}" == each or each == "1.5"}
    expected = len(distinct) if kept == distinct else None
    again = data.draw(st.permutations(labels))
    for order, chunk_rows in ((labels, 100), (again, data.draw(st.integers(1, 3)))):
        table, words = tmp_path / "rows.csv", tmp_path / "rows.libsvm"
        table.write_text("a,b,label\n" + "".join(f"1,2,{each}\n" for each in order))
        words.write_text("".join(f"{each} 1:1 2:2\n" for each in order))
        codes = any(len(each) > 1 and each.isdigit() and each[0] == "0" for each in labels)
        found = outcome(table, chunk_rows=chunk_rows)
        assert found == (len(set(labels)) if codes else expected)
        assert outcome(words, chunk_rows=chunk_rows) == expected
        as_words = outcome(table, chunk_rows=chunk_rows, categorical=["label"])
        assert as_words == len(set(labels))


@given(
    near=st.sampled_from([2**53, -(2**53), 2**62, 2**40]),
    offsets=st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    chunk_rows=st.integers(1, 5),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_large_whole_numbers_in_parquet(
    tmp_path: Path, near: int, offsets: list[int], chunk_rows: int
) -> None:
    labels = [near + each for each in offsets]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0] * len(labels), "label": labels}), path)
    exact = all(int(float(each)) == each for each in labels)
    assert outcome(path, chunk_rows=chunk_rows) == (len(set(labels)) if exact else None)
    as_words = outcome(path, chunk_rows=chunk_rows, categorical=["label"])
    assert as_words == len(set(labels))


def test_digits_that_only_python_reads_are_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for label in ("1_000", "\uff17"):
        path.write_text(f"a,label\n1,7\n1,{label}\n")
        assert read(path)[1].tolist() == ["7", label]
        path.write_text("a,label\n" + "1,7\n" * 30 + f"1,{label}\n")
        assert "not a number like the labels before: keep labels as words" in error_of(path)


@pytest.mark.parametrize("option", ["categorical", "hashed"])
def test_columns_that_are_no_words(option: str) -> None:
    table = pa.table({"a": [[1], [2, 3]], "b": [{"c": 1}, {"c": 2}], "label": [0, 1]})
    for name in ("a", "b"):
        error = error_of(table.select([name, "label"]), **{option: [name]})
        assert f"column '{name}' holds" in error
        assert ", not numbers, words or dates: leave it out (ignore)" in error


OLDER = {
    "numbers": ["age"],
    "hashed": ["sex"],
    "hash_width": 64,
    "categorical": ["town"],
    "categories": [{"Ulm": 65, "Bonn": 66}],
}


def test_tables_as_older_files_have_them() -> None:
    """Numbers, hashed words by their checksum, one feature per category; others have none."""
    rows = {
        "town": ["Bonn", "Ulm", "Jena", None],
        "sex": ["f", "m", "f", None],
        "age": [3, 4, 5, 6],
    }
    X, _ = read(pa.table(rows), label=False, layout=Layout.from_json(OLDER))
    expected = np.zeros((4, 67), np.float32)
    expected[:, 0] = rows["age"]
    expected[0, 66] = expected[1, 65] = 1
    for i, word in enumerate("fmf"):
        expected[i, 1 + zlib.crc32(f"sex={word}".encode()) % 64] = 1
    assert_array_equal(X, expected)
    again = Layout.from_json(json.loads(json.dumps(Layout.from_json(OLDER).to_json())))
    assert_array_equal(read(pa.table(rows), label=False, layout=again)[0], expected)


def test_a_layout_that_makes_no_sense_is_refused() -> None:
    wrong: list[Any] = [None, 3, {}, {**OLDER, "more": 1}]
    wrong += [{**OLDER, "numbers": [1]}, {**OLDER, "numbers": None}, {**OLDER, "hash_width": "4"}]
    wrong += [
        {**OLDER, "hash_width": 0},
        {**OLDER, "hash_width": 2**40},
        {**OLDER, "categories": []},
        {**OLDER, "categories": [[]]},
    ]
    wrong += [{**OLDER, "categories": [{"Ulm": 65, "Bonn": 67}]}]
    sound = Layout.from_json(OLDER).to_json()
    wrong += [
        {**sound, "label": 3},
        {**sound, "label": {"name": "y", "numeric": 1, "decimal": "."}},
    ]
    for places in ([0], "0", [0] * 68, [99] * 69, ["0"] * 69):
        wrong.append({"encoding": {**sound["encoding"], "places": places}})
    for each in wrong:
        with pytest.raises(ValueError, match="is not valid"):
            Layout.from_json(each)


def test_a_label_that_is_a_text_of_its_own_is_refused(tmp_path: Path) -> None:
    """An array of labels has room for the longest one in every row."""
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n1,yes\n2," + "x" * 1001 + "\n3,no\n")
    with open_stream(path) as stream, pytest.raises(StreamError, match=r"row 2.*1,001 characters"):
        list(stream)
    with open_stream(path, skip_bad=True) as stream:
        [(_, y)] = stream
        assert (y.tolist(), y.dtype.itemsize, stream.n_bad) == (["yes", "no"], 12, 1)


@pytest.mark.parametrize("delimiter", ["é", "→", "", ",,"])
def test_a_delimiter_is_one_ascii_character(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n1,2\n")
    with pytest.raises(ValueError, match="one ASCII character"):
        open_stream(path, delimiter=delimiter)


@pytest.mark.parametrize("size", [6, 60])
def test_a_line_without_end_takes_no_memory(tmp_path: Path, size: int) -> None:
    """Neither when it is parsed nor when its line is looked for to be named."""
    path = tmp_path / "bomb.csv.zst"
    with zstandard.open(path, "wb") as file:
        file.write(b"a,b,label\n")
        for _ in range(size):
            file.write(b"0" * (1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(StreamError, match="row 1 is longer than 4 MiB"):
            list(open_stream(path))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 1, 100, 20 << 20])
def test_a_zst_frame_without_data_is_dropped_as_it_comes(tmp_path: Path, size: int) -> None:
    path = tmp_path / "rows.csv.zst"
    frame = b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)
    path.write_bytes(
        zstandard.compress(b"a,label\n") + frame + zstandard.compress(b"1,2\n") + frame
    )
    tracemalloc.start()
    try:
        [(X, _)] = open_stream(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert X.tolist() == [[1.0]]


# ---- Arrow files and JSON lines ------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["feather", "arrow", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_arrow_files_and_json_lines_are_read_as_parquet_is(
    tmp_path: Path, ending: str, chunk_rows: int
) -> None:
    rows = 40
    table = pa.table({"a": np.arange(rows) / 4, "b": np.arange(rows), "y": np.arange(rows) % 2})
    parquet, other = str(tmp_path / "t.parquet"), str(tmp_path / f"t.{ending}")
    pq.write_table(table, parquet)
    if ending == "feather":
        pa.feather.write_feather(table, other, chunksize=11)
    elif ending == "arrow":
        with pa.ipc.new_stream(other, table.schema) as writer:
            writer.write_table(table, max_chunksize=11)
    else:
        text = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
        pack = gzip.compress if ending.endswith("gz") else bytes
        Path(other).write_bytes(pack(text.encode()))
    for position in (0, 13):
        expected = list(open_stream(parquet, chunk_rows=1000, position=position))
        found = list(open_stream(other, chunk_rows=chunk_rows, position=position))
        np.testing.assert_array_equal(
            np.concatenate([X for X, _ in found]), np.concatenate([X for X, _ in expected])
        )
        np.testing.assert_array_equal(
            np.concatenate([y for _, y in found]), np.concatenate([y for _, y in expected])
        )
    with pytest.raises(StreamError, match="after the end"):
        list(open_stream(other, position=rows + 1))


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["Bonn", "Ulm"])])
@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_words_as_polars_writes_them(tmp_path: Path, kind: Any, ending: str) -> None:
    words = {"town": ["Ulm", "Bonn", None, "Ulm"] * 9, "pay": range(36), "y": ["Ulm", "Bonn"] * 18}
    frame = pl.DataFrame(words).with_columns(pl.col("town", "y").cast(kind))
    path = tmp_path / f"t.{ending}"
    (frame.write_ipc if ending == "arrow" else frame.write_parquet)(path)
    options = SourceOptions(label="y", carry=("town",), chunk_rows=10)
    expected = list(open_stream(pa.table({k: list(v) for k, v in words.items()}), options))
    for source in (str(path), frame):
        stream = open_stream(source, options)
        carried = []
        for (X, y), (X2, y2) in zip(stream, expected, strict=True):
            assert_array_equal(X.toarray(), X2.toarray())
            assert_array_equal(y, y2)
            carried += stream.carried["town"]
        assert carried == words["town"]


@pytest.mark.parametrize("name", ["t.parquet.zst", "t.feather.gz", "t.arrow.xz"])
def test_packed_again_is_said_to_be_unpacked(tmp_path: Path, name: str) -> None:
    path, inside = tmp_path / name, tmp_path / name.rpartition(".")[0]
    table = pa.table({"a": [1.0, 2.0], "y": [0, 1]})
    if ".parquet" in name:
        pq.write_table(table, inside, compression="zstd")
    else:
        pa.feather.write_feather(table, inside, compression="zstd")
    assert read(inside)[0].tolist() == [[1], [2]]
    pack = {"zst": zstandard.compress, "gz": gzip.compress, "xz": lzma.compress}
    path.write_bytes(pack[name.rpartition(".")[2]](inside.read_bytes()))
    said = error_of(path)
    assert (
        f": unpack it first ({ {'z': 'zstd', 'g': 'gzip', 'x': 'xz'}[path.suffix[1]] } -dc" in said
    )
    assert "is compressed inside" in said


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst", ".bz2"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_text_is_read_however_it_is_packed(tmp_path: Path, kind: str, ending: str) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "w": ["x", "y", "x"], "y": [0, 1, 0]})
    text = frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",")
    if kind == "jsonl":
        text = frame.to_json(orient="records", lines=True)
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    path = tmp_path / f"t.{kind}{ending}"
    path.write_bytes({**pack, ".zst": zstandard.compress}[ending](text.encode()))
    X, y = read(path)
    assert_array_equal(X[:, :3], [[1, 1, 0], [2, 0, 1], [3, 1, 0]])
    assert y.tolist() == [0, 1, 0]


def test_json_lines_with_keys_that_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = ['{"a": 1, "y": 0}\n'] * 3 + ['{"y": 1}\n']
    path.write_text("".join(lines))
    with pytest.raises(StreamError, match="row 4, column 'a' has no value"):
        list(open_stream(path, gaps=False))


def test_json_lines_of_several_types_in_a_column(tmp_path: Path) -> None:
    """A value that is not a number is a gap, as in CSV."""
    path = tmp_path / "t.jsonl"
    good = [{"a": i, "y": i % 2} for i in range(60)]
    good[40]["a"] = "many"
    path.write_text("".join(json.dumps(row) + "\n" for row in good))
    with open_stream(path) as stream:
        [(X, y)] = stream
    assert np.isnan(X[40, 0])
    assert X[59, 0] == 59
    assert y.tolist() == [i % 2 for i in range(60)]
    assert stream.unparsed == {"a": 1}
    for wrong, what in (
        ("{", "row 61 is not a JSON object"),
        ("[1]", "row 61 is not a JSON object"),
    ):
        path.write_text("".join(json.dumps(row) + "\n" for row in good) + wrong + "\n")
        assert what in error_of(path)


@pytest.mark.parametrize("head", ["# made by X\n# 20,5 mm\n\na,b,y\n", "# a,b,y\n", "#a,b,y\n"])
def test_comments_above_the_header(tmp_path: Path, head: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{head}1,2,0\n3,4,1\n")
    batches = csv_text.CsvBatches(path)
    assert batches.names == ["a", "b", "y"]
    assert_array_equal(read(path, label="y")[0], np.array([[1, 2], [3, 4]], np.float32))
    path.write_text(f"{head}1,2,0\n3,4\n")
    with pytest.raises(StreamError, match=rf":{head.count(chr(10)) + 2}: row 2 has 2 fields"):
        read(path, label="y")


def test_objects_and_lists_within_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"user": {"age": 31, "geo": {"country": "IT"}}, "tags": ["a", "b"], "y": 1},
        {"user": None, "tags": [], "y": 0},
        {"user": {"age": 45}, "y": 1},
        {"user": {"age": 28, "geo": {"country": "NO"}}, "tags": ["a"], "y": 0},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    with open_stream(path, label="y") as stream:
        kinds = {each.name: each.kind for each in stream.columns}
        [(X, _)] = stream
    assert kinds == {"user.age": "number", "user.geo.country": "category", "tags": "category"}
    assert_array_equal(X.toarray()[:, 0], np.array([31, np.nan, 45, 28], np.float32))
