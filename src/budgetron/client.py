"""A client of `budgetron serve`, in one file, with only the standard library.

It repeats a request that may not have arrived, always with the same id. The server knows the id, so
a row is never learned twice. Several threads may share one client.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
import urllib.parse
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from budgetron.errors import BudgetronError

Row = Mapping[str, Any] | Sequence[float | None]
ARROW = "application/vnd.apache.arrow.stream"
AGAIN = (408, 429, 502, 503, 504)  # statuses after which a retry makes sense


class ServeError(BudgetronError):
    """The server refused a request, or cannot be reached.

    Attributes
    ----------
    status : HTTP status; 0: there was no answer
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Predictions(NamedTuple):
    """Answers for rows.

    Attributes
    ----------
    labels : one label or number per row
    probabilities : one list per row, with one probability per class; empty in regression
    classes : in the order of the probabilities; empty in regression
    id : id of the request, for a later label; None: none was given
    kept : whether the server keeps the rows for their label
    """

    labels: list[Any]
    probabilities: list[list[float]]
    classes: list[Any]
    id: str | None
    kept: bool


class Learned(NamedTuple):
    """Result of a request to learn.

    Attributes
    ----------
    learned : number of rows; 0 if they had been learned before
    again : whether they had been learned before
    rows : number of rows that the model has learned in all
    id : id of the request
    """

    learned: int
    again: bool
    rows: int
    id: str


