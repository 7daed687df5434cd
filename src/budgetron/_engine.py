"""A compiled model and what Python needs around it: its definition, pickling, copies.

`Engine.native` learns batches (_batch.py) and answers rows. It knows nothing about labels, which
the estimators handle, nor about algorithms, which the spec describes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron import _core
from budgetron.parts import Spec
from budgetron.verdict import Alarm

Floats = NDArray[np.float64]


class PrecisionWarning(UserWarning):
    """Features are so large that float32 rounds them by too much, or targets cannot be learned."""


@cache
def _install_lapack() -> None:
    """Pass SciPy's LAPACK to the core, once."""
    from scipy.linalg import cython_lapack

    capsules: Any = cython_lapack.__pyx_capi__
    for routine in _core.lapack_routines():
        _core.install_lapack(routine, capsules[routine])
    _install_thread_control()


def blas_of_scipy(libraries: Sequence[Any]) -> Any | None:
    """The OpenBLAS that SciPy calls, among the libraries that threadpoolctl found, if any.

    NumPy's wheels have their own, also with `scipy` in its name; so the folder decides. If there is
    only one OpenBLAS, it is SciPy's wherever it is.
    """
    found = [library for library in libraries if library.internal_api == "openblas"]
    for library in found:
        folder = PurePath(library.filepath).parent
        if folder.name == "scipy.libs" or folder.parent.name == "scipy":  # .dylibs on macOS
            return library
    return found[0] if len(found) == 1 else None


def _install_thread_control() -> None:
    """Make the core run SciPy's OpenBLAS on one thread (another BLAS is not changed)."""
    import ctypes

    from threadpoolctl import ThreadpoolController

    library = blas_of_scipy(ThreadpoolController().lib_controllers)
    if library is not None:
        for prefix, suffix in itertools.product(("scipy_openblas", "openblas"), ("64_", "")):
            get = getattr(library.dynlib, f"{prefix}_get_num_threads{suffix}", None)
            put = getattr(library.dynlib, f"{prefix}_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                addresses = (ctypes.cast(function, ctypes.c_void_p) for function in (get, put))
                _core.install_thread_control(*(address.value or 0 for address in addresses))
                return


@dataclass(frozen=True)
class Preparation:
    """The preparation of rows before the learner sees them; by default none.

    Parameters
    ----------
    scale : "none", "standard" or "auto"
    gamma_rule : "fixed", as in the spec, or "median"
    width : width of the rows; 0 if it grows with the stream
    target_scale : "none" or "auto", for the targets of a regression
    flags : the number of the first feature that flags missing values; 0 if there is none
    gamma_factor : multiple of the gamma that "median" finds
    delta_factor : the learner's delta in median distances; 0: as in the spec
    metric : whether the metric is learned
    race : whether learners with multiples of that gamma race
    """

    scale: str = "none"
    gamma_rule: str = "fixed"
    width: int = 0
    target_scale: str = "none"
    flags: int = 0
    gamma_factor: float = 1.0
    delta_factor: float = 0.0
    metric: bool = False
    race: bool = False


@dataclass(frozen=True)
class Room:
    """The memory that a native model allocates; by default there are no limits.

    Parameters
    ----------
    limit : bytes the model may take
    slots : features stored at a time; 0 for any number
    warmup_rows, warmup_values : rows kept until gamma and scale are set, and values in them
    """

    limit: int = 0
    slots: int = 0
    warmup_rows: int = 0
    warmup_values: int = 0


class Engine:
    """One native model, float32 or float64 by the dtype of the first batch.

    Parameters
    ----------
    spec : what to build, from `Part.spec()`
    task : "classification" or "regression"
    classes : number of classes known so far (1 for regression)
    seed : seed of the model's random generator
    dtype : type of the rows
    preparation : preparation of rows before the learner sees them
    average : the hypothesis that `predict` uses: "last", the "mean" of all, or of a "suffix" of
        them
    room : memory that the model allocates at once; then width and classes are fixed
    intervals : whether to keep what intervals and sets need
    """

    def __init__(
        self,
        spec: Spec,
        task: str,
        classes: int,
        seed: int,
        dtype: np.dtype[Any],
        preparation: Preparation | None = None,
        average: str = "last",
        room: Room | None = None,
        intervals: bool = False,
    ) -> None:
        _install_lapack()
        self.spec, self.task, self.seed = spec, task, seed
        self.dtype = np.dtype(dtype)
        self.preparation = preparation or Preparation()
        self.average = average
        self.room = room or Room()
        self.intervals = intervals
        model = _core.Model32 if self.dtype == np.float32 else _core.Model64
        limits = asdict(self.room)
        limits["bytes"] = limits.pop("limit")
        self.native = model(
            spec,
            task,
            classes,
            seed,
            **asdict(self.preparation),
            average=average,
            **limits,
            intervals=intervals,
        )
        rows = self.preparation
        self.alarm = Alarm(task, spec["kernel"], rows.scale, rows.gamma_rule)
        self.native.set_alarm(self.alarm)

    def copy(self) -> Engine:
        """A copy of this model between two rounds."""
        saved = self._made_from()
        twin = Engine.__new__(Engine)
        twin._make(saved)
        twin.native.copy(self.native)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self._made_from(), "state": self.native.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._make(saved)
        self.native.load(saved["state"])

    def _made_from(self) -> dict[str, Any]:
        return {
            "spec": self.spec,
            "task": self.task,
            "seed": self.seed,
            "dtype": self.dtype.str,
            "classes": self.native.classes,
            "preparation": asdict(self.preparation),
            "average": self.average,
            "room": asdict(self.room),
            "intervals": self.intervals,
        }

    def _make(self, saved: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            saved["spec"],
            saved["task"],
            saved["classes"],
            saved["seed"],
            np.dtype(saved["dtype"]),
            Preparation(**saved["preparation"]),
            saved["average"],
            Room(**saved["room"]),
            saved.get("intervals", False),
        )
