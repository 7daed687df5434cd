"""Checks of every request: token, host and origin; and the headers of every answer."""

from __future__ import annotations

import hmac
from typing import Any

from budgetron.serve.errors import Refused
from budgetron.serve.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# In every answer. There is no CORS header, so pages of other sites can read nothing.
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
WRONG = "the token is missing or wrong: Authorization: Bearer TOKEN"
LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}


class Guard:
    """Admits requests.

    Parameters
    ----------
    settings : the settings of the server
    """

    def __init__(self, settings: Settings) -> None:
        self._token = None if settings.token is None else settings.token.encode()
        self._local = settings.local

    def check_origin(self, scope: Any) -> None:
        """Refuse a request that a page of another site may have sent in its reader's name.

        On loopback without a token, the Host header must name this machine: a foreign name that was
        made to resolve to this machine is refused (DNS rebinding).
        """
        host = origin = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
        if self._token is None and self._local and _bare(host.decode("latin-1")) not in LOCAL:
            what = "this server is for this machine: use localhost, or start it with --token"
            raise Refused(403, what)
        if origin and origin.partition(b"://")[2] != host:
            raise Refused(403, "requests from pages of other sites are refused")

    def check_token(self, scope: Any) -> None:
        """Refuse a request without the token that changes the model or downloads it."""
        if self._token is None and not self._local:
            raise Refused(403, "this server has no token: it learns only on loopback")
        if not self.shows_token(scope):
            raise Refused(401, WRONG)

    def shows_token(self, scope: Any) -> bool:
        """Whether a request has the token, or needs none; a wrong token is refused."""
        if self._token is None:
            return self._local
        shown = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                shown = value
        kind, _, token = shown.partition(b" ")
        if kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token):
            return True
        if shown:
            raise Refused(401, WRONG)
        return False


def _bare(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()
