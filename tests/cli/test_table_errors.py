"""Tables that cannot be learned: one line that says what to do, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import zstandard

from budgetron.cli import main

HEADER = "age,pay,town,label"


def lines(count: int = 300, delimiter: str = ",") -> list[str]:
    random = np.random.default_rng(0)
    cells = ((i % 7, round(random.normal(), 3), "abc"[i % 3], i % 2) for i in range(count))
    return [delimiter.join(map(str, row)) for row in cells]


def text(rows: list[str] | None = None, header: str = HEADER) -> bytes:
    return "\n".join([header, *(rows or lines()), ""]).encode()


def changed(row: int, line: str) -> list[str]:
    rows = lines()
    rows[row - 1] = line
    return rows


def zipped(*names: str) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, text())
    return memory.getvalue()


def packed(kind: str) -> bytes:
    frame = pd.DataFrame({"age": range(5000), "label": np.arange(5000) % 2})
    memory = io.BytesIO()
    frame.to_parquet(memory) if kind == "parquet" else frame.to_feather(
        memory, compression="uncompressed"
    )
    return memory.getvalue()


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


GOOD = text()
LONG = text(lines(30_000))
NOISE = np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8).tobytes()
LATIN = "\n".join([HEADER, *changed(200, "1,2,caf\xe9,1")]).encode("latin-1")


class Case(NamedTuple):
    name: str
    content: Callable[[], bytes]
    says: str
    verbs: str = "run inspect compare predict"


CASES = {
    "wrong delimiter": Case(
        "t.csv",
        lambda: text(lines(delimiter="~"), "age~pay~town~label"),
        "t.csv:1: there is but one column in 'age~pay~town~label': add --delimiter '~'",
        "run inspect compare",
    ),
    "one column": Case(
        "t.csv",
        lambda: b"label\n" + b"0\n1\n" * 50,
        "t.csv:1: there is but one column in 'label': add another column, or --delimiter CHAR",
        "run inspect compare",
    ),
    "a title above the header": Case(
        "t.csv",
        lambda: b"Sales of May\n\n" + GOOD,
        "t.csv:1: the header is not the first line: delete the lines above it",
        "run inspect compare",
    ),
    "header missing": Case(
        "t.csv",
        lambda: "\n".join(lines()).encode(),
        "t.csv: there is no column 'label'; columns have numbers, 0 to 3 (or add --header)",
        "run compare",
    ),
    "label missing": Case(
        "t.csv",
        lambda: text(header="age,target,town,pay"),
        "t.csv: there is no column 'label'; the columns are target, age, town, pay",
        "run compare",
    ),
    "two header lines": Case(
        "t.csv",
        lambda: text(["years,euro,name,class", *lines()]),
        "t.csv: row 1 is a second header: delete it, or add --no-header",
    ),
    "the header twice": Case(
        "t.csv",
        lambda: text([HEADER, *lines()]),
        "t.csv: row 1 is a second header: delete it, or add --no-header",
    ),
    "ragged rows": Case(
        "t.csv",
        lambda: text(changed(151, "1,2,a,0,5")),
        "t.csv:152: row 151 has 5 fields, not 4: correct it, or add --skip-bad",
        "run compare predict",
    ),
    "mixed encodings": Case(
        "t.csv",
        lambda: LATIN,
        "t.csv:201: row 200, column 'town' is not UTF-8 text: iconv -f latin1 -t utf8",
        "run",
    ),
    "mixed encodings in what is only looked at": Case(
        "t.csv",
        lambda: LATIN,
        "t.csv: column 'town' is not UTF-8 text: iconv -f latin1 -t utf8",
        "inspect",
    ),
    "a header in Latin-1": Case(
        "t.csv",
        lambda: text(header="age,pay,caf,label").replace(b"caf", b"caf\xe9"),
        "t.csv:1: is not UTF-8 text (byte 0xe9): iconv -f latin1 -t utf8 converts",
    ),
    "UTF-16": Case(
        "t.csv",
        lambda: GOOD.decode().encode("utf-16"),
        "t.csv: is UTF-16, not UTF-8 text: convert it: iconv -f utf16 -t utf8",
    ),
    "a quote never closed": Case(
        "t.csv",
        lambda: text(changed(100, '1,"2,a,0')),
        "t.csv:101: row 100 has a quotation mark that is never closed",
        "run inspect compare",
    ),
    "a quote never closed in the header": Case(
        "t.csv",
        lambda: text(header='age,"pay,town,label'),
        "t.csv:1: the first row has a quotation mark that is not closed on this line",
    ),
    "an empty file": Case("t.csv", lambda: b"", "t.csv: is empty: not even a first line"),
    "blank lines": Case("t.csv", lambda: b"\n\r\n\n", "t.csv: is empty: not even a first line"),
    "a header alone": Case(
        "t.csv", lambda: f"{HEADER}\n".encode(), "t.csv: has no rows", "run inspect"
    ),
    "NUL bytes": Case(
        "t.csv",
        lambda: bytes(5000),
        "t.csv:1: byte 0x00 is not allowed in CSV text: is the copy damaged?",
    ),
    "lines that end with CR alone": Case(
        "t.csv",
        lambda: GOOD.replace(b"\n", b"\r"),
        r"t.csv: lines end with CR only: convert them: tr '\r' '\n'",
    ),
    "a PDF": Case(
        "t.csv", lambda: b"%PDF-1.7\n%" + NOISE, "t.csv: is a PDF: export its table as CSV"
    ),
    "an image": Case(
        "t.csv", lambda: b"\x89PNG\r\n\x1a\n" + NOISE, "t.csv: is an image: export its table as CSV"
    ),
    "a zip": Case("t.csv", lambda: zipped("t.csv"), "t.csv: is a zip archive: unzip it first"),
    "a workbook": Case(
        "t.csv",
        lambda: zipped("[Content_Types].xml", "xl/workbook.xml"),
        "t.csv: is an Excel workbook: export its table as CSV",
    ),
    "a web page": Case(
        "t.csv",
        lambda: b"<!DOCTYPE html>\n<html>, not found</html>",
        "t.csv: is a web page: fetch the table itself",
    ),
    "JSON under the name csv": Case(
        "t.csv",
        lambda: b'{"age": 1, "label": 0}\n' * 5,
        "t.csv: is JSON: write one object per line and add --format jsonl",
    ),
    "Parquet under the name csv": Case(
        "t.csv", lambda: packed("parquet"), "t.csv: is a Parquet file: add --format parquet"
    ),
    "a truncated gz": Case(
        "t.csv.gz",
        lambda: gzip.compress(GOOD)[:40],
        "t.csv.gz:1: the .gz data ends too early: copy it again",
    ),
    "a truncated xz": Case(
        "t.csv.xz",
        lambda: half(lzma.compress(GOOD)),
        "t.csv.xz:1: the .xz data ends too early: copy it again",
    ),
    "a truncated zst": Case(
        "t.csv.zst",
        lambda: half(zstandard.ZstdCompressor().compress(GOOD)),
        "t.csv.zst:1: the .zst data ends too early: copy it again",
    ),
    "Parquet cut in half": Case(
        "t.parquet",
        lambda: half(packed("parquet")),
        "t.parquet: is damaged, or an incomplete copy of a Parquet file: copy it again",
    ),
    "Parquet without its beginning": Case(
        "t.parquet",
        lambda: packed("parquet")[20_000:],
        "t.parquet: is not a Parquet file",
        "run inspect",
    ),
    "CSV under the name parquet": Case(
        "t.parquet",
        lambda: GOOD,
        "t.parquet: is not a Parquet file: is it CSV text (--format csv)?",
    ),
    "an empty Parquet file": Case("t.parquet", lambda: b"", "t.parquet: is empty"),
    "Arrow cut in half": Case(
        "t.feather",
        lambda: half(packed("feather")),
        "t.feather: is damaged, or an incomplete copy of an Arrow file: copy it again",
    ),
    "CSV under the name arrow": Case(
        "t.arrow", lambda: GOOD, "t.arrow: is not an Arrow file: is it CSV text (--format csv)?"
    ),
    "JSON cut": Case(
        "t.jsonl",
        lambda: b'{"age": 1, "label": 0}\n' * 300 + b'{"age": 2, "lab',
        "t.jsonl: row 301 is not a JSON object: write one object per line",
        "run compare predict",
    ),
    "JSON arrays": Case(
        "t.jsonl",
        lambda: b"[1, 2]\n" * 5,
        "t.jsonl: row 1 is not a JSON object: write one object per line",
    ),
    "one JSON array": Case(
        "t.jsonl",
        lambda: b'[{"age": 1, "label": 0}]',
        "t.jsonl: is a JSON array: write one object per line and add --format jsonl",
    ),
    "CSV under the name jsonl": Case(
        "t.jsonl", lambda: GOOD, "t.jsonl: is not JSON: is it CSV text (--format csv)?"
    ),
    "a name twice": Case(
        "t.csv",
        lambda: text(header="age,pay,age,label"),
        "t.csv: two columns are called 'age': rename one",
    ),
    "two names empty": Case(
        "t.csv",
        lambda: text(header=",pay,,label"),
        "t.csv: two columns have no name: name them",
    ),
    "label with gaps": Case(
        "t.csv",
        lambda: text(changed(51, "1,2,a,")),
        "t.csv:52: row 51, column 'label' has no value: fill it in, or add --skip-bad",
        "run compare",
    ),
    "label without a value": Case(
        "t.csv",
        lambda: text([line[:-1] for line in lines()]),
        "t.csv:2: row 1, column 'label' has no value: fill it in, or add --skip-bad",
        "run compare",
    ),
    "a million columns": Case(
        "t.csv",
        lambda: ",".join(f"c{i}" for i in range(1_000_000)).encode() + b",label\n" + b"1," * 9,
        "t.csv:1: has more than 100,000 columns: keep fewer, or write it as LIBSVM text",
    ),
    "a million columns in few bytes": Case(
        "t.csv",
        lambda: b"1," * 1_000_000 + b"0\n",
        "t.csv:1: has more than 100,000 columns: keep fewer, or write it as LIBSVM text",
    ),
    "a CSV table of another name": Case(
        "t.dat",
        lambda: GOOD,
        "t.dat: is read as LIBSVM; add --format csv, or the format it has",
        "run compare",
    ),
    "a workbook of its own name": Case(
        "t.xlsx",
        lambda: zipped("[Content_Types].xml", "xl/workbook.xml"),
        "t.xlsx:1: is an Excel workbook: export its table as CSV",
        "predict",
    ),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the good table."""
    path = tmp_path_factory.mktemp("model") / "model.btn"
    (path.parent / "t.csv").write_bytes(GOOD)
    with pytest.raises(SystemExit) as exit:
        main(["run", str(path.parent / "t.csv"), "--label=label", f"--save={path}"])
    assert exit.value.code == 0
    return str(path)


