"""Reading ahead overlaps with learning, and does not change chunks, places, errors or order."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from budgetron.streams import LibsvmStream, StreamError
from budgetron.streams.read_ahead import Place, read_ahead

LINES = [f"{(-1) ** i} 1:{i} {i + 2}:0.5" for i in range(40)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


class Watched(LibsvmStream):
    """Records when each chunk is read, and by which thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.started = [threading.Event() for _ in LINES]
        self.threads: list[int] = []
        super().__init__(*args, **kwargs)

    def _take(self, rows: int) -> Any:
        self.started[len(self.threads)].set()
        self.threads.append(threading.get_ident())
        return super()._take(rows)


@pytest.mark.parametrize("waits", [False, True])
def test_chunks_and_places_are_those_of_the_stream(file: Path, waits: bool) -> None:
    plain = LibsvmStream(file, chunk_rows=7)
    expected = [
        (Place(plain.name, plain.position, plain.bookmark, plain.layout, plain.bytes_read), X, y)
        for X, y in plain
    ]
    stream = LibsvmStream(file, chunk_rows=7)
    for (place, (X, y)), (there, U, v) in zip(
        read_ahead(stream, waits=waits), expected, strict=True
    ):
        assert place == there
        assert X.shape == U.shape  # the width as it was known then
        np.testing.assert_array_equal(X.toarray(), U.toarray())
        np.testing.assert_array_equal(y, v)
    assert (stream.position, stream.bookmark) == (plain.position, plain.bookmark)


def test_a_chunk_is_read_while_the_one_before_it_is_used(file: Path) -> None:
    stream = Watched(file, chunk_rows=10)
    for used, (place, _) in enumerate(read_ahead(stream)):
        assert stream.started[used + 1].wait(10)  # nobody asked for it yet
        assert place.position == 10 * (used + 1)
    assert threading.get_ident() not in stream.threads[1:]
    assert len(set(stream.threads[1:])) == 1


def test_what_others_feed_is_read_when_it_is_wanted(file: Path) -> None:
    stream = Watched(file, chunk_rows=10)
    for used, _ in enumerate(read_ahead(stream, waits=True)):
        assert len(stream.threads) == used + 1
    assert set(stream.threads) == {threading.get_ident()}


def test_an_error_comes_after_the_rows_before_it(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("\n".join([*LINES[:25], "? 1:1"]) + "\n")
    seen = []
    with pytest.raises(StreamError, match=r"bad\.txt:26: "):  # noqa: PT012 (where it is raised)
        for place, _ in read_ahead(LibsvmStream(path, chunk_rows=10)):
            seen.append(place.position)
    assert seen == [10, 20, 25]


def test_who_stops_early_leaves_no_thread_behind(file: Path) -> None:
    before = threading.active_count()
    with LibsvmStream(file, chunk_rows=5) as stream, closing(read_ahead(stream)) as chunks:
        next(chunks)
        next(chunks)
    assert threading.active_count() == before
    assert stream.position in (10, 15)  # one chunk further at the most
