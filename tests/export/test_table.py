"""Models of tables: the encoder in C and in JavaScript makes the features that Python makes."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import budgetron
from budgetron.export import ExportError, describe, to_c
from tests.export.exported import COMPILERS, compiled, in_node, needs_compiler, needs_node

pytest.importorskip("pyarrow")
TOWNS = ["Rome", "Oslo", "Köln", "-", "São Paulo", 'a "b"?', "x"]
WORDS = ["", "Red wine, red grapes", "a white one; dry", "  NA ", "RED red Red 7", "käse und brot"]
START = datetime.datetime(1968, 2, 27, 5, 30, 15)


def table(count: int, seed: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)

    def some(values: list[Any]) -> list[Any]:
        return [
            values[i] if random.random() > 0.1 else None
            for i in random.integers(len(values), size=count)
        ]

    moments = [START + datetime.timedelta(hours=37 * i, seconds=i) for i in range(900)]
    towns = TOWNS if seed == 0 else [*TOWNS, "Bergen", "Ulm"]
    return {
        "age in years": some(random.normal(40, 12, count).tolist()),
        "married": some([True, False]),
        "when": some(moments),
        "int": some(towns),
        "said": some(WORDS),
    }


def taught() -> Any:
    rows = table(600, 0)
    kinds = {"int": "category", "said": "text", "when": "date"}
    y = [
        t in ("Rome", "x") or (a or 0) > 45
        for t, a in zip(rows["int"], rows["age in years"], strict=True)
    ]
    encoder = budgetron.TableEncoder(types=kinds, hash_width=16)
    return make_pipeline(encoder, budgetron.BudgetronClassifier(budget=40)).fit(rows, y)


DRIVER = """\
#include <stdio.h>
#include "model.h"

static const struct model_row rows[] = {
%s
};

int main(void) {
  unsigned i;
  for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
    static double x[model_features];
    model_encode(&rows[i], x);
    fwrite(x, sizeof x, 1, stdout);
  }
  return 0;
}
"""


def in_text(value: Any) -> str:
    """A cell as C has it."""
    from budgetron.export.c_text import quoted

    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.datetime):
        micro = (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
        return f"INT64_C({micro})"
    return quoted(value)


NOTHING = {"age in years": "NAN", "married": "-1", "when": "INT64_MIN", "int": "0", "said": "0"}


@needs_compiler
def test_the_encoder_in_c(tmp_path: Path) -> None:
    model, rows = taught(), table(300, 1)
    (tmp_path / "model.h").write_text(to_c(model))
    lines = []
    for cells in zip(*rows.values(), strict=True):
        pairs = zip(rows, cells, strict=True)
        row = [NOTHING[name] if cell is None else in_text(cell) for name, cell in pairs]
        lines.append("  {" + ", ".join(row) + "},")
    for compiler in COMPILERS:
        program = compiled(tmp_path, compiler, DRIVER % "\n".join(lines))
        done = subprocess.run([str(program)], capture_output=True, check=True)
        found = np.frombuffer(done.stdout).reshape(300, -1)
        expected = model[0].transform(rows)
        expected = expected.toarray() if hasattr(expected, "toarray") else expected
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def in_json(value: Any) -> Any:
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value


@needs_node
def test_the_encoder_in_javascript(tmp_path: Path) -> None:
    model, rows = taught(), table(300, 1)
    cells = zip(*rows.values(), strict=True)
    given = [dict(zip(rows, map(in_json, row), strict=True)) for row in cells]
    answers = in_node(model, given, tmp_path)
    decisions = model.decision_function(rows)
    np.testing.assert_allclose([each["f"][0] for each in answers], decisions, atol=1e-9)
    assert [each["said"] for each in answers] == model.predict(rows).tolist()
    np.testing.assert_allclose(
        [each["p"] for each in answers], model.predict_proba(rows), atol=1e-9
    )


def test_a_model_of_run_knows_its_table(tmp_path: Path) -> None:
    from budgetron.cli._command import execute

    rows = table(400, 0)
    text = ["age,town,label"]
    for age, town in zip(rows["age in years"], rows["int"], strict=True):
        cells = (
            "" if age is None else age,
            "x" if town is None else town[:1],
            int((age or 0) > 40),
        )
        text.append(",".join(map(str, cells)))
    (tmp_path / "rows.csv").write_text("\n".join(text))
    arguments = ["--label", "label", "--save", str(tmp_path / "m.btn")]
    assert execute(["run", str(tmp_path / "rows.csv"), *arguments]) == 0
    found = describe(budgetron.load(tmp_path / "m.btn"))
    assert found.table is not None
    assert [each.name for each in found.table.coded] == ["age", "town"]
    assert "struct model_row {" in to_c(found)


def test_columns_of_early_versions_are_refused() -> None:
    from dataclasses import replace

    model = taught()
    encoding = model[0]._encoding
    model[0]._encoding = replace(encoding, places=tuple(range(encoding.width)))
    with pytest.raises(ExportError, match="coded as early versions did; train it again"):
        describe(model)
