"""One request and its answer: size limits, refusals as JSON, headers, metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from sklearn.exceptions import NotFittedError

from budgetron.errors import BudgetronError
from budgetron.serve.arrow import TYPES as ARROW
from budgetron.serve.bodies import to_json
from budgetron.serve.errors import Refused
from budgetron.serve.guard import HEADERS, Guard
from budgetron.serve.journal import Journal
from budgetron.serve.metrics import Metrics
from budgetron.serve.served import UNLEARNED
from budgetron.serve.settings import Settings

JSON = "application/json"
_TYPES = {kind: kind.encode() for kind in (JSON, *ARROW)}


@dataclass(frozen=True)
class Asked:
    """An admitted request.

    Attributes
    ----------
    path : the parameters in its address, such as the model
    body : the whole body
    arrow : whether it is an Arrow stream; else JSON
    scope : the ASGI scope
    """

    path: dict[str, str]
    body: bytes
    arrow: bool
    scope: Any

    def option(self, name: str) -> str | None:
        """The query parameters of the address."""
        found = parse_qs(self.scope["query_string"].decode("latin-1")).get(name)
        return found[-1] if found else None

    def header(self, name: bytes) -> str:
        """A header; empty if it is missing."""
        return next((v.decode("latin-1") for k, v in self.scope["headers"] if k == name), "")


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    body: bytes
    kind: str = JSON
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = field(default=())


Handler = Callable[[Asked], Awaitable[Answer]]


@dataclass
class Exchange:
    """An ASGI application for one kind of request.

    Parameters
    ----------
    verb : its name in metrics and logs
    handler : makes the answer
    guarded : it needs the token
    posts : it takes a body
    """

    verb: str
    handler: Handler
    settings: Settings
    guard: Guard
    metrics: Metrics
    journal: Journal
    guarded: bool = False
    posts: bool = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        start = time.perf_counter()
        try:
            answer = await self._answer(scope, receive)
        except Refused as refused:
            answer = _refusal(refused)
        except NotFittedError:
            answer = _refusal(Refused(409, UNLEARNED))
        except BudgetronError as error:
            answer = _refusal(Refused(400, str(error)))
        except Exception as error:
            self.journal.fault("a request failed", error, verb=self.verb)
            answer = _refusal(Refused(500, "the server has a bug; its log says more"))
        await respond(send, answer)
        seconds = time.perf_counter() - start
        self.metrics.count(self.verb, answer.status, seconds)
        if self.settings.access_log:
            path = scope["path"]
            took = round(seconds, 6)
            self.journal.say("request", verb=self.verb, path=path, code=answer.status, seconds=took)

    async def _answer(self, scope: Any, receive: Any) -> Answer:
        self.guard.check_origin(scope)
        if self.guarded:
            self.guard.check_token(scope)
        body, arrow = b"", False
        if self.posts:
            arrow = _is_arrow(scope)
            body = await self._body(scope, receive)
        return await self.handler(Asked(scope.get("path_params", {}), body, arrow, scope))

    async def _body(self, scope: Any, receive: Any) -> bytes:
        most = self.settings.most_body
        too_long = Refused(413, f"a body has at most {most:,} bytes: send fewer rows at a time")
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > most):
                raise too_long
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the body ended early")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_long
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(408, "the body took too long") from None
        return b"".join(parts)


def _is_arrow(scope: Any) -> bool:
    """Whether the body is Arrow, or else JSON; 415 for others."""
    headers = dict(scope["headers"])
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refused(415, "compressed bodies are not supported: send them uncompressed")
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind in (JSON, ARROW[0]):
        return bool(kind == ARROW[0])
    raise Refused(415, f"the content type must be {JSON} or {ARROW[0]}")


def _refusal(refused: Refused) -> Answer:
    headers: list[tuple[bytes, bytes]] = []
    if refused.retry is not None:
        headers.append((b"retry-after", str(refused.retry).encode()))
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return Answer(to_json({"error": str(refused)}), status=refused.status, headers=headers)


async def respond(send: Any, answer: Answer) -> None:
    """Send an answer."""
    kind = _TYPES.get(answer.kind) or answer.kind.encode()
    length = str(len(answer.body)).encode()
    headers = [(b"content-type", kind), (b"content-length", length), *HEADERS, *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
