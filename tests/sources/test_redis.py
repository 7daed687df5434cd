"""Redis streams on a real server: entries as rows, places, and a server that is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from budgetron.sources.protocol import Address
from budgetron.streams.base import StreamError
from tests.support.messages import json_messages, objects, rows_of
from tests.support.redis_server import Server

pytestmark = pytest.mark.xdist_group("redis")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("redis"))
    yield found
    found.kill()


def stream_of(server: Server, key: str) -> Any:
    from budgetron.sources.redis import RedisStream

    return RedisStream(Address.of(f"redis://{server.address}/{key}"))


def test_the_fields_of_an_entry_are_columns(server: Server) -> None:
    with server.client() as client:
        for row in objects(20):
            client.xadd("fields", row)
    X, y, stream = rows_of(f"redis://{server.address}/fields", columns=["x0", "x3"])
    assert np.allclose(X, [[row["x0"], row["x3"]] for row in objects(20)])
    assert y == [row["label"] for row in objects(20)]
    assert stream.n_bad == 0


def test_a_field_may_hold_the_message(server: Server, tmp_path: Path) -> None:
    server.send("one-field", [*json_messages(10), b"no row"])
    with server.client() as client:
        client.xadd("one-field", {"other": "x"})
        client.xadd("one-field", {"json": b"\xff"})
    _, y, stream = rows_of(f"redis://{server.address}/one-field?field=json")
    assert (len(y), stream.n_bad) == (10, 3)


def test_lag_and_places(server: Server) -> None:
    server.send("places", json_messages(30))
    source = stream_of(server, "places")
    batch = source.read(12, 1.0)
    assert len(batch.values) == 12
    assert source.lag in (18, None)  # older servers do not count what was added
    assert batch.where(11) == batch.mark["id"]
    source.close()
    later = stream_of(server, "places")
    later.seek(batch.mark)
    assert len(later.read(100, 1.0).values) == 18
    assert later.lag == 0
    assert later.read(100, 0.05).values == []
    later.close()


def test_a_stream_that_is_not_there_yet_is_waited_for(server: Server) -> None:
    source = stream_of(server, "later")
    assert source.read(10, 0.05).values == []
    server.send("later", [b"now"])
    assert len(source.read(10, 1.0).values) == 1
    source.close()


def test_a_stream_that_was_recreated_is_reported(server: Server) -> None:
    server.send("anew", [b"first"])
    source = stream_of(server, "anew")
    source.seek({"id": "99999999999999-0", "read": 1, "before": 0})
    with pytest.raises(StreamError, match="started again: its newest id is"):
        source.read(1, 0.05)
    source.close()


def test_a_server_that_is_not_there() -> None:
    from budgetron.sources.redis import RedisAnswers, RedisStream

    for make in (RedisStream, RedisAnswers):
        with pytest.raises(StreamError, match="refused: start the server, or choose another"):
            make(Address.of("redis://127.0.0.1:1/a"))


def test_what_makes_no_sense_is_refused(server: Server) -> None:
    with server.client() as client:
        client.set("text", "1")
    for key, says in (
        ("text", "text is not a stream"),
        ("", "has no stream"),
        ("a?db=x", "db must be a number, not 'x'"),
        ("a?field=b&where=c", "no setting 'where'"),
    ):
        with pytest.raises(StreamError, match=says):
            stream_of(server, key)
    source = stream_of(server, "anything")
    for mark in ({}, {"id": "x", "read": 1, "before": 0}):
        with pytest.raises(StreamError, match="the checkpoint has no position in it"):
            source.seek(mark)
    source.close()


def test_no_server_is_an_error() -> None:
    pytest.importorskip("redis")
    with pytest.raises(StreamError, match="onnect"):
        rows_of("redis://127.0.0.1:1/rows")


def test_a_server_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    server = Server(tmp_path)
    messages = json_messages(1200)
    server.send("rows", messages[:1100])
    told: list[str] = []

    def restart(text: str) -> None:
        told.append(text)
        if "not reachable" in text:
            threading.Thread(target=later).start()

    def later() -> None:
        time.sleep(0.3)
        server.start()
        server.send("rows", messages[1100:])

    def kill() -> None:
        time.sleep(1.0)
        server.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    name = f"redis://{server.address}/rows?field=json"
    _, y, _ = rows_of(name, rows=1200, idle=30.0, tell=restart)
    killer.join()
    server.kill()
    assert len(y) == 1200
    assert len(told) == 2
    assert told[0].startswith(f"redis://{server.address}/rows?field=json: not reachable (")
    assert told[1].startswith(f"{name}: back after ")


def test_a_password_is_not_shown() -> None:
    pytest.importorskip("redis")
    with pytest.raises(StreamError) as raised:
        rows_of("redis://ann:secret@127.0.0.1:1/rows")
    assert "secret" not in str(raised.value)
