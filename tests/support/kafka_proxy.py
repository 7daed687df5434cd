"""A Kafka server that goes away and comes back: connections to a mock cluster through a proxy.

The mock cluster cannot be started again on its port. Clients must know only the proxy's address,
but the cluster sends them its own; the proxy replaces it in the answers, whose length does not
change: host and port are there as the text of the host and four bytes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

HOST = "127.0.0.1"


class Proxy:
    """A port of this machine that forwards to a cluster, until it is stopped.

    Parameters
    ----------
    address : address of the cluster

    Attributes
    ----------
    address : address of the proxy
    """

    def __init__(self, address: str) -> None:
        self._cluster = (HOST, int(address.rpartition(":")[2]))
        with socket.create_server((HOST, 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"{HOST}:{self._port}"
        self._told = _place(self._cluster[1]), _place(self._port)
        self._open: list[socket.socket] = []
        self.start()

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._door = socket.create_server((HOST, self._port))
        threading.Thread(target=self._serve, args=(self._door,), daemon=True).start()

    def stop(self) -> None:
        """Close the port and all connections."""
        for each in (self._door, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open = []

    def _serve(self, door: socket.socket) -> None:
        while True:
            try:
                caller = door.accept()[0]
                server = socket.create_connection(self._cluster)
            except OSError:
                return
            self._open += [caller, server]
            for pair in ((caller, server), (server, caller)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, come: socket.socket, go: socket.socket) -> None:
        """Forward requests unchanged, and answers, one by one, with the other address."""
        try:
            while True:
                head = _exactly(come, 4)
                data = _exactly(come, struct.unpack(">i", head)[0])
                go.sendall(head + data.replace(*self._told))
        except OSError:
            for each in (come, go):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


def _place(port: int) -> bytes:
    return HOST.encode() + struct.pack(">i", port)


def _exactly(come: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = come.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data
