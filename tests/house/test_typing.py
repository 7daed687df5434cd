"""The output of a type checker for programs that use the package: mypy on good and bad uses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import budgetron
from tests.support.repository import ROOT

ESTIMATORS = [name for name in budgetron.__all__ if name.endswith(("Classifier", "Regressor"))]
CLASSIFIER = "budgetron.estimators._base.classifier.OnlineClassifier"
REGRESSOR = "budgetron.estimators._base.regressor.OnlineRegressor"
DETECTOR = "budgetron.estimators._base.detector.OnlineDetector"
STEPS = "budgetron.model_file.document.Steps"

# A line of a program, and the expected output: nothing, an error, or the revealed type.
USES = {
    "budgetron.BudgetronClassifier(budget=3, gamma=0.5, random_state=0).fit([[0.0]], [0])": "",
    'budgetron.make("ahpatron", budget=3).partial_fit([[0.0]], [0]).predict_proba([[0.0]])': "",
    'budgetron.save(budgetron.make("avm"), "model.btn")': "",
    "budgetron.BudgetronClassifier(3)": "Too many positional arguments",
    "budgetron.BudgetronClassifier(kernel=3)": 'incompatible type "int"; expected "str"',
    'budgetron.make("ahpatron").predcit': 'no attribute "predcit"; maybe "predict"',
    'budgetron.make("avm", "regression").predict_proba': 'no attribute "predict_proba"',
    'budgetron.load("model.btn").predict_proba': 'Item "OnlineRegressor" of',
    'budgetron.save("model", "model.btn")': 'incompatible type "str"',
    "budgetron.mkae": 'no attribute "mkae"',
    'reveal_type(budgetron.make("avm"))': f'"{CLASSIFIER}"',
    'reveal_type(budgetron.make("avm", task="regression"))': f'"{REGRESSOR}"',
    'reveal_type(budgetron.make("avm", str()))': f'"{CLASSIFIER} | {REGRESSOR}"',
    'reveal_type(budgetron.make("avm").predict([[0.0]]))': '"numpy.ndarray[',
    'reveal_type(budgetron.make("avm").score([[0.0]], [0]))': '"float"',
    'reveal_type(budgetron.load("model.btn"))': (
        f'"{CLASSIFIER} | {REGRESSOR} | {DETECTOR} | {STEPS}"'
    ),
    'budgetron.load("model.btn").predict([[0.0]])': "",
    'budgetron.explain(budgetron.make("avm"), [[0.0]])[0].prediction': "",
    "reveal_type(budgetron.AVMRegressor().snapshot())": '.AVMRegressor"',
    "reveal_type(budgetron.AVMRegressor().fit([[0.0]], [0.0]))": '.AVMRegressor"',
    "reveal_type(budgetron.AVMRegressor().lower_budget(3))": '.AVMRegressor"',
    "reveal_type(budgetron.algorithms())": '"list[budgetron.catalogue.Algorithm]"',
    **{
        f"budgetron.{name}(bugdet=3)": f'Unexpected keyword argument "bugdet" for "{name}"'
        for name in ESTIMATORS
    },
}


@pytest.mark.long
def test_a_type_checker_sees_the_package_as_it_is(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One run for all, with a persistent cache: 8 s the first time, then a second or two."""
    program = tmp_path / "program.py"
    program.write_text("\n".join(["import budgetron", *USES, ""]), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    assert pytestconfig.cache is not None
    cache = pytestconfig.cache.mkdir("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-pretty"]
    done = subprocess.run(
        [*command, "--no-error-summary", "--cache-dir", str(cache), program.name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    assert done.stderr == ""
    said: dict[int, str] = {}
    for number, text in re.findall(r"^program\.py:(\d+): (.*)$", done.stdout, re.M):
        said[int(number)] = said.get(int(number), "") + text
    for number, (use, wanted) in enumerate(USES.items(), start=2):
        found = said.pop(number, "")
        assert wanted in found, f"{use}: {found or 'nothing'}"
        assert wanted or not found, f"{use}: {found}"
    assert said == {}, done.stdout
