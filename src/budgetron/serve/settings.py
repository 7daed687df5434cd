"""The settings of a server: its address, what it keeps, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """All settings of a server, except its models.

    Parameters
    ----------
    host, port : address to listen on; port 0 is a free one
    learn : whether it learns, or only predicts
    folder : folder for checkpoints, logs and waiting rows; None: nothing is kept
    durable : a row is on disk before it is acknowledged; False: the operating system has it, which
        survives a killed process, but not a power cut
    token : needed to learn, to label and to download; None: everyone on this machine may
    keep_logs : keep logs that a checkpoint has replaced
    every_rows, every_seconds : between two checkpoints, whichever comes first
    most_body, most_rows : limits of a request, in bytes and rows
    most_queued : rows that may wait to be learned; more are refused
    body_seconds, learn_seconds : time limit for a head or a body, and for an acknowledgement
    drain_seconds : time that open requests have to finish after SIGTERM
    waiting_bytes, waiting_seconds : memory of all waiting rows, and time that each may wait
    remembered : number of ids of learned requests kept, to identify retries
    viewers : pages open at a time
    access_log : write one line per request

    Examples
    --------
    >>> from budgetron.serve import Settings
    >>> Settings(learn=True, port=8123).every_rows
    100000
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
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
