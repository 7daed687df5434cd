"""Fixtures: real data if it is there, otherwise streams made by the tests."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from budgetron import _core, datasets
from budgetron.datasets import DataSet, File
from budgetron.datasets import registry as catalogue

# Property tests use the same examples in every run, so that no change fails for unrelated reasons.
# `make soak` tries many more, different ones each time.
settings.register_profile(
    "budgetron",
    deadline=None,
    derandomize="BUDGETRON_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    max_examples=int(os.environ.get("BUDGETRON_EXAMPLES", "20")),
)
settings.load_profile("budgetron")


# A test with more cases than this has about as many in `make test` and the others in `make long`.
CASES = 24
VALUES = 60  # of one parameter: the first case with each of them stays in `make test`
# Primes: every k-th case then has all kernels and layouts in turn.
STRIDES = (3, 5, 11, 13, 17, 19, 23, 29)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long all but every k-th case of a test with many cases.

    The first case with each value of a parameter stays too, if it has at most VALUES.
    """
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("long") is None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        if len(cases) <= CASES:
            continue
        stride = next((k for k in STRIDES if k * CASES >= len(cases)), STRIDES[-1])
        first: dict[tuple[str, str], int] = {}  # (parameter, value) -> its first case
        for number, item in enumerate(cases):
            for name, value in item.callspec.params.items():
                first.setdefault((name, str(value)), number)
        values = Counter(name for name, _ in first)
        kept = {number for (name, _), number in first.items() if values[name] <= VALUES}
        for number, item in enumerate(cases):
            if number % stride and number not in kept:
                item.add_marker("long")


def pytest_report_header() -> str:
    """Print which code of the core is tested."""
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
    """Add data sets to the catalogue, or replace some."""
    more: dict[str, DataSet] = {}
    real = catalogue.data_sets()
    monkeypatch.setattr(catalogue, "data_sets", lambda: {**real, **more})
    return more


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No local folder, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BUDGETRON_DATA", raising=False)
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    return tmp_path / "cache" / "budgetron" / "data"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address at which it is served."""
    folder = tmp_path / "origin"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
