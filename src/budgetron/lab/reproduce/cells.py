"""Finished runs, kept in a file so that an interrupted table goes on where it stopped.

A cell is one run: the rows, the learner with its setting, the protocol, the seed and the version.
The file has a JSON object a line, `{"cell": ..., "outcome": ...}`, appended when the run ends; a
line cut off by an interruption is ignored, so that its run is done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from budgetron.lab.reproduce.protocols import Outcome


class Cells:
    """The finished runs of a file, or none of them if there is no file.

    Parameters
    ----------
    path : where they are kept; None: in memory only
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Outcome] = {}
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            text = path.read_text(encoding="utf-8")
            for line in text.splitlines():
                self._remember(line)
            if text and not text.endswith("\n"):
                path.write_text(text + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._known)

    def get(self, cell: Mapping[str, Any]) -> Outcome | None:
        """The outcome of this run, if it was done before."""
        return self._known.get(_key(cell))

    def put(self, cell: Mapping[str, Any], outcome: Outcome) -> None:
        """Keep it."""
        self._known[_key(cell)] = outcome
        if self._path is not None:
            line = json.dumps({"cell": dict(cell), "outcome": asdict(outcome)})
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def _remember(self, line: str) -> None:
        try:
            entry = json.loads(line)
            fields = entry["outcome"]
            fields["curve"] = tuple(tuple(point) for point in fields["curve"])
            self._known[_key(entry["cell"])] = Outcome(**fields)
        except (ValueError, KeyError, TypeError):
            return  # cut off, or of another version


def _key(cell: Mapping[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True)
