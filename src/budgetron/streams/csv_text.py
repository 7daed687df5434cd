"""CSV text as Arrow batches: delimiter and header told from the first line, the rest by pyarrow.

Feature columns are read as numbers whatever the first rows look like, so that a column does not
change its type in mid-file; label and categories are read as text.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from budgetron.streams.columns import WORDS
from budgetron.streams.protocol import KEPT, StreamError
from budgetron.streams.source import BlockFile, Source
from budgetron.streams.table import arrow, arrow_reason, check_start

if TYPE_CHECKING:
    from budgetron.streams.columns import Encoder

DELIMITERS = ",;\t|"
# A row longer than this is refused by pyarrow: not a table.
_BLOCK = 4 << 20
# Beyond this row nobody waits for its line to be counted.
_FAR = 1_000_000
_NOTHING = ["", "?", " ?", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "#N/A"]
_TOLD = re.compile(
    r"^(?:In CSV column #(?P<column>\d+): )?(?:CSV parse error: )?(?:Row #(?P<row>\d+): )?"
    r"(?P<what>.*)$",
    re.DOTALL,
)


class CsvBatches:
    """Rows of CSV text: a file, plain or compressed, or "-" for standard input.

    Parameters
    ----------
    path : file name, or "-"
    delimiter : None: the commonest of comma, semicolon, tab and bar in the first line
    header : whether the first line names the columns; None: it does unless it has a number in it.
        Without a header columns go by their numbers, from 0
    skip_bad : pass over rows with too few or too many fields
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        delimiter: str | None = None,
        header: bool | None = None,
        skip_bad: bool = False,
    ) -> None:
        arrow(os.fspath(path))
        if delimiter is not None and len(delimiter) != 1:
            raise ValueError(f"delimiter must be one character, not {delimiter!r}")
        self._path = path
        self._source = Source(path)
        self.name = self._source.name
        self._skip_bad = skip_bad
        self.n_bad = 0
        self.bad_messages: list[str] = []
        try:
            line, rest = self._first_line()
            self._delimiter = delimiter or max(DELIMITERS, key=line.count)
            reader = csv.reader([line], delimiter=self._delimiter)
            fields = [each.strip() for each in next(reader, [])]
            self._header = not any(map(_is_number, fields)) if header is None else header
            if not line:
                raise StreamError(self.name, None, "is empty: not even a first line")
            if len(fields) == 1:
                self._explain_one_column(line)
            self.names = fields if self._header else [str(i) for i in range(len(fields))]
            self._rest = rest if self._header else line.encode() + b"\n" + rest
        except StreamError:
            self.close()
            raise
        except csv.Error as error:
            self.close()
            raise StreamError(self.name, 1, f"is no CSV text: {error}") from None

    @property
    def bytes_total(self) -> int | None:
        return self._source.bytes_total

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read

    def read(self, encoder: Encoder, start: int, batch_rows: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        kinds = dict.fromkeys(encoder.numbers, pa.float64())
        kinds |= dict.fromkeys((*encoder.categorical, *encoder.hashed), pa.string())
        if encoder.label is not None:
            kinds[encoder.label] = pa.string()
        rows = 0
        try:
            text = BlockFile(self._rest or self._read(), self._read)
            if text.empty:  # nothing behind the header
                check_start(self.name, start, 0)
                return
            reader = arrow_csv.open_csv(
                pa.PythonFile(text, mode="r"),
                arrow_csv.ReadOptions(
                    use_threads=False, block_size=_BLOCK, column_names=self.names
                ),
                arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=self._invalid if self._skip_bad else None,
                ),
                arrow_csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=encoder.needed,
                    null_values=_NOTHING,
                    strings_can_be_null=True,
                ),
            )
            with contextlib.closing(reader):  # or it may still be reading when Python ends
                for batch in reader:
                    if encoder.label is not None:
                        encoder.decide_label(batch.column(encoder.label))
                    drop = min(max(start - rows, 0), batch.num_rows)
                    rows += batch.num_rows
                    if drop < batch.num_rows:
                        yield batch.slice(drop)
        except pa.ArrowException as error:
            raise self._told(error) from error
        except UnicodeDecodeError as error:
            raise StreamError(self.name, None, f"is not UTF-8 text: {error.reason}") from error
        except OSError as error:
            raise StreamError(self.name, None, f"row {rows + 1} or later: {error}") from error
        check_start(self.name, start, rows)

    def line_of(self, row: int) -> int | None:
        """Counted by reading the file again: rows may span lines, and blank lines are no rows.

        None where that would take long, cannot be done, or would not tell: rows of the wrong length
        that were passed over are not counted as rows.
        """
        if self._skip_bad or self._source.bytes_total is None or row > _FAR:
            return None
        reader = csv.reader(_lines(self._path), delimiter=self._delimiter)
        left = row + self._header
        start = 1
        try:
            for fields in reader:
                left -= bool(fields)
                if left == 0:
                    return start
                start = reader.line_num + 1
        except (csv.Error, OSError, StreamError):
            pass
        return None

    def close(self) -> None:
        self._source.close()

    def _read(self) -> bytes:
        return self._source.read()

    def _first_line(self) -> tuple[str, bytes]:
        """The first line that is not blank, and what was read behind it."""
        block = b""
        while (b"\n" not in block.lstrip() and len(block) < _BLOCK) or (
            len(block) < 4096 and not self._source.live  # no tiny first batch
        ):
            try:
                more = self._read()
            except OSError as error:
                raise StreamError(self.name, 1, str(error)) from error
            if not more:
                break
            block += more
        if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise StreamError(self.name, 1, "the text is UTF-16, not UTF-8")
        if b"\0" in block[:1000]:
            raise StreamError(self.name, 1, "byte 0x00 has no place in CSV text")
        line, _, rest = block.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")
        try:
            return line.rstrip(b"\r").decode(), rest
        except UnicodeDecodeError as error:
            byte = line[error.start]
            what = f"is not UTF-8 text (byte 0x{byte:02x}); convert it: iconv -f latin1 -t utf8"
            raise StreamError(self.name, 1, what) from None

    def _explain_one_column(self, line: str) -> None:
        shown = line if len(line) <= 40 else line[:40] + "..."
        what = f"there is but one column in {shown!r}: is the delimiter another (--delimiter)?"
        if re.match(r"\S+( \d+:\S+)+", line):
            what = "this is LIBSVM text, not CSV (--format libsvm)"
        raise StreamError(self.name, 1, what)

    def _invalid(self, row: Any) -> str:
        self.n_bad += 1
        if len(self.bad_messages) < KEPT:
            what = f"has {row.actual_columns} fields, not {row.expected_columns}"
            where = "a row" if row.number is None else f"row {row.number}"
            self.bad_messages.append(f"{self.name}: {where} {what}")
        return "skip"

    def _told(self, error: BaseException) -> StreamError:
        """Arrow's complaint as ours: `FILE: row N, column C ...`."""
        told = _TOLD.match(str(error))
        if told is None or (told["row"] is None and told["column"] is None):
            return StreamError(self.name, None, arrow_reason(error))
        where = [] if told["row"] is None else [f"row {told['row']}"]
        what = " ".join(told["what"].split())[:160]
        value = re.search(r"invalid value '(.*)'", what)
        if told["column"] is not None:
            where.append(f"column {self.names[int(told['column'])]!r}")
        if value is not None:
            what = f"holds {value[1][:40]!r}, not a number: {WORDS}"
        elif fields := re.match(r"Expected (\d+) columns, got (\d+)", what):
            what = f"has {fields[2]} fields, not {fields[1]}"
        elif "UTF8" in what:
            what = "is not UTF-8 text; convert it: iconv -f latin1 -t utf8"
        line = None if told["row"] is None else self.line_of(int(told["row"]))
        return StreamError(self.name, line, f"{', '.join(where)} {what}")


def _lines(path: str | os.PathLike[str]) -> Iterator[str]:
    with Source(path) as source:
        rest = b""
        while block := source.read():
            *whole, rest = (rest + block).split(b"\n")
            yield from (f"{line.decode(errors='replace')}\n" for line in whole)
        yield rest.decode(errors="replace")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
