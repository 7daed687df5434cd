"""The page's live data: server-sent events, one per second, for a limited number of pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from budgetron.serve.bodies import to_json
from budgetron.serve.journal import Journal
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Writer


def overview(writer: Writer) -> dict[str, Any]:
    """All that the page shows about a model, except the curve."""
    served, waiting = writer.served, writer.waiting
    monitor = served.monitor
    return {
        **served.stats(),
        **served.pulse.summary(),
        "calibration": monitor.calibration(),
        "mix": monitor.mix(),
        "features": monitor.features(),
        "last_mistakes": list(monitor.mistakes),
        "failing": writer.failing,
        "stale": writer.stale,
        "queued": writer.queued,
        "source": writer.source(),
        "waiting": {
            "rows": len(waiting),
            "matched": waiting.matched,
            "unmatched": waiting.unmatched,
            "expired": waiting.expired,
            "lost": waiting.lost,
        },
    }


class Live:
    """Counts seconds, explains decisions, and sends events to the pages.

    Parameters
    ----------
    writers : the writers of the models
    settings : the settings of the server
    journal : receives log messages
    """

    def __init__(self, writers: Sequence[Writer], settings: Settings, journal: Journal) -> None:
        self._writers, self._settings, self._journal = writers, settings, journal
        self._now: bytes = b""
        self._beat = asyncio.Event()
        self._closing = False
        self.viewers = 0

    async def run(self) -> None:
        """Run once per second until it is cancelled."""
        while True:
            await asyncio.sleep(1)
            for writer in self._writers:
                writer.served.pulse.beat()
            try:
                await asyncio.to_thread(self._work)
            except Exception as error:  # a bug: try again in the next second
                self._journal.fault("the work of a second failed", error)
            if self.viewers:
                self._now = b""
            beat, self._beat = self._beat, asyncio.Event()
            beat.set()

    def _work(self) -> None:
        """The slow work: write waiting rows, explain decisions."""
        for writer in self._writers:
            writer.waiting.write()
            writer.served.look()

    def state(self) -> bytes:
        """All models as JSON; made once per second for all pages."""
        if not self._now:
            models = [
                {**overview(each), "history": each.served.monitor.history()}
                for each in self._writers
            ]
            self._now = to_json({"models": models, "learns": self._settings.learn})
        return self._now

    @property
    def full(self) -> bool:
        """Whether the largest number of pages is open."""
        return self.viewers >= self._settings.viewers

    def close(self) -> None:
        """End all event streams: the server stops."""
        self._closing = True
        self._beat.set()

    async def events(self) -> AsyncIterator[bytes]:
        """The events for one page."""
        self.viewers += 1
        try:
            self._now = b""
            yield b"retry: 2000\n\n"
            while not self._closing:
                yield b"event: state\ndata: " + self.state() + b"\n\n"
                await self._beat.wait()
            yield b"event: end\ndata: {}\n\n"
        finally:
            self.viewers -= 1