def command(verb: str, name: str, model: str) -> list[str]:
    if verb == "run":
        return ["run", name, "--label=label", "--save=m.btn"]
    if verb == "compare":
        more = ["-arbp", "-b5", "--repeats=1", "--processes=1", "--out=folder", "--columns=age,pay"]
        return ["compare", name, "--label=label", *more]
    return ["predict", model, name, "--strict"] if verb == "predict" else ["inspect", name]


OURS = ["pyarrow", "scikit", "sklearn", "pandas", "parquet.cpp", "Traceback", "Errno", "numpy"]


@pytest.mark.parametrize(
    ("case", "verb"), [(case, verb) for case in CASES for verb in CASES[case].verbs.split()]
)
def test_a_table_that_is_none_is_one_line(
    case: str,
    verb: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name, content, says, _ = CASES[case]
    Path(name).write_bytes(content())
    with pytest.raises(SystemExit) as exit:
        main(command(verb, name, model))
    out, err = capsys.readouterr()
    assert (out, exit.value.code) == ("", 2), err
    if verb == "inspect":  # passes over rows that are too short, so it does not count lines
        says = re.sub(r":\d+: (row \d)", r": \1", says)
    if verb == "predict":  # passes over bad rows unless it is strict
        says = says.replace("add --skip-bad", "remove --strict")
    assert err == f"budgetron: {says}\n"
    assert len(says) <= 86
    assert not any(word in err for word in OURS)
    assert os.listdir() == [name]


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["run", str(tmp_path), "--format=csv", "--label=y"])
    assert exit.value.code == 2
    assert capsys.readouterr().err == f"budgetron: {tmp_path}: is a directory\n"


