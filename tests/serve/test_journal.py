"""Everything that the process writes to standard error is a line of JSON."""

from __future__ import annotations

import io
import json
import logging
import threading
import warnings
from typing import Any

import pytest

from budgetron.serve.journal import Journal, heard
from budgetron.verdict import NotLearningWarning


def test_warnings_logging_and_errors_of_threads_are_lines_of_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = io.StringIO()

    def fail() -> None:
        raise ValueError("a bug")

    def warn() -> None:
        warnings.warn("the model has\nlearned nothing", NotLearningWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with heard(Journal(lines)):
            for name, work in (("learn shop", warn), ("feed shop", fail)):
                thread = threading.Thread(target=work, name=name)
                thread.start()
                thread.join()
            logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
            logging.getLogger("asyncio").error("it took %d s", 3)
            logging.getLogger("uvicorn.error").info("Started server process")
    found: list[dict[str, Any]] = [json.loads(line) for line in lines.getvalue().splitlines()]
    told = [(each["level"], each["message"], each.get("by")) for each in found]
    assert told == [
        ("warning", "the model has learned nothing", "learn shop"),
        ("error", "an error was not caught", None),
        ("warning", "Invalid HTTP request received.", "uvicorn.error"),
        ("warning", "it took 3 s", "asyncio"),
    ]
    assert found[0]["kind"] == "NotLearningWarning"
    assert found[1]["thread"] == "feed shop"
    assert "ValueError: a bug" in found[1]["traceback"]
    assert capsys.readouterr().err == ""
    assert warnings.showwarning.__name__ != "warned"
