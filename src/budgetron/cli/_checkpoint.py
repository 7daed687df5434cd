"""Runs that go on where they were killed: the model and its place in the source, kept in one file.

A checkpoint is a model file (budgetron.model_file) that also says which run it is of, how far that
run had come, and how long it took. It is replaced in one step, so a run that is killed at any
moment goes on from the last one.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from budgetron.cli._console import fail, note
from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.streams.table.roles import Layout

# Settings that older checkpoints may lack, and those that only they have.
_WITHOUT = {"decimal": "auto", "fill_gaps": False, "strict": False}
_GONE = {"infer", "categories"}
# What older checkpoints kept of the rows before.
_COUNTED: tuple[set[str], ...] = (set(), {"rows", "squares", "sizes"})
_ENDS = 1 << 20  # bytes at either end of the source that a checkpoint knows it by


def check_place(option: str, path: str, source: str = "") -> None:
    """End the command if no file can be written there, or it is the source: before the work."""
    if source and os.path.realpath(path) == os.path.realpath(source):
        fail(f"budgetron: {option} {path}: is the file to learn from, which would be lost")
    from budgetron.model_file import atomic as durable

    try:
        durable.check_place(path)
    except OSError as error:
        fail(f"budgetron: {option} {path}: {reason(error)}")


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
    close : lets other runs have the checkpoint
    """

    def __init__(self, path: str, every: int, source: str, settings: dict[str, Any]) -> None:
        self.path, self.every = path, every
        self.model: Any = None
        self.bookmark: dict[str, Any] = {"rows": 0}
        self.tally: dict[str, float] = {}
        self.position = self.resumed_from = 0
        self.seconds = 0.0
        self._source = source
        self._run = {**settings, "source": fingerprint(source)}
        check_place("--checkpoint", path)
        self.close = self._hold()
        try:
            if os.path.lexists(path):
                self._resume()
        except BaseException:
            self.close()
            raise
        self._started = time.perf_counter()

    def _hold(self) -> Callable[[], None]:
        """Keep other runs from this checkpoint until what is returned is called; tidy up."""
        from budgetron.model_file.atomic import BusyError, hold, sweep

        try:
            release = hold(self.path)
        except BusyError:
            fail(f"another run is using {self.path}; wait for it, or name another file")
        except OSError as error:
            fail(f"{self.path}: its lock {error.filename} cannot be used: {reason(error)}")
        sweep(self.path)
        return release

    def _resume(self) -> None:
        from budgetron.model_file import ModelFileError, read
        from budgetron.streams.base import checked_bookmark

        try:
            self.model, document = read(self.path, max_bytes=2**62)  # as large as it was
        except (ModelFileError, OSError) as error:
            fail(str(error))
        extra = document.get("extra")
        if not isinstance(extra, dict) or not isinstance(extra.get("run"), dict):
            fail(f"{self.path}: a model, but no checkpoint of a run; name another file")
        self._compare(extra["run"], extra.get("bookmark"))
        try:
            self.bookmark, self.tally = checked_bookmark(extra["bookmark"]), extra["tally"]
            self.position = self.resumed_from = self.model.n_seen_
            self.seconds = float(extra["seconds"])
            if not 0 <= self.seconds < math.inf:
                raise ValueError("the seconds are no time")
            if self.model._task != self._run["task"]:
                raise ValueError(f"the model is one of {self.model._task}")
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            self._damaged(error)
        if self.bookmark["rows"] != self.position:
            fail(f"{self.path}: damaged: {self.position} rows learned, not {self.bookmark['rows']}")
        note(f"{self.path}: going on after row {self.position:,}")

    def _compare(self, before: dict[str, Any], bookmark: Any) -> None:
        """End the command if the checkpoint is of another run; a log that grew is the same one."""
        before = {**_WITHOUT, **before}  # of an older version, which had no such options
        for name in sorted((self._run.keys() | before.keys()) - _GONE):
            was, now = before.get(name), self._run.get(name)
            if was == now or (name == "source" and self._grew(was, bookmark)):
                continue
            what = "is another file now" if name == "source" else f"was {was}, now {now}"
            fail(f"{self.path}: of another run ({name} {what}); remove it to start anew")

    def _grew(self, before: Any, bookmark: Any) -> bool:
        """Whether the source is what it was with lines added: then the run goes on over them."""
        from budgetron.streams.opening import format_of
        from budgetron.streams.source import compression

        now = self._run["source"]
        if not (isinstance(before, dict) and isinstance(now, dict)):
            return False
        size = before.get("bytes")
        if type(size) is not int or not 0 < size < now["bytes"]:
            return False
        if before != _fingerprint(self._source, size):
            return False
        kind = format_of(self._source, self._run.get("format"))
        with open(self._source, "rb") as file:
            plain = compression(file.read(8)) is None
            file.seek(size - 1)
            whole_lines = file.read(1) == b"\n"
        # Without its byte nobody would see that the last line learned has become longer.
        found = isinstance(bookmark, dict) and "byte" in bookmark
        return plain and ((kind == "libsvm" and found) or (kind == "csv" and whole_lines))

    def restore(self, tally: Any) -> None:
        """Have a tally go on from what was counted before."""
        if isinstance(self.tally, dict) and set(self.tally) in _COUNTED:
            what = "written by an older version: all but the mistakes is counted from here on"
            note(f"{self.path}: {what}")
            return
        try:
            tally.restore(self.tally)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            self._damaged(error)

    def _damaged(self, error: Exception) -> NoReturn:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        fail(f"{self.path}: damaged: not where a run had come ({what}); remove it to start anew")

    def due(self, position: int, *, last: bool = False) -> bool:
        """Whether a call behind so many rows would write it."""
        return position - self.position >= (1 if last else self.every)

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
        if not self.due(position, last=last):
            return
        from budgetron.model_file import ModelFileError, to_bytes
        from budgetron.model_file.atomic import write_whole

        seconds = self.seconds + time.perf_counter() - self._started
        extra = {"run": self._run, "bookmark": bookmark, "tally": tally, "seconds": seconds}
        extra |= layout_extra(layout)
        try:
            write_whole(self.path, to_bytes(model, extra))
        except ModelFileError as error:
            fail(f"{self.path}: {error}")
        except OSError as error:
            fail(f"{self.path}: {reason(error)}")
        self.position = position


