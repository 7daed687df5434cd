"""`Fleet`: learn, predict and save one small model per key."""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from budgetron import _core
from budgetron._csr import SparseRows
from budgetron._engine import Floats
from budgetron.catalogue import make, nearest
from budgetron.errors import BudgetronError
from budgetron.estimators._base.plain import codes
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.estimators._base.targets import labels, numbers
from budgetron.estimators._base.weights import sample_weights
from budgetron.fleet.keys import Ids, decode, encode
from budgetron.fleet.keys_file import KeysFile
from budgetron.fleet.parts import Piece, Reader, Writer
from budgetron.model_file import load as load_model
from budgetron.model_file import to_bytes as model_to_bytes
from budgetron.model_file.atomic import write_whole
from budgetron.model_file.values import decode_labels, encode_labels

ALGORITHMS = ("forgetron", "rbp", "bogd", "budgetron")
REGRESSION = ("bogd", "budgetron")
# Rows learned at a time: between pieces Ctrl-C works, and models move to the file and back.
PIECE, PIECE_WITH_FILE = 8192, 1024
SETTINGS = (
    "algorithm",
    "task",
    "memory",
    "budget",
    "shared",
    "half_life",
    "caution",
    "random_state",
)
# What own models measure rows and targets in: fixed once the first rows were learned.
UNITS = ("centres", "sizes", "target_centre", "target_scale")
PARTS = 128  # in which the models of a fleet that fills its memory are written
# What the estimators have and small models do not: the only value that goes.
FIXED = {
    "kernel": "rbf",
    "average": "last",
    "missing": "mean",
    "class_weight": None,
    "variant": "self-tuned",
    "sampling": "uniform",
}


class Bucket(NamedTuple):
    """A part of a fleet: the keys whose hash falls into one of several equal ranges.

    Parameters
    ----------
    number : which part, from 0
    of : how many parts there are

    Examples
    --------
    >>> from budgetron.fleet import Bucket, Fleet
    >>> fleet = Fleet("budgetron", memory="10MB", classes=[0, 1])
    >>> fleet.buckets(4)[3] == Bucket(number=3, of=4)
    True
    """

    number: int
    of: int


class FleetEvent(NamedTuple):
    """An event of the model of a key.

    Parameters
    ----------
    kind : {"start", "evict", "drop", "move", "back"}
        "start": the key has a model now. "evict": it lost an example to make room for another
        key. "drop": it lost its last example and is like a key never seen. "move": the model
        moved to the file. "back": it came back.
    key : as it was given; if only the hash of a key is kept, the hash
    round : int
        Rows learned before.
    examples : int
        Number of examples that the model has now.
    """

    kind: str
    key: Any
    round: int
    examples: int


