"""Servers for tests: in this process, or one that can be killed; raw requests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import budgetron
from budgetron.cli import main
from tests.support.messages import json_messages

JSON = {"Content-Type": "application/json"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
COMMAND = "import sys; from budgetron.cli import main; main()"


class Reply(NamedTuple):
    """The answer of a server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request; a body that is not bytes is sent as JSON."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {**(JSON if data is not None else {}), **(headers or {})}
    try:
        connection.request(method or ("GET" if data is None else "POST"), path, data, sent)
        answer = connection.getresponse()
        return Reply(
            answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
        )
    finally:
        connection.close()


def rings(rows: int, seed: int = 0) -> tuple[Any, list[str]]:
    """Points in the plane, and whether they are near the origin."""
    X = np.random.default_rng(seed).normal(size=(rows, 2)).round(4)
    return X, ["near" if each else "far" for each in (X**2).sum(axis=1) < 1.4]


def taught(rows: int = 300, **params: Any) -> Any:
    """A model of `rings`."""
    model = budgetron.BudgetronClassifier(**{"budget": 30, **params})
    return model.partial_fit(*rings(rows))


def arrow_bytes(table: Any) -> bytes:
    """An Arrow table as the body of a request."""
    from budgetron.client import _stream

    return _stream(table)


class Process:
    """`budgetron serve` in a process of its own.

    Attributes
    ----------
    url : where it listens
    """

    def __init__(self, *arguments: str, before: Callable[[], None] | None = None) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "serve", *arguments, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        if not line:
            raise RuntimeError(self.popen.communicate()[1])
        self.url = line.split()[0]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, list[dict[str, Any]]]:
        """Send a signal and wait; the exit code and the output on standard error, all JSON."""
        self.popen.send_signal(number)
        _, told = self.popen.communicate(timeout=60)
        return self.popen.returncode, [json.loads(line) for line in told.splitlines()]


@contextmanager
def process(*arguments: str, before: Callable[[], None] | None = None) -> Iterator[Process]:
    """Such a process while the block runs."""
    made = Process(*arguments, before=before)
    try:
        yield made
    finally:
        if made.popen.poll() is None:
            made.popen.kill()
            made.popen.communicate()


def saved(model: Any, folder: Path, name: str = "rings") -> str:
    """The path of a model file."""
    path = folder / f"{name}.btn"
    budgetron.save(model, path)
    return str(path)


def lines(messages: list[bytes]) -> bytes:
    """Messages as a file has them."""
    return b"".join(each + b"\n" for each in messages)


def of_messages(folder: Path, rows: int) -> str:
    """The path of a model of a table: of the first of `json_messages`."""
    (folder / "first.jsonl").write_bytes(lines(json_messages(rows)))
    model = str(folder / "rows.btn")
    columns = ["--ignore", "id", "--label", "label", "--categorical", "label"]
    save = ["-b", "30", "--save", model, "--json"]
    with pytest.raises(SystemExit) as end:
        main(["run", str(folder / "first.jsonl"), *columns, *save])
    assert not end.value.code
    return model


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)
