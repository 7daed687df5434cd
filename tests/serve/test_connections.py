"""Requests that uvicorn itself would refuse also get JSON."""

from __future__ import annotations

import json
import socket
import urllib.parse

import pytest

from budgetron.serve import running
from tests.serve.serving import ask, taught


def sent(url: str, data: bytes) -> tuple[bytes, bytes]:
    """Head and body of all answers to some bytes, until the connection is closed."""
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as caller:
        caller.sendall(data)
        caller.shutdown(socket.SHUT_WR)
        found = b""
        while piece := caller.recv(65536):
            found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    return head, body


NO_HTTP = {
    "no HTTP": b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n",
    "no path": b"GET\r\n\r\n",
    "bad header": b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "no number": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n\r\n",
    "long head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000,
}


def test_what_is_no_http_is_refused_with_json() -> None:
    with running({"rings": taught(50)}) as url:
        for what, data in NO_HTTP.items():
            head, body = sent(url, data)
            assert head.startswith(b"HTTP/1.1 4"), (what, head)
            lower = head.lower()
            assert b"content-type: application/json" in lower, what
            assert b"x-content-type-options: nosniff" in lower, what
            told = json.loads(body)
            assert list(told) == ["error"], what
            assert "\n" not in told["error"]
        assert ask(url, "/v2/health/live").status == 200


def test_one_connection_too_many_is_refused_with_json(monkeypatch: pytest.MonkeyPatch) -> None:
    from budgetron.serve import prompt

    monkeypatch.setattr(prompt, "CONNECTIONS", 2)
    with running({"rings": taught(50)}) as url:
        parts = urllib.parse.urlsplit(url)
        place = (parts.hostname or "", parts.port or 0)
        with socket.create_connection(place), socket.create_connection(place):
            while (reply := ask(url, "/v2/health/live")).status == 200:
                pass  # the two are being accepted
            assert (reply.status, reply.headers["retry-after"]) == (503, "1")
            assert reply.json == {"error": prompt.BUSY}
        while ask(url, "/v2/health/live").status != 200:
            pass
