"""Generated tables in files: formats, blocks and chunks do not change one bit of an encoding."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet
from scipy.sparse import issparse

from budgetron import BudgetronError, TableEncoder
from budgetron.streams import open_stream
from budgetron.streams import source as streams_source
from budgetron.streams import table as streams_table
from budgetron.streams.table import csv_text, json_lines
from budgetron.tables.encoding import Encoding, Wishes
from budgetron.tables.kinds import Limits

QUICK = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FORMATS = ("csv", "parquet", "feather", "jsonl")

# ---- tables ------------------------------------------------------------------------------------

WORD = st.text("abXY é\",;'\n#=?-01", max_size=6)
TIME = st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2100, 1, 1))
SECONDS = TIME.map(lambda time: time.replace(microsecond=0))
NUMBER = st.floats(-1e6, 1e6)
# One of each kind, and what looks like two kinds at once.
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-5, 5),
    "large": st.integers(-(2**50), 2**50),
    "number": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "yes or no": st.booleans(),
    "yes or no as words": st.sampled_from(["yes", "no", "N", "TRUE"]),
    "category": st.sampled_from(["red", "green", " red", "blue,grey", 'a "b" c']),
    "gaps": st.sampled_from(["?", "NA", "null", "x", "1"]),
    "words": WORD,
    "text": st.lists(WORD, max_size=5).map(" ".join),
    "decimal comma": NUMBER.map(lambda x: f"{x:.2f}".replace(".", ",")),
    "thousands": NUMBER.map(lambda x: f"{x:,.2f}"),
    "day": TIME.map(lambda time: time.strftime("%d.%m.%Y")),
    "time": SECONDS,
    "id": st.integers(0, 10**9).map(lambda x: f"k{x}"),
    "nothing": st.none(),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns of one kind each, with gaps; one of numbers and a label without any."""
    rows = draw(st.integers(1, 25))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True))
    made = {
        kind: draw(st.lists(st.none() | KINDS[kind], min_size=rows, max_size=rows))
        for kind in kinds
    }
    return made | {"n": [i % 4 for i in range(rows)], "label": [f"c{i % 2}" for i in range(rows)]}


def arrow(table: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def written(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def write(table: dict[str, list[Any]], folder: Path, kind: str, delimiter: str = ",") -> Path:
    path = folder / f"table.{kind}"
    if kind == "parquet":
        parquet.write_table(arrow(table), path, row_group_size=7)
    elif kind == "feather":
        feather.write_feather(arrow(table), path, chunksize=5)
    elif kind == "jsonl":
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        path.write_text("".join(json.dumps(row, default=written) + "\n" for row in rows))
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            lines.writerow(table)
            for row in zip(*table.values(), strict=True):
                lines.writerow(map(written, row))
    return path


def encoded(path: Path, **how: Any) -> tuple[Any, Any]:
    """All rows of a file, as a dense array, and the encoding that the file was read by."""
    with open_stream(path, label="label", dtype="float64", **how) as stream:
        chunks = [X.toarray() if issparse(X) else X for X, _ in stream]
        assert stream.n_bad == 0
        return np.concatenate(chunks), stream.layout.encoding


# ---- what holds of all of them -----------------------------------------------------------------


@QUICK
@given(
    table=tables(),
    infer=st.integers(1, 25),
    chunk=st.integers(1, 30),
    block=st.sampled_from([1, 40, 1 << 20]),
    delimiter=st.sampled_from(",;\t|"),
)
def test_formats_blocks_and_chunks_change_no_bit(
    tmp_path: Path,
    table: dict[str, list[Any]],
    infer: int,
    chunk: int,
    block: int,
    delimiter: str,
) -> None:
    """Only the first rows of a file determine the columns; the others are read accordingly."""
    infer = min(infer, len(table["n"]))
    for cells in table.values():  # of a column that begins with gaps text tells less than Arrow
        cells[0] = next((each for each in cells if each is not None), None)
    features = arrow(table).drop_columns("label")
    encoder = TableEncoder(infer_rows=infer).partial_fit(features)
    expected = encoder.transform(features).toarray()
    for kind in FORMATS:
        path = write(table, tmp_path, kind, delimiter)
        how = {"delimiter": delimiter, "header": True} if kind == "csv" else {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(streams_table.TableStream, "_infer_rows", infer)
            patch.setattr(csv_text, "_BLOCK", block)
            patch.setattr(json_lines, "_BLOCK", block)
            patch.setattr(streams_source, "BLOCK", max(block, 16))
            X, encoding = encoded(path, chunk_rows=chunk, **how)
        assert encoding.features == encoder.get_feature_names_out().tolist(), kind
        np.testing.assert_array_equal(X, expected, err_msg=kind)


@QUICK
@given(table=tables(), data=st.data())
def test_the_order_of_rows_changes_no_encoding(
    tmp_path: Path, table: dict[str, list[Any]], data: Any
) -> None:
    order = data.draw(st.permutations(range(len(table["n"]))))
    moved = {name: [cells[i] for i in order] for name, cells in table.items()}
    X, encoding = encoded(write(table, tmp_path, "csv"), header=True, delimiter=",")
    Y, other = encoded(write(moved, tmp_path, "csv"), header=True, delimiter=",")
    assert other.to_dict() == encoding.to_dict()
    np.testing.assert_array_equal(Y, X[list(order)])


@QUICK
@given(table=tables(), most=st.integers(1, 20_000))
def test_an_encoding_is_data_and_keeps_its_cap(table: dict[str, list[Any]], most: int) -> None:
    features = arrow(table).drop_columns("label")
    wishes = Wishes({"n": "number"}, most_bytes=most)
    least = Wishes({"n": "number"}, limits=Limits(categories=0))
    if Encoding.infer([features], least).memory_bytes > most:
        with pytest.raises(BudgetronError, match="bytes, more than"):
            Encoding.infer([features], wishes)
        return
    encoding = Encoding.infer([features], wishes)
    assert encoding.memory_bytes <= most
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    assert again.features == encoding.features
    table_encoder = TableEncoder(types={"n": "number"}, max_bytes=most).fit(features)
    assert TableEncoder.from_dict(table_encoder.to_dict()).to_dict() == table_encoder.to_dict()


@QUICK
@given(
    table=tables(),
    kind=st.sampled_from(FORMATS),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3)), min_size=1, max_size=3),
    skip=st.booleans(),
)
def test_a_damaged_file_is_read_or_refused_by_name(
    tmp_path: Path,
    table: dict[str, list[Any]],
    kind: str,
    cuts: list[tuple[float, bytes]],
    skip: bool,
) -> None:
    path = write(table, tmp_path, kind)
    content = bytearray(path.read_bytes())
    for place, bytes_ in cuts:
        at = int(place * len(content))
        content[at : at + 3] = bytes_
    path.write_bytes(content)
    said = str(path)
    try:
        with open_stream(path, label="label", skip_bad=skip) as stream:
            for X, y in stream:
                assert X.shape[0] == len(y)
    except BudgetronError as error:
        said = str(error)
    assert said.startswith(str(path))
    assert "\n" not in said
