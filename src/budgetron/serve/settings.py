"""What a server is told when it starts: where it listens, what it keeps, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """All that decides how a server behaves, beside its models.

    Parameters
    ----------
    host, port : where it listens; port 0 is a free one
    learn : whether it learns, or only answers
    folder : of checkpoints, logs and rows that wait for a label; None: nothing is kept
    durable : a row is on disk before it is acknowledged; False: it is with the system, which a
        killed process loses nothing of, but a power cut does
    token : who learns, labels or takes the file shows it; None: whoever is on this machine may
    keep_logs : logs that a checkpoint has made needless stay in the folder
    every_rows, every_seconds : between two checkpoints, whichever comes first
    most_body, most_rows : of a request, in bytes and rows
    most_queued : rows that wait to be learned; more are refused
    body_seconds, learn_seconds : the longest a head or a body, and an acknowledgement, take
    drain_seconds : how long requests at work have to end after SIGTERM
    waiting_bytes, waiting_seconds : of rows that wait for a label, all together and each
    remembered : ids of learned requests, by which a retry is known
    viewers : pages open at a time
    access_log : a line for every request
    """

    host: str = "127.0.0.1"
    port: int = 0
    learn: bool = False
    folder: Path | None = None
    durable: bool = True
    token: str | None = None
    keep_logs: bool = False
    every_rows: int = 100_000
    every_seconds: float = 60.0
    most_body: int = 16 * 2**20
    most_rows: int = 10_000
    most_queued: int = 100_000
    body_seconds: float = 15.0
    learn_seconds: float = 30.0
    drain_seconds: float = 20.0
    waiting_bytes: int = 64 * 2**20
    waiting_seconds: float = 7 * 86400.0
    remembered: int = 100_000
    viewers: int = 50
    access_log: bool = False

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
