"""Refused requests: an HTTP status and one line that says what to do."""

from __future__ import annotations


class Refused(Exception):
    """A request that is refused; the model does not change.

    Parameters
    ----------
    status : the HTTP status
    message : one line
    retry : seconds after which to try again; None: trying again is useless
    """

    def __init__(self, status: int, message: str, retry: int | None = None) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.retry = retry


def bad(message: str) -> Refused:
    """A mistake in a request."""
    return Refused(400, message)
