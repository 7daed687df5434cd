"""`tcp://HOST:PORT`, lines on a TCP socket.

We listen there, for one sender at a time; HOST is this machine only (127.0.0.1) unless another one
is given. With `?connect=yes` we connect to a server there, again and again if it goes away.

With `?replay=yes` the sender starts from its beginning on every connection: the lines that were
taken before are skipped, so a resumed run learns each line once. Without it, what was sent while
nobody listened is lost.

Lines that are not learned yet stay in the socket: the sender waits when its buffers are full.
"""

from __future__ import annotations

import socket

from budgetron.sources.lines import Lines
from budgetron.sources.protocol import Address, Batch, Gone, Mark
from budgetron.sources.standard_input import messages_in
from budgetron.streams.base import StreamError

PIECE = 1 << 16
CALLING = 5.0  # seconds until a silent server counts as not reachable


class TcpLines:
    """Lines that senders write to a socket."""

    unit = "messages"
    lag: int | None = None

    def __init__(self, address: Address) -> None:
        address.check(connect=("yes", "no"), replay=("yes", "no"))
        self.name = address.name
        self._place = address.host(None)
        self._calls = address.settings.get("connect") == "yes"
        self._replay = address.settings.get("replay") == "yes"
        self._sender: socket.socket | None = None
        self._lines = Lines()
        self._messages = 0
        self._pass_over = 0
        self._door: socket.socket | None = None
        if self._calls:
            return
        try:
            self._door = socket.create_server(self._place, backlog=1)
        except OSError as error:
            what = (error.strerror or str(error)).lower()
            raise StreamError(self.name, None, f"cannot listen there: {what}") from None

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        return self._place

    @property
    def at_end(self) -> bool:
        """False while lines that were taken before are skipped."""
        return not self._pass_over

    def read(self, most: int, seconds: float) -> Batch | None:
        if not self._lines:
            self._more(seconds)
        while self._pass_over and self._lines:
            self._pass_over -= len(self._lines.take(self._pass_over))
        values = self._lines.take(most)
        first = self._messages + 1
        self._messages += len(values)
        return Batch(values, {"messages": self._messages}, lambda i: str(first + i))

    def _more(self, seconds: float) -> None:
        if self._sender is None and not self._connect(seconds):
            return
        assert self._sender is not None
        self._sender.settimeout(seconds)
        try:
            piece = self._sender.recv(PIECE)
        except TimeoutError:
            return
        except OSError as error:  # the sender was killed: the last line may be incomplete
            self._hang_up(whole=False)
            raise Gone((error.strerror or str(error)).lower()) from None
        self._lines.add(piece)
        if not piece:
            self._hang_up(whole=not self._replay)
            if self._calls and not self._lines:
                raise Gone("the server closed the connection")

    def _connect(self, seconds: float) -> bool:
        if self._door is None:
            try:
                self._sender = socket.create_connection(self._place, CALLING)
            except OSError as error:
                raise Gone((error.strerror or str(error)).lower()) from None
        else:
            self._door.settimeout(seconds)
            try:
                self._sender = self._door.accept()[0]
            except TimeoutError:
                return False
        self._lines = Lines()
        self._pass_over = self._messages if self._replay else 0
        return True

    def _hang_up(self, *, whole: bool) -> None:
        if self._sender is not None:
            self._sender.close()
            self._sender = None
        if whole:
            self._lines.finish()
        else:
            self._lines.forget_rest()

    def seek(self, mark: Mark) -> None:
        self._messages = messages_in(self.name, mark)

    def close(self) -> None:
        for each in (self._sender, self._door):
            if each is not None:
                each.close()
