"""Lines on a TCP socket: senders connect and leave, servers are waited for, a fast sender waits."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from budgetron.sources.protocol import Address, Gone
from budgetron.sources.socket import TcpLines
from budgetron.streams.base import StreamError
from tests.support.messages import json_messages, rows_of


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def listening(more: str = "") -> Iterator[TcpLines]:
    source = TcpLines(Address.of(f"tcp://:{free_port()}{more}"))
    try:
        yield source
    finally:
        source.close()


def send(source: TcpLines, data: bytes) -> None:
    with socket.create_connection(source.place) as sender:
        sender.sendall(data)


def values(source: TcpLines) -> list[bytes]:
    batch = source.read(10, 1.0)
    assert batch is not None
    return batch.values


def test_it_listens_on_this_machine_alone() -> None:
    with listening() as source:
        assert source.place[0] == "127.0.0.1"
        with pytest.raises(StreamError, match="cannot listen there"):
            TcpLines(Address.of(source.name))


def test_senders_one_after_the_other() -> None:
    with listening() as source:
        send(source, b"1\n2\n")
        assert values(source) == [b"1", b"2"]
        send(source, b"3\nno end")
        assert values(source) in ([], [b"3"])
        found = values(source) + values(source) + values(source)
        assert found[-1] == b"no end"


def test_a_sender_that_replays_is_read_on_where_it_was() -> None:
    with listening("?replay=yes") as source:
        send(source, b"1\n2\nha")
        assert values(source) == [b"1", b"2"]
        batch = source.read(10, 0.2)
        assert batch is not None
        send(source, b"1\n2\nhalf\n4\n")
        found = values(source) + values(source)
        assert found[:2] == [b"half", b"4"]
    with listening("?replay=yes") as later:
        later.seek(batch.mark)
        send(later, b"1\n2\nhalf\n")
        assert values(later) == [b"half"]


def test_a_server_that_is_not_there_is_gone() -> None:
    source = TcpLines(Address.of(f"tcp://127.0.0.1:{free_port()}?connect=yes"))
    with pytest.raises(Gone, match="refused"):
        source.read(1, 0.1)


def test_a_server_that_dies_is_waited_for() -> None:
    port = free_port()
    messages = json_messages(40)
    told: list[str] = []

    def serve() -> None:
        for start in (0, 20):
            with socket.create_server(("127.0.0.1", port)) as server:
                sender, _ = server.accept()
                with sender:
                    sender.sendall(b"".join(each + b"\n" for each in messages[start : start + 20]))
            time.sleep(0.4)  # nobody is there

    server = threading.Thread(target=serve)
    server.start()
    name = f"tcp://127.0.0.1:{port}?connect=yes"
    _, y, _ = rows_of(name, tell=told.append, rows=40, idle=20.0)
    server.join()
    assert len(y) == 40
    assert any("not reachable" in each for each in told)
    back = [each for each in told if each.startswith(f"{name}: back after ")]
    assert len(told) == 2 * len(back)  # a line when it goes, a line when it is back


def test_a_fast_sender_waits() -> None:
    with listening() as source, socket.create_connection(source.place) as sender:
        source.read(1, 0.1)
        sender.setblocking(False)
        sent = 0
        piece = b"x" * 99 + b"\n"
        with suppress(BlockingIOError):
            while sent < 100_000_000:
                sent += sender.send(piece * 1000)
        assert sent < 50_000_000  # it could not send more: nobody reads
        assert len(source._lines) < 10_000


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tcp://localhost", "has no port"),
        ("tcp://:99999", "has no port"),
        ("tcp://:9000?replay=perhaps", "replay must be yes or no, not 'perhaps'"),
        ("tcp://:9000?reply=yes", "no setting 'reply'; there are connect, replay"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, says: str) -> None:
    with pytest.raises(StreamError, match=says.replace("?", r"\?")):
        rows_of(name)
