"""Rows as messages, and shared code of the tests of sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from budgetron.sources.messages import Live
from budgetron.streams import open_stream
from tests.support.cases import stream

SETTINGS = ["--algorithm", "rbp", "--budget", "40", "--seed", "3", "--json"]


def objects(rows: int) -> list[dict[str, Any]]:
    """Rows with an id, four features and a label."""
    X, y = stream(rows)
    found = []
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        numbers = {f"x{j}": round(float(value), 4) for j, value in enumerate(x[:4])}
        found.append({"id": f"r{i}", **numbers, "label": int(label)})
    return found


def json_messages(rows: int) -> list[bytes]:
    return [json.dumps(each).encode() for each in objects(rows)]


def rows_of(source: str, **options: Any) -> tuple[np.ndarray, list[Any], Any]:
    """All rows of a source that ends when no message comes; X, y and the stream."""
    more = {"idle": 0.3} | {
        name: options.pop(name) for name in ("idle", "dead_letters", "tell") if name in options
    }
    with open_stream(source, live=Live(**more), ids=False, **options) as opened:
        chunks = list(opened)
    y = [each for _, y in chunks for each in y.tolist()]
    return np.concatenate([dense(X) for X, _ in chunks]), y, opened


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def letters(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
