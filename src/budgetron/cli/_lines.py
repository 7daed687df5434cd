"""The lines that `predict` writes: one per row, as CSV, JSON lines or Parquet.

A row that could not be read has a line without an answer. Numbers have enough digits to tell
float32 or float64 values apart; probabilities have six.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from budgetron._text import shown, spreadsheet
from budgetron.cli._checkpoint import reason
from budgetron.cli._console import fail

ENDINGS = {".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
BATCH = 4096  # empty lines written at once


class Lines:
    """Writes one line per row, in order; a missing row gets a line without an answer.

    Parameters
    ----------
    form : the writer of a batch of lines
    cells : number of cells of an answer
    named : whether rows have names; else their numbers, from 1, are used
    """

    def __init__(self, form: Any, cells: int, *, named: bool) -> None:
        self._form = form
        self._empty = [None] * cells
        self._named = named
        self._next = 1  # number of the next row

    def write(self, numbers: Any, answers: list[list[Any]], names: Sequence[Any] | None) -> None:
        """Write the answers for rows with these numbers, and their names if they have any."""
        lines: list[list[Any]] = []
        for at, number in enumerate(numbers.tolist()):
            lines += self._missing(number)
            lines.append([number if names is None else names[at], *answers[at]])
            self._next = number + 1
        self._form.write(lines)

    def finish(self, rows: int) -> None:
        """End the output after so many rows in all."""
        while self._next <= rows:
            self._form.write(self._missing(min(rows + 1, self._next + BATCH)))
        self._form.write([])  # the header, if there was no row

    def _missing(self, number: int) -> list[list[Any]]:
        """Write the lines of the missing rows before this one."""
        lost = range(self._next, number)
        self._next = number
        return [[None if self._named else each, *self._empty] for each in lost]


class _Csv:
    """CSV lines; the header is written with the first line, so an early error prints nothing."""

    def __init__(self, columns: list[str], digits: int | None, file: IO[str]) -> None:
        self._file = file
        self._digits = digits
        self._table = csv.writer(file, lineterminator="\n")
        self._header = [columns]
        self._on_terminal = file.isatty()

    def _cell(self, value: Any) -> Any:
        safe = spreadsheet(_rounded(_flat(value), self._digits))
        return shown(safe) if self._on_terminal and isinstance(safe, str) else safe

    def write(self, lines: list[list[Any]]) -> None:
        while self._header:
            self._table.writerow(map(self._cell, self._header.pop()))
        self._table.writerows(map(self._cell, line) for line in lines)
        self._file.flush()

    def close(self) -> None: ...


class _Json:
    """Lines of JSON objects."""

    def __init__(self, columns: list[str], digits: int | None, file: IO[str]) -> None:
        self._columns = columns
        self._digits = digits
        self._file = file

    def write(self, lines: list[list[Any]]) -> None:
        for line in lines:
            cells = (_rounded(each, self._digits) for each in line)
            self._file.write(json.dumps(dict(zip(self._columns, cells, strict=True))) + "\n")
        self._file.flush()

    def close(self) -> None: ...


class _Parquet:
    """A Parquet file whose types are those of the first lines that have an answer.

    If a later value has another type, the earlier lines are written again: integer answers become
    floats, other columns become text.
    """

    def __init__(self, columns: list[str], path: str) -> None:
        self._columns = columns
        self._path = path
        self._writer: Any = None
        self._waiting: list[list[Any]] = []

    def write(self, lines: list[list[Any]]) -> None:
        self._waiting += [list(map(_flat, line)) for line in lines]
        if any(line[1] is not None for line in self._waiting):
            self._write()

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        cells = list(zip(*self._waiting, strict=True)) or [()] * len(self._columns)
        if self._writer is None:
            kinds = [_as_kind(each, None).type for each in cells]
            self._schema = pa.schema(list(zip(self._columns, kinds, strict=True)))
            self._writer = pq.ParquetWriter(self._path, self._schema)
        kinds = list(map(self._kind, range(len(cells)), cells))
        if kinds != self._schema.types:
            self._write_again(kinds)
        arrays = [_as_kind(each, kind) for each, kind in zip(cells, kinds, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting = []

    def _kind(self, place: int, cells: Sequence[Any]) -> Any:
        """The type of a column that can also hold these cells."""
        import pyarrow as pa

        kind, new = self._schema.types[place], _as_kind(cells, None).type
        if pa.types.is_null(new) or new == kind:
            return kind
        if pa.types.is_null(kind):
            return new
        numeric = all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in (kind, new))
        return pa.float64() if numeric and place else pa.string()

    def _write_again(self, kinds: list[Any]) -> None:
        """Write the lines so far in columns of these types."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._writer.close()
        before = f"{self._path}.before"
        os.replace(self._path, before)
        try:
            self._schema = pa.schema(list(zip(self._columns, kinds, strict=True)))
            self._writer = pq.ParquetWriter(self._path, self._schema)
            with pq.ParquetFile(before) as file:
                for batch in file.iter_batches():
                    columns = [
                        _as_kind(each.to_pylist(), kind)
                        for each, kind in zip(batch.columns, kinds, strict=True)
                    ]
                    self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        finally:
            os.unlink(before)

    def close(self) -> None:
        if self._waiting or self._writer is None:
            self._write()
        self._writer.close()


@contextmanager
def lines_to(
    path: str | None, name: str | None, columns: list[str], digits: int | None, *, as_json: bool
) -> Iterator[Lines]:
    """Open lines for a file or standard output; the file appears only if all goes well.

    Ends the command if no such file can be written.

    Parameters
    ----------
    path : file to write; its ending gives the format. None: standard output
    name : the column that names rows; None: row numbers
    columns : the names of an answer's cells
    digits : significant digits of numbers in text; None: enough to tell all numbers apart
    as_json : JSON lines instead of CSV
    """
    named = name is not None
    heads = [name if name is not None else "row", *columns]
    text: dict[str, Any] = {"csv": _Csv, "json": _Json}
    if path is None:
        form = text["json" if as_json else "csv"](heads, digits, sys.stdout)
        yield Lines(form, len(columns), named=named)
        return
    kind = ENDINGS.get(Path(path).suffix.lower())
    if kind is None:
        fail(f"--out {path}: the name must end in .csv, .jsonl or .parquet")
    if as_json and kind != "json":
        fail(f"--out {path}: --json needs a name that ends in .jsonl")
    if kind == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            fail("--out with Parquet needs PyArrow: pip install 'budgetron[lab]'")
    handle, unfinished = tempfile.mkstemp(prefix=".predict-", dir=Path(path).resolve().parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            if kind == "parquet":
                form = _Parquet(heads, unfinished)
            else:
                form = text[kind](heads, digits, file)
            yield Lines(form, len(columns), named=named)
            form.close()
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except OSError as error:
        fail(f"--out {path}: {reason(error)}")
    finally:
        with suppress(OSError):
            os.unlink(unfinished)


def _as_kind(cells: Sequence[Any], kind: Any) -> Any:
    """Cells as an Arrow array of this type, or of their own; other values become text."""
    import pyarrow as pa

    try:
        return pa.array(cells, kind)
    except (pa.ArrowException, TypeError, OverflowError):
        texts = [None if each is None else str(each) for each in cells]
        return pa.array(texts, pa.string())


def _flat(value: Any) -> Any:
    """A list as text, for a cell of a table."""
    return json.dumps(value) if isinstance(value, list) else value


def _rounded(value: Any, digits: int | None) -> Any:
    if digits is None or not isinstance(value, float):
        return value
    return float(f"{value:.{digits}g}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
