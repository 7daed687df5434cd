"""LIBSVM streams: files, compression, standard input, positions, errors, memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import textwrap
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, vstack

from budgetron.streams import LibsvmStream, Stream, StreamError
from budgetron.streams.source import BLOCK, Source

ROWS = 1000
TEXT = "".join(
    f"{i % 3} {i % 7 + 1}:{i / 8} {i % 5 + 10 + i // 500}:2\n" for i in range(ROWS)
).encode()
PACKERS: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda text: zstandard.ZstdCompressor(write_checksum=True).compress(text),
}


def read(stream: LibsvmStream) -> tuple[Any, Any]:
    """All rows of a stream whose width is fixed."""
    chunks = list(stream)
    return vstack([X for X, _ in chunks]).tocsr(), np.concatenate([y for _, y in chunks])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.libsvm"
    path.write_bytes(TEXT)
    return path


def error_of(path: Any, **options: Any) -> StreamError:
    with pytest.raises(StreamError) as caught:
        for _ in LibsvmStream(path, **options):
            pass
    assert "\n" not in str(caught.value)
    return caught.value


# ---- rows --------------------------------------------------------------------------------------


def test_chunks_follow_the_protocol(file: Path) -> None:
    stream = LibsvmStream(file, chunk_rows=300)
    assert isinstance(stream, Stream)
    assert (stream.name, stream.position) == (str(file), 0)
    shapes, positions = [], []
    for X, y in stream:
        assert isinstance(X, csr_array)
        assert X.dtype == np.float32
        assert X.indices.dtype == X.indptr.dtype == np.int32  # else both are copied, and checked
        assert y.dtype == np.float64
        shapes.append(X.shape)
        positions.append(stream.position)
    # the width is that of the largest index so far: it grows at row 500
    assert shapes == [(300, 14), (300, 15), (300, 15), (100, 15)]
    assert positions == [300, 600, 900, 1000]
    assert stream.max_index == 15
    assert stream.bytes_read == stream.bytes_total == len(TEXT)
    assert list(stream) == []


def test_rows_are_what_the_text_says(file: Path) -> None:
    X, y = read(LibsvmStream(file, n_features=20, chunk_rows=17, dtype="float64"))
    assert X.shape == (ROWS, 20)
    assert X.dtype == np.float64
    i = np.arange(ROWS)
    expected = np.zeros((ROWS, 20))
    expected[i, i % 7] = i / 8
    expected[i, i % 5 + 9 + i // 500] = 2
    assert_array_equal(X.toarray(), expected)
    assert_array_equal(y, i % 3)


def test_a_position_can_be_resumed(file: Path) -> None:
    whole, labels = read(LibsvmStream(file, n_features=20))
    for position in (0, 1, 400, 999):
        stream = LibsvmStream(file, n_features=20, position=position, chunk_rows=128)
        assert stream.position == position
        X, y = read(stream)
        assert_array_equal(X.toarray(), whole.toarray()[position:])
        assert_array_equal(y, labels[position:])
    assert list(LibsvmStream(file, position=ROWS)) == []
    with pytest.raises(StreamError, match="position 1001 is after the end, which is 1000"):
        LibsvmStream(file, position=ROWS + 1)


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("chunk_rows", [13, 300])
def test_a_bookmark_is_resumed_to_the_bit(tmp_path: Path, ending: str, chunk_rows: int) -> None:
    """Rows, width, line numbers and bad lines continue as if there had been no stop."""
    path = tmp_path / "data"
    text = b"\xef\xbb\xbf# head\n\n" + TEXT[:9000]
    text = text[: text.rindex(b"\n") + 1] + b"oops\n" + TEXT[9001:]
    path.write_bytes(PACKERS[ending](text.rstrip(b"\n")))
    whole = LibsvmStream(path, chunk_rows=chunk_rows, skip_bad=True)
    chunks = []
    marks = [json.loads(json.dumps(whole.bookmark))]
    for chunk in whole:
        chunks.append(chunk)
        marks.append(json.loads(json.dumps(whole.bookmark)))
    assert whole.n_bad >= 1
    for at in {0, 1, len(chunks) // 2, len(chunks) - 1, len(chunks)}:
        rest = whole.at(marks[at])
        assert rest.position == marks[at]["rows"]
        for (X, y), (again, labels) in zip(chunks[at:], rest, strict=True):
            assert X.shape == again.shape
            assert_array_equal(X.toarray(), again.toarray())
            assert_array_equal(y, labels)
        assert rest.bookmark == whole.bookmark
        assert rest.n_bad == whole.n_bad


@pytest.mark.parametrize("ending", PACKERS)
def test_nothing_before_a_bookmark_is_parsed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(PACKERS[ending](TEXT))
    stream = LibsvmStream(path, chunk_rows=900)
    next(iter(stream))
    byte = stream.bookmark["byte"]
    path.write_bytes(PACKERS[ending](b"?" * (byte - 1) + TEXT[byte - 1 :]))
    rest = stream.at(stream.bookmark)
    ((X, y),) = list(rest)
    assert X.shape == (100, 15)
    assert_array_equal(y, np.arange(900, 1000) % 3)


def test_the_line_of_an_error_behind_a_bookmark(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text("1 1:1\n# fine\n1 3:1\n1 x:1\n")
    stream = LibsvmStream(path, chunk_rows=1)
    next(iter(stream))
    chunks = iter(stream.at(stream.bookmark))
    next(chunks)
    with pytest.raises(StreamError, match=":4: 'x:1' is not index:value"):
        next(chunks)


def test_a_file_that_changed_under_a_bookmark(file: Path) -> None:
    stream = LibsvmStream(file, chunk_rows=500)
    next(iter(stream))
    mark = stream.bookmark
    file.write_bytes(b"1" + TEXT)
    with pytest.raises(StreamError, match=f"no line starts at byte {mark['byte']}"):
        stream.at(mark)
    file.write_bytes(TEXT[:100])
    with pytest.raises(StreamError, match="it has changed"):
        stream.at(mark)
    for wrong in (-1, True, "3", {}, {"rows": -1}):
        with pytest.raises(ValueError, match="position must be"):
            LibsvmStream(file, position=wrong)  # type: ignore[arg-type]


def test_rows_is_the_end(file: Path) -> None:
    stream = LibsvmStream(file, rows=350, chunk_rows=300)
    assert [len(y) for _, y in stream] == [300, 50]
    assert [len(y) for _, y in stream.at(stream.bookmark)] == []
    assert [len(y) for _, y in stream.at(340)] == [10]
    with pytest.raises(ValueError, match="rows"):
        LibsvmStream(file, rows=-1)


def test_skim_counts_without_arrays(file: Path) -> None:
    stream = LibsvmStream(file, chunk_rows=300)
    assert list(stream.skim()) == [300, 300, 300, 100]
    assert (stream.position, stream.max_index) == (1000, 15)


def test_a_chunk_ends_after_a_mebibyte_of_text(tmp_path: Path) -> None:
    row = "1 " + " ".join(f"{i}:0.5" for i in range(1, 20_001)) + "\n"  # about 190 kB
    path = tmp_path / "wide"
    path.write_text(row * 20)
    sizes = [len(y) for _, y in LibsvmStream(path)]
    assert sum(sizes) == 20
    assert max(sizes) <= 8


def test_label_only_rows_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    path.write_text("1\n-1\n")
    ((X, y),) = list(LibsvmStream(path))
    assert X.shape == (2, 1)
    assert X.nnz == 0
    assert_array_equal(y, [1, -1])
    path.write_text("")
    assert list(LibsvmStream(path)) == []
    path.write_text("# nothing\n\n")
    assert list(LibsvmStream(path)) == []


@pytest.mark.parametrize(
    "options", [{"chunk_rows": 0}, {"n_features": 0}, {"n_features": 2**31}, {"dtype": "int32"}]
)
def test_options_are_checked(file: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        LibsvmStream(file, **options)


# ---- compression and standard input ------------------------------------------------------------


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("named", [True, False])
def test_compression_is_recognised_by_content(tmp_path: Path, ending: str, named: bool) -> None:
    path = tmp_path / ("data" + (ending if named else ".txt"))
    packed = PACKERS[ending](TEXT)
    path.write_bytes(packed)
    stream = LibsvmStream(path, n_features=20)
    X, _ = read(stream)
    assert X.shape == (ROWS, 20)
    assert stream.bytes_read == stream.bytes_total == len(packed)


def test_plain_text_may_be_named_gz(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(TEXT)
    assert read(LibsvmStream(path, n_features=20))[0].shape == (ROWS, 20)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_packed_parts_one_after_the_other(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(PACKERS[ending](TEXT[:5000]) + PACKERS[ending](TEXT[5000:]))
    assert read(LibsvmStream(path, n_features=20))[0].shape == (ROWS, 20)


@pytest.mark.parametrize("ending", PACKERS)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(PACKERS[ending](TEXT))))
    monkeypatch.setattr(sys, "stdin", stdin)
    stream = LibsvmStream("-", n_features=20, chunk_rows=100)
    X, y = read(stream)
    assert (stream.name, stream.bytes_total) == ("<stdin>", None)
    assert X.shape == (ROWS, 20)
    assert_array_equal(y, np.arange(ROWS) % 3)


def test_a_pipe_hands_over_what_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    out, into = os.pipe()
    with os.fdopen(out, "r") as stdin, os.fdopen(into, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer.write(b"1 1:1\n")
        writer.write(b"-1 2:1\n-1 2")
        stream = iter(LibsvmStream("-"))
        seen = list(next(stream)[1])
        while len(seen) < 2:
            seen += list(next(stream)[1])
        writer.write(b":3\n")
        seen += list(next(stream)[1])
        assert seen == [1, -1, -1]


# ---- errors ------------------------------------------------------------------------------------


def test_a_malformed_line_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text("1 1:1\n# fine\n1 3:x\n1 1:1\n")
    stream = LibsvmStream(path)
    chunks = iter(stream)
    assert_array_equal(next(chunks)[1], [1])
    with pytest.raises(StreamError) as caught:
        next(chunks)
    assert str(caught.value) == f"{path}:3: value 'x' of feature 3 is not a number"
    assert (caught.value.name, caught.value.line) == (str(path), 3)
    assert stream.position == 1
    with pytest.raises(StreamError):  # it does not go away
        list(stream)


def test_bad_lines_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text("1 1:1\nx\n1 3:x\n2 1:1\n")
    stream = LibsvmStream(path, skip_bad=True)
    ((_, y),) = list(stream)
    assert_array_equal(y, [1, 2])
    assert stream.n_bad == 2
    assert stream.bad_messages == [
        f"{path}:2: label 'x' is not a number",
        f"{path}:3: value 'x' of feature 3 is not a number",
    ]


def test_an_index_beyond_n_features(file: Path) -> None:
    error = error_of(file, n_features=14)
    assert str(error) == f"{file}:505: feature index '15' is above 14"


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_truncated_and_damaged_files(tmp_path: Path, ending: str) -> None:
    text = np.random.default_rng(0).integers(0, 10**9, 40_000).tolist()
    packed = PACKERS[ending]("".join(f"1 1:{i}\n" for i in text).encode())
    path = tmp_path / ("data" + ending)

    path.write_bytes(packed[: len(packed) // 2])
    error = error_of(path)
    assert error.what == f"the {ending} data ends too early: copy it again"
    assert error.line is not None

    # in the checksum at the end, in the middle, in the block's head: elsewhere the formats differ
    # in
    # whether they detect it before or after they return wrong data
    at = {".gz": len(packed) - 8, ".xz": len(packed) // 2, ".bz2": 4, ".zst": len(packed) - 4}
    at = at[ending]
    path.write_bytes(packed[:at] + bytes(4) + packed[at + 4 :])
    assert error_of(path).what == f"the {ending} data is damaged: copy it again"

    path.write_bytes(packed[:8])
    assert str(error_of(path)).startswith(f"{path}:1: the {ending} data ")

    path.write_bytes(b"")
    assert str(error_of(path)) == f"{path}: the {ending} file is empty"


def test_rows_before_the_damage_are_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(TEXT) + b"\x1f\x8b\x08")
    stream = LibsvmStream(path)
    chunks = iter(stream)
    assert len(next(chunks)[1]) == ROWS
    with pytest.raises(StreamError, match=f":{ROWS + 1}: the .gz data ends too early"):
        next(chunks)


def test_files_that_cannot_be_read(tmp_path: Path, file: Path) -> None:
    assert str(error_of(tmp_path / "nothing")) == f"{tmp_path}/nothing: no such file or directory"
    assert str(error_of(tmp_path)) == f"{tmp_path}: is a directory"
    file.chmod(0)
    if not os.access(file, os.R_OK):  # the superuser may read anything
        assert str(error_of(file)) == f"{file}: permission denied"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zstd is in this Python")
def test_without_zstandard_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "data.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    assert "pip install zstandard" in str(error_of(path))


@pytest.mark.parametrize(
    "content",
    [np.random.default_rng(0).bytes(5000), b"PK\x03\x04" + bytes(100), "1 1:é\n".encode("latin-1")],
    ids=["random", "zip", "latin-1"],
)
def test_files_that_are_not_text(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    assert str(error_of(path)).startswith(f"{path}:1: ")


# ---- memory ------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(200):
            out.write(b"1 1:0.5 3:0.25 7:1 9:1 11:1\n" * 20_000)  # 112 MB in all
    script = f"""
        import resource
        from budgetron.streams import LibsvmStream
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stream = LibsvmStream({str(path)!r})
        for i, (X, y) in enumerate(stream):
            if i == 20:
                early = peak()
        print(stream.position, (peak() - early) // 1024)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows, grown = map(int, output.split())
    assert rows == 4_000_000
    assert grown < 8  # MiB


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_a_bomb_is_unpacked_a_block_at_a_time(tmp_path: Path, ending: str) -> None:
    size = 64 * BLOCK  # 16 MiB; .zst 0.6 kB
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(PACKERS[ending](bytes(size)))
    sizes = []
    with Source(path) as source:
        tracemalloc.start()
        while block := source.read():
            sizes.append(len(block))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert sum(sizes) == size
    assert max(sizes) <= BLOCK
    dictionary = 9 << 20 if ending == ".xz" else 0  # 8 MiB unless told
    assert peak < 8 * BLOCK + dictionary


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        (
            ".xz",
            lzma.compress(b"", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
            + lzma.compress(TEXT, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]),
        ),
        # a frame of zstd whose window is 2 GiB; then a block of plain text
        (
            ".zst",
            b"\x28\xb5\x2f\xfd\x00"
            + bytes([21 << 3])
            + (1 | 6 << 3).to_bytes(3, "little")
            + b"1 1:1\n",
        ),
    ],
)
def test_a_window_that_takes_too_much_memory(tmp_path: Path, ending: str, packed: bytes) -> None:
    path = tmp_path / f"wide{ending}"
    path.write_bytes(packed)
    assert "takes too much memory to unpack: " in str(error_of(path))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_zstd_frames_of_every_kind(tmp_path: Path, data: st.DataObject) -> None:
    text, packed = b"", b""
    for _ in range(data.draw(st.integers(1, 4))):
        part = data.draw(st.binary(max_size=40)) * data.draw(st.sampled_from([1, 7, 5000, 20_000]))
        options: dict[str, Any] = {
            "level": data.draw(st.integers(1, 4)),
            "write_checksum": data.draw(st.booleans()),
            "write_content_size": data.draw(st.booleans()),
        }
        packed += zstandard.ZstdCompressor(**options).compress(part)
        text += part
        if data.draw(st.booleans()):
            skipped = data.draw(st.binary(max_size=9))
            packed += b"\x53\x2a\x4d\x18" + len(skipped).to_bytes(4, "little") + skipped
    path = tmp_path / "text.zst"
    path.write_bytes(packed)
    with Source(path) as source:
        assert b"".join(iter(source.read, b"")) == text
    path.write_bytes(packed[: data.draw(st.integers(4, len(packed)))])  # ends in time, or says so
    with Source(path) as source, suppress(OSError):
        assert text.startswith(b"".join(iter(source.read, b"")))
