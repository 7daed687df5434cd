"""The page in a real browser: it loads, shows what is learned, logs nothing on the console.

`make browser` runs it, with Debian's chromium and PyPI's playwright.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline

import budgetron
from budgetron.client import Client
from budgetron.serve import running
from tests.serve.serving import rings, taught

WANTED = os.environ.get("BUDGETRON_BROWSER")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(not WANTED, reason="`make browser` runs it"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
PICTURES = Path(os.environ.get("BUDGETRON_PICTURES", "build/pages"))
X, Y = rings(3000, seed=1)
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    rows = {"town": ["Rome", "Oslo"] * 100, HOSTILE: [float(i % 60) for i in range(200)]}
    labels = [t if n > 30 else HOSTILE for t, n in zip(*rows.values(), strict=True)]
    shop = make_pipeline(budgetron.TableEncoder(), budgetron.BudgetronClassifier(budget="100KB"))
    number = budgetron.BudgetronRegressor(budget=30).partial_fit(X[:300], X[:300, 0])
    models = {"rings": taught(), "shop": shop.fit(rows, labels), "number": number}
    with running(models) as at:
        client = Client(at, "rings")
        for i in range(0, 1500, 100):
            client.learn(X[i : i + 100], Y[i : i + 100])
            client.infer(X[i : i + 1])
            Client(at, "number").learn(X[i : i + 50], X[i : i + 50, 0].tolist())
            odd = [{"town": "Rome", HOSTILE: 50.0}, {"town": "Oslo", HOSTILE: 3.0}]
            Client(at, "shop").learn(odd, [["Oslo", "Rome"], ["Rome", HOSTILE]][i // 100 % 2])
            time.sleep(0.25)
        yield at


def opened(browser: Any, url: str, width: int, scheme: str) -> tuple[Any, list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url)
    page.wait_for_selector("#link.on")
    return page, said


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_loads_and_fits(browser: Any, url: str, width: int, scheme: str) -> None:
    page, said = opened(browser, url, width, scheme)
    page.wait_for_selector("#rate svg")
    for box in ("error", "rate", "stored", "memory", "calibration"):
        assert page.locator(f"#{box} svg path").count() >= 1, box
    assert page.locator("#mix div").count() == 2
    assert page.locator("#features div").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 22, 21)"
    assert dark == (scheme == "dark")
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{scheme}-{width}.png", full_page=True)
    page.close()
    assert said == []


def test_the_page_follows_what_is_learned(browser: Any, url: str) -> None:
    page, said = opened(browser, url, 1280, "light")
    before = Client(url, "rings").stats()["rows"]
    tile = page.locator("#tiles dd").nth(1)
    assert tile.inner_text().startswith(f"{before:,}")
    Client(url, "rings").learn(X[1500:1777], Y[1500:1777])
    wanted = f"{before + 277:,}"
    tile.filter(has_text=wanted).wait_for(timeout=10_000)
    page.hover("#error")
    assert "row " in page.locator("#error-note").inner_text()
    page.close()
    assert said == []


def test_models_are_chosen_and_their_texts_stay_texts(browser: Any, url: str) -> None:
    page, said = opened(browser, url, 1280, "light")
    page.click("nav a:has-text('shop')")
    page.locator("#mistakes td").first.wait_for(timeout=20_000)
    assert HOSTILE in page.locator("#mistakes").inner_text()
    assert HOSTILE in page.locator("#features").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() == "shop – budgetron"
    page.click("nav a:has-text('number')")
    page.wait_for_function("document.title.startsWith('number')")
    assert page.locator("#error-title").inner_text() == "Absolute error over time"
    assert page.locator("#calibration-box").is_hidden()
    page.close()
    assert said == []


def test_the_page_says_when_the_server_is_gone(browser: Any) -> None:
    with running({"rings": taught(50)}) as at:
        page, _ = opened(browser, at, 1280, "light")
    page.wait_for_selector("#link.off", timeout=10_000)
    page.close()
