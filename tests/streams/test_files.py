"""Files with every kind of fault: read correctly, or one line that names the file and the line.

The property test writes files of valid lines and common faults, and compares the result with a few
lines of Python.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from budgetron.streams import StreamError, open_stream

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}

# A fault -> the message; None: not a fault, and the row is {2: 1.5} with label 1.
FAULTS: dict[bytes, str | None] = {
    b"1 2:1.5": None,
    b"+1 2:1.5 # a comment": None,
    b"  1\t2:1.5\t": None,
    b"1 4:0 2:1.5": None,
    b"1 2:1.5 1000000000:0": None,
    b"1 9999999999:1": "is above 2147483647",
    b"1 -4:1": "is negative",
    b"1 0:1": "indices start at 1",
    b"1 3:1 3:1": "feature 3 stands twice",
    b"1 5:1 3:1 5:2": "feature 5 stands twice",
    b"nan 2:1": "is not finite",
    b"1 2:1e400": "is out of range",
    b"1e400 2:1": "is out of range",
    b"1 2:-inf": "is not finite",
    b"1,2,3": "a line is: label index:value",
    b"1;2:1": "is not a number",
    b"1 2:1,5": "is not a number",
    b"1 2": "is not index:value",
    b"1 2:": "has no value",
    b"label": "is not a number",
    b"1 qid:3 2:1": "qid is not supported",
    b"1 2:\xe9": "byte 0xe9",
    b"1 2:1\x00": "byte 0x00",
    b"\x7fELF\x02\x01": "byte 0x7f",
    b"1 2:1\r3:1": "byte 0x0d",
}


def collect(path: Path, **options: Any) -> tuple[list[float], list[dict[int, float]], str | None]:
    """Labels, rows as {index from 1: value other than 0}, and the complaint that ended them."""
    labels: list[float] = []
    rows: list[dict[int, float]] = []
    try:
        for X, y in open_stream(path, dtype="float64", **options):
            labels += y.tolist()
            for i in range(len(y)):
                part = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
                rows.append({index + 1: value for index, value in pairs if value})
    except StreamError as error:
        return labels, rows, str(error)
    return labels, rows, None


@settings(max_examples=120)
@given(
    lines=st.lists(st.sampled_from([*FAULTS, b"", b"# remark", b"-1"]), max_size=12),
    newline=st.sampled_from([b"\n", b"\r\n"]),
    bom=st.booleans(),
    ended=st.booleans(),
    ending=st.sampled_from(list(PACKERS)),
    chunk_rows=st.integers(1, 5),
)
def test_libsvm_is_read_or_refused_with_file_and_line(
    lines: list[bytes],
    newline: bytes,
    bom: bool,
    ended: bool,
    ending: str,
    chunk_rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.getbasetemp() / f"unhappy{ending}"
    text = b"\xef\xbb\xbf" * bom + newline.join(lines) + newline * (ended and bool(lines))
    path.write_bytes(PACKERS[ending](text))
    what = [FAULTS.get(line) for line in lines]
    first_bad = next((i for i, fault in enumerate(what) if fault), None)
    sound = [line for line, fault in zip(lines, what, strict=True) if not fault]

    def expected(chosen: list[bytes]) -> tuple[list[float], list[dict[int, float]]]:
        rows = [line for line in chosen if line not in (b"", b"# remark")]
        labels = [-1.0 if line == b"-1" else 1.0 for line in rows]
        return labels, [{} if line == b"-1" else {2: 1.5} for line in rows]

    labels, rows, complaint = collect(path, chunk_rows=chunk_rows)
    if first_bad is None:
        assert complaint is None
        assert (labels, rows) == expected(lines)
    else:
        assert (labels, rows) == expected(lines[:first_bad])
        assert complaint is not None
        assert complaint.startswith(f"{path}:{first_bad + 1}: ")
        table = first_bad == 0 and lines[0] in (b"1,2,3", b"1;2:1")  # not one line is LIBSVM text
        says = [str(what[first_bad])]
        if table:  # or, with a NUL further on, no table either
            says.append("is read as LIBSVM; add --format csv")
        assert any(each in complaint for each in says)
        assert "\n" not in complaint
    labels, rows, complaint = collect(path, chunk_rows=chunk_rows, skip_bad=True)
    assert complaint is None
    assert (labels, rows) == expected(sound)
    stream = open_stream(path, skip_bad=True)
    for _ in stream.skim():
        pass
    assert stream.n_bad == sum(fault is not None for fault in what)


@settings(max_examples=150)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text("0123456789.,;:eE+-# \n\r\t\"'naif", max_size=200).map(str.encode),
    ),
    format=st.sampled_from(["libsvm", "csv", "parquet", "npz"]),
    ending=st.sampled_from(list(PACKERS)),
    cut=st.integers(0, 20),
    skip_bad=st.booleans(),
)
def test_no_bytes_do_worse_than_one_line(
    data: bytes,
    format: str,
    ending: str,
    cut: int,
    skip_bad: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Any bytes in any format, packed and then cut short: rows, or a StreamError of one line."""
    path = tmp_path_factory.getbasetemp() / f"bytes{ending}"
    packed = PACKERS[ending](data)
    path.write_bytes(packed[: max(len(packed) - cut, 0)])
    label = {"csv": -1, "parquet": -1}.get(format)
    complaint = f"{path}: none"
    try:
        for X, y in open_stream(path, format=format, skip_bad=skip_bad, label=label):
            assert X.shape[0] == len(y)
            values = X if isinstance(X, np.ndarray) else X.data
            assert np.isfinite(values).all()
    except StreamError as error:
        complaint = str(error)
    assert re.match(re.escape(str(path)) + r"(:\d+)?: \S", complaint)
    assert "\n" not in complaint


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_a_file_cut_at_any_byte(tmp_path: Path, ending: str) -> None:
    """Rows before the cut, then a line that says the copy is incomplete."""
    lines = np.random.default_rng(0).integers(0, 10**9, 300)
    packed = PACKERS[ending]("".join(f"1 1:{i}\n" for i in lines).encode())
    path = tmp_path / f"cut{ending}"
    for at in range(1, len(packed), max(len(packed) // 40, 1)):
        path.write_bytes(packed[:at])
        labels, rows, complaint = collect(path)
        assert complaint is not None, at
        assert_array_equal([row[1] for row in rows], lines[: len(labels)])
        if at > 6:  # enough to tell what it is
            assert re.match(re.escape(str(path)) + r":\d+: the \S+ data ends too early", complaint)


def test_a_billion_columns_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wide"
    path.write_text("1 1000000000:1\n-1 1:1\n")
    ((X, y),) = list(open_stream(path))
    assert X.shape == (2, 10**9)
    assert (X.nnz, y.tolist()) == (2, [1, -1])