def layout_extra(layout: Layout | None) -> dict[str, Any]:
    """How the table was read, as model files keep it for `predict`."""
    return {} if layout is None else {"table": layout.to_json()}


def layout_in(path: str, document: dict[str, Any]) -> Layout | None:
    """What `layout_extra` kept in a model file; None if it was not learned from a table."""
    from budgetron.streams.table.roles import Layout

    extra = document.get("extra")
    if not isinstance(extra, dict) or "table" not in extra:
        return None
    try:
        return Layout.from_json(extra["table"])
    except BudgetronError as error:
        fail(f"{path}: damaged: {error}")


def fingerprint(source: str) -> Any:
    """What tells one source from another without reading it all: sizes and ends of its files."""
    from budgetron import sources

    if source.startswith("synthetic:"):
        return source
    if sources.is_live(source):
        return sources.without_password(source)
    if source.startswith("data:"):
        from budgetron.datasets import reading

        files = [str(path) for path, _ in reading.sources(source.removeprefix("data:"))]
        return [_fingerprint(file) for file in files]
    return _fingerprint(source)


def _fingerprint(source: str, size: int | None = None) -> dict[str, Any]:
    """Of a file, or of its first `size` bytes: how many they are and the hash of their ends."""
    digest = hashlib.sha256()
    try:
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size if size is None else size
            for start in (0, max(0, size - _ENDS)):
                file.seek(start)
                digest.update(file.read(min(_ENDS, size - start)))
    except OSError as error:
        fail(f"{source}: {reason(error)}")
    return {"bytes": size, "sha256": digest.hexdigest()}


def reason(error: OSError) -> str:
    """What the system says is wrong, for the end of a line."""
    return (error.strerror or str(error)).lower()
