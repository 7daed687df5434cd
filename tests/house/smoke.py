"""Tries an installed budgetron: `make wheel` and cibuildwheel run it outside the repository.

Learns, predicts, saves, loads, prints a card, and asks the command for its version.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import budgetron
from budgetron.cards import papers

where = Path(budgetron.__file__).resolve().parent
assert Path(__file__).resolve().parents[2] / "src" not in where.parents, "not the installed one"
X = np.random.default_rng(0).normal(size=(2000, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
for name in ("budgetron", "ahpatron", "nogd"):  # the last two solve through SciPy's LAPACK
    model = budgetron.make(name, budget=40, gamma=0.5)
    model.prequential(X, y)
    assert model.n_mistakes_ < 0.3 * len(y), (name, model.n_mistakes_)
    with tempfile.TemporaryDirectory() as folder:
        budgetron.save(model, f"{folder}/model.btn")
        again = budgetron.load(f"{folder}/model.btn")
    assert (again.predict(X) == model.predict(X)).all()
assert len(papers()) == len(budgetron.algorithms()), "cards are missing"
command = [sys.executable, "-c", "from budgetron.cli import main; main()", "--version"]
said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
assert said == f"budgetron {budgetron.__version__}\n"
print(f"{said.strip()} works, in {where}")
