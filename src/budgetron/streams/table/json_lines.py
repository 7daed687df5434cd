"""JSON lines as batches: one object per line, keys are columns; pyarrow parses block by block.

The keys of the first block are the columns. A key that a line lacks is a gap. Types are found per
block: a column may have whole numbers in one block and decimals in the next. A column of several
types in one block has no Arrow type: its values become text. The keys of nested objects are columns
too (user.age), and a list becomes the text of its parts.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.streams.base import KEPT, StreamError
from budgetron.streams.contents import looks_else, looks_like_table
from budgetron.streams.source import Source
from budgetron.streams.table import arrow, check_start, off_main
from budgetron.tables.frames import column_of

if TYPE_CHECKING:
    from budgetron.streams.table import Wanted

_BLOCK = 1 << 20  # as for CSV
_LONGEST = 4 << 20
_DEEPEST = 64  # nested objects and lists: Arrow's parser crashes at thousands
_OTHERS = bytes(set(range(256)) - set(b'{}[]"'))


class JsonBatches:
    """Rows of JSON lines: a file, plain or compressed, or "-" for standard input.

    `skip_bad`: skip lines that are not JSON objects.
    """

    def __init__(self, path: str | os.PathLike[str], skip_bad: bool = False) -> None:
        arrow(os.fspath(path))
        self._source = Source(path)
        self.name = self._source.name
        self._skip_bad = skip_bad
        self.n_bad = 0
        self.bad_messages: list[str] = []
        self.malformed: deque[int] = deque()
        self._passed = 0
        self._rows = 0
        self._blocks = self._lines()
        try:
            block = next(self._blocks, None)
            if block is None:
                raise StreamError(self.name, None, "is empty: not even a first line")
            if other := looks_else(block[:4096], "jsonl"):
                raise StreamError(self.name, None, other)
            if block.lstrip()[:1] not in b"{[" and looks_like_table(block[:4096]):
                raise StreamError(self.name, None, "is not JSON: is it CSV text (--format csv)?")
            self._first = self._parsed(block)
            if self._passed and not self._first.num_columns:
                raise StreamError(
                    self.name, None, "row 1 is not a JSON object: write one object per line"
                )
        except StreamError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise StreamError(self.name, 1, str(error)) from error
        self.names = list(self._first.column_names)

    @property
    def bytes_total(self) -> int | None:
        return self._source.bytes_total

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        import pyarrow as pa

        rows = 0
        table = self._first
        while True:
            lost = [name for name in wanted.needed if name not in table.column_names]
            for name in lost:
                table = table.append_column(name, pa.nulls(table.num_rows))
            for batch in table.select(wanted.needed).combine_chunks().to_batches(batch_rows):
                drop = min(max(start - rows, 0), batch.num_rows)
                rows += batch.num_rows
                if drop < batch.num_rows:
                    yield batch.slice(drop)
            self._rows += table.num_rows
            try:
                block = next(self._blocks, None)
            except OSError as error:
                what = f"row {self._rows + 1} or later: {error}"
                raise StreamError(self.name, None, what) from error
            if block is None:
                break
            table = self._parsed(block)
        check_start(self.name, start, rows)

    def _lines(self) -> Iterator[bytes]:
        """Whole lines, about one block at a time; from a pipe, those that have come."""
        text, ended = b"", False
        while not ended:
            parts, size = [text], len(text)
            while not ended and size < len(text) + (1 if self._source.live else _BLOCK):
                parts.append(self._source.read())
                ended = not parts[-1]
                size += len(parts[-1])
            text = b"".join(parts)
            end = len(text) if ended else text.rfind(b"\n") + 1
            if text[:end].strip():
                yield text[:end]
            text = text[end:]
            if len(text) > _LONGEST:
                what = f"row {self._rows + 1} or later is longer than {_LONGEST >> 20} MiB"
                raise StreamError(self.name, None, f"{what}: write one object per line")

    def _parsed(self, block: bytes) -> Any:
        import pyarrow as pa

        try:
            str(block, "utf-8")
        except UnicodeDecodeError as error:
            if self._skip_bad:
                return self._mixed(block)
            row = self._rows + block.count(b"\n", 0, error.start) + 1
            what = f"row {row} is not UTF-8 text: iconv -f latin1 -t utf8"
            raise StreamError(self.name, None, what) from None
        try:
            return parsed(block)
        except pa.ArrowException:
            return self._mixed(block)

    def _mixed(self, block: bytes) -> Any:
        """A block that Arrow refuses: columns of several types, or a line that is not an object."""
        import pyarrow as pa

        rows: list[dict[str, Any]] = []
        number = self._rows + self._passed
        for line in filter(bytes.strip, block.split(b"\n")):
            number += 1
            row = object_of(line)
            if row is not None:
                rows.append(row)
            else:
                self._pass_over(number)
        try:
            return table_of_objects(rows)
        except (pa.ArrowException, ValueError):
            what = f"row {self._rows + 1} or later holds text that is not UTF-8"
            raise StreamError(self.name, None, what) from None

    def _pass_over(self, number: int) -> None:
        """Count a line that is not an object, unless a bookmark has; or raise an error."""
        what = f"row {number} is not a JSON object"
        if not self._skip_bad:
            raise StreamError(self.name, None, f"{what}: write one object per line")
        self.malformed.append(number)
        self._passed += 1
        if self._passed > self.n_bad:
            self.n_bad += 1
            if len(self.bad_messages) < KEPT:
                self.bad_messages.append(f"{self.name}: {what}")

    def line_of(self, row: int) -> int | None:
        return None

    def close(self) -> None:
        self._source.close()


def parsed(block: bytes, label: str | None = None) -> Any:
    """An Arrow table of the objects in UTF-8 text.

    ArrowException if they are not all alike, or the column named `label` holds objects or lists.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if _too_deep(block):
        raise pa.ArrowInvalid("objects are nested too deeply")
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    memory = pa.allocate_buffer(len(block))
    memoryview(memory).cast("B")[:] = block
    table = off_main(lambda: arrow_json.read_json(pa.BufferReader(memory), read))
    if label in table.column_names and pa.types.is_nested(table.schema.field(label).type):
        raise pa.ArrowInvalid("a label is an object or a list")
    return _flat(table)


