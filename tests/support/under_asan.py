"""A pytest plugin for `make asan`: uses the sanitized module, and fails if a model leaks.

Leak detection is off there, because the interpreter never frees all its memory. Models are counted
instead: every model that a test made must be gone when the session ends.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import pytest

from tests.support import own_package  # noqa: F401

sys.path.insert(0, os.environ["BUDGETRON_SANITIZED"])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    from budgetron import _core

    assert str(_core.__file__).startswith(os.environ["BUDGETRON_SANITIZED"]), _core.__file__
    gc.collect()
    live = _core.live_models()
    print(f"\n{live} compiled models are left of all that were made")
    if live:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