class Client:
    """Client of one model of a server.

    Parameters
    ----------
    url : address, as `budgetron serve` prints it
    model : name of the model
    token : the server's `--token`; None: the variable BUDGETRON_TOKEN, if it is set
    timeout : seconds to wait for an answer
    tries : number of tries per request
    wait : seconds before the second try; each later one waits twice as long

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.serve import running
    >>> model = budgetron.PerceptronClassifier(gamma=1.0)
    >>> model = model.fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20)
    >>> with running({"size": model}) as url:
    ...     size = Client(url, "size")
    ...     print(size.infer([[0.9]], id="order 17").labels)
    ...     print(size.label("order 17", "yes").learned, size.label("order 17", "yes").again)
    ['yes']
    1 True
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        tries: int = 5,
        wait: float = 0.1,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServeError(f"{url!r} is not an address such as http://127.0.0.1:8000")
        self._parts, self._model = parts, model
        self._base = f"{parts.path.rstrip('/')}/v2/models/{urllib.parse.quote(model, safe='')}"
        self._token = os.environ.get("BUDGETRON_TOKEN") if token is None else token
        self._timeout, self._tries, self._wait = timeout, tries, wait
        self._own = threading.local()

    # ---- predictions -----------------------------------------------------------------------------

    def infer(self, rows: Sequence[Row], *, id: str | None = None) -> Predictions:
        """Predict rows: objects by column name, or arrays of numbers.

        Parameters
        ----------
        rows : at least one row
        id : the server keeps the rows under this id, so that `label` can teach them later
        """
        body: dict[str, Any] = {"rows": _plain(rows)}
        if id is not None:
            body["id"] = id
        found = self._json("POST", "/infer", body)
        by_name = {each["name"]: each for each in found["outputs"]}
        labels = by_name["predict"]["data"]
        classes: list[Any] = []
        probabilities: list[list[float]] = []
        if "probabilities" in by_name:
            tensor = by_name["probabilities"]
            classes, n = tensor["parameters"]["classes"], tensor["shape"][1]
            flat = tensor["data"]
            probabilities = [flat[i * n : (i + 1) * n] for i in range(len(labels))]
        kept = bool(found.get("parameters", {}).get("kept"))
        return Predictions(labels, probabilities, classes, found.get("id"), kept)

    def infer_table(self, table: Any, *, id: str | None = None) -> Any:
        """Predict the rows of an Arrow table; returns an Arrow table of predictions.

        Needs pyarrow here and on the server.
        """
        import pyarrow as pa

        query = {} if id is None else {"id": id}
        data = self._send("POST", "/infer", _stream(table), ARROW, query)
        with pa.ipc.open_stream(data) as stream:
            return stream.read_all()

    def explain(self, rows: Sequence[Row], *, examples: int = 3) -> list[dict[str, Any]]:
        """Return the columns that moved each decision, and the stored examples behind it."""
        body = {"rows": _plain(rows), "examples": examples}
        reasons: list[dict[str, Any]] = self._json("POST", "/explain", body)["reasons"]
        return reasons

    def stats(self) -> dict[str, Any]:
        """Return the counts of the model."""
        return self._json("GET", "/stats", None)

    def file(self, path: str | os.PathLike[str]) -> None:
        """Write the current model to a file that `budgetron predict` reads."""
        data = self._send("GET", "/file", b"", "", {})
        with open(path, "wb") as file:
            file.write(data)

    # ---- learning --------------------------------------------------------------------------------

    def learn(
        self, rows: Sequence[Row], labels: Sequence[Any], *, id: str | None = None
    ) -> Learned:
        """Learn rows with their labels, exactly once, however many tries it takes.

        Parameters
        ----------
        rows : at least one row
        labels : one label per row
        id : id of the request; None: a new one
        """
        id = str(uuid.uuid4()) if id is None else id
        return self._learned({"rows": _plain(rows), "labels": list(labels), "id": id}, id)

    def learn_table(
        self, table: Any, *, label: str | None = None, id: str | None = None
    ) -> Learned:
        """Learn an Arrow table; one column is the label."""
        id = str(uuid.uuid4()) if id is None else id
        query = {"id": id} if label is None else {"id": id, "label": label}
        found = json.loads(self._send("POST", "/learn", _stream(table), ARROW, query))
        return _to_learned(found, id)

    def label(self, id: str, label: Any) -> Learned:
        """Learn the row that `infer` got under this id; for several rows, pass a list of labels."""
        name = "labels" if isinstance(label, list) else "label"
        return self._learned({"id": id, name: label}, id)

    def _learned(self, body: dict[str, Any], id: str) -> Learned:
        return _to_learned(self._json("POST", "/learn", body), id)

    # ---- HTTP ------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any) -> dict[str, Any]:
        data = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        found: dict[str, Any] = json.loads(self._send(method, path, data, "application/json", {}))
        return found

    def _send(
        self, method: str, path: str, body: bytes, kind: str, query: Mapping[str, str]
    ) -> bytes:
        """The body of the answer; repeats the request if that may help."""
        address = self._base + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Content-Type": kind} if body else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        for number in range(self._tries):
            last = number == self._tries - 1
            try:
                status, data = self._once(method, address, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last:
                    what = str(error) or type(error).__name__
                    raise ServeError(f"{self._parts.netloc} does not answer: {what}") from None
            else:
                if status == 200:
                    return data
                if status not in AGAIN or last:
                    raise ServeError(_why(data, status), status)
            time.sleep(min(self._wait * 2**number, 10.0))
        raise AssertionError

    def _once(
        self, method: str, address: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            secure = self._parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
            self._own.connection = connection
        connection.request(method, address, body=body or None, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """Close this thread's connection; the next request opens another."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None


def _plain(rows: Sequence[Row]) -> list[Any]:
    """Rows for JSON; a NumPy array becomes a list of lists."""
    listed = rows.tolist() if hasattr(rows, "tolist") else rows
    return [each.tolist() if hasattr(each, "tolist") else each for each in listed]


def _stream(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    return bytes(sink.getvalue())


def _to_learned(found: dict[str, Any], id: str) -> Learned:
    again = found.get("status") == "already learned"
    return Learned(found["learned"], again, found["rows"], id)


def _why(data: bytes, status: int) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, LookupError, TypeError):
        return f"the server answered with status {status}"
