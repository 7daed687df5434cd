"""Connections that are closed when no whole head of a request comes in time.

uvicorn ends idle connections after their first answer. One that sends nothing, or half a head, it
keeps for ever, and a thousand of them keep all others out.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class Prompt(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """uvicorn's connection with a time for the head of a request.

    Attributes
    ----------
    seconds : that time; `within` sets it
    """

    seconds = 30.0
    _end: Any = None

    @classmethod
    def within(cls, seconds: float) -> type[Prompt]:
        """Such connections with another time."""
        return type(cls.__name__, (cls,), {"seconds": seconds})

    def connection_made(self, transport: Any) -> None:
        """Somebody connects."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A piece came: a request begins, or its head is not whole yet."""
        super().data_received(data)
        if not self._between:
            self._forget()
        elif self._end is None:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is at its end."""
        self._forget()
        super().connection_lost(exc)

    @property
    def _between(self) -> bool:
        """Whether no request is being answered."""
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
