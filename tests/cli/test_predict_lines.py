"""`predict`: one line per row, whatever is wrong with it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import budgetron
from budgetron.cli import main
from budgetron.streams import open_stream

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(400, 2)).round(3)
WORDS = np.where(X[:, 0] > 0, "yes", "no")
GOOD = [f"k{i:04},{a},{b},{word}" for i, ((a, b), word) in enumerate(zip(X, WORDS, strict=True))]
HEAD = "key,a,b,buys"


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    found = capsys.readouterr()
    assert (end.value.code or 0) == code, found.err
    return found


def text(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    rows = text(folder / "rows.csv", GOOD)
    prices = [f"k{i},{a},{b},{1000 + 10 * a}" for i, (a, b) in enumerate(X)]
    text(folder / "prices.csv", prices)
    for name, source in (("words", rows), ("prices", folder / "prices.csv")):
        with pytest.raises(SystemExit) as end:
            main(["run", str(source), "--label", "buys", "--save", str(folder / f"{name}.btn")])
        assert not end.value.code
    return folder


def table(out: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(out)))


def test_a_bad_row_has_a_line_too(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["x,1", *GOOD[:3], "k,1,2,3,4", "k,1", *GOOD[3:6], "z"]
    path = text(tmp_path / "new.csv", lines)
    out, err = said(capsys, "predict", folder / "words.btn", path)
    head, *rows = table(out)
    assert head == ["row", "label"]
    assert [number for number, _ in rows] == [str(i) for i in range(1, 11)]
    bad = [i for i, (_, label) in enumerate(rows) if not label]
    assert bad == [0, 4, 5, 9]
    model = budgetron.load(folder / "words.btn")
    expected = model.predict(X[:6].astype(np.float32)).tolist()
    assert [label for _, label in rows if label] == expected
    first = f"{path}: row 1 has 2 fields, not 4"
    assert err == f"budgetron: 4 bad rows without a prediction; the first: {first}\n"
    out, err = said(capsys, "predict", folder / "words.btn", path, "--strict", code=2)
    assert out == ""
    assert "row 1 has 2 fields, not 4" in err
    only = text(tmp_path / "only.csv", ["a", "b,c"])
    out, _ = said(capsys, "predict", folder / "words.btn", only)
    assert table(out) == [["row", "label"], ["1", ""], ["2", ""]]


def test_a_cell_that_is_no_text_is_a_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    towns = ["k,Ulm,1,yes", "m,K\u00f6ln,2,no"] * 50
    path, model = tmp_path / "towns.csv", tmp_path / "towns.btn"
    path.write_text("\n".join(["key,town,n,buys", *towns]), encoding="utf-8")
    said(capsys, "run", path, "--label", "buys", "--save", model)
    gap = path.with_name("gap.csv")
    gap.write_text("key,town,n,buys\n,,3,no\nk1,Ulm,,no\nk2,Ulm,4,no\n")
    expected = table(said(capsys, "predict", model, gap, "--output", "decisions")[0])
    new = path.with_name("new.csv")
    cells = "key,town,n,buys\nk0\u00f6,K\u00f6ln,3,no\nk1,Ulm,7\u00f6,no\nk2,Ulm,4,no\u00e4\n"
    new.write_bytes(cells.encode("latin-1"))
    out, err = said(capsys, "predict", model, new, "--output", "decisions")
    assert table(out) == expected
    read_as = "not UTF-8, read as gaps: key (1), town (1), n (1); iconv -f latin1 -t utf8 converts"
    assert err == f"budgetron: {new}: {read_as}\n"
    out, _ = said(capsys, "predict", model, new, "--id", "key")
    assert [row[0] for row in table(out)] == ["key", "k0\ufffd", "k1", "k2"]
    assert "is not UTF-8" in said(capsys, "predict", model, new, "--strict", code=2)[1]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(good=st.lists(st.booleans(), min_size=1, max_size=60), wide=st.booleans())
def test_lines_are_as_many_as_rows(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    good: list[bool],
    wide: bool,
) -> None:
    bad = "a,b,c,d,e" if wide else '"a'[1:]
    path = text(tmp_path / "new.csv", [GOOD[i] if g else bad for i, g in enumerate(good)])
    _, *rows = table(said(capsys, "predict", folder / "words.btn", path)[0])
    assert [bool(label) for _, label in rows] == good
    assert [int(number) for number, _ in rows] == list(range(1, len(good) + 1))


def test_many_blocks_of_text(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [GOOD[i % 400] if i % 997 else "bad" for i in range(120_000)]
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress("\n".join([HEAD, *lines]).encode(), 1))
    out = tmp_path / "out.parquet"
    said(capsys, "predict", folder / "words.btn", packed, "--id", "key", "--out", out)
    found = pq.read_table(out)
    assert found.num_rows == len(lines)
    keys = found["key"].to_pylist()
    assert keys == [line[:5] if line != "bad" else None for line in lines]
    assert found["label"].null_count == lines.count("bad")


def test_the_id_is_as_it_stands_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = folder / "words.btn"
    lines = ["007,1,2,no", "-,1,2,no", ",1,2,no", "1e5,1,2,no"]
    path = text(tmp_path / "new.csv", lines)
    rows = table(said(capsys, "predict", model, path, "--id", "key")[0])
    assert [key for key, _ in rows] == ["key", "007", "'-", "", "1e5"]
    rows = table(said(capsys, "predict", model, path, "--id", "0")[0])
    assert [key for key, _ in rows][1:] == ["007", "'-", "", "1e5"]
    out, _ = said(capsys, "predict", model, path, "--id", "key", "--json")
    assert [json.loads(line)["key"] for line in out.splitlines()] == ["007", "-", None, "1e5"]
    frame = pa.table({"a": [1.0], "b": [2.0], "key": pa.array([12], pa.int64())})
    pq.write_table(frame, tmp_path / "new.parquet")
    rows = table(said(capsys, "predict", model, tmp_path / "new.parquet", "--id", "key")[0])
    assert rows[1][0] == "12"
    error = said(capsys, "predict", model, path, "--id", "kex", code=2)[1]
    assert "there is no column 'kex'; did you mean 'key'?" in error
    (tmp_path / "rows.txt").write_text("1 1:1\n")
    error = said(capsys, "predict", model, tmp_path / "rows.txt", "--id", "key", code=2)[1]
    assert error.endswith("rows.txt is not a table\n")


def test_an_id_that_is_a_number_to_the_model_is_as_it_stands_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = folder / "words.btn", tmp_path / "out.parquet"
    path = text(tmp_path / "new.csv", ["k,72034,2,no", "k,-02852,2,no", "k,,2,no", "k,1.50,2,no"])
    expected = [label for _, label in table(said(capsys, "predict", model, path)[0])]
    rows = table(said(capsys, "predict", model, path, "--id", "a")[0])
    assert rows == [
        [*each] for each in zip(["a", "72034", "-02852", "", "1.50"], expected, strict=True)
    ]
    said(capsys, "predict", model, path, "--id", "a", "--out", out)
    assert pq.read_table(out)["a"].to_pylist() == ["72034", "-02852", None, "1.50"]
    pq.write_table(pa.table({"a": [72034, None], "b": [2, 3]}), tmp_path / "new.parquet")
    said(capsys, "predict", model, tmp_path / "new.parquet", "--id", "a", "--out", out)
    assert pq.read_table(out)["a"].type == pa.int64()


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("output", ["labels", "probabilities", "decisions"])
def test_out_says_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, output: str
) -> None:
    path = text(tmp_path / "new.csv", ["bad", *GOOD[:50], "bad"])
    arguments = ("predict", folder / "words.btn", path, "--output", output)
    head, *rows = table(said(capsys, *arguments)[0])
    out = tmp_path / name
    assert said(capsys, *arguments, "--out", out)[0] == ""
    if name.endswith("csv"):
        assert table(out.read_text()) == [head, *rows]
    elif name.endswith("jsonl"):
        found = [json.loads(line) for line in out.read_text().splitlines()]
        cells = [["" if each is None else str(each) for each in line.values()] for line in found]
        assert [list(found[0]), *cells] == [head, *rows]
    else:
        table_ = pq.read_table(out)
        assert table_.column_names == head
        assert table_["row"].to_pylist() == list(range(1, 53))
        kind = pa.string() if output == "labels" else pa.float64()
        assert table_.schema.types[1:] == [kind] * (len(head) - 1)
        for at, line in enumerate(table_.to_pylist()):
            for column, cell in zip(head[1:], rows[at][1:], strict=True):
                if cell and output != "labels":
                    assert line[column] == pytest.approx(float(cell), rel=1e-5)
                else:
                    assert (line[column] or "") == cell
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_out_is_whole_or_not_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = text(tmp_path / "new.csv", GOOD[:9])
    model, out = folder / "words.btn", tmp_path / "out.csv"
    for name, says in [("out.xlsx", "must end in .csv"), ("no/out.csv", "there is no folder")]:
        assert says in said(capsys, "predict", model, path, "--out", tmp_path / name, code=2)[1]
    error = said(capsys, "predict", model, path, "--out", path, code=2)[1]
    assert "would be overwritten" in error
    error = said(capsys, "predict", model, path, "--out", out, "--json", code=2)[1]
    assert "--json needs a name that ends in .jsonl" in error
    text(path, [*GOOD[:9], "bad"])
    said(capsys, "predict", model, path, "--out", out, "--strict", code=2)
    assert [each.name for each in tmp_path.iterdir()] == ["new.csv"]
    empty = text(tmp_path / "none.csv", [])
    said(capsys, "predict", model, empty, "--out", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").shape == (0, 2)


def test_the_error_where_labels_are_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = budgetron.load(folder / "words.btn")
    guess = model.predict(X[:100].astype(np.float32))
    lines = [*GOOD[:100], "k,1,1,", "bad"]
    path = text(tmp_path / "new.csv", lines)
    _, err = said(capsys, "predict", folder / "words.btn", path, "--label", "buys")
    share = np.mean(guess != WORDS[:100])
    most = max(np.mean(WORDS[:100] == word) for word in ("yes", "no"))
    told = f"100 rows with a label: {share:.2%} mistakes (majority rate {1 - most:.2%})"
    assert err.splitlines()[-1] == f"budgetron: {path}: {told}"
    plain, _ = said(capsys, "predict", folder / "words.btn", path)
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rpartition(",")[0] for line in [HEAD, *GOOD[:100]]) + "\n")
    assert (
        said(capsys, "predict", folder / "words.btn", bare)[0].splitlines()
        == (plain.splitlines()[:101])
    )
    _, err = said(
        capsys, "predict", folder / "prices.btn", folder / "prices.csv", "--label", "buys"
    )
    prices = budgetron.load(folder / "prices.btn")
    errors = prices.predict(X.astype(np.float32)) - (1000 + 10 * X[:, 0])
    assert f"RMSE {np.sqrt(np.mean(errors**2)):.4g}" in err
    _, err = said(capsys, "predict", folder / "prices.btn", path, "--label", "buys")
    assert err.endswith("no row has a label\n")


def test_libsvm_and_json_lines(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = budgetron.make("rbp", gamma=1.0).fit(X, WORDS)
    budgetron.save(fitted, tmp_path / "plain.btn")
    rows = [f"0 1:{a} 2:{b}" for a, b in X[:8]]
    lines = ["?", "?", rows[0], "# nothing", rows[1], "0 1:x", *rows[2:], "y"]
    (tmp_path / "rows.txt").write_text("\n".join(lines) + "\n")
    for chunk in (tmp_path / "rows.txt",):
        found = table(said(capsys, "predict", tmp_path / "plain.btn", chunk)[0])[1:]
    expected = fitted.predict(X[:8]).tolist()
    assert [label for _, label in found] == ["", "", *expected[:2], "", *expected[2:], ""]
    objects = [json.dumps({"a": a, "b": b, "key": i}) for i, (a, b) in enumerate(X[:4])]
    broken = [objects[0], "{", "[1]", *objects[1:], "no"]
    (tmp_path / "rows.jsonl").write_text("\n".join(broken) + "\n")
    out, err = said(capsys, "predict", folder / "words.btn", tmp_path / "rows.jsonl")
    assert [bool(label) for _, label in table(out)[1:]] == [
        *(True, False, False, True, True, True, False)
    ]
    assert "row 2 is not a JSON object" in err


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_row_numbers_of_streams(tmp_path: Path, chunk_rows: int) -> None:
    bad = {2, 3, 7, 12}
    for name, good, wrong, start in [
        ("rows.txt", "1 1:2", "x", []),
        ("rows.csv", "1,2", "1,2,3", ["y,a"]),
        ("rows.jsonl", '{"y": 1, "a": 2}', "{", []),
    ]:
        lines = [wrong if i in bad else good for i in range(1, 13)]
        (tmp_path / name).write_text("\n".join([*start, *lines]) + "\n")
        numbers: list[int] = []
        with open_stream(tmp_path / name, skip_bad=True, chunk_rows=chunk_rows) as stream:
            for _, y in stream:
                assert len(y) == len(stream.row_numbers)
                numbers += stream.row_numbers.tolist()
        assert numbers == [i for i in range(1, 13) if i not in bad], name
        assert stream.position + stream.n_bad == 12
    with open_stream((np.eye(4), [0, 1, 0, 1]), chunk_rows=3) as arrays:
        found: list[Any] = [arrays.row_numbers.tolist() for _ in arrays]
    assert found == [[1, 2, 3], [4]]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_reasons_are_lines_too(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    rows = text(tmp_path / "rows.csv", [*GOOD[:3], "k,1,2", *GOOD[3:5]])
    explain = ["predict", folder / "words.btn", rows, "--explain"]
    out, _ = said(capsys, *explain, "--json")
    wanted = [json.loads(line) for line in out.splitlines()]
    assert [each["row"] for each in wanted] == [1, 2, 3, 4, 5, 6]
    assert wanted[3]["prediction"] is None
    assert {each["column"] for each in wanted[0]["columns"]} == {"a", "b"}
    place = tmp_path / f"reasons.{ending}"
    assert said(capsys, *explain, "--id", "key", "--out", place)[0] == ""
    if ending == "parquet":
        found = pq.read_table(place).to_pylist()
    elif ending == "csv":
        with open(place, newline="") as file:
            found = list(csv.DictReader(file))
    else:
        found = [json.loads(line) for line in place.read_text().splitlines()]
    names = [None if i == 3 else f"k{i - (i > 3):04}" for i in range(6)]
    assert [each["key"] or None for each in found] == names
    labels = [each["prediction"] or None for each in found]
    assert labels == [each["prediction"] for each in wanted]
    for each, reason in zip(found, wanted, strict=True):
        for name in ("columns", "examples"):
            cell = each[name] or None
            assert (json.loads(cell) if isinstance(cell, str) else cell) == reason[name]


def test_reasons_for_people_go_by_number_or_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = text(tmp_path / "rows.csv", [GOOD[0], "k,1,2", GOOD[1]])
    explain = ["predict", folder / "words.btn", rows, "--explain"]
    out, err = said(capsys, *explain)
    heads = [line.partition(":")[0] for line in out.splitlines() if line.startswith("row ")]
    assert heads == ["row 1", "row 2 could not be read", "row 3"]
    assert "1 bad row without a prediction" in err
    out, _ = said(capsys, *explain, "--id", "key")
    heads = [line.partition(":")[0] for line in out.splitlines() if line.startswith("row ")]
    assert heads == ["row k0000", "row k0001"]


def test_json_lines_of_several_types_and_of_no_object(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    lines = ['{"a": 1, "b": 2}', "[3]", '{"a": "no number", "b": 2}', "{", '{"a": 1.5}']
    rows.write_bytes("\n".join(lines).encode() + b'\n{"a": "\xff", "b": 1}\n')
    out, err = said(capsys, "predict", folder / "words.btn", rows)
    found = table(out)[1:]
    assert [line[0] for line in found] == ["1", "2", "3", "4", "5", "6"]
    assert [bool(line[1]) for line in found] == [True, False, True, False, True, False]
    assert "3 bad rows without a prediction; the first" in err
    assert "row 2 is not a JSON object" in err


def test_a_bad_row_is_reported_by_its_line_number(tmp_path: Path) -> None:
    rows = text(tmp_path / "rows.csv", [GOOD[0], "k,1,2", "k,1,2,", GOOD[1]])
    with open_stream(rows, label="buys", skip_bad=True) as stream:
        [numbers] = [stream.row_numbers.tolist() for _ in stream]
    assert numbers == [1, 4]
    assert any("row 3, column 'buys' has no value" in each for each in stream.bad_messages)


@pytest.mark.parametrize("later", ["word", 1.5, None, 2**70])
def test_names_of_rows_of_another_type_later(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], later: Any
) -> None:
    """JSON lines, whose blocks each have types of their own."""
    from budgetron.cli import _lines

    path, out = tmp_path / "new.jsonl", tmp_path / "out.parquet"
    row = {"a": 1.0, "b": 2.0}
    names = [*range(60_000), later, "end"]
    path.write_text("".join(json.dumps({"key": each, **row}) + "\n" for each in names))
    said(capsys, "predict", folder / "words.btn", path, "--id", "key", "--out", out)
    found = pq.read_table(out)
    assert found.column("key").to_pylist() == [None if n is None else str(n) for n in names]
    assert found.column("label").null_count == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new.jsonl", "out.parquet"]
    lines = _lines._Parquet(["row", "prediction"], str(tmp_path / "p.parquet"))
    for number, value in ((1, 2), (2, 2.5), (3, None)):
        lines.write([[number, value]])
    lines.close()
    assert pq.read_table(tmp_path / "p.parquet").column(1).to_pylist() == [2.0, 2.5, None]
