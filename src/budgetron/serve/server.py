"""The process: a socket and uvicorn; models are loaded before and saved afterwards."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import uvicorn

from budgetron.errors import BudgetronError
from budgetron.model_file.atomic import BusyError, hold
from budgetron.serve.app import App
from budgetron.serve.definition import Definition
from budgetron.serve.feeding import Feed, Feeding
from budgetron.serve.journal import Journal
from budgetron.serve.late_labels import LateLabels
from budgetron.serve.prompt import Prompt
from budgetron.serve.served import Served
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Writer

# Seconds after which a learning thread lets an answering thread run.
SWITCH = 0.0005
KEEP_ALIVE = 30


class Server:
    """A server with its models.

    Parameters
    ----------
    definitions : the models
    settings : address and limits
    journal : receives log messages
    sources : what models learn besides requests, by model name

    Attributes
    ----------
    url : the address it listens on
    """

    def __init__(
        self,
        definitions: Sequence[Definition],
        settings: Settings,
        journal: Journal,
        sources: Mapping[str, Feeding] | None = None,
    ) -> None:
        names = [each.name for each in definitions]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BudgetronError(f"two models are called {twice!r}: rename a file")
        if settings.learn and settings.token is None and not settings.local:
            what = f"learning on {settings.host} needs a secret token"
            raise BudgetronError(f"{what}: add --token, or set the variable BUDGETRON_TOKEN")
        self._settings, self._journal = settings, journal
        self._release: Callable[[], None] = lambda: None
        self._socket = _listening(settings)
        host, port = self._socket.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self.writers: list[Writer] = []
        self._feeds: list[Feed] = []
        fed = sources or {}
        try:
            if settings.folder is not None:
                self._release = _held(settings, journal)
            for each in definitions:
                feeding = fed.get(each.name)
                late = feeding is not None and feeding.labels is not None
                self.writers.append(Writer(Served(each), settings, journal, labels=late))
                if feeding is not None:
                    make = LateLabels if late else Feed
                    self._feeds.append(make(self.writers[-1], feeding, journal))
                    self.writers[-1].source = self._feeds[-1].status
        except BaseException:
            self._end()
            raise
        self.app = App(self.writers, settings, journal)
        for feed in self._feeds:
            feed.start()

    def _uvicorn(self) -> uvicorn.Server:
        config = uvicorn.Config(
            self.app.asgi,
            http=Prompt.within(self._settings.body_seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=int(self._settings.drain_seconds),
            h11_max_incomplete_event_size=16_384,
            ws="none",
            lifespan="on",
        )
        return _Uvicorn(config, self.app)

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; then save all that was acknowledged."""
        gc.collect()
        gc.freeze()  # these objects stay: no collection has to look at them again
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            asyncio.run(self._uvicorn().serve(sockets=[self._socket]))
        finally:
            sys.setswitchinterval(before)
            gc.unfreeze()
            self._end()

    def _end(self) -> None:
        for feed in self._feeds:
            feed.stop()
        for writer in self.writers:
            writer.stop()
        self._socket.close()
        self._release()
        if self.writers:
            rows = {each.served.name: each.served.monitor.rows for each in self.writers}
            self._journal.say("stopped", rows_learned_here=rows)


class _Uvicorn(uvicorn.Server):
    """uvicorn that ends the pages' event streams before it waits for open requests."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open requests finish."""
        self._app.stop()
        await super().shutdown(sockets)
        self._captured_signals.clear()  # otherwise they end the process before it has saved


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # If the protocol is named, asyncio sends data at once and does not wait for more.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(1024)
    except (OSError, OverflowError) as error:
        made.close()
        why = (getattr(error, "strerror", None) or str(error)).lower()
        where = f"{settings.host} port {settings.port}"
        raise BudgetronError(f"cannot listen on {where}: {why}; choose another --port") from None
    return made


def _held(settings: Settings, journal: Journal) -> Callable[[], None]:
    """Lock the folder for this server."""
    assert settings.folder is not None
    try:
        return hold(settings.folder / "serve")
    except BusyError:
        what = "another server uses this folder: stop it, or choose another folder"
        raise BudgetronError(f"{settings.folder}: {what}") from None
    except OSError as error:  # read-only: no other server can write to it either
        journal.warn("the folder cannot be locked", why=(error.strerror or str(error)).lower())
        return lambda: None


class Background:
    """A server in a thread of this process while a block runs."""

    def __init__(
        self,
        definitions: Sequence[Definition],
        settings: Settings,
        sources: Mapping[str, Feeding] | None = None,
    ) -> None:
        self.server = Server(definitions, settings, Journal(), sources)
        self._uvicorn: Any = self.server._uvicorn()
        self._thread = threading.Thread(target=self._serve, name="budgetron serve", daemon=True)

    def _serve(self) -> None:
        asyncio.run(self._uvicorn.serve(sockets=[self.server._socket]))

    def __enter__(self) -> str:
        self._thread.start()
        while not self._uvicorn.started and self._thread.is_alive():
            self._thread.join(0.005)
        return self.server.url

    def __exit__(self, *_: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join()
        self.server._end()
