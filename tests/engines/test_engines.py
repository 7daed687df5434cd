"""Missing engines, and where the tests of installed ones run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from budgetron import BudgetronError
from budgetron.engines import ENGINES, open_engine
from budgetron.lab.workers import Workers

# A process in which an engine cannot be imported.
WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from budgetron.cli import main
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.mark.skipif("BUDGETRON_ENGINE" not in os.environ, reason="engines: make engines tests them")
def test_engines_are_tested_by_their_own_targets() -> None:
    assert os.environ["BUDGETRON_ENGINE"] in (*ENGINES, "spark")


@pytest.mark.parametrize(("engine", "module"), ENGINES.items())
def test_a_missing_engine_is_one_line_that_names_the_extra(engine: str, module: str) -> None:
    words = ["tune", "synthetic:sea", "--rows", "50", "--backend", engine]
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT, module, *words], capture_output=True, text=True
    )
    assert found.returncode == 2
    assert found.stderr == (
        f"budgetron: {engine} needs the package {module}: pip install 'budgetron[{engine}]'\n"
    )


@pytest.mark.parametrize(
    ("backend", "address", "said"),
    [
        ("dusk", None, "backend='dusk' is not one of loky, dask, ray"),
        (None, "tcp://here:1", "an address is for a cluster: name its backend, dask or ray"),
        ("loky", "tcp://here:1", "an address is for a cluster: name its backend, dask or ray"),
    ],
)
def test_a_backend_that_is_none(backend: str | None, address: str | None, said: str) -> None:
    with pytest.raises(BudgetronError) as raised:
        Workers(1, backend, address)
    assert str(raised.value) == said


def test_an_engine_that_is_none() -> None:
    with pytest.raises(BudgetronError, match="no engine is called 'flink'"):
        open_engine("flink")
