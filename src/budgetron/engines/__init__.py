"""Engines that run our work on many machines: Dask and Ray.

An engine stores values, runs functions of them and holds objects, all elsewhere (`protocol.py`).
`dask_engine.py` and `ray_engine.py` are the two engines. The work is written once for both: cells
of the laboratory (`budgetron.lab.workers`), one model learned in shards (`training.py`), and a
fleet whose buckets are in objects there (`buckets.py`). An engine is an extra, imported on use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from budgetron.engines.protocol import Died, Engine
from budgetron.errors import BudgetronError

__all__ = ["ENGINES", "Died", "Engine", "imported", "open_engine"]

ENGINES = {"dask": "distributed", "ray": "ray"}  # and the module that is imported


def imported(engine: str, module: str) -> Any:
    """A module of an engine's package.

    Raises
    ------
    BudgetronError
        If the engine is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("budgetron", ""):
            raise
        what = f"{engine} needs the package {error.name}"
        raise BudgetronError(f"{what}: pip install 'budgetron[{engine}]'") from None


def open_engine(name: str, address: str | None = None, processes: int | None = None) -> Engine:
    """Dask or Ray: the cluster at an address, or processes of this machine.

    Parameters
    ----------
    name : "dask" or "ray"
    address : address of the cluster, as `tcp://HOST:8786` or `ray://HOST:10001`; None: start
        processes here
    processes : number of processes to start here; None: one per core

    Raises
    ------
    BudgetronError
        If it is not installed, or nobody answers at the address.
    """
    if name == "dask":
        from budgetron.engines.dask_engine import DaskEngine

        return DaskEngine.opened(address, processes)
    if name == "ray":
        from budgetron.engines.ray_engine import RayEngine

        return RayEngine.opened(address, processes)
    raise BudgetronError(f"no engine is called {name!r}; there are {', '.join(ENGINES)}")
