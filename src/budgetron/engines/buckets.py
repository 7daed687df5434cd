"""A fleet whose buckets are in objects of an engine; each bucket is a fleet.

The hash of a key gives its bucket (`Fleet.bucket_of`), buckets are assigned to objects in turn, and
each bucket is a `Fleet` with its part of the memory and a shared model that learns the bucket's
rows. Rows of a key are learned in order, so every bucket equals, to the bit, a fleet that only got
its rows, whatever the number of objects.

Objects may die. The rows learned since the last snapshot are kept here, at most `snapshot_rows` for
all buckets; a dead object is made again from its snapshot and learns them again. So the death of a
process loses nothing; the death of this process loses what `save` did not write.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from budgetron import _core
from budgetron._engine import Floats
from budgetron.engines.protocol import Died, Engine, Wrong
from budgetron.errors import BudgetronError
from budgetron.fleet import Fleet
from budgetron.fleet.keys import encode
from budgetron.model_file.atomic import write_whole
from budgetron.model_file.values import decode_labels, encode_labels

TRIES = 3  # times that one object may die during one call
DOCUMENT = "fleet.json"
FORMAT = 1


class Holder:
    """Some buckets of a fleet, in a process of an engine.

    Parameters
    ----------
    settings : settings of a bucket's fleet
    states : bucket -> its bytes; None: it has learned nothing
    """

    def __init__(self, settings: dict[str, Any], states: dict[int, bytes | None]) -> None:
        self._fleets = {
            bucket: Fleet(**settings) if data is None else Fleet.from_bytes(data)
            for bucket, data in states.items()
        }

    def ask(self, bucket: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """The result of a method of a bucket's fleet; an exception as `Wrong`."""
        fleet = self._fleets[bucket]
        try:
            if method == "bytes":
                return fleet.to_bytes() if fleet.n_seen_ else None
            found = getattr(fleet, method)(*arguments)
            return None if found is fleet else found
        except Exception as error:
            return Wrong(error)


