"""What every request passes: who may, from where, and the headers of every answer."""

from __future__ import annotations

import hmac
from typing import Any

from budgetron.serve.errors import Refused
from budgetron.serve.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Of every answer. There is no header of CORS: pages of others read nothing.
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
    """Lets requests in.

    Parameters
    ----------
    settings : of the server
    """

    def __init__(self, settings: Settings) -> None:
        self._token = None if settings.token is None else settings.token.encode()
        self._local = settings.local

    def check_origin(self, scope: Any) -> None:
        """Refuse what a page of another site may have sent in its reader's name.

        On loopback, without a token, the host must be this machine by name: a site whose name was
        made to point here is another one.
        """
        host = origin = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
        if self._token is None and self._local and _bare(host.decode("latin-1")) not in LOCAL:
            what = "this server is for this machine: ask for localhost, or start it with --token"
            raise Refused(403, what)
        if origin and origin.partition(b"://")[2] != host:
            raise Refused(403, "requests of other sites' pages are refused")

    def check_token(self, scope: Any) -> None:
        """Refuse what changes the model, or gives it away, without the token."""
        if self._token is None and not self._local:
            raise Refused(403, "this server has no token: it learns on loopback alone")
        if not self.shows_token(scope):
            raise Refused(401, WRONG)

    def shows_token(self, scope: Any) -> bool:
        """Whether a request shows the token, or none is needed; one that is wrong is refused."""
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
