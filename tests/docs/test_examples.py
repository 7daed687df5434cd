"""The scripts of examples/ run with few rows and draw their figure; the gallery shows all."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "drawing")
ROWS = {"drift": 2400, "budget_against_mistakes": 150}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_draws_its_figure(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import pyplot as plt

    figure = tmp_path / "figure.png"
    rows = str(ROWS.get(script.stem, 300))
    monkeypatch.setattr(sys, "argv", [str(script), "--rows", rows, "--out", str(figure)])
    monkeypatch.syspath_prepend(str(script.parent))
    try:
        space = runpy.run_path(str(script))
        assert figure.read_bytes().startswith(b"\x89PNG")
        for axis in space["figure"].axes:  # axes are labelled
            assert axis.get_ylabel() or axis.get_xlabel() or axis.get_title(loc="left")
    finally:
        plt.close("all")


def test_the_gallery_shows_every_example() -> None:
    listed = (ROOT / "docs" / "making" / "gallery.py").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f'"{script.stem}"' in listed
