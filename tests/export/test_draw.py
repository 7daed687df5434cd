"""The drawing page in a real browser: points are drawn with the mouse, the boundary is Python's.

`make export-tests` runs it, with Debian's chromium and PyPI's playwright.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.export import to_json
from tests.export.exported import rows
from tests.support.repository import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif("BUDGETRON_EXPORT" not in os.environ, reason="`make export-tests` runs it"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
PICTURES = Path(os.environ.get("BUDGETRON_PICTURES", "build/pages"))


@pytest.fixture
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def url() -> Iterator[str]:
    script = str(ROOT / "examples" / "draw" / "draw.py")
    command = [sys.executable, script, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            yield found.group()
        finally:
            server.kill()


def opened(browser: Any, url: str) -> tuple[Any, list[str]]:
    page = browser.new_page(viewport={"width": 600, "height": 800})
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url)
    return page, said


def test_draw_points_and_see_the_boundary(browser: Any, url: str) -> None:
    page, said = opened(browser, url)
    box = page.locator("#plane").bounding_box()
    random = np.random.default_rng(0)
    for k, (x, y) in enumerate([(0.25, 0.3), (0.75, 0.3), (0.5, 0.8)]):
        page.get_by_role("button", name=f"class {k + 1}").click()
        for dx, dy in random.normal(0, 0.06, size=(10, 2)):
            page.mouse.click(
                box["x"] + box["width"] * (x + dx), box["y"] + box["height"] * (y + dy)
            )
    page.wait_for_function("!waiting && plane.dataset.drawn === '30' && model")
    assert "stored examples, 30 points" in page.locator("#said").inner_text()
    centres = [[-1.0, 0.8], [1.0, 0.8], [0.0, -1.2]]
    assert page.evaluate("(rows) => rows.map((row) => model.predict(row))", centres) == [0, 1, 2]
    # The same model in Python decides the same.
    points = np.array(page.evaluate("points"))
    model = budgetron.BudgetronClassifier(budget=30, random_state=0)
    model.fit(points[:, :2], points[:, 2].astype(int))
    X = random.uniform(-2, 2, size=(200, 2))
    shares = page.evaluate("(rows) => rows.map((row) => model.probabilities(row))", X.tolist())
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-9)
    # What is seen: three colours, and a dark line between them.
    seen = page.evaluate(
        "() => { const d = pen.getImageData(0, 0, size, size).data; let dark = 0;"
        " for (let i = 0; i < d.length; i += 4)"
        "  dark += d[i] < 70 && d[i + 1] < 70 && d[i + 2] < 70 && d[i + 3] > 200;"
        " return dark; }"
    )
    assert seen > 200
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / "draw.png")
    assert said == []


def test_a_model_file_in_the_page(browser: Any, url: str, tmp_path: Path) -> None:
    X, y = rows(400, 0, 2, gaps=False)
    model = budgetron.FOGDClassifier(n_components=20).fit(X[:, :2], np.array(["no", "yes"])[y])
    (tmp_path / "model.json").write_text(to_json(model))
    page, said = opened(browser, url)
    page.locator("#file").set_input_files(tmp_path / "model.json")
    page.wait_for_function("model !== null")
    found = page.evaluate("(rows) => rows.map((row) => model.decide(row)[0])", X[:50, :2].tolist())
    np.testing.assert_allclose(found, model.decision_function(X[:50, :2]), atol=1e-9)
    wide = json.loads(to_json(budgetron.BudgetronClassifier(budget=9).fit(X, y)))
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    page.locator("#file").set_input_files(tmp_path / "wide.json")
    page.get_by_text("this page shows classifiers of two features").wait_for()
    assert said == []
