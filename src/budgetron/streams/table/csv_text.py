"""CSV text as Arrow batches: the first line decides delimiter and header, pyarrow reads the rest.

Columns of numbers are always parsed as numbers, so that a column does not change its type in the
middle of a file; all others are read as text. A block with a word among the numbers is read again
as text.

pyarrow parses one block of whole rows after the other, each from its own memory. It never reads
from a Python file: its reader reads ahead in a thread that may still be in Python's `read` when the
reader has failed or was dropped; a thread that is in Python when Python ends aborts the process.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from budgetron._text import counted
from budgetron.errors import BudgetronError
from budgetron.streams.base import KEPT, StreamError
from budgetron.streams.contents import looks_else
from budgetron.streams.source import Source
from budgetron.streams.table import arrow, check_start, off_main
from budgetron.streams.table.columns import MOST_COLUMNS, TOO_WIDE
from budgetron.streams.table.csv_rows import rows_end, unclosed
from budgetron.streams.table.header import (
    DELIMITERS,
    are_names,
    lone_column,
    second_header,
    without_comments,
)
from budgetron.tables.parsing import GAPS

if TYPE_CHECKING:
    from budgetron.streams.table import Wanted

# Bytes parsed at once: so large that starting the parser costs little, so small that it stays in
# cache.
_BLOCK = 1 << 20
# A longer row is refused: it is not a table, or a quotation mark is never closed.
_LONGEST = 4 << 20
# After this row the line is not counted: it would take too long.
_FAR = 1_000_000
_NOTHING = [*GAPS, " ?"]
NOT_UTF8 = "is not UTF-8 text: iconv -f latin1 -t utf8"
_COMPLAINT = re.compile(
    r"^(?:In CSV column #(?P<column>\d+): )?(?:CSV parse error: )?(?:Row #(?P<row>\d+): )?"
    r"(?P<what>.*)$",
    re.DOTALL,
)


class CsvBatches:
    """Rows of CSV text: a file, plain or compressed, or "-" for standard input.

    Parameters
    ----------
    path : file name, or "-"
    delimiter : None: the most frequent of comma, semicolon, tab and bar in the first line
    header : whether the first line names the columns; None: it does, unless it has a number
        that is not a name, as the rows after it show (header.py). Without a header the names of
        columns are their numbers, from 0
    skip_bad : skip rows with too few or too many fields
    lone : a single column is allowed; else it is taken for a wrong delimiter
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        delimiter: str | None = None,
        header: bool | None = None,
        skip_bad: bool = False,
        *,
        lone: bool = False,
    ) -> None:
        arrow(os.fspath(path))
        if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii()):
            raise BudgetronError(f"delimiter must be one ASCII character, not {delimiter!r}")
        self._path = path
        self._source = Source(path)
        self.name = self._source.name
        self._skip_bad = skip_bad
        self.n_bad = 0
        self.bad_messages: list[str] = []
        self.malformed: deque[int] = deque()
        self.undecoded: Counter[str] = Counter()  # per column, cells that are not UTF-8
        self._rows_parsed = 0  # rows of any length
        self._passed = 0  # rows of the wrong length
        try:
            line, rest = self._first_line()
            self._delimiter = delimiter or max(DELIMITERS, key=line.count)
            reader = csv.reader([line], delimiter=self._delimiter)
            fields = [each.strip() for each in next(reader, [])]
            named = are_names(fields, rest, self._delimiter) if header is None else header
            self._header = named
            if not line:
                raise StreamError(self.name, None, "is empty: not even a first line")
            if rows_end(line.encode() + b"\n", self._delimiter) == 0:
                what = "has a quotation mark that is not closed on this line"
                raise StreamError(self.name, 1, f"the first row {what}")
            if len(fields) == 1 and not lone:
                raise StreamError(self.name, 1, lone_column(line, rest, delimiter))
            self.names = fields if self._header else [str(i) for i in range(len(fields))]
            self._rest = rest if self._header else line.encode() + b"\n" + rest
            if self._header and second_header(fields, rest, self._delimiter):
                what = "row 1 is a second header: delete it, or add --no-header"
                raise StreamError(self.name, None, what)
        except StreamError:
            self.close()
            raise
        except csv.Error:  # a name with more than 128 KiB
            self.close()
            what = "is not CSV text: is a quotation mark never closed?"
            raise StreamError(self.name, 1, what) from None

    @property
    def bytes_total(self) -> int | None:
        return self._source.bytes_total

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read

    def read(self, wanted: Wanted, start: int, batch_rows: int) -> Iterator[Any]:
        import pyarrow as pa

        rows = 0
        for block in self._blocks():
            damaged = self._skip_bad and not _is_text(block)
            if damaged:
                block = memoryview(str(block, "utf-8", "replace").encode())
            try:
                table = self._parsed(block, wanted)
            except pa.ArrowInvalid as error:
                if not wanted.numbers:
                    raise self._stream_error(error) from error
                table = self._texts(block, wanted)
            except pa.ArrowException as error:
                raise self._stream_error(error) from error
            if damaged:
                table = self._without_damage(table, wanted.kept)
            for batch in table.to_batches():
                drop = min(max(start - rows, 0), batch.num_rows)
                rows += batch.num_rows
                if drop < batch.num_rows:
                    yield batch.slice(drop)
        check_start(self.name, start, rows)

    def _without_damage(self, table: Any, kept: Sequence[str]) -> Any:
        """The rows of a block that is not all UTF-8: bad cells are null, and counted."""
        import pyarrow as pa
        from pyarrow import compute

        for at, field in enumerate(table.schema):
            if field.name in kept or field.type == pa.float64():
                continue
            texts = table.column(at).cast(pa.string())
            wrong = compute.match_substring(texts, "\ufffd").fill_null(False)
            if count := compute.sum(wrong).as_py():
                self.undecoded[field.name] += count
                cells = compute.if_else(wrong, pa.scalar(None, pa.string()), texts)
                table = table.set_column(at, field.with_type(pa.string()), cells)
        return table

    def _texts(self, block: memoryview, wanted: Wanted) -> Any:
        """A block without columns of numbers."""
        import pyarrow as pa

        try:
            return self._parsed(block, wanted, numbers=False)
        except pa.ArrowException as error:
            raise self._stream_error(error) from error

    def _blocks(self) -> Iterator[memoryview]:
        """Whole rows of the text, about one block at a time; from a pipe, those that have come."""
        text, ended, failed = self._rest, False, None
        unfinished = 0  # bytes of a row whose end has not come
        while not ended:
            parts, size = [text], len(text)
            while not ended and size < unfinished + (1 if self._source.live else _BLOCK):
                try:
                    parts.append(self._read())
                except OSError as error:  # the rows before it are not lost
                    failed, ended = error, True
                else:
                    ended = not parts[-1]
                    size += len(parts[-1])
            text = b"".join(parts)
            last = ended and failed is None
            text += b"\n" * (last and not text.endswith(b"\n"))
            end = rows_end(text, self._delimiter)
            if end:
                yield memoryview(text)[:end]
            text = text[end:]
            unfinished = len(text)
            if unfinished and last:
                raise self._unclosed(text, "has a quotation mark that is never closed")
            if unfinished > _LONGEST:
                what = f"is longer than {_LONGEST >> 20} MiB: is a quotation mark never closed?"
                raise self._unclosed(text, what)
        if failed is not None:
            raise StreamError(self.name, None, f"row {self._rows_parsed + 1} or later: {failed}")

    def _unclosed(self, text: bytes, what: str) -> StreamError:
        """The error of the next row; the line is that of its last field."""
        row = self._rows_parsed + 1
        line = self.line_of(row)
        if line is not None:
            line += text.count(b"\n", 0, unclosed(text, self._delimiter))
        return StreamError(self.name, line, f"row {row} {what}")

    def _parsed(self, block: memoryview, wanted: Wanted, *, numbers: bool = True) -> Any:
        """The rows of a block; rows of the wrong length are counted, or raise an error."""
        wrong: list[Any] = []
        passes = partial(_pass_over, wrong) if self._skip_bad else None
        try:
            table = parsed_rows(block, self.names, self._delimiter, wanted, passes, numbers=numbers)
        except UnicodeDecodeError as error:
            raise StreamError(self.name, None, NOT_UTF8) from error
        self._count(wrong)
        self._rows_parsed += table.num_rows + len(wrong)
        return table

    def line_of(self, row: int) -> int | None:
        """Found by reading the file again: rows may span lines, and blank lines are not rows.

        None if that would take long, is impossible, or gives no answer: skipped rows of the wrong
        length are not counted as rows.
        """
        if self._skip_bad or self._source.bytes_total is None or row > _FAR:
            return None
        lines = islice(_lines(self._path), self._above, None)
        reader = csv.reader(lines, delimiter=self._delimiter)
        left = row + self._header
        start = 1
        try:
            for fields in reader:
                left -= bool(fields)
                if left == 0:
                    return self._above + start
                start = reader.line_num + 1
        except csv.Error:  # a field too long for this reader: does the row start here?
            return self._above + start if left == 1 else None
        except (OSError, StreamError):
            pass
        return None

    def close(self) -> None:
        self._source.close()

    def _read(self) -> bytes:
        return self._source.read()

    def _first_line(self) -> tuple[str, bytes]:
        """The first line that is not blank, and the text that was read after it."""
        block = b""
        while (b"\n" not in block.lstrip() and len(block) < _LONGEST) or (
            len(block) < 4096 and not self._source.live  # avoids a tiny first batch
        ):
            try:
                more = self._read()
            except OSError as error:
                raise StreamError(self.name, 1, str(error)) from error
            if not more:
                break
            block += more
        if other := looks_else(block[:4096], "csv"):
            raise StreamError(self.name, None, other)
        if b"\0" in block[:1000]:
            what = "byte 0x00 is not allowed in CSV text: is the copy damaged?"
            raise StreamError(self.name, 1, what)
        block = block.removeprefix(b"\xef\xbb\xbf")
        text = without_comments(block.lstrip(b"\r\n"))
        self._above = block.count(b"\n") - text.count(b"\n")
        line, end, rest = text.partition(b"\n")
        if b"\r" in line.rstrip(b"\r") and b'"' not in line:
            what = "lines end with CR only: convert them: tr '\\r' '\\n'"
            raise StreamError(self.name, None, what)
        if max(line.count(each.encode()) for each in DELIMITERS) >= MOST_COLUMNS:
            raise StreamError(self.name, 1, TOO_WIDE)
        if not end and len(block) >= _LONGEST:
            what = f"is longer than {_LONGEST >> 20} MiB: is this a table?"
            raise StreamError(self.name, 1, f"the first line {what}")
        try:
            return line.rstrip(b"\r").decode(), rest
        except UnicodeDecodeError as error:
            byte = line[error.start]
            what = f"is not UTF-8 text (byte 0x{byte:02x}): iconv -f latin1 -t utf8 converts"
            raise StreamError(self.name, 1, what) from None

    def _count(self, wrong: list[Any]) -> None:
        """Rows of the wrong length, without those that a bookmark has counted."""
        self._passed += len(wrong)
        self.malformed += (self._rows_parsed + row.number for row in wrong if row.number)
        for row in wrong[max(0, len(wrong) - (self._passed - self.n_bad)) :]:
            self.n_bad += 1
            if len(self.bad_messages) < KEPT:
                what = f"has {counted(row.actual_columns, 'field')}, not {row.expected_columns}"
                where = "a row" if row.number is None else f"row {self._rows_parsed + row.number}"
                self.bad_messages.append(f"{self.name}: {where} {what}")

    def _stream_error(self, error: BaseException) -> StreamError:
        """Arrow's error in our form: `FILE: row N, column C ...`."""
        found = _COMPLAINT.match(str(error))
        if found is None or (found["row"] is None and found["column"] is None):
            what = f"row {self._rows_parsed + 1} or later is not CSV text"
            return StreamError(self.name, None, what)
        row = None if found["row"] is None else self._rows_parsed + int(found["row"])
        where = [] if row is None else [f"row {row}"]
        what = " ".join(found["what"].split())[:160]
        if found["column"] is not None:
            where.append(f"column {self.names[int(found['column'])]!r}")
        fields = re.match(r"Expected (\d+) columns, got (\d+)", what)
        if fields and self._skip_bad:
            where, what = [f"row {self._rows_parsed + 1} or later"], NOT_UTF8
        elif fields:
            what = f"has {counted(int(fields[2]), 'field')}, not {fields[1]}"
            what += ": correct it, or add --skip-bad"
        elif "UTF8" in what:
            what = NOT_UTF8
        line = None if row is None else self.line_of(row)
        return StreamError(self.name, line, f"{', '.join(where)} {what}")


