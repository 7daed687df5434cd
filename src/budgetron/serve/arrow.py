"""Arrow IPC streams as request bodies and answers; pyarrow is of the extra `lab`."""

from __future__ import annotations

from typing import Any

from budgetron.serve.errors import Refused, bad
from budgetron.tables.frames import plain

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
        with ipc.open_stream(body) as stream:
            for batch in stream:
                rows += batch.num_rows
                if rows > most_rows:
                    raise Refused(413, f"a request has at most {most_rows:,} rows")
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise bad(f"the body is no Arrow IPC stream: {str(error)[:200]}") from None
    if len(set(table.column_names)) < len(table.column_names):
        raise bad("two columns of the table have one name")
    if not rows:
        raise bad("the table has no rows")
    return plain(table)


def taken_out(table: Any, label: str) -> tuple[Any, list[Any]]:
    """The table without the label's column, and the labels."""
    if label not in table.column_names:
        raise bad(f"there is no column {label!r} for the labels; name it: ?label=COLUMN")
    labels = table.column(label).to_pylist()
    return table.drop_columns([label]), labels


def answer(labels: list[Any], chances: Any, classes: Any) -> bytes:
    """Predictions as an Arrow IPC stream: `predict`, and a column for each class."""
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
