"""The ASGI application: it maps addresses to handlers. No address is used as a file name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from budgetron.serve.api import Api
from budgetron.serve.bodies import to_json
from budgetron.serve.errors import Refused
from budgetron.serve.exchange import Answer, Asked, Exchange
from budgetron.serve.guard import HEADERS, Guard
from budgetron.serve.journal import Journal
from budgetron.serve.live import Live
from budgetron.serve.metrics import Metrics
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Writer

PAGE = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}


class App:
    """The application of a server and its parts.

    Parameters
    ----------
    writers : the writers of the models
    settings : the settings of the server
    journal : receives log messages

    Attributes
    ----------
    asgi : the application
    """

    def __init__(self, writers: Sequence[Writer], settings: Settings, journal: Journal) -> None:
        self._writers, self._settings, self._journal = writers, settings, journal
        self._guard = Guard(settings)
        self._metrics = Metrics(writers)
        self.live = Live(writers, settings, journal)
        by_name = {each.served.name: each for each in writers}
        self.api = api = Api(by_name, settings, self._metrics, self._guard)
        model = "/v2/models/{name}"
        routes = [
            self._post(f"{model}/infer", "infer", api.infer),
            self._post(f"{model}/learn", "learn", api.learn, guarded=True),
            self._post(f"{model}/explain", "explain", api.explain),
            self._get(f"{model}/stats", "stats", api.stats),
            self._get(f"{model}/file", "file", api.file, guarded=True),
            self._get(f"{model}/ready", "model_ready", api.model_ready),
            self._get(model, "model", api.model),
            self._get("/v2/models", "models", api.models),
            self._get("/v2/health/live", "live", api.live),
            self._get("/v2/health/ready", "ready", api.ready),
            self._get("/v2", "server", api.server),
            self._get("/metrics", "metrics", api.metrics),
            Route("/events", self._events),
            *(self._asset(path, *what) for path, what in PAGE.items()),
            self._get("/favicon.ico", "page", _no_icon),
        ]
        handlers: Any = {HTTPException: _http_error, Exception: _mistake}
        self.asgi = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)

    def _exchange(self, verb: str, handler: Any, **how: bool) -> Exchange:
        return Exchange(
            verb, handler, self._settings, self._guard, self._metrics, self._journal, **how
        )

    def _get(self, path: str, verb: str, handler: Any, guarded: bool = False) -> Route:
        return Route(path, self._exchange(verb, handler, guarded=guarded), methods=["GET"])

    def _post(self, path: str, verb: str, handler: Any, guarded: bool = False) -> Route:
        exchange = self._exchange(verb, handler, guarded=guarded, posts=True)
        return Route(path, exchange, methods=["POST"])

    def _asset(self, path: str, file: str, kind: str) -> Route:
        """Serve a file of the page; it is read once, now."""
        body = resources.files("budgetron.serve").joinpath("page", file).read_bytes()

        async def asset(asked: Asked) -> Answer:
            return Answer(body, kind)

        return self._get(path, "page", asset)

    async def _events(self, request: Request) -> Response:
        try:
            self._guard.check_origin(request.scope)
            if self.live.full:
                raise Refused(503, "too many pages are open: close one", 10)
        except Refused as refused:
            return _response(to_json({"error": str(refused)}), refused.status)
        from starlette.responses import StreamingResponse

        headers = {name.decode(): value.decode() for name, value in HEADERS}
        headers["x-accel-buffering"] = "no"
        return StreamingResponse(self.live.events(), 200, headers, "text/event-stream")

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        beating = asyncio.create_task(self.live.run())
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    def stop(self) -> None:
        """Finish open requests; close pages and report that the server stops."""
        self.api.stopping = True
        self.live.close()


async def _no_icon(asked: Asked) -> Answer:
    """Answer browsers, which ask for an icon."""
    return Answer(b"", "image/x-icon", 204)


def _response(body: bytes, status: int) -> Response:
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    return Response(body, status, headers, "application/json")


def _mistake(request: Request, error: Exception) -> Response:
    """A bug outside `Exchange`, which Starlette raises again: uvicorn reports it."""
    return _response(to_json({"error": "the server has a bug; its log says more"}), 500)


def _http_error(request: Request, error: HTTPException) -> Response:
    """Requests that Starlette refuses: an unknown address, or a wrong method."""
    text = {404: "there is nothing at this address", 405: "this address takes another method"}
    what = text.get(error.status_code, str(error.detail))
    return _response(to_json({"error": what}), error.status_code)
