"""Messages as rows of a table: each is a JSON object, a line of CSV, or an Arrow stream.

Many messages are parsed at once; only if that fails one by one, to find the bad ones. The rows do
not depend on how messages are cut into blocks.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from budgetron._text import counted
from budgetron.streams.base import StreamError
from budgetron.streams.table.csv_text import parsed_rows
from budgetron.streams.table.first_rows import AsTheyAre
from budgetron.streams.table.header import DELIMITERS, is_number
from budgetron.streams.table.json_lines import object_of, parsed, table_of_objects
from budgetron.tables.frames import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.sources.protocol import Mark
    from budgetron.streams.table import Wanted

NOT_UTF8 = "is not UTF-8 text"


class Parsed(NamedTuple):
    """Rows of messages.

    Parameters
    ----------
    tables : Arrow tables, in order
    origin : for each row, the number of its message in the block
    bad : number of a message that is not a row, and what is wrong with it
    """

    tables: list[Any]
    origin: NDArray[np.intp]
    bad: list[tuple[int, str]]


class Format(Protocol):
    """How a message becomes rows."""

    def parse(self, values: Sequence[bytes], wanted: Wanted | None) -> Parsed:
        """The rows of a block; `wanted` None: all columns."""

    def names(self, tables: list[Any]) -> list[str]:
        """Find the columns from the rows of the first block."""

    def state(self) -> Mark:
        """What a checkpoint keeps, to read later messages the same way."""


class Json:
    """One JSON object per message; its keys are the columns."""

    def parse(self, values: Sequence[bytes], wanted: Wanted | None) -> Parsed:
        import pyarrow as pa

        label: str | None = getattr(wanted, "label", None)
        try:
            block = b"\n".join(values)
            str(block, "utf-8")
            table = parsed(block, label) if block.strip() else None
            if table is not None and table.num_rows == len(values):
                return Parsed([table], np.arange(len(values)), [])
        except (UnicodeDecodeError, pa.ArrowException):
            pass
        return self._one_by_one(values, label)

    def _one_by_one(self, values: Sequence[bytes], label: str | None) -> Parsed:
        rows: list[dict[str, Any]] = []
        origin: list[int] = []
        bad: list[tuple[int, str]] = []
        for at, value in enumerate(values):
            row = object_of(value)
            if row is None:
                bad.append((at, "is not a JSON object"))
            elif label is not None and not _is_label(row.get(label)):
                bad.append((at, "has a label that is not a text, a number, or true or false"))
            else:
                rows.append(row)
                origin.append(at)
        tables = [table_of_objects(rows)] if rows else []
        return Parsed(tables, np.asarray(origin, np.intp), bad)

    def names(self, tables: list[Any]) -> list[str]:
        return list(dict.fromkeys(name for each in tables for name in each.column_names))

    def state(self) -> Mark:
        return {}


def _is_label(value: Any) -> bool:
    """Whether a JSON value may be a label, or a gap: it has no parts, and is valid text."""
    try:
        str(value).encode()
    except ValueError:  # half a character, or a number with thousands of digits
        return False
    return not isinstance(value, list | dict)


@dataclass
class Csv:
    """One line of CSV per message; the first may name the columns.

    A later line that repeats the header (of a file that was started again) is not a row.

    Parameters
    ----------
    delimiter : None: the most frequent of comma, semicolon, tab and bar in the first message
    header : whether the first message names the columns; None: it does, unless it has a number
    columns : their names; empty: not known yet
    first : the header as it came; empty: there is none
    """

    delimiter: str | None = None
    header: bool | None = None
    columns: list[str] = field(default_factory=list)
    first: str = ""

    def parse(self, values: Sequence[bytes], wanted: Wanted | None) -> Parsed:
        import pyarrow as pa

        if not self.columns:
            self._begin(values)
        wanted = AsTheyAre(self.columns) if wanted is None else wanted
        if not self.columns:
            return Parsed([], np.zeros(0, np.intp), [])
        good: list[int] = []
        bad: list[tuple[int, str]] = []
        header = self.first.encode()
        assert self.delimiter is not None
        ends, between = len(self.columns) - 1, self.delimiter.encode()
        for at, value in enumerate(values):
            plain_text = value.count(between) == ends and b'"' not in value and b"\n" not in value
            if not value.strip() or (header and value == header):
                continue
            if plain_text or not (wrong := self._wrong(value)):
                good.append(at)
            else:
                bad.append((at, wrong))
        block = b"\n".join([values[at] for at in good]) + b"\n"
        try:
            str(block, "utf-8")
        except UnicodeDecodeError:
            good, more = self._texts(values, good)
            bad = sorted([*bad, *more])
            block = b"\n".join([values[at] for at in good]) + b"\n"
        if not good:
            return Parsed([], np.zeros(0, np.intp), bad)
        try:
            table = parsed_rows(block, self.columns, self.delimiter, wanted)
        except pa.ArrowInvalid:  # a word among the numbers
            table = parsed_rows(block, self.columns, self.delimiter, wanted, numbers=False)
        return Parsed([table], np.asarray(good, np.intp), bad)

    def _begin(self, values: Sequence[bytes]) -> None:
        """Take names and delimiter from the first message that is text."""
        for value in values:
            try:
                line = value.decode().removeprefix("\ufeff")
                if not line.strip():
                    continue
                self.delimiter = self.delimiter or max(DELIMITERS, key=line.count)
                fields = [each.strip() for each in next(csv.reader([line], **self._dialect()))]
            except (UnicodeDecodeError, csv.Error):
                continue
            named = not any(map(is_number, fields)) if self.header is None else self.header
            self.columns = fields if named else [str(i) for i in range(len(fields))]
            self.first = value.decode() if named else ""
            return

    def _dialect(self) -> dict[str, Any]:
        return {"delimiter": self.delimiter, "strict": True}

    def _wrong(self, value: bytes) -> str:
        """What is wrong with a line; empty: nothing."""
        try:
            lines = value.decode().splitlines(keepends=True)
            rows = list(csv.reader(lines, **self._dialect()))
        except UnicodeDecodeError:
            return NOT_UTF8
        except csv.Error:
            return "has a quotation mark that is never closed, or in the middle"
        if len(rows) != 1:
            return "is not a single line of CSV"
        found, wanted = len(rows[0]), len(self.columns)
        return "" if found == wanted else f"has {counted(found, 'field')}, not {wanted}"

    @staticmethod
    def _texts(values: Sequence[bytes], good: list[int]) -> tuple[list[int], list[tuple[int, str]]]:
        kept: list[int] = []
        bad: list[tuple[int, str]] = []
        for at in good:
            try:
                values[at].decode()
                kept.append(at)
            except UnicodeDecodeError:
                bad.append((at, NOT_UTF8))
        return kept, bad

    def names(self, tables: list[Any]) -> list[str]:
        return self.columns

    def state(self) -> Mark:
        return {"delimiter": self.delimiter, "first": self.first, "columns": self.columns}


class Arrow:
    """One Arrow IPC stream or file per message, with any number of rows."""

    def parse(self, values: Sequence[bytes], wanted: Wanted | None) -> Parsed:
        import pyarrow as pa

        tables: list[Any] = []
        origin: list[NDArray[np.intp]] = []
        bad: list[tuple[int, str]] = []
        for at, value in enumerate(values):
            try:
                table = self._table(value)
                table.validate(full=True)
            except (pa.ArrowException, OSError, ValueError):
                bad.append((at, "is not an Arrow stream"))
                continue
            origin.append(np.full(table.num_rows, at))
            if tables and tables[-1].schema == table.schema:
                tables[-1] = pa.concat_tables([tables[-1], table])
            else:
                tables.append(table)
        return Parsed(tables, np.concatenate([np.zeros(0, np.intp), *origin]), bad)

    @staticmethod
    def _table(value: bytes) -> Any:
        import pyarrow as pa

        memory = pa.py_buffer(value)
        opened = pa.ipc.open_file if value.startswith(b"ARROW1") else pa.ipc.open_stream
        return plain(opened(memory).read_all())

    def names(self, tables: list[Any]) -> list[str]:
        return list(dict.fromkeys(name for each in tables for name in each.column_names))

    def state(self) -> Mark:
        return {}


FORMATS: dict[str, Callable[..., Format]] = {"jsonl": Json, "csv": Csv, "arrow": Arrow}


def format_named(
    name: str, kind: str | None, delimiter: str | None, header: bool | None, state: Mark | None
) -> Format:
    """The format of a source's messages, JSON by default; `state` is from a checkpoint."""
    if kind not in (None, *FORMATS):
        what = f"messages are jsonl, csv or arrow (--format), not {kind}"
        raise StreamError(name, None, what)
    if kind == "csv":
        if not state:
            return Csv(delimiter, header)
        return Csv(str(state["delimiter"]), header, list(state["columns"]), str(state["first"]))
    if delimiter is not None or header is not None:
        what = "--delimiter and --header are for CSV: add --format csv"
        raise StreamError(name, None, what)
    return FORMATS[kind or "jsonl"]()