class SpreadFleet:
    """One small model per key, in objects of Dask or Ray; see `budgetron.Fleet`.

    Made by `budgetron.dask.fleet` and `budgetron.ray.fleet`.

    Parameters
    ----------
    engine : the engine that has the objects
    buckets : number of buckets; files of `save` keep it
    actors : number of objects that hold them; None: one per processor of the engine
    snapshot_rows : most rows kept here, for an object that died to learn again
    memory : bytes of all buckets together
    states : bucket -> its bytes, from `to_bytes`; missing ones have learned nothing
    settings : settings of `budgetron.Fleet`, except `file`
    """

    def __init__(
        self,
        engine: Engine,
        *,
        buckets: int = 8,
        actors: int | None = None,
        snapshot_rows: int = 100_000,
        memory: int | str = "1GB",
        states: dict[int, bytes | None] | None = None,
        **settings: Any,
    ) -> None:
        for name, value in (
            ("buckets", buckets),
            ("snapshot_rows", snapshot_rows),
            ("actors", 1 if actors is None else actors),
        ):
            if not isinstance(value, int) or value < 1:
                raise BudgetronError(f"{name}={value!r} must be a whole number, 1 at least")
        if settings.get("task", "classification") != "classification":
            raise BudgetronError("a fleet on a cluster learns classes, not numbers")
        if settings.get("file") is not None:
            raise BudgetronError("a fleet on a cluster keeps no file: give it more memory")
        self._engine = engine
        self.n_buckets = buckets
        self.memory = Fleet(memory=memory, **settings).memory  # and all settings are checked
        self.settings = settings
        self._of_bucket = {**settings, "memory": self.memory // buckets}
        self._plan = Fleet(**self._of_bucket)  # of a bucket, which learns nothing
        self.classes_ = self._plan.classes_
        self._snapshot_rows = snapshot_rows
        self._states: dict[int, bytes | None] = {
            bucket: (states or {}).get(bucket) for bucket in range(buckets)
        }
        self._since: dict[int, list[tuple[Any, ...]]] = {each: [] for each in self._states}
        self._rows_since = 0
        self.restarts = 0
        count = min(buckets, actors or engine.count)
        self._holders: list[Any] = [self._started(number, count) for number in range(count)]

    def _started(self, number: int, count: int) -> Any:
        states = {each: self._states[each] for each in range(number, self.n_buckets, count)}
        return self._engine.hold(Holder, self._of_bucket, states)

    # ---- learning and deciding -------------------------------------------------------------------

    def learn(self, keys: Any, X: Any, y: Any) -> Self:
        """Learn rows, in order, each with the model of its key; as in `Fleet`.

        If the fleet of a bucket refuses a row, that is an error; other buckets have learned their
        rows.
        """
        self.prequential(keys, X, y)
        return self

    def prequential(self, keys: Any, X: Any, y: Any) -> Floats:
        """Test, then train: each row's decision before it was learned; as of `Fleet`."""
        self._plan._targets(y)  # which says what is wrong before any bucket learns
        found: Floats = self._dealt("prequential", keys, X, y)
        if self._rows_since >= self._snapshot_rows:
            self.snapshot()
        return found

    def predict(self, keys: Any, X: Any) -> NDArray[Any]:
        """Predict the class of each row by the model of its key; unknown keys: the shared model."""
        found: NDArray[Any] = self._dealt("predict", keys, X)
        return found

    def predict_proba(self, keys: Any, X: Any) -> Floats:
        """The probability of each class, (n, K)."""
        found: Floats = self._dealt("predict_proba", keys, X)
        return found

    def decision_function(self, keys: Any, X: Any) -> Floats:
        """f_key(x), as in `Fleet`."""
        found: Floats = self._dealt("decision_function", keys, X)
        return found

    def _dealt(self, method: str, keys: Any, X: Any, *more: Any) -> Any:
        """Send rows to their buckets; return the answers in the order of the rows."""
        ids = encode(keys)
        columns = [np.asarray(each) for each in (X, *more)]
        if any(each.ndim == 0 for each in columns):
            raise BudgetronError("X and y must be one row and one label per key: pass arrays")
        if any(len(each) != len(ids) for each in columns):
            counts = " and ".join(f"{len(each)} rows" for each in columns)
            raise BudgetronError(f"there are {len(ids)} keys, {counts}")
        numbers = _core.fleet_buckets(ids, self.n_buckets)
        keys = _column(keys)
        where = {int(each): np.flatnonzero(numbers == each) for each in np.unique(numbers)}
        parts = {
            bucket: (keys[rows], *(each[rows] for each in columns))
            for bucket, rows in where.items()
        }
        answers = self._asked(method, parts, learns=method == "prequential")
        if not where:
            return self._nothing(method)
        joined = np.concatenate([answers[each] for each in where])
        return joined[np.argsort(np.concatenate(list(where.values())))]

    def _nothing(self, method: str) -> NDArray[Any]:
        """What a method says of no rows."""
        if method == "predict":
            return self.classes_[:0]
        count = len(self.classes_)
        return np.zeros((0, count) if count > 2 or method == "predict_proba" else 0)

    def _asked(
        self, method: str, parts: dict[int, tuple[Any, ...]], *, learns: bool = False
    ) -> dict[int, Any]:
        """Call a method of buckets, all at once; an object that died is made and called again.

        All answers come before the first exception is raised.
        """
        engine, count = self._engine, len(self._holders)
        asked: dict[int, tuple[Any, Any]] = {}
        for bucket, arguments in parts.items():
            asked[bucket] = self._ask(bucket, method, arguments)
        answers: dict[int, Any] = {}
        wrong: Exception | None = None
        for bucket, arguments in parts.items():
            holder, reference = asked[bucket]
            for attempt in range(TRIES + 1):
                try:
                    if reference is None:
                        raise Died("it did not take the call")
                    answers[bucket] = engine.answer(reference)
                    if learns and self._holders[bucket % count] is not holder:
                        raise Died("another has taken its place, which has not learned this")
                    if learns:
                        self._since[bucket].append(arguments)
                        self._rows_since += len(arguments[0])
                    break
                except Died as error:
                    if attempt == TRIES:
                        what = f"bucket {bucket} died {TRIES} times ({error})"
                        wrong = wrong or BudgetronError(f"{what}: its workers may lack memory")
                        break
                    if self._holders[bucket % count] is holder:
                        self._revive(bucket % count)
                    holder, reference = self._ask(bucket, method, arguments)
                except Exception as error:
                    wrong = wrong or error
                    break
        if wrong is not None:
            raise wrong
        return answers

    def _ask(self, bucket: int, method: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """The object and a reference to its answer; None: it is already dead."""
        holder = self._holders[bucket % len(self._holders)]
        if holder is None:
            return None, None
        try:
            return holder, self._engine.call(holder, "ask", bucket, method, arguments)
        except Died:
            return holder, None

    def _revive(self, number: int) -> None:
        """Another object for one that died: its snapshot, and the rows since.

        One that dies meanwhile is replaced too: perhaps only the way to it broke, and it lives with
        some of the rows.
        """
        for _ in range(TRIES):
            self._let_go(self._holders[number])  # which may live on
            self.restarts += 1
            self._holders[number] = self._started(number, len(self._holders))
            if self._learned_again(number):
                return
        self._let_go(self._holders[number])  # it may live with some of the rows only
        self._holders[number] = None

    def _learned_again(self, number: int) -> bool:
        """Have a new object learn the rows since its snapshot; False: it died."""
        for bucket in range(number, self.n_buckets, len(self._holders)):
            for arguments in self._since[bucket]:
                _, reference = self._ask(bucket, "prequential", arguments)
                try:
                    if reference is None:
                        return False
                    self._engine.answer(reference)
                except Died:
                    return False
        return True

    def _let_go(self, holder: Any) -> None:
        """Release an object that may be dead; None: there is none."""
        if holder is None:
            return
        with contextlib.suppress(Exception):  # each engine says so in its own way
            self._engine.release(holder)

    # ---- keeping ---------------------------------------------------------------------------------

    def snapshot(self) -> None:
        """Fetch the bytes of all buckets, and drop the rows that led to them."""
        states = self._asked("bytes", dict.fromkeys(self._states, ()))
        self._states.update(states)
        self._since = {each: [] for each in self._states}
        self._rows_since = 0

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fleet to a folder, one file per bucket; `load` continues from it, bit for bit.

        The document that names the files is replaced in one step, after all of them are written: if
        the process is killed meanwhile, the folder has the old fleet or the new one.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        before = sorted(place.glob("*.fleet"))
        self.snapshot()
        number = 1 + max((int(each.name.split("-")[0]) for each in before), default=0)
        files = {}
        for bucket, data in self._states.items():
            if data is not None:
                files[bucket] = f"{number:06}-bucket-{bucket:04}.fleet"
                write_whole(place / files[bucket], data)
        document = {
            "format": FORMAT,
            "buckets": self.n_buckets,
            "memory": self.memory,
            "settings": {**self.settings, "classes": encode_labels(self.classes_)},
            "files": files,
        }
        try:
            write_whole(place / DOCUMENT, json.dumps(document).encode())
        except TypeError as error:
            raise BudgetronError(f"a parameter cannot be written: {error}") from None
        for each in before:
            each.unlink()

    @classmethod
    def load(cls, folder: str | os.PathLike[str], engine: Engine, **more: Any) -> SpreadFleet:
        """Load the fleet that `save` wrote, with the current number of objects."""
        place = Path(folder)
        try:
            told = json.loads((place / DOCUMENT).read_text(encoding="utf-8"))
            settings = {**told["settings"], "classes": decode_labels(told["settings"]["classes"])}
            more |= {"buckets": told["buckets"], "memory": told["memory"]}
            more["states"] = {
                int(bucket): (place / name).read_bytes() for bucket, name in told["files"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BudgetronError(f"{place}: cannot read a fleet there ({error})") from None
        return cls(engine, **more, **settings)

    # ---- looking inside --------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of keys that have a model."""
        return sum(each["keys"] for each in self.info())

    def info(self) -> list[dict[str, Any]]:
        """The result of `Fleet.info` for each bucket."""
        found = self._asked("info", dict.fromkeys(self._states, ()))
        return [found[bucket] for bucket in self._states]

    def to_bytes(self) -> Iterator[tuple[int, bytes]]:
        """The number and the bytes of each bucket that has learned, for `Fleet.from_bytes`."""
        self.snapshot()
        for bucket, data in self._states.items():
            if data is not None:
                yield bucket, data

    def close(self) -> None:
        """Release the objects."""
        for holder in self._holders:
            self._let_go(holder)
        self._holders = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _column(keys: Any) -> NDArray[Any]:
    """Keys as an array with one of them per row, whatever they are."""
    if hasattr(keys, "to_numpy"):
        keys = keys.to_numpy()
    if isinstance(keys, np.ndarray) and keys.ndim == 1:
        return keys
    found = np.empty(len(keys), dtype=object)
    found[:] = list(keys)
    return found
