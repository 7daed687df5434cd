"""Messages become rows in any format; bad ones are counted and kept, and stop nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from budgetron.sources.lines import STAND_IN
from budgetron.sources.messages import Live, MessageBatches
from budgetron.sources.protocol import Batch
from budgetron.sources.stream import LiveStream
from budgetron.sources.values import format_named
from budgetron.streams.base import StreamError
from budgetron.streams.table.roles import Roles
from tests.support.messages import dense, json_messages, letters, objects, rows_of


class Listed:
    """A source of known messages, in batches of `at_once`."""

    name, unit = "listed", "messages"

    def __init__(self, values: list[bytes], at_once: int = 1000) -> None:
        self._values, self._at, self._at_once = values, 0, at_once
        self.lag: int | None = None

    def read(self, most: int, seconds: float) -> Batch | None:
        start = self._at
        values = self._values[start : start + min(most, self._at_once)]
        self._at += len(values)
        self.lag = len(self._values) - self._at
        if not values:
            return None
        return Batch(values, {"at": self._at}, lambda i: str(start + i))

    def seek(self, mark: dict[str, Any]) -> None:
        self._at = mark["at"]

    def close(self) -> None: ...


def opened(
    values: list[bytes],
    kind: str = "jsonl",
    at_once: int = 1000,
    dead: Path | None = None,
    chunk_rows: int = 4096,
    position: Any = 0,
    first: int = 1000,
) -> LiveStream:
    live = Live(dead_letters=None if dead is None else str(dead), ids=True)

    def messages(mark: Any) -> MessageBatches:
        state = mark["format"] if mark else None
        format = format_named("listed", kind, None, None, state)
        return MessageBatches(Listed(values, at_once), format, live, first, (), mark)

    return LiveStream(messages, Roles(ids=False), chunk_rows=chunk_rows, position=position)


def all_of(stream: LiveStream) -> tuple[np.ndarray, list[Any], list[str]]:
    X, y, ids = [], [], []
    for rows, labels in stream:
        X.append(dense(rows))
        y += labels.tolist()
        ids += stream.ids
    return np.concatenate(X), y, ids


DEEP = b'{"x0": ' * 20_000 + b"1" + b"}" * 20_000
BAD = {
    "jsonl": [b"not json", b"[1, 2]", b'{"x0": 1', b"\xff\xfe", b"", b"3", DEEP, STAND_IN],
    "csv": [b"1,2", b"1,2,3,4,5,6,7,8", b"\xff,1,2,3,4,5", b'"r1,1,2,3,4,5', STAND_IN],
    "arrow": [b"no arrow", b"", b"ARROW1 neither"],
}


def good(kind: str, rows: int) -> list[bytes]:
    if kind == "jsonl":
        return json_messages(rows)
    if kind == "csv":
        lines = [",".join(map(str, each.values())).encode() for each in objects(rows)]
        return [",".join(objects(1)[0]).encode(), *lines]
    messages = []
    for start in range(0, rows, 3):
        table = pa.Table.from_pylist(objects(rows)[start : start + 3])
        memory = pa.BufferOutputStream()
        with pa.ipc.new_stream(memory, table.schema) as writer:
            writer.write_table(table)
        messages.append(memory.getvalue().to_pybytes())
    return messages


def mixed(kind: str, rows: int) -> list[bytes]:
    values = good(kind, rows)
    for at, bad in enumerate(BAD[kind]):
        values.insert(1 + 2 * at, bad)
    return [*values, BAD[kind][0]]


@pytest.mark.parametrize("kind", BAD)
def test_bad_messages_are_counted_and_kept_and_the_others_learned(
    kind: str, tmp_path: Path
) -> None:
    dead = tmp_path / "dead"
    stream = opened(mixed(kind, 60), kind, dead=dead)
    X, y, _ = all_of(stream)
    plain_X, plain_y, _ = all_of(opened(good(kind, 60), kind))
    assert np.array_equal(X, plain_X)
    assert y == plain_y
    kept = letters(dead)
    skipped = sum(kind == "csv" and not each.strip() for each in BAD[kind])
    assert stream.n_bad == len(kept) == len(BAD[kind]) + 1 - skipped
    found = [
        base64.b64decode(each["base64"]) if "base64" in each else each["message"].encode()
        for each in kept
    ]
    assert found == [*BAD[kind], BAD[kind][0]]
    assert [each["where"] for each in kept][:3] == ["1", "3", "5"]


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_how_messages_come_makes_no_difference(kind: str, at_once: int) -> None:
    one, other = opened(mixed(kind, 90), kind), opened(mixed(kind, 90), kind, at_once)
    for a, b in zip(all_of(one), all_of(other), strict=True):
        assert np.array_equal(a, b)
    assert one.n_bad == other.n_bad


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("chunk_rows", [1, 5, 16])
def test_a_bookmark_behind_any_chunk_goes_on_there(
    kind: str, chunk_rows: int, tmp_path: Path
) -> None:
    values = mixed(kind, 60)
    values.insert(20, values[2][: len(values[2]) // 2])
    whole, dead = opened(values, kind, 11), tmp_path / "whole"
    X, y, ids = all_of(opened(values, kind, 11, dead=dead))
    list(whole)
    for chunks in sorted({1, 2, 60 // chunk_rows // 2}):
        again = tmp_path / f"again{chunks}"
        begun = opened(values, kind, 11, again, chunk_rows)
        found = [begun.next_chunk(chunk_rows) for _ in range(chunks)]
        bookmark = json.loads(json.dumps(begun.bookmark))
        layout = begun.layout
        begun.next_chunk(chunk_rows)  # killed: what came behind the bookmark is forgotten
        begun.close()
        resumed = LiveStream(
            lambda mark, again=again: MessageBatches(  # type: ignore[misc]
                Listed(values, 5),
                format_named("listed", kind, None, None, mark["format"]),
                Live(dead_letters=str(again), ids=True),
                1000,
                (),
                mark,
            ),
            roles=Roles(layout=layout, ids=False),
            chunk_rows=7,
            position=bookmark,
        )
        rest_X, rest_y, rest_ids = all_of(resumed)
        first = np.concatenate([dense(each[0]) for each in found if each])
        assert np.array_equal(np.concatenate([first, rest_X]), X)
        assert rest_y == y[len(first) :]
        assert rest_ids == ids[len(first) :]
        assert resumed.n_bad == whole.n_bad
        assert letters(again) == letters(dead)


@pytest.mark.parametrize("between", [b"", b"\n"])
def test_objects_within_each_other_are_refused_before_the_parser_is_at_its_end(
    between: bytes,
) -> None:
    inner = b'{"\\\\}\\"]": ' + between
    bad = b'{"x": ' + inner * 20_000 + b"1" + b"}" * 20_001
    stream = opened([*[b'{"x": {"y": "[["}, "label": 1}'] * 90, bad])
    assert len(all_of(stream)[1]) == 90
    assert stream.n_bad == 1


def test_rows_without_a_label_are_kept_with_the_reason(tmp_path: Path) -> None:
    values = json_messages(20)
    row = json.loads(values[4])
    values[4] = json.dumps({**row, "label": None}).encode()
    stream = opened(values, dead=tmp_path / "dead")
    assert len(all_of(stream)[1]) == 19
    [letter] = letters(tmp_path / "dead")
    assert letter["where"] == "4"
    assert letter["error"] == "row 5, column 'label' has no value"
    assert json.loads(letter["message"])["id"] == "r4"


@pytest.mark.parametrize("at_once", [1, 1000])
def test_what_is_no_label_makes_no_class(at_once: int) -> None:
    wrong = ["[1]", '["a"]', "{}", '{"a": 1}', '""', '" "', '"\\ud800"', '"\\udc00"', '"a\\u0000"']
    for each in wrong:
        rows = [f'{{"x": {i}, "label": {word}}}' for i, word in enumerate(['"a"', '"b"'] * 10)]
        rows.insert(3, f'{{"x": 1, "label": {each}}}')
        stream = opened([row.encode() for row in rows], at_once=at_once)
        assert all_of(stream)[1] == ["a", "b"] * 10, each
        assert stream.n_bad == 1, each


def test_columns_that_come_late_are_found_in_the_first_rows() -> None:
    values = [b'{"x": 1, "label": 0}', b'{"x": 2, "z": 5, "label": 1}', b'{"z": 1, "label": 1}']
    stream = opened(values * 4, at_once=1)
    X, _, _ = all_of(stream)
    assert X.shape == (12, 2)
    assert np.isnan(X[0]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], "no message came"),
        ([b"no"], "no message could be read; message 0 is not a JSON object"),
    ],
)
def test_nothing_to_read_says_so(values: list[bytes], says: str) -> None:
    with pytest.raises(StreamError, match=says):
        opened(values)


def test_a_file_of_formats_that_are_no_messages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="messages are jsonl, csv or arrow"):
        rows_of(f"tail:{tmp_path / 'a'}", format="npz")
