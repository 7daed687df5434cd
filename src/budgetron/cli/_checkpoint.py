"""Runs that can be resumed: one file keeps the model and its position in the source.

A checkpoint is a model file (budgetron.model_file) that also records the run, how many rows it had
learned, and how long that took. Each write replaces the file in one step, so a killed run resumes
from the last checkpoint.
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

# Settings that checkpoints of older versions may lack, and settings that only these have.
_WITHOUT = {"decimal": "auto", "fill_gaps": False, "strict": False}
_GONE = {"infer", "categories"}
# What checkpoints of older versions kept about the rows learned.
_COUNTED: tuple[set[str], ...] = (set(), {"rows", "squares", "sizes"})
_ENDS = 1 << 20  # bytes at the start and end of the source that identify it


def check_place(option: str, path: str, source: str = "") -> None:
    """End the command early if `path` cannot be written, or is the source itself."""
    if source and os.path.realpath(path) == os.path.realpath(source):
        fail(f"budgetron: {option} {path}: is the source, and would be overwritten")
    from budgetron.model_file import atomic as durable

    try:
        durable.check_place(path)
    except OSError as error:
        fail(f"budgetron: {option} {path}: {reason(error)}")


class Checkpoint:
    """The state of a run, on disk.

    Parameters
    ----------
    path : the checkpoint file
    every : rows between two checkpoints
    source : the file that is learned
    settings : all options that affect the result, by name

    Attributes
    ----------
    model : the model of the checkpoint; None if there is none yet
    bookmark : the position in the source after the last row learned
    tally : the metrics counted so far
    position : rows learned, according to the file now
    resumed_from : rows learned, according to the file when the command started
    seconds : the time that the rows learned took
    close : releases the lock on the checkpoint
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
        """Lock the checkpoint until the returned function is called; remove leftover files."""
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
            self.model, document = read(self.path, max_bytes=2**62)  # no limit
        except (ModelFileError, OSError) as error:
            fail(str(error))
        extra = document.get("extra")
        if not isinstance(extra, dict) or not isinstance(extra.get("run"), dict):
            fail(f"{self.path}: a model, but not a checkpoint of a run; name another file")
        self._compare(extra["run"], extra.get("bookmark"))
        try:
            self.bookmark, self.tally = checked_bookmark(extra["bookmark"]), extra["tally"]
            self.position = self.resumed_from = self.bookmark["rows"]
            learned = self.model.n_seen_
            self.seconds = float(extra["seconds"])
            if not 0 <= self.seconds < math.inf:
                raise ValueError("the seconds are not a duration")
            if self.model._task != self._run["task"]:
                raise ValueError(f"the model is for {self.model._task}")
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            self._damaged(error)
        if learned > self.position or (learned < self.position and "ask" not in self._run):
            fail(f"{self.path}: damaged: {learned} rows learned, not {self.position}")
        note(f"{self.path}: resuming after row {self.position:,}")

    def _compare(self, before: dict[str, Any], bookmark: Any) -> None:
        """End the command if the checkpoint is of another run; a log may have grown since."""
        before = {**_WITHOUT, **before}  # an older version lacked these options
        for name in sorted((self._run.keys() | before.keys()) - _GONE):
            was, now = before.get(name), self._run.get(name)
            if was == now or (name == "source" and self._grew(was, bookmark)):
                continue
            what = "is another file now" if name == "source" else f"was {was}, now {now}"
            fail(f"{self.path}: of another run ({name} {what}); remove it to start again")

    def _grew(self, before: Any, bookmark: Any) -> bool:
        """Whether the source only had lines appended: then the run continues with these lines."""
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
        # Without this byte, a last line that became longer would go unnoticed.
        found = isinstance(bookmark, dict) and "byte" in bookmark
        return plain and ((kind == "libsvm" and found) or (kind == "csv" and whole_lines))

    def restore(self, tally: Any) -> None:
        """Give a tally the counts of the checkpoint."""
        if isinstance(self.tally, dict) and set(self.tally) in _COUNTED:
            what = "written by an older version: only the mistakes are counted from the start"
            note(f"{self.path}: {what}")
            return
        try:
            tally.restore(self.tally)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            self._damaged(error)

    def _damaged(self, error: Exception) -> NoReturn:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        fail(f"{self.path}: damaged: not the position of a run ({what}); remove it to start again")

    def due(self, position: int, *, last: bool = False) -> bool:
        """Whether a checkpoint is due after so many rows."""
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
        """Write a checkpoint if it is due, or if it is the last one and rows were learned since."""
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
    """How the table was read; model files keep it for `predict`."""
    return {} if layout is None else {"table": layout.to_json()}


def layout_in(path: str, document: dict[str, Any]) -> Layout | None:
    """The layout that `layout_extra` kept in a model file; None if the source was not a table."""
    from budgetron.streams.table.roles import Layout

    extra = document.get("extra")
    if not isinstance(extra, dict) or "table" not in extra:
        return None
    try:
        return Layout.from_json(extra["table"])
    except BudgetronError as error:
        fail(f"{path}: damaged: {error}")


def fingerprint(source: str) -> Any:
    """Identify a source without reading all of it: sizes, and hashes of the ends of its files."""
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
    """The size and the hash of both ends of a file, or of its first `size` bytes."""
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
    """The reason the system gives, for the end of a line."""
    return (error.strerror or str(error)).lower()
