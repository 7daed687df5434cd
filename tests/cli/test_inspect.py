"""`budgetron inspect`: every format of tables, 80 columns, the label that is suggested."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from budgetron.cli import main

ROWS = 120
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS)),
        "age": pa.array([None if i % 10 == 0 else 20 + i % 50 for i in range(ROWS)]),
        "town": pa.array([("Rome", "Oslo", None)[i % 3] for i in range(ROWS)]),
        "since": pa.array([f"2024-01-{1 + i % 28:02}" for i in range(ROWS)]),
        "land": pa.array(["CH"] * ROWS),
        "buys": pa.array([("yes", "no")[i % 2] for i in range(ROWS)]),
    }
)
KINDS = {
    "id": "id",
    "age": "number",
    "town": "category",
    "since": "date",
    "land": "constant",
    "buys": "boolean",
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as exit:
        main(["inspect", *arguments])
    out, err = capsys.readouterr()
    assert exit.value.code == code, err
    return err if code else out


def write(folder: Path, name: str) -> str:
    path = folder / name
    if ".csv" in name or ".tsv" in name:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ".tsv" in name else ",")
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(TABLE, sink, options)
        text = sink.getvalue().to_pybytes()
    elif ".jsonl" in name:
        text = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()
    elif name.endswith(".parquet"):
        pyarrow.parquet.write_table(TABLE, path)
        return str(path)
    elif name.endswith(".feather"):
        pyarrow.feather.write_feather(TABLE, path)
        return str(path)
    else:
        with pa.ipc.new_stream(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
        return str(path)
    pack: dict[str, Any] = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": _zstd}
    path.write_bytes(pack.get(path.suffix, bytes)(text))
    return str(path)


def _zstd(text: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").compress(text))


@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.tsv",
        "t.csv.gz",
        "t.tsv.xz",
        "t.csv.zst",
        "t.jsonl",
        "t.jsonl.gz",
        "t.parquet",
        "t.feather",
        "t.arrow",
    ],
)
def test_every_format(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, write(tmp_path, name), "--json"))
    assert {each["name"]: each["kind"] for each in found["columns"]} == KINDS
    by_name = {each["name"]: each for each in found["columns"]}
    assert by_name["age"]["gaps"] == 0.1
    assert by_name["town"]["distinct"] == 2
    assert by_name["land"]["examples"] == ["CH"]
    assert (found["rows"], found["label"]) == (ROWS, "buys")


def test_the_table_fits_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "a name that is much longer than it should be"
    long = {name: ["many words here\x1b"] * 3, "y": [1, 2, 2]}
    path = tmp_path / "wide.parquet"
    pyarrow.parquet.write_table(pa.table(long), path)
    text = said(capsys, str(path))
    assert max(map(len, text.splitlines()[1:-1])) <= 80
    assert "\x1b" not in text
    assert "label: y, by its name?" in text
    text = said(capsys, write(tmp_path, "t.csv"))
    assert "label: buys, the last column, with 2 different values?" in text
    assert "10 %" in text


@pytest.mark.parametrize("end", ["", "7", "row%d"])
def test_a_column_without_information_is_not_suggested(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    rows = (f"{i * 0.37 % 1},{'ab'[i % 2]},{end % i if '%' in end else end}\n" for i in range(200))
    path.write_text("heat,state,note\n" + "".join(rows))
    says = "label: state, the last column that varies, with 2 different values?"
    assert says in said(capsys, str(path))


def test_only_the_first_rows_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(said(capsys, write(tmp_path, "t.csv"), "--json", "--rows", "7"))
    assert found["rows"] == 7


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.csv", "a\n1\n", "one column"),
        ("t.jsonl", "", "is empty"),
        ("t.jsonl", "{not json}\n", "row 1 is not a json object"),
        ("t.parquet", "PAR", "t.parquet"),
        ("t.arrow", "ARROW1", "t.arrow"),
        ("t.libsvm", "1 1:2\n", "is not a table; tables are csv, parquet, arrow, jsonl"),
        ("t.parquet", None, "no such file"),
        ("t", None, "no such file"),
        ("", None, "is a folder; name a file in it"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    name: str, text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    error = said(capsys, str(tmp_path / name), code=2)
    assert message in error.lower() or message in error
    assert error.count("\n") == 1