def parsed_rows(
    block: memoryview | bytes,
    names: list[str],
    delimiter: str,
    wanted: Wanted,
    pass_over: Callable[[Any], str] | None = None,
    *,
    numbers: bool = True,
) -> Any:
    """An Arrow table of whole rows of CSV text.

    Parameters
    ----------
    block : the text
    names : names of its columns
    delimiter : the separator of fields
    wanted : the columns to read, and which of them hold numbers
    pass_over : returns "skip" for a row of the wrong length; None: that is an ArrowInvalid
    numbers : False: columns of numbers are read as text too
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    kinds = dict.fromkeys(wanted.needed, pa.string())
    kinds |= dict.fromkeys(wanted.words, pa.dictionary(pa.int32(), pa.string()))
    kinds |= dict.fromkeys(wanted.numbers, pa.float64()) if numbers else {}
    convert = arrow_csv.ConvertOptions(
        column_types=kinds,
        include_columns=wanted.needed,
        null_values=_NOTHING,
        strings_can_be_null=True,
    )
    # Arrow's own memory: any thread might be the last to release a Python object.
    memory = pa.allocate_buffer(len(block))
    memoryview(memory).cast("B")[:] = block
    read = arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block))
    parse = arrow_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=pass_over)
    return off_main(lambda: arrow_csv.read_csv(pa.BufferReader(memory), read, parse, convert))


def _is_text(block: memoryview) -> bool:
    try:
        str(block, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _pass_over(wrong: list[Any], row: Any) -> str:
    wrong.append(row)
    return "skip"


def _lines(path: str | os.PathLike[str]) -> Iterator[str]:
    with Source(path) as source:
        rest = b""
        while len(rest) <= _LONGEST and (block := source.read()):
            *whole, rest = (rest + block).split(b"\n")
            yield from (f"{line.decode(errors='replace')}\n" for line in whole)
        yield rest[:_LONGEST].decode(errors="replace")