class Fleet:
    """One small model per key, all in one memory: f_key(x) = f_shared(x) + f_own(x).

    The shared model is an ordinary one that learns every row. It answers for keys without their own
    model; the model of a key learns what the shared one gets wrong for that key. A key gets a model
    with its first loss, and one more example with each that it stores, up to ``budget``. When the
    memory is full, the model that loses least gives up an example; with a ``file``, the models of
    the keys that were not seen for the longest time move there instead, and come back exactly.

    Rows are learned in order: one call with n rows gives the same bits as n calls with one row.

    Parameters
    ----------
    algorithm : {"budgetron", "forgetron", "rbp", "bogd"}
        Algorithm of the shared model and of the keys' models. With Budgetron, the keys' models
        have a diagonal straight part and no reflex.
    memory : int or str
        Bytes for everything: keys' models, hash table of keys, shared model; 1000000000 or
        "1GB".
    classes : labels
        All labels there will be; not for regression.
    task : {"classification", "regression"}
        Only "budgetron" and "bogd" do regression.
    budget : int
        Largest number of examples per key, at most 256.
    shared : int or None
        Budget of the shared model. None: keys are independent; an unknown key gets 0, or in
        regression the centre of the first targets.
    file : path or None
        File for models that do not fit into memory. An existing one is replaced.
    half_life : float
        A key that was not seen for so many rows counts half when examples have to leave.
    caution : float
        The keys' models of Budgetron assume so many times the noise that the shared model does:
        a key has few rows, and their differences are mostly noise.
    random_state : int or None
        Seed of the random generator.
    **parameters
        Parameters of the algorithm, as in ``budgetron.make``. ``kernel`` is "rbf"; ``scale`` is
        "auto" or None.

    Attributes
    ----------
    shared_ : estimator
        The shared model, after the first rows.
    extra : dict
        Extra values, of types that JSON can hold, which are saved with the fleet; `run --key`
        keeps here how it read its table.

    Examples
    --------
    >>> import numpy as np, budgetron
    >>> rng = np.random.default_rng(0)
    >>> X, keys = rng.normal(size=(4000, 2)), rng.integers(0, 20, 4000)
    >>> y = np.where(keys % 2 == 0, X[:, 0] > 0, X[:, 0] < 0)  # half of the keys are reversed
    >>> fleet = budgetron.Fleet("budgetron", memory="10MB", classes=[False, True])
    >>> right = (fleet.prequential(keys, X, y) >= 0) == y
    >>> len(fleet), bool(right[-1000:].mean() > 0.8)
    (20, True)
    """

    def __init__(
        self,
        algorithm: str = "budgetron",
        *,
        memory: int | str = "1GB",
        classes: Any = None,
        task: str = "classification",
        budget: int = 8,
        shared: int | None = 100,
        file: str | os.PathLike[str] | None = None,
        half_life: float = 1e6,
        caution: float = 30.0,
        random_state: int | None = None,
        **parameters: Any,
    ) -> None:
        if algorithm not in ALGORITHMS:
            hint = nearest(str(algorithm), ALGORITHMS)
            known = ", ".join(ALGORITHMS)
            raise BudgetronError(f"a fleet cannot use {algorithm!r}{hint} (it can use {known})")
        self.algorithm = algorithm
        size = parse_bytes(memory, "memory") if isinstance(memory, str) else memory
        if not _is_number(size) or not 1 <= size <= 2**48:
            raise BudgetronError(f"memory={memory!r} must be a number of bytes, 1 to 2**48")
        self.memory = int(size)
        if task not in ("classification", "regression"):
            raise BudgetronError(f"task={task!r} must be 'classification' or 'regression'")
        self.task = task
        if self._regresses and algorithm not in REGRESSION:
            known = ", ".join(REGRESSION)
            raise BudgetronError(f"a fleet of {algorithm!r} does not do regression: use {known}")
        if self._regresses and classes is not None:
            raise BudgetronError("regression has no classes: remove classes")
        if not self._regresses:
            if classes is None:
                raise BudgetronError("pass all classes there will be, classes=[...]")
            self.classes_ = np.unique(labels(classes, "classes"))
            if len(self.classes_) < 2:
                raise BudgetronError(f"classes={list(self.classes_)}: pass at least two")
        self.budget = _whole("budget", budget, 1, 256)
        self.shared = None if shared is None else _whole("shared", shared, 1, 10**6)
        self.file = None if file is None else os.fspath(file)
        if not _is_number(half_life) or not half_life > 0:
            raise BudgetronError(f"half_life={half_life!r} must be a positive number of rows")
        self.half_life = float(half_life)
        if not _is_number(caution) or not caution > 0:
            raise BudgetronError(f"caution={caution!r} must be a positive number")
        self.caution = float(caution)
        self.random_state = random_state
        self.parameters = parameters
        for name, only in FIXED.items():
            if parameters.get(name, only) != only:
                what = f"{name}={parameters[name]!r} does not go with a fleet"
                raise BudgetronError(f"{what}: use {only!r}")
        if parameters.get("scale", "auto") == "standard":
            raise BudgetronError("scale='standard' does not go with a fleet: use 'auto' or None")
        self._made = self._make_shared()
        self._turn = threading.RLock()
        self._listener: Callable[[FleetEvent], Any] | None = None
        self.extra: dict[str, Any] = {}
        self._unwritten: list[tuple[list[tuple[bytes, bytes]], Ids]] = []

    def __repr__(self) -> str:
        keys = f", {len(self):,} keys" if self._started else ""
        return f"<Fleet of {self.algorithm}, {self.memory:,} bytes{keys}>"

    def __len__(self) -> int:
        """Number of keys that have a model, in memory or in the file."""
        if not self._started:
            return 0
        return int(self._native.info()["keys"]) + (len(self._keys) if self._keys else 0)

    # ---- making ----------------------------------------------------------------------------------

    def _make_shared(self) -> Any:
        """A new shared model; without a shared model, one that only has units and width."""
        budget = 2 if self.shared is None else self.shared
        model = make(
            *(self.algorithm, self.task),
            budget=budget,
            random_state=self.random_state,
            **self.parameters,
        )
        model._validate_params()
        return model

    @property
    def _regresses(self) -> bool:
        return self.task == "regression"

    @property
    def _n_classes(self) -> int:
        return 1 if self._regresses else len(self.classes_)

    @property
    def _outputs(self) -> int:
        return self._n_classes if self._n_classes > 2 else 1

    @property
    def _started(self) -> bool:
        return hasattr(self, "_native")

    @property
    def _plain(self) -> bool:
        """Whether rows are used unscaled, and no shared model is needed."""
        numbers = isinstance(self._made.gamma, int | float) and self._made.scale is None
        return self.shared is None and numbers and not self._regresses

    def _start(self, X: Any) -> None:
        """Build the models from the first rows, without learning these."""
        first = self._made
        names = getattr(first, "feature_names_in_", None)
        weights = np.zeros(X.shape[0])
        if self._regresses:
            first.partial_fit(X, weights, weights)
        else:
            first.partial_fit(X, np.resize(self.classes_, X.shape[0]), self.classes_, weights)
        if names is not None:
            first.feature_names_in_ = names
        self._build(first)
        self._open_file()

    def _be_new(self) -> None:
        """As before the first rows."""
        self._made = self._make_shared()
        if (keys := self.__dict__.pop("_keys", None)) is not None:
            keys.close()
        for name in ("_native", "shared_"):
            self.__dict__.pop(name, None)

    def _build(self, shared: Any) -> None:
        """The native fleet around a built shared model."""
        native = shared._native
        kind = _core.Fleet32 if shared._engine.dtype == np.float32 else _core.Fleet64
        width = int(shared.n_features_in_)
        reserve = 0 if self._plain else _bytes_of_shared(self.algorithm, shared.budget, width)
        self._native = kind(
            None if self._plain else native,
            self._spec(width),
            self._n_classes,
            width,
            int(shared._seed),
            memory=self.memory,
            shared_bytes=reserve,
            half_life=self.half_life,
            adds_shared=self.shared is not None,
            has_file=self.file is not None,
            regression=self._regresses,
        )
        self._native.watch(self._listener is not None)
        self.shared_ = shared

    def _open_file(self) -> None:
        cache = self._native.file_bytes
        self._keys = None if self.file is None else KeysFile(self.file, cache=cache)
        self._ahead = PIECE_WITH_FILE

    def _could_share(self, model: Any) -> bool:
        """Whether a model from a file is one that this fleet would have made."""
        made = self._made
        if type(model) is not type(made) or not hasattr(model, "_native"):
            return False
        told, mine = model.get_params(), made.get_params()
        same = all(repr(told[name]) == repr(value) for name, value in mine.items())
        return same and (self._regresses or np.array_equal(model.classes_, self.classes_))

    def _spec(self, width: int) -> dict[str, Any]:
        """The definition of the keys' models: the algorithm with the shared model's parameters."""
        made = self._made
        gamma = float(made.gamma) if isinstance(made.gamma, int | float) else 1.0 / width
        spec: dict[str, Any] = {"kind": self.algorithm, "budget": self.budget, "gamma": gamma}
        spec |= {"regression": self._regresses}
        if self.algorithm == "bogd":
            spec |= {"step": float(made.step), "regularization": float(made.regularization)}
            spec |= {"clip": float(made.max_coef * made.step), "loss": made._loss().spec()}
        if self.algorithm == "budgetron":
            spec |= {name: float(getattr(made, name)) for name in ("jitter", "floor")}
            spec |= {"r": float(made.r) * self.caution}
            spec |= {"straight": made.straight != "none"}
        return spec

    # ---- learning --------------------------------------------------------------------------------

    def learn(self, keys: Any, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows, in order, each with the model of its key and the shared model.

        Parameters
        ----------
        keys : one key per row, of any hashable type; a list, an array, a column of a table
        X : array or sparse matrix, shape (n, d)
        y : labels from ``classes``, shape (n,); numbers for regression
        sample_weight : numbers >= 0, shape (n,)
        """
        self._learn(keys, X, y, sample_weight, record=False)
        return self

    def prequential(self, keys: Any, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Test, then train: return the decision for each row before it was learned.

        Returns
        -------
        decisions : (n,) for two classes, where >= 0 means ``classes_[1]``; else (n, K); for
            regression the predictions, (n,)
        """
        decisions = self._learn(keys, X, y, sample_weight, record=True)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def _learn(self, keys: Any, X: Any, y: Any, sample_weight: Any, *, record: bool) -> Floats:
        with self._turn:
            ids = encode(keys)
            targets = self._targets(y)
            weights = sample_weights(sample_weight, len(y))
            count = _count(X)
            if len(ids) == count == len(y) == 0:
                return np.zeros((0, self._outputs))
            if not len(ids) == count == len(y):  # before the first rows decide the width
                raise BudgetronError(f"there are {len(ids)} keys, {count} rows and {len(y)} labels")
            new = not self._started
            try:
                rows = self._rows(X)
            except BaseException:  # a call that fails decides nothing, not even the width
                if new:
                    self._be_new()
                raise
            found, start = [], 0
            while start < count:
                piece = slice(start, self._bring(ids, start))
                some = None if weights is None else weights[piece]
                done, decisions = self._native.learn(
                    ids[piece], _dense(rows[piece]), targets[piece], some, record
                )
                found.append(decisions)
                start += done
                # Only models of the next rows are read from the file, not of all rows.
                self._ahead = min(max(2 * done, 16), PIECE_WITH_FILE)
                self._after()
            if not self._plain:
                self.shared_._warn_if_coarse()
            return np.concatenate(found) if record else np.zeros((0, 1))

    def _targets(self, y: Any) -> Floats:
        """What the core learns: numbers, or codes of labels."""
        if not hasattr(y, "__len__") or isinstance(y, str | bytes) or np.ndim(y) == 0:
            raise BudgetronError(f"y={y!r} must be one label per row, as a list or an array")
        if not len(y):
            return np.zeros(0)
        if self._regresses:
            return numbers(y)
        y = labels(y)
        found = codes(y, self.classes_)
        if found is None:
            known = set(self.classes_.tolist())
            strange = next(label for label in y.tolist() if label not in known)
            raise BudgetronError(
                f"label {strange!r} is not among the classes {self.classes_.tolist()}: "
                "no class joins a fleet later, so name all there will be, classes=[...]"
            )
        return found.astype(np.float64)

    def _bring(self, ids: Ids, start: int) -> int:
        """Read models for the rows from `start` on from the file; return the end of the piece.

        The piece ends early if more models would be read than memory can hold.
        """
        if self._keys is None:
            return min(start + PIECE, len(ids))
        self._write_out()  # models that a full disk had refused
        end = min(start + self._ahead, len(ids))
        self._native.forget_brought()
        if not len(self._keys):
            return end
        rows = np.flatnonzero(self._native.knows(ids[start:end]) == 0) + start
        keys = {row: ids[row].tobytes() for row in rows.tolist()}
        sizes = self._keys.sizes(list(set(keys.values())))
        room, wanted = self._native.room, set[bytes]()
        for row, key in keys.items():
            if key not in sizes or key in wanted:
                continue
            room -= sizes[key]
            if wanted and room < 0:
                end = row
                break
            wanted.add(key)
        for key, model in self._keys.fetch(sorted(wanted)):
            self._native.bring(np.frombuffer(key, dtype=np.uint64).reshape(1, 2), model)
        return end

    def _write_out(self) -> None:
        """Write models that left memory to the file; they stay in memory until that worked."""
        while self._unwritten and self._keys is not None:
            self._keys.change(*self._unwritten[0])
            del self._unwritten[0]

    def _after(self) -> None:
        """Finish a piece: models move to the file, events go to the listener."""
        if self._keys is not None:
            self._native.forget_brought()
            models, back = self._native.take_out()
            if models or len(back):
                self._unwritten.append((models, back))
            self._write_out()
        if self._listener is not None:
            for kind, low, high, row, examples in self._native.take_events():
                (key,) = decode(np.array([[low, high]], dtype=np.uint64))
                self._listener(FleetEvent(kind, key, row, examples))

    def _rows(self, X: Any) -> Any:
        """X checked, in the model's dtype; a sparse matrix stays sparse until its rows are read."""
        if not self._started:
            self._start(_dense(self._made._rows(X, first=True)[:PIECE]))
        return self.shared_._rows(X)

    # ---- deciding --------------------------------------------------------------------------------

    def decision_function(self, keys: Any, X: Any) -> Floats:
        """f_key(x): (n,) for two classes, where >= 0 means ``classes_[1]``; else (n, K).

        For regression the predictions, (n,).
        """
        decisions = self._answer(keys, X, probabilities=False)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, keys: Any, X: Any) -> NDArray[Any]:
        """Predict the class of each row by the model of its key; unknown keys: the shared one.

        For regression the number.
        """
        decisions = self.decision_function(keys, X)
        if self._regresses:
            return decisions
        one = decisions.ndim == 1
        chosen = (decisions >= 0).astype(np.intp) if one else decisions.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, keys: Any, X: Any) -> Floats:
        """The probability of each class, (n, K), fitted to the decisions made while learning."""
        if self._regresses:
            raise BudgetronError("regression has no probabilities: use predict")
        return self._answer(keys, X, probabilities=True)

    def _answer(self, keys: Any, X: Any, *, probabilities: bool) -> Floats:
        if not self._started:
            raise NotFittedError("this fleet has learned nothing yet: call learn first")
        with self._turn:
            ids = encode(keys)
            if len(ids) == _count(X) == 0:
                return np.zeros((0, self._n_classes if probabilities else self._outputs))
            rows = self._rows(X)
            if len(ids) != rows.shape[0]:
                raise BudgetronError(f"there are {len(ids)} keys and {rows.shape[0]} rows")
            found: list[Floats] = []
            start = 0
            while start < len(ids) or not found:
                piece = slice(start, self._bring(ids, start))
                found.append(self._native.predict(ids[piece], _dense(rows[piece]), probabilities))
                start = piece.stop
            if self._keys is not None:
                self._native.forget_brought()
            return np.concatenate(found)

    @property
    def n_features_in_(self) -> int:
        """Number of features of a row."""
        if not self._started:
            raise AttributeError("a fleet that has learned nothing has no n_features_in_")
        return int(self.shared_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if the first rows had names; later frames are put in this order.

        Raises AttributeError if they had none.
        """
        if not self._started:
            raise AttributeError("a fleet that has learned nothing has no feature_names_in_")
        names: NDArray[Any] = self.shared_.feature_names_in_
        return names

    # ---- looking inside --------------------------------------------------------------------------

    @property
    def n_seen_(self) -> int:
        """Rows learned."""
        return int(self._native.info()["seen"]) if self._started else 0

    @property
    def n_mistakes_(self) -> int:
        """Number of wrong decisions, each made before the row was learned."""
        return int(self._native.info()["mistakes"]) if self._started else 0

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the fleet uses now: keys' models, keys and the shared model."""
        if not self._started:
            return 0
        shared = 0 if self._plain else int(self.shared_.memory_bytes_)
        return int(self._native.info()["bytes"]) + shared

    @property
    def key_bytes_(self) -> float:
        """Average bytes per key in memory, including its share of hash table and heap."""
        told = self._native.info() if self._started else {"keys": 0}
        return float(told["charged"] / told["keys"]) if told["keys"] else 0.0

    def info(self) -> dict[str, Any]:
        """Return numbers about the state of the fleet.

        ``keys`` with a model in memory and ``keys_in_file``; ``examples`` in all; ``sizes`` (how
        many keys have 0, 1, 2, ... examples); ``bytes`` used of ``memory``; ``full`` (the used
        share of the memory for models); and counts: rows ``seen``, ``mistakes``, examples that
        ``left`` to make room for another key, keys ``lost`` that way, ``moved`` to the file and
        ``returned``.
        """
        if not self._started:
            return {"algorithm": self.algorithm, "memory": self.memory, "keys": 0, "seen": 0}
        told = self._native.info()
        sizes = told["sizes"]
        return {
            "algorithm": self.algorithm,
            "task": self.task,
            "memory": self.memory,
            "bytes": self.memory_bytes_,
            "full": round(told["charged"] / told["limit"], 4),
            "keys": int(told["keys"]),
            "keys_in_file": len(self._keys) if self._keys is not None else 0,
            "examples": int((sizes * np.arange(len(sizes))).sum()),
            "sizes": sizes.tolist(),
            **{name: int(told[name]) for name in ("seen", "mistakes", "lost", "moved", "returned")},
            "left": int(told["leavers"]),
        }

    def keys(self) -> list[Any]:
        """The keys that have a model in memory; for keys kept by a hash, # and the hash."""
        return decode(self._native.all_keys()) if self._started else []

    def examples(self, key: Any) -> tuple[Floats, Floats]:
        """The stored examples of a key, (n, d) in the units of rows, and coefs, (n, outputs)."""
        if not self._started:
            raise NotFittedError("this fleet has learned nothing yet: call learn first")
        ids = encode([key])
        with self._turn:
            self._bring(ids, 0)
            found = self._native.look(ids)
        if found is None:
            raise BudgetronError(f"key {key!r} has no model")
        width = self.shared_.n_features_in_
        return found[0].reshape(-1, width), found[1].reshape(-1, self._outputs)

    def check_invariants(self) -> None:
        """Recompute the derived values of the models; raises an error if they differ."""
        if self._started:
            self._native.check_invariants()

    def watch(self, listener: Callable[[FleetEvent], Any] | None) -> None:
        """Call `listener` with every `FleetEvent`, after each call; None removes it."""
        self._listener = listener
        if self._started:
            self._native.watch(listener is not None)

    # ---- parts, saving ---------------------------------------------------------------------------

    def buckets(self, n: int) -> list[Bucket]:
        """Split the fleet into n parts by the hash of the key, each for `to_bytes`.

        A key is in the same bucket in every process, whatever else the fleet holds.
        """
        return [Bucket(number, n) for number in range(_whole("n", n, 1, 2**31))]

    def bucket_of(self, keys: Any, n: int) -> NDArray[np.int64]:
        """The bucket of each key, from 0 to n - 1."""
        found: NDArray[np.int64] = _core.fleet_buckets(encode(keys), _whole("n", n, 1, 2**31))
        return found

    def to_bytes(self, bucket: Bucket | None = None) -> bytes:
        """The fleet, or the part with the keys of one bucket, as bytes.

        Equal fleets have equal bytes. Each part has the whole shared model.
        """
        file = io.BytesIO()
        self._write(file, Bucket(0, 1) if bucket is None else _checked(bucket))
        return file.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to a file; `Fleet.load` makes a fleet that continues bit for bit.

        The file is replaced in one step. It also has the keys of ``file``.
        """
        write_whole(path, lambda file: self._write(file, Bucket(0, 1)))

    def _write(self, file: IO[bytes], bucket: Bucket) -> None:
        from safetensors.numpy import save as to_safetensors

        if not self._started:
            raise NotFittedError("this fleet has learned nothing yet: there is nothing to save")
        with self._turn:
            document = {
                "algorithm": self.algorithm,
                "task": self.task,
                "memory": self.memory,
                "classes": None if self._regresses else encode_labels(self.classes_),
                "budget": self.budget,
                "shared": self.shared,
                "file": self.file,
                "half_life": self.half_life,
                "caution": self.caution,
                "random_state": self.random_state,
                "parameters": self.parameters,
                "bucket": list(bucket),
                "keys": len(self),
                "seen": self.n_seen_,
                "mistakes": self.n_mistakes_,
                "extra": self.extra,
            }
            try:
                writer = Writer(file, document)
            except TypeError as error:
                raise BudgetronError(f"a parameter cannot be written: {error}") from None
            writer.put("shared.btn", model_to_bytes(self.shared_))
            writer.put("state.safetensors", to_safetensors(self._native.save()))
            parts = self._parts
            for part in range(parts):
                # One bucket consists of `parts` smaller ones, because of how buckets are numbered.
                index, of = bucket.number * parts + part, bucket.of * parts
                writer.put_models("memory", self._native.pack(index, of))
            if self._keys is not None:
                for ids, data, ends in self._keys.pieces(self._native.room):
                    writer.put_models("file", _of_bucket(ids, data, ends, bucket))
            writer.close()

    @property
    def _parts(self) -> int:
        """The number of parts in which models are written: each is small beside the memory."""
        charged = int(self._native.info()["charged"])
        return 1 + charged // max(self.memory // PARTS, 1 << 16)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, file: str | os.PathLike[str] | None = None
    ) -> Fleet:
        """Load the fleet that `save` wrote: it predicts and continues to learn, bit for bit.

        Parameters
        ----------
        path : the file
        file : file for models that do not fit into memory; needed if the fleet had one, whose own
            may still be in use. An existing one is replaced
        """
        with open(path, "rb") as source:
            return cls._read(Reader(source, os.fspath(path)), file)

    @classmethod
    def from_bytes(cls, data: bytes, *, file: str | os.PathLike[str] | None = None) -> Fleet:
        """The fleet, or the part of one, that `to_bytes` returned."""
        return cls._read(Reader(data, "the bytes"), file)

    @classmethod
    def _read(cls, reader: Reader, file: str | os.PathLike[str] | None) -> Fleet:
        from safetensors import SafetensorError
        from safetensors.numpy import load as from_safetensors

        told = reader.document
        if told.get("file") is not None and file is None:
            raise BudgetronError(f"{reader.name}: this fleet keeps keys in a file: pass file=")
        try:
            settings = {name: told[name] for name in SETTINGS}
            classes = None if told["classes"] is None else decode_labels(told["classes"])
            fleet = cls(classes=classes, file=file, **settings, **dict(told["parameters"]))
            state = from_safetensors(reader.get("state.safetensors"))
            fleet.extra = dict(told.get("extra") or {})
        except (KeyError, TypeError, ValueError, SafetensorError) as error:
            raise BudgetronError(f"{reader.name}: damaged fleet ({error})") from None
        with tempfile.TemporaryDirectory() as folder:
            inside = Path(folder, "shared.btn")
            inside.write_bytes(reader.get("shared.btn"))
            shared: Any = load_model(inside)
        if not fleet._could_share(shared):
            raise BudgetronError(f"{reader.name}: damaged fleet (its shared model)")
        fleet._made = shared
        fleet._build(shared)
        fleet._native.load(state)
        fleet._open_file()
        fleet._take(reader)
        return fleet

    def take(self, data: bytes) -> Self:
        """Add the keys of a part, from `to_bytes`; its models replace those of the same keys.

        Both fleets must have the same algorithm, classes, parameters and width.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load as from_safetensors

        reader = Reader(data, "the bytes")
        with self._turn:
            mine = {"algorithm": self.algorithm, "budget": self.budget, "shared": self.shared}
            mine |= {"task": self.task, "caution": self.caution}
            if not self._regresses:
                mine["classes"] = encode_labels(self.classes_)
            mine |= {"parameters": json.loads(json.dumps(self.parameters))}
            for name, value in mine.items():
                if reader.document.get(name) != value:
                    other = "other" if name in ("classes", "parameters") else "another"
                    raise BudgetronError(f"the part is from a fleet with {other} {name}")
            if not self._started:
                raise NotFittedError("this fleet has learned nothing yet: use Fleet.from_bytes")
            try:
                state = from_safetensors(reader.get("state.safetensors"))
                width = state["width"].tolist()
            except (KeyError, SafetensorError) as error:
                raise BudgetronError(f"{reader.name}: damaged fleet ({error})") from None
            if width != [self.shared_.n_features_in_]:
                raise BudgetronError("the part is from a fleet with another number of features")
            own, none = self._native.save(), np.zeros(0)
            if any(not np.array_equal(own.get(n, none), state.get(n, none)) for n in UNITS):
                what = "the part is from a fleet that measures rows in other units"
                raise BudgetronError(f"{what}: take parts of copies of one fleet only")
            self._take(reader)
        return self

    def _take(self, reader: Reader) -> None:
        for ids, data, _ in self._slices(reader, "memory"):
            self._native.unpack(ids, data)
            if self._keys:  # and it is not empty
                self._keys.remove(ids)
            self._after()
        for ids, data, ends in self._slices(reader, "file"):
            if self._keys is None:
                self._native.unpack(ids, data)
                continue
            self._native.check(ids, data)
            self._native.drop(ids)
            self._keys.add(ids, data, ends)

    def _slices(self, reader: Reader, where: str) -> Iterator[Piece]:
        """Read models from a file, some at a time: no more than fit into memory."""
        for ids, data, ends in reader.models(where):
            if len(ends) != len(ids) or (np.diff(ends, prepend=0) <= 0).any():
                raise BudgetronError(f"{reader.name}: damaged fleet (its models)")
            at = 0
            while at < len(ids):
                start = int(ends[at - 1]) if at else 0
                to = max(int(np.searchsorted(ends, start + self._native.room, "right")), at + 1)
                last = int(ends[to - 1]) if to < len(ids) else len(data)
                yield ids[at:to], data[start:last], ends[at:to] - start
                at = to

    def __getstate__(self) -> dict[str, Any]:
        if self.file is not None:
            what = "a fleet that keeps keys in a file cannot be copied or pickled"
            raise BudgetronError(f"{what}: use to_bytes, and from_bytes with another file")
        if self._started:
            return {"bytes": self.to_bytes()}
        kept = {k: v for k, v in self.__dict__.items() if k not in ("_turn", "_listener")}
        return {"plain": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = state["plain"] if "plain" in state else Fleet.from_bytes(state["bytes"]).__dict__
        self.__dict__.update(whole)
        self._turn, self._listener = threading.RLock(), None


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int | np.integer) or not least <= value <= most:
        raise BudgetronError(f"{name}={value!r} must be a whole number, {least} to {most}")
    return int(value)


def _is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    known = isinstance(value, int | float | np.integer | np.floating)
    return known and not isinstance(value, bool) and -math.inf < value < math.inf


def _checked(bucket: Any) -> Bucket:
    """A bucket, or a pair of numbers that is one."""
    whole = isinstance(bucket, tuple) and len(bucket) == 2
    if not whole or not all(isinstance(each, int | np.integer) for each in bucket):
        raise BudgetronError(f"bucket={bucket!r} must be one of fleet.buckets(n)")
    number, of = bucket
    if not 0 <= number < of <= 2**31:
        raise BudgetronError(f"bucket={bucket!r}: numbers of {of} buckets are 0 to {of - 1}")
    return Bucket(int(number), int(of))


def _count(X: Any) -> int:
    """Rows of X, as it was given."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X) if hasattr(X, "__len__") else 0
    return int(shape[0]) if shape else 0


def _dense(rows: Any) -> NDArray[Any]:
    dense = rows.matrix().toarray() if isinstance(rows, SparseRows) else rows
    return np.ascontiguousarray(dense)


def _bytes_of_shared(algorithm: str, budget: int, width: int) -> int:
    """An upper bound of a shared model's bytes; it is reserved from the start.

    Examples, also of the racing widths, rows of the warm-up, statistics of the features; for
    Budgetron covariances over examples and weights. At least twice what was ever measured
    (tests/fleet/test_memory.py).
    """
    examples = 2 * 8 * (budget + 32) * (width + 32)
    features = 5120 * (width + 16)
    squares = 3 * 8 * (budget + min(width, budget) + 24) ** 2 if algorithm == "budgetron" else 0
    return 65536 + examples + features + squares


def _of_bucket(
    ids: Ids, data: bytes, ends: NDArray[np.int64], bucket: Bucket
) -> tuple[Ids, bytes, NDArray[np.int64]]:
    """The models that are in a bucket."""
    if bucket.of == 1:
        return ids, data, ends
    inside = np.flatnonzero(_core.fleet_buckets(ids, bucket.of) == bucket.number)
    starts = np.append(0, ends[:-1])
    kept = [data[starts[i] : ends[i]] for i in inside.tolist()]
    return np.ascontiguousarray(ids[inside]), b"".join(kept), np.cumsum([len(m) for m in kept])
