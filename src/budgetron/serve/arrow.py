"""Arrow IPC streams as request bodies and answers; pyarrow comes with the extra `lab`.

A small body must not become a large table. Compressed buffers are refused before they are read;
a text that is stored once but used in many rows (dictionaries, views) counts once per row.
"""

from __future__ import annotations

import struct
from typing import Any

from budgetron.serve.errors import Refused, bad
from budgetron.tables.frames import plain

LONGEST_TEXTS = 64 * 2**20  # bytes of a column's texts, counted once per row
DICTIONARY, BATCH = 2, 3  # kinds of messages that have buffers
TYPES = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")


def table_in(body: bytes, most_rows: int) -> Any:
    """The table in a body."""
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        what = "Arrow bodies need pyarrow on the server: pip install 'budgetron[lab]'"
        raise Refused(415, what) from None
    batches = []
    rows = 0
    try:
        if any(_is_compressed(each.metadata) for each in ipc.MessageReader.open_stream(body)):
            raise Refused(415, "compressed Arrow buffers are not read: write without compression")
        with ipc.open_stream(body) as stream:
            for batch in stream:
                rows += batch.num_rows
                if rows > most_rows:
                    raise Refused(413, f"a request has at most {most_rows:,} rows")
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise bad(f"the body is not an Arrow IPC stream: {str(error)[:200]}") from None
    if len(set(table.column_names)) < len(table.column_names):
        raise bad("two columns of the table have the same name")
    if not rows:
        raise bad("the table has no rows")
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(values) or pa.types.is_run_end_encoded(values):
            raise bad(f"column {name!r} is {kind}: send numbers, texts, times, or true and false")
        if sum(_text_bytes(each) for each in column.chunks) > LONGEST_TEXTS:
            raise Refused(
                413, f"the texts of column {name!r} take more than {LONGEST_TEXTS:,} bytes"
            )
    return plain(table)


def _is_compressed(metadata: Any) -> bool:
    """Whether a message's flatbuffer says that its buffers are compressed."""
    data = memoryview(metadata)

    def field(table: int, number: int) -> int:
        """The position of a field of a table; 0 if it has none."""
        fields = table - struct.unpack_from("<i", data, table)[0]
        place = 4 + 2 * number
        if place >= struct.unpack_from("<H", data, fields)[0]:
            return 0
        offset = struct.unpack_from("<H", data, fields + place)[0]
        return table + offset if offset else 0

    def there(place: int) -> int:
        """The table that a field points to."""
        return int(place + struct.unpack_from("<I", data, place)[0])

    message = there(0)
    kind, header = field(message, 1), field(message, 2)
    if not kind or not header or data[kind] not in (DICTIONARY, BATCH):
        return False
    batch = there(header)
    if data[kind] == DICTIONARY:
        inner = field(batch, 1)
        if not inner:
            return False
        batch = there(inner)
    return field(batch, 3) != 0


def _text_bytes(column: Any) -> int:
    """Bytes of an array's texts, counted once per row; 0 if it holds no texts."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if not len(values) or not _text_bytes(values):
            return 0
        lengths = pa.array(_lengths(values))
        taken = _text_bytes(values), pc.sum(lengths.take(column.indices)).as_py() or 0
        return max(taken)
    return int(np.sum(_lengths(column)))


def _lengths(column: Any) -> Any:
    """Bytes of each text of an array; none if it holds no texts."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = np.frombuffer(column.buffers()[1], np.int32)[::4]  # each begins with its length
        return views[column.offset : column.offset + len(column)].astype(np.int64)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    if any(is_one(kind) for is_one in (*texts, pa.types.is_large_binary)):
        return pc.fill_null(pc.binary_length(column), 0).to_numpy().astype(np.int64)
    return np.zeros(0, np.int64)


def taken_out(table: Any, label: str) -> tuple[Any, list[Any]]:
    """The table without the label column, and the labels."""
    if label not in table.column_names:
        raise bad(f"there is no column {label!r} for the labels; name it: ?label=COLUMN")
    labels = table.column(label).to_pylist()
    return table.drop_columns([label]), labels


def answer(labels: list[Any], chances: Any, classes: Any) -> bytes:
    """Predictions as an Arrow IPC stream: `predict`, and one column per class."""
    import pyarrow as pa
    from pyarrow import ipc

    columns: dict[str, Any] = {"predict": pa.array(labels)}
    if chances is not None:
        for j, label in enumerate(classes.tolist()):
            columns[f"probability of {label}"] = pa.array(chances[:, j])
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