@pytest.mark.parametrize("head", [b"", b"full name,"])
@pytest.mark.parametrize(
    ("verb", "more"),
    [
        *(("run", each) for each in ([], ["--label=label"])),
        *(("predict", each) for each in ([], ["--label=label"], ["--id=age"], ["--strict"])),
    ],
)
def test_csv_on_standard_input(
    verb: str,
    more: list[str],
    head: bytes,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(head + GOOD)))
    with pytest.raises(SystemExit) as exit:
        main([verb, *([model] if verb == "predict" else []), "-", *more])
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.endswith(": standard input is read as LIBSVM; add --format csv\n")


# ---- what is right although it looks strange -----------------------------------------------------

FINE = {
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "CRLF": GOOD.replace(b"\n", b"\r\n"),
    "an empty name": text(header="age,,town,label"),
    "control characters in names": text(header="age\x1b[31m,p\x07y,town,label"),
    "one row": text(lines(1)),
    "a class of one row": text(changed(7, "1,2,a,5")),
    "no line end at the end": GOOD.rstrip(),
    "a word in the first row": text(changed(1, "none,2,a,1")),
    "semicolons": text(lines(delimiter=";"), HEADER.replace(",", ";")),
}


@pytest.mark.parametrize("case", FINE)
def test_what_is_fine(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_bytes(FINE[case])
    for arguments in (["run", "t.csv", "--label=label"], ["inspect", "t.csv"]):
        with pytest.raises(SystemExit) as exit:
            main(arguments)
        out, err = capsys.readouterr()
        assert exit.value.code == 0, err
        assert "\x1b[31m" not in out + err
        assert "\x07" not in out + err


def test_one_value_of_the_label_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later row may hold another one: no reason to stop."""
    path = tmp_path / "t.csv"
    path.write_bytes(text([f"{line[:-1]}1" for line in lines()]))
    with pytest.raises(SystemExit) as exit:
        main(["run", str(path), "--label=label"])
    assert exit.value.code == 0
    said = "warning: all labels are 1: is this the label column (--label)?"
    assert said in capsys.readouterr().err


def test_one_column_without_a_label_can_be_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,label\n" + "".join(f"{i % 9},{i % 9 > 4}\n" for i in range(300)))
    alone = tmp_path / "alone.csv"
    alone.write_text("age\n" + "1\n8\n" * 3)
    model = str(tmp_path / "m.btn")
    for arguments in (["run", str(path), "--save", model], ["predict", model, str(alone)]):
        with pytest.raises(SystemExit) as exit:
            main(arguments)
        assert exit.value.code == 0
    assert capsys.readouterr().out.splitlines()[-6:] == [f"{i + 1},{i % 2 == 1}" for i in range(6)]


# ---- memory --------------------------------------------------------------------------------------

MEASURED = r"""
import re, sys
from budgetron.cli import main
try:
    main(sys.argv[1:])
finally:
    print(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])
"""
HUGE: dict[str, tuple[str, list[bytes], str]] = {
    "a row": ("t.csv", [b"a,b,label\n1,2,0\n", b"x" * 100_000_000], "t.csv:3: row 2 is longer"),
    "a row of fields": ("t.csv", [b"a,b,label\n1,2,0\n", b"1," * 50_000_000], "row 2 is longer"),
    "the first line": ("t.csv", [b"x" * 100_000_000], "t.csv:1: the first line is longer than"),
    "an object": (
        "t.jsonl",
        [b'{"a": 1, "label": 0}\n{"a": "', b"x" * 100_000_000, b'", "label": 1}\n'],
        "t.jsonl: row 2 or later is longer than 4 MiB: write one object per line",
    ),
}


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("case", HUGE)
def test_a_line_of_100_megabytes_takes_little_memory(case: str, tmp_path: Path) -> None:
    name, parts, says = HUGE[case]
    with open(tmp_path / name, "wb") as file:
        file.writelines(parts)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "run", name, "--label=label"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert int(done.stdout.splitlines()[-1]) < 400_000  # KiB; without the table about 200,000
