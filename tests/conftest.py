"""Fixtures: real data where it is there, streams made by the tests where it is not."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from budgetron import _core, datasets
from budgetron.datasets import DataSet, File
from budgetron.datasets import registry as catalogue

# Examples a property is tried on: the same in every run, so that no change is refused for what it
# did not touch. `make soak` tries many more, others each time.
settings.register_profile(
    "budgetron",
    deadline=None,
    derandomize="BUDGETRON_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    max_examples=int(os.environ.get("BUDGETRON_EXAMPLES", "20")),
)
settings.load_profile("budgetron")


def pytest_report_header() -> str:
    """Which code of the core is tested."""
    return f"instruction set: {_core.instruction_set()} (BUDGETRON_ISA picks avx2 or baseline)"


@pytest.fixture(scope="session")
def load_real() -> Callable[..., tuple[Any, np.ndarray]]:
    """`load_real("a9a/train")`: these rows of `budgetron.datasets`, float32 by default."""

    def load(text: str, dtype: str = "float32") -> tuple[Any, np.ndarray]:
        if not datasets.here(text):
            pytest.skip(f"real data not here: budgetron data get {text}")
        data_set, files = datasets.named(text)
        return datasets.load(data_set.name, [file.part for file in files], dtype)

    return load


# ---- data sets of the tests ----------------------------------------------------------------------


def made_set(name: str, *files: File, features: int = 2) -> DataSet:
    """A data set for the catalogue."""
    return DataSet(name, "made", "classification", features, "http://page", {"us": "as is"}, files)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, DataSet]:
    """Data sets that the catalogue knows besides, or instead."""
    more: dict[str, DataSet] = {}
    real = catalogue.data_sets()
    monkeypatch.setattr(catalogue, "data_sets", lambda: {**real, **more})
    return more


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No local folder, and a cache with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BUDGETRON_DATA", raising=False)
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    return tmp_path / "cache" / "budgetron" / "data"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served at."""
    folder = tmp_path / "origin"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
