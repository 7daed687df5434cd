"""Arrow files and streams (Feather, .arrow, .ipc) as batches, memory-mapped."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from budgetron.streams.base import StreamError
from budgetron.streams.table import arrow, check_start, refuse_packed, unreadable
from budgetron.tables.frames import plain

if TYPE_CHECKING:
    from budgetron.streams.table import Wanted


class ArrowBatches:
    """The record batches of an Arrow file, or of an Arrow stream in a file."""

    n_bad = 0
    bad_messages: list[str]
    malformed: deque[int]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        pa = arrow(self.name)
        if self.name == "-":
            what = "Arrow files are read from their end: save standard input to a file first"
            raise StreamError("<stdin>", None, what)
        try:
            refuse_packed(self.name, "Arrow")
            self.bytes_total: int | None = os.stat(path).st_size
            self._file = pa.memory_map(self.name)
            self._open()
            self.names = list(self._schema.names)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise unreadable(self.name, "Arrow", b"ARROW1", error) from error
        self.bytes_read = 0
        self.bad_messages = []
        self.malformed = deque()

    def _open(self) -> None:
        import pyarrow as pa

        try:
            reader = pa.ipc.open_file(self._file)
            self._batches: Iterator[Any] = map(reader.get_batch, range(reader.num_record_batches))
        except pa.ArrowInvalid:  # no footer: a stream
            self._file.seek(0)
            reader = pa.ipc.open_stream(self._file)
            self._batches = iter(reader)
        self._schema = reader.schema

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        import pyarrow as pa

        rows = 0
        try:
            for whole in self._batches:
                batch = whole.select(wanted.needed)
                for first in range(0, batch.num_rows, batch_rows):
                    part = batch.slice(first, batch_rows)
                    drop = min(max(start - rows, 0), part.num_rows)
                    rows += part.num_rows
                    if drop < part.num_rows:
                        yield plain(part.slice(drop))
                self.bytes_read = self._file.tell()
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, "Arrow", b"ARROW1", error) from error
        check_start(self.name, start, rows)

    def line_of(self, row: int) -> int | None:
        return None

    def close(self) -> None:
        self._file.close()
