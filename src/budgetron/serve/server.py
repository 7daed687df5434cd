"""The process: a socket, uvicorn on it, models that are ready before it and saved after it."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

from budgetron.errors import BudgetronError
from budgetron.model_file.atomic import BusyError, hold
from budgetron.serve.app import App
from budgetron.serve.definition import Definition
from budgetron.serve.journal import Heard, Journal
from budgetron.serve.prompt import Prompt
from budgetron.serve.served import Served
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Writer

# Seconds after which a thread that learns lets one that answers go on.
SWITCH = 0.0005
CONNECTIONS = 1000
KEEP_ALIVE = 30


class Server:
    """A server with its models.

    Parameters
    ----------
    definitions : of the models
    settings : where it listens, and its limits
    journal : where to tell what happens

    Attributes
    ----------
    url : where it listens
    """

    def __init__(
        self, definitions: Sequence[Definition], settings: Settings, journal: Journal
    ) -> None:
        names = [each.name for each in definitions]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BudgetronError(f"two models are called {twice!r}: rename a file")
        if settings.learn and settings.token is None and not settings.local:
            what = f"learning on {settings.host} takes a token, which others do not know"
            raise BudgetronError(f"{what}: --token, or the variable BUDGETRON_TOKEN")
        self._settings, self._journal = settings, journal
        self._release: Callable[[], None] = lambda: None
        self._socket = _listening(settings)
        host, port = self._socket.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self.writers: list[Writer] = []
        try:
            if settings.folder is not None:
                self._release = _held(settings, journal)
            for each in definitions:
                self.writers.append(Writer(Served(each), settings, journal))
        except BaseException:
            self._end()
            raise
        self.app = App(self.writers, settings, journal)

    def _uvicorn(self) -> uvicorn.Server:
        config = uvicorn.Config(
            self.app.asgi,
            http=Prompt.within(self._settings.body_seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=int(self._settings.drain_seconds),
            limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=16_384,
            lifespan="on",
        )
        return _Uvicorn(config, self.app)

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; then all that was acknowledged is saved."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        heard = Heard(self._journal)
        logging.getLogger("uvicorn.error").addHandler(heard)
        try:
            asyncio.run(self._uvicorn().serve(sockets=[self._socket]))
        finally:
            logging.getLogger("uvicorn.error").removeHandler(heard)
            sys.setswitchinterval(before)
            self._end()

    def _end(self) -> None:
        for writer in self.writers:
            writer.stop()
        self._socket.close()
        self._release()
        if self.writers:
            rows = {each.served.name: each.served.monitor.rows for each in self.writers}
            self._journal.say("stopped", rows_learned_here=rows)


class _Uvicorn(uvicorn.Server):
    """uvicorn that ends the pages' streams before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end."""
        self._app.stop()
        await super().shutdown(sockets)
        self._captured_signals.clear()  # else the process ends by them before it has saved


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named asyncio sends at once what is written, and does not wait for more.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(1024)
    except (OSError, OverflowError) as error:
        made.close()
        why = (getattr(error, "strerror", None) or str(error)).lower()
        where = f"{settings.host} port {settings.port}"
        raise BudgetronError(f"cannot listen on {where}: {why}; name another --port") from None
    return made


def _held(settings: Settings, journal: Journal) -> Callable[[], None]:
    """Have the folder alone."""
    assert settings.folder is not None
    try:
        return hold(settings.folder / "serve")
    except BusyError:
        what = "another server uses this folder: stop it, or name another"
        raise BudgetronError(f"{settings.folder}: {what}") from None
    except OSError as error:  # read-only: nobody else can write to it either
        journal.warn("the folder cannot be locked", why=(error.strerror or str(error)).lower())
        return lambda: None


class Background:
    """A server in a thread of this process while a block runs."""

    def __init__(self, definitions: Sequence[Definition], settings: Settings) -> None:
        self.server = Server(definitions, settings, Journal())
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
