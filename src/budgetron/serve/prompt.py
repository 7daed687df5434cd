"""uvicorn connections with a time limit for the head of a request, and JSON in every answer.

uvicorn closes idle connections after their first answer. It keeps a connection that sends nothing,
or half a head, for ever; a thousand of them would lock out all others. It refuses data that is not
HTTP, and connections beyond its limit, with plain text: this module sends JSON instead.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from budgetron.serve.bodies import to_json
from budgetron.serve.exchange import Answer, respond
from budgetron.serve.guard import HEADERS

CONNECTIONS = 1000
NO_HTTP = "this is not an HTTP request, or its head is longer than 16 kB"
BUSY = "too many connections are open: try again"


class Prompt(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A uvicorn connection with a time limit for the head of a request.

    Attributes
    ----------
    seconds : the time limit; `within` sets it
    """

    seconds = 30.0
    _end: Any = None

    @classmethod
    def within(cls, seconds: float) -> type[Prompt]:
        """The same class with another time limit."""
        return type(cls.__name__, (cls,), {"seconds": seconds})

    def connection_made(self, transport: Any) -> None:
        """Somebody connects."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self.app = _busy
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Data came: a request begins, or its head is not complete yet."""
        super().data_received(data)
        if not self._between:
            self._forget()
        elif self._end is None:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was closed."""
        self._forget()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP; uvicorn calls it."""
        body = to_json({"error": NO_HTTP})
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length), *HEADERS]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\n" + head + b"connection: close\r\n\r\n" + body
        )
        self.transport.close()

    @property
    def _between(self) -> bool:
        """Whether no request is in progress."""
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _watch(self) -> None:
        self._end = self.loop.call_later(self.seconds, self._late)

    def _forget(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def _late(self) -> None:
        self._end = None
        if self._between and not self.transport.is_closing():
            self.transport.close()


async def _busy(scope: Any, receive: Any, send: Any) -> None:
    """The application of a connection beyond the limit."""
    if scope["type"] == "http":
        headers = [(b"retry-after", b"1"), (b"connection", b"close")]
        await respond(send, Answer(to_json({"error": BUSY}), status=503, headers=headers))
