"""Exported models in use: compiled by real compilers, read by Node, run by onnxruntime."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from budgetron.export import to_json
from budgetron.export.c_header import header
from budgetron.export.json_text import javascript
from tests.support.cases import CASES, REGRESSION, Case

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
NODE = shutil.which("node")
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="there is neither gcc nor clang")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node: apt-get install nodejs")
APART = 1e-5  # of the largest decision
SETTINGS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "auto": {"scale": "auto"},
    "flags": {"scale": "auto", "missing": "flag"},
    "mean": {"scale": "auto", "average": "mean"},
    "suffix": {"scale": "standard", "average": "suffix"},
}


@dataclass(frozen=True)
class Setting:
    """A learner, a kernel, a number of classes (0: regression), and how rows are shown."""

    case: Case
    kernel: str
    classes: int
    rows: str
    dtype: str = "float64"
    own: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.case} {self.kernel} {self.classes} {self.rows}"

    def data(self, count: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return rows(count, seed, self.classes, gaps="scale" in SETTINGS[self.rows])

    def taught(self) -> Any:
        """The learner after 500 rows."""
        more = SETTINGS[self.rows]
        if "average" in self.case.params:
            more = {name: value for name, value in more.items() if name != "average"}
        X, y = self.data(500, 0)
        if more.get("scale") == "standard":
            X = np.nan_to_num(X)
        return self.case.make(self.kernel, **more, **self.own).partial_fit(X.astype(self.dtype), y)

    def unseen(self, count: int = 10_000) -> NDArray[Any]:
        X, _ = self.data(count, 1)
        if SETTINGS[self.rows].get("scale") == "standard":
            X = np.nan_to_num(X)
        return X.astype(self.dtype)


def rows(count: int, seed: int, classes: int, *, gaps: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of four features, in unlike units and with gaps if these are filled; labels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=count)
    if gaps:
        X = X * [1.0, 1000.0, 0.01, 5.0] + [0.0, 500.0, 0.0, 10_000.0]
        X[random.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(score, np.linspace(-0.5, 0.5, classes - 1)) if classes else score


def settings(every: int = 1) -> Iterator[Setting]:
    """All learners with all kernels, in turn with all ways to show rows; one of `every`."""
    names = list(SETTINGS)
    number = 0
    for case in [*CASES, *REGRESSION]:
        for kernel in case.kernels:
            for classes in (2, 4) if case.task == "classification" else (0,):
                number += 1
                if number % every == 0:
                    yield Setting(case, kernel, classes, names[number // every % len(names)])


def truth(model: Any, X: Any) -> NDArray[Any]:
    """Decisions, or predictions of a regressor, (n, outputs)."""
    ask = getattr(model, "decision_function", model.predict)
    found: NDArray[Any] = np.asarray(ask(X)).reshape(len(X), -1)
    return found


def off(ours: NDArray[Any], theirs: NDArray[Any]) -> float:
    """The largest difference, relative to the largest."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def clear(decisions: NDArray[Any]) -> NDArray[Any]:
    """Rows whose decision is not a tie up to rounding: there float may choose another class."""
    largest = np.abs(decisions).max()
    if decisions.shape[1] == 1:
        return np.asarray(np.abs(decisions[:, 0]) > 10 * APART * largest)
    best = np.sort(decisions, axis=1)
    return np.asarray(best[:, -1] - best[:, -2] > 10 * APART * largest)


# ---- C -------------------------------------------------------------------------------------------

DRIVER = """\
#include <stdio.h>
#include "model.h"

int main(void) {
  static double x[model_features];
  MODEL_SUM f[model_outputs];
  int k;
  while (fread(x, sizeof x, 1, stdin) == 1) {
    model_decide(x, f);
    for (k = 0; k < model_outputs; ++k) {
      const double number = (double)f[k];
      fwrite(&number, sizeof number, 1, stdout);
    }
#ifdef CLASSES
    {
      double p[model_classes];
      const double code = model_classify(x);
      model_probabilities(f, p);
      fwrite(&code, sizeof code, 1, stdout);
      fwrite(p, sizeof p, 1, stdout);
    }
#else
    {
      const double number = model_predict(x);
      fwrite(&number, sizeof number, 1, stdout);
    }
#endif
  }
  return 0;
}
"""


def compiled(folder: Path, compiler: str, text: str, *more: str) -> Path:
    """A program of the text in main.c, which includes the headers in the folder."""
    (folder / "main.c").write_text(text, encoding="utf-8")
    program = folder / "program"
    command = [compiler, *STRICT, "-O1", *more, str(folder / "main.c"), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return program


def in_c(
    model: Any, X: NDArray[Any], folder: Path, compiler: str = "", precision: str = "float32"
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Decisions, class codes (of a regressor predictions), probabilities, by a compiled header."""
    made = header(model, precision=precision)
    (folder / "model.h").write_text(made.text, encoding="utf-8")
    classes = getattr(model, "classes_", ())
    flags = ["-DCLASSES"] if len(classes) else []
    program = compiled(folder, compiler or COMPILERS[0], DRIVER, *flags)
    rows = np.ascontiguousarray(X, dtype=np.float64)
    done = subprocess.run([str(program)], input=rows.tobytes(), capture_output=True, check=True)
    table = np.frombuffer(done.stdout).reshape(len(X), -1)
    outputs = table.shape[1] - 1 - len(classes)
    return table[:, :outputs], table[:, outputs], table[:, outputs + 1 :]


# ---- JavaScript ----------------------------------------------------------------------------------

SCRIPT = """
const budgetron = require("./budgetron.js"), { document, rows } = require("./given.json");
const model = budgetron.read(document);
const answers = rows.map((given) => {
  const row = document.table ? budgetron.encode(document, given) : given;
  const p = document.classes ? model.probabilities(row) : null;
  return { f: model.decide(row), said: model.predict(row), p };
});
process.stdout.write(JSON.stringify(answers));
"""


def in_node(model: Any, rows: list[Any], folder: Path) -> list[dict[str, Any]]:
    """What the reader in JavaScript answers to rows; NaN is null."""
    document = json.loads(to_json(model))
    (folder / "budgetron.js").write_text(
        javascript(table=document["table"] is not None), encoding="utf-8"
    )
    (folder / "given.json").write_text(json.dumps({"document": document, "rows": rows}))
    (folder / "ask.js").write_text(SCRIPT)
    assert NODE is not None
    done = subprocess.run([NODE, "ask.js"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def listed(X: NDArray[Any]) -> list[Any]:
    """Rows as JSON has them."""
    return [[None if np.isnan(v) else float(v) for v in row] for row in X]
