"""Columns of tables are inferred: the stream gives the rows of `TableEncoder`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from budgetron import TableEncoder
from budgetron.streams import StreamError, open_stream
from budgetron.streams.table import csv_text
from budgetron.streams.table.roles import Layout

N = 1500
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "id": np.arange(N),
        "age": RANDOM.integers(18, 90, N).astype(str),
        "pay": [f"{x:,.2f}" for x in RANDOM.lognormal(8, 1, N)],
        "town": RANDOM.choice([" Ulm", "Bonn", "Köln", "?"], N),
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(RANDOM.integers(0, 999, N), unit="D"),
        "member": RANDOM.choice(["yes", "no", ""], N),
        "land": "DE",
        "buys": RANDOM.choice(["a", "b"], N),
    }
)
FRAME.loc[1200:1209, "age"] = "unknown"


def written(folder: Path, frame: pd.DataFrame = FRAME) -> str:
    path = str(folder / "people.csv")
    frame.to_csv(path, index=False)
    return path


def joined(chunks: Any) -> tuple[Any, Any]:
    Xs, ys = zip(*chunks, strict=True)
    sparse = scipy.sparse.issparse(Xs[0])
    return (scipy.sparse.vstack(Xs).toarray() if sparse else np.vstack(Xs)), np.concatenate(ys)


def options(**more: Any) -> dict[str, Any]:
    return {"label": "buys", "ids": False, "dtype": "float64", **more}


@pytest.mark.parametrize("chunk_rows", [10, 700, 5000])
@pytest.mark.parametrize("block", [2000, 1 << 20])
def test_the_features_are_those_of_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_rows: int, block: int
) -> None:
    monkeypatch.setattr(csv_text, "_BLOCK", block)
    texts = FRAME.astype(str).drop(columns="buys")
    encoder = TableEncoder(infer_rows=1000).partial_fit(texts)
    expected = encoder.transform(texts).toarray()
    with open_stream(written(tmp_path), **options(chunk_rows=chunk_rows)) as stream:
        X, y = joined(stream)
    np.testing.assert_array_equal(X, expected)
    assert y.tolist() == FRAME["buys"].tolist()
    assert stream.unparsed == encoder.unparsed_ == {"age": 10}
    assert stream.n_features == X.shape[1] == len(encoder.get_feature_names_out())
    assert {each.name: each.kind for each in stream.columns} == encoder.kinds_


def test_another_start_makes_no_difference(tmp_path: Path) -> None:
    path = written(tmp_path)
    X, y = joined(open_stream(path, **options()))
    first = open_stream(path, **options(chunk_rows=100))
    for _ in range(11):
        first.next_chunk(100)
    for place in (1100, first.bookmark):
        rest, labels = joined(open_stream(path, **options(), position=place))
        np.testing.assert_array_equal(rest, X[1100:])
        np.testing.assert_array_equal(labels, y[1100:])


def test_formats_agree(tmp_path: Path) -> None:
    X, _ = joined(open_stream(written(tmp_path), **options()))
    FRAME.to_parquet(tmp_path / "people.parquet")
    FRAME.astype({"since": str}).to_json(tmp_path / "people.jsonl", orient="records", lines=True)
    for name in ("people.parquet", "people.jsonl"):
        other, _ = joined(open_stream(tmp_path / name, **options()))
        np.testing.assert_array_equal(other, X)
    other, _ = joined(open_stream(FRAME, **options()))
    np.testing.assert_array_equal(other, X)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    X, _ = joined(open_stream(path, **options()))
    stdin = io.TextIOWrapper(io.BytesIO(Path(path).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    other, _ = joined(open_stream("-", **options(format="csv")))
    np.testing.assert_array_equal(other, X)


def test_another_table_is_read_by_the_layout_of_the_first(tmp_path: Path) -> None:
    with open_stream(written(tmp_path), **options()) as stream:
        X, _ = joined(stream)
        layout = Layout.from_json(json.loads(json.dumps(stream.layout.to_json())))
    part = FRAME.iloc[30:40][
        ["land", "town", "since", "pay", "age", "member"]
    ]  # another order, no label
    again, y = joined(
        open_stream(part, dtype="float64", label=False, labelled=False, layout=layout)
    )
    np.testing.assert_array_equal(again, X[30:40])
    assert np.isnan(y).all()
    with pytest.raises(StreamError, match="there is no column 'age'"):
        open_stream(part.drop(columns="age"), label=False, layout=layout)
    damaged = layout.to_json()
    damaged["encoding"]["columns"][1]["coding"] = {"kind": "spell"}
    with pytest.raises(ValueError, match="is not valid"):
        Layout.from_json(damaged)


def test_what_is_said_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path)
    say = options(types={"age": "category"}, categorical=["member"], columns=["age", "member"])
    with open_stream(path, **say) as stream:
        kinds = {each.name: each.kind for each in stream.columns}
        assert kinds == {"age": "category", "member": "category"}
    with pytest.raises(StreamError, match="there is no column 'agee'; did you mean 'age'"):
        open_stream(path, **options(types={"agee": "number"}))
    with pytest.raises(StreamError, match="'age' is 'words', not one of"):
        open_stream(path, **options(types={"age": "words"}))
    with open_stream(path, **options(columns=["town"], hashed=["town"], hash_width=16)) as stream:
        assert stream.n_features == 17  # and one for gaps
    with pytest.raises(StreamError, match="'town' cannot be text and hash at once"):
        open_stream(path, **options(types={"town": "text"}, hashed=["town"]))
    with pytest.raises(StreamError, match=r"column 'age' holds 'unknown', not a number"):
        list(open_stream(path, **options(strict=True)))


def test_numbers_alone_are_dense_and_fit_float32(tmp_path: Path) -> None:
    rows = {"a": ["1.5", "", "1e300"], "b": ["1", "2", "4"], "buys": [0, 1, 0]}
    path = written(tmp_path, pd.DataFrame(rows))
    [(X, y)] = open_stream(path, label="buys")
    most = np.finfo(np.float32).max
    np.testing.assert_array_equal(X, np.array([[1.5, 1], [np.nan, 2], [most, 4]], np.float32))
    assert y.tolist() == [0, 1, 0]


def test_a_label_that_is_missing_is_a_bad_row(tmp_path: Path) -> None:
    path = written(
        tmp_path, pd.DataFrame({"a": [1, 2, 4], "b": ["x", "y", "x"], "y": [0, None, 1]})
    )
    with pytest.raises(StreamError, match="row 2, column 'y' has no value"):
        list(open_stream(path))
    with open_stream(path, skip_bad=True) as stream:
        X, y = joined(stream)
    assert X.shape[0] == 2
    assert y.tolist() == [0, 1]
    assert stream.n_bad == 1


def test_no_rows_and_no_columns(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="has no rows"):
        open_stream(written(tmp_path, FRAME[:0]), **options())
    with pytest.raises(StreamError, match="no column is left"):
        open_stream(written(tmp_path, FRAME[["id", "buys"]]), **options())