def object_of(text: bytes) -> dict[str, Any] | None:
    """Parse a JSON object from text; None if it is not one, or is nested too deeply.

    >>> object_of(b'{"a": 1}'), object_of(b"[1]"), object_of(b"{")
    ({'a': 1}, None, None)
    """
    try:
        row = None if _too_deep(text) else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if type(row) is dict else None


def _too_deep(text: bytes) -> bool:
    r"""Whether objects and lists, on one or several lines, are nested too deeply.

    >>> _too_deep(b'{"a": "%s"}' % (b"[" * 99)), _too_deep(b'{"a\\"":\n' * 99)
    (False, True)
    """
    if text.count(b"{") + text.count(b"[") <= _DEEPEST:
        return False
    if b"\\" in text:
        text = text.replace(rb"\\", b"").replace(rb"\"", b"")
    text = text.translate(None, _OTHERS).replace(b'""', b"").replace(b"{}", b"")
    if len(text) < _DEEPEST:
        return False
    signs = np.frombuffer(text, np.uint8)
    quotes = signs == ord('"')
    outside = ~quotes & (np.cumsum(quotes) % 2 == 0)
    opening = (signs == ord("{")) | (signs == ord("["))
    depth = np.cumsum(np.where(opening, 1, -1) * outside)
    return int(depth.max()) >= _DEEPEST


def table_of_objects(rows: list[dict[str, Any]]) -> Any:
    """An Arrow table of objects that may differ in keys and types."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = [column_of([row.get(name) for row in rows]) for name in names]
    return _flat(pa.table(columns, names=list(names)))


def _flat(table: Any) -> Any:
    """The table with one column per key of nested objects, and lists as text."""
    import pyarrow as pa

    while any(pa.types.is_struct(each.type) for each in table.schema):
        table = table.flatten()
    for at, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            cells = [
                None if each is None else " ".join(map(str, each))
                for each in table.column(at).to_pylist()
            ]
            table = table.set_column(at, field.name, pa.array(cells, pa.string()))
    return table
