"""Every learner with a budget on every stream, with scale="auto" and gamma="median".

    python -m studies.units [--streams FOLDER] [--save FILE] [--before FILE]

Mistakes in per cent, B = 100, unscaled rows in their own order, and how often units changed.
`--save` writes them, `--before` prints those of another build beside them. Streams are .npz files
with X and y; shuffled sets (phishing, magic04, cod-rna) come from the data folder. The table is in
docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import budgetron

LEARNERS = [
    *("budgetron", "bpas", "forgetron", "forgetron-basic", "forgetron-greedy", "rbp"),
    *("remove-oldest", "cks", "stoptron", "projectron", "projectron++", "bogd", "bogd++"),
    *("bsgd-remove", "bsgd-project", "bsgd-merge", "fogd", "nogd", "pomdr", "ahpatron", "avm"),
]
BUDGET = 100
# Budgetron with the parts that all learners have; studies/budgetron2.py measures its own parts.
PLAIN = {"straight": "none", "floor": 0.0, "reflex": False, "relevance": False}


def error(name: str, X: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Mistakes in per cent, and changes of units."""
    size: dict[str, Any] = {"n_components" if name == "fogd" else "budget": BUDGET}
    size |= PLAIN if name == "budgetron" else {}
    model = budgetron.make(name, scale="auto", gamma="median", random_state=0, **size)
    model.partial_fit(X, y, classes=np.unique(y))
    return 100 * model.n_mistakes_ / len(y), int(getattr(model, "unit_changes_", 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data = Path(os.environ.get("BUDGETRON_DATA", "data"))
    parser.add_argument("--streams", type=Path, default=data / "streams")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--learners", nargs="+", default=LEARNERS)
    options = parser.parse_args()
    before: dict[str, Any] = json.loads(options.before.read_text()) if options.before else {}
    found: dict[str, dict[str, list[float]]] = {}
    warnings.simplefilter("ignore")
    for path in sorted(options.streams.glob("*.npz")):
        with np.load(path) as stored:
            X, y = stored["X"].astype(np.float64), stored["y"]
        found[path.stem] = {}
        for name in options.learners:
            now, changes = error(name, X, y)
            found[path.stem][name] = [round(now, 3), changes]
            was = before.get(path.stem, {}).get(name)
            beside = f"{was[0]:6.2f} -> " if was else ""
            print(f"{path.stem:14s} {name:16s} {beside}{now:6.2f} ({changes})", flush=True)
        if options.save:
            options.save.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
