"""Runs that go on where they were killed: the model and its place in the source, kept in one file.

A checkpoint is a model file (budgetron.model_file) that also says which run it is of, how far that
run had come, and how long it took. It is replaced in one step, so a run that is killed at any
moment goes on from the last one.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.cli.console import fail, note

if TYPE_CHECKING:
    from budgetron.streams.roles import Layout

_ENDS = 1 << 20  # bytes at either end of the source that a checkpoint knows it by


def check_place(option: str, path: str, source: str = "") -> None:
    """End the command if no file can be written there, or it is the source: before the work."""
    if source and os.path.realpath(path) == os.path.realpath(source):
        fail(f"budgetron: {option} {path}: is the file to learn from, which would be lost")
    folder = Path(path).resolve().parent
    if Path(path).is_dir() or not folder.is_dir():
        what = "is a folder" if Path(path).is_dir() else f"there is no folder {folder}"
        fail(f"budgetron: {option} {path}: {what}")
    if not os.access(folder, os.W_OK):
        fail(f"budgetron: {option} {path}: the folder cannot be written to")


class Checkpoint:
    """Where a run stands, on disk.

    Parameters
    ----------
    path : of the checkpoint
    every : rows from one to the next
    source : the file that is learned
    settings : all that decides what is learned from it, by name

    Attributes
    ----------
    model : as it was at the checkpoint; None if there is none yet
    bookmark : the place in the source behind it
    tally : what was counted beside the model
    position : rows learned, as the file has it now
    resumed_from : rows learned, as the file had it when the command started
    seconds : that took
    """

    def __init__(self, path: str, every: int, source: str, settings: dict[str, Any]) -> None:
        from budgetron.durable import sweep

        self.path, self.every = path, every
        self.model: Any = None
        self.bookmark: dict[str, Any] = {"rows": 0}
        self.tally: dict[str, float] = {}
        self.position = self.resumed_from = 0
        self.seconds = 0.0
        self._run = {**settings, "source": fingerprint(source)}
        check_place("--checkpoint", path)
        sweep(path)
        if os.path.lexists(path):
            self._resume()
        self._started = time.perf_counter()

    def _resume(self) -> None:
        from budgetron.model_file import ModelFileError, read

        try:
            self.model, document = read(self.path, max_bytes=2**62)  # as large as it was
        except (ModelFileError, OSError) as error:
            fail(str(error))
        extra = document["extra"]
        if not isinstance(extra, dict) or not isinstance(extra.get("run"), dict):
            fail(f"{self.path}: a model, but no checkpoint of a run; name another file")
        before = extra["run"]
        for name in sorted(self._run.keys() | before.keys()):
            if before.get(name) != self._run.get(name):
                change = f"was {before.get(name)}, now {self._run.get(name)}"
                what = "is another file now" if name == "source" else change
                fail(f"{self.path}: of another run ({name} {what}); remove it to start anew")
        self.bookmark, self.tally = extra["bookmark"], extra["tally"]
        self.position = self.resumed_from = self.model.n_seen_
        self.seconds = float(extra["seconds"])
        if self.bookmark["rows"] != self.position:
            fail(f"{self.path}: damaged: {self.position} rows learned, not {self.bookmark['rows']}")
        note(f"{self.path}: going on after row {self.position:,}")

    def __call__(
        self,
        model: Any,
        bookmark: dict[str, Any],
        tally: dict[str, float],
        layout: Layout | None,
        *,
        last: bool = False,
    ) -> None:
        """Write it if it is due, or if it is the last one and something was learned since."""
        position = bookmark["rows"]
        if position - self.position < (1 if last else self.every):
            return
        from budgetron.durable import write_whole
        from budgetron.model_file import ModelFileError, to_bytes

        seconds = self.seconds + time.perf_counter() - self._started
        extra = {"run": self._run, "bookmark": bookmark, "tally": tally, "seconds": seconds}
        extra |= layout_extra(layout)
        try:
            write_whole(self.path, to_bytes(model, extra))
        except (ModelFileError, OSError) as error:
            fail(f"{self.path}: {error}")
        self.position = position


def layout_extra(layout: Layout | None) -> dict[str, Any]:
    """How the table was read, as model files keep it for `predict`."""
    return {} if layout is None else {"table": layout.to_json()}


def layout_in(path: str, document: dict[str, Any]) -> Layout | None:
    """What `layout_extra` kept in a model file; None if it was not learned from a table."""
    from budgetron.streams.roles import Layout

    extra = document.get("extra")
    if not isinstance(extra, dict) or "table" not in extra:
        return None
    try:
        return Layout.from_json(extra["table"])
    except ValueError as error:
        fail(f"{path}: damaged: {error}")


def fingerprint(source: str) -> Any:
    """What tells one source from another without reading it all: sizes and ends of its files."""
    if source.startswith("synthetic:"):
        return source
    if source.startswith("data:"):
        from budgetron.datasets import reading

        files = [str(path) for path, _ in reading.sources(source.removeprefix("data:"))]
        return [_fingerprint_file(file) for file in files]
    return _fingerprint_file(source)


def _fingerprint_file(source: str) -> dict[str, Any]:
    digest = hashlib.sha256()
    try:
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest.update(file.read(_ENDS))
            file.seek(max(0, size - _ENDS))
            digest.update(file.read(_ENDS))
    except OSError as error:
        fail(f"{source}: {(error.strerror or str(error)).lower()}")
    return {"bytes": size, "sha256": digest.hexdigest()}
