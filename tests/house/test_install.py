"""tools/install.py: what users see while the core is compiled."""

from __future__ import annotations

import sys

import pytest

from tests.support.repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import install

LINES = [
    "Collecting numpy>=1.26\n",
    "  Downloading numpy-2.0-cp311.whl (18 MB)\n",
    "  Building editable for budgetron (pyproject.toml): started\n",
    *(f"  [{step}/20] Building CXX object core_{step}.o\n" for step in range(1, 21)),
    "Installing collected packages: numpy, budgetron\n",
]


def test_steps_are_counted_and_shown_by_tenths(capsys: pytest.CaptureFixture[str]) -> None:
    assert install.follow(LINES) == LINES
    first, cores, *steps, last = capsys.readouterr().out.splitlines()
    assert first == "fetching packages: 1"
    assert cores.startswith("compiling the C++ core: 20 steps on ")
    assert steps == [f"  {done} of 20" for done in (1, *range(2, 21, 2))]
    assert last == "installing 2 packages"


def test_the_time_left_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(install.time, "monotonic", lambda: next(clock))
    install.follow(LINES)
    assert "  10 of 20, about 60 s left" in capsys.readouterr().out
    assert (install.minutes(40), install.minutes(200)) == ("40 s", "3 min")


def test_a_missing_compiler_is_one_line_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install.subprocess, "Popen", lambda *_, **__: pytest.fail("worked first"))
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    assert install.main([]) == 2
    assert capsys.readouterr().err == "no C++ compiler 'no-such-compiler -O2', which CXX names\n"
    monkeypatch.delenv("CXX")
    monkeypatch.setattr(install.shutil, "which", lambda name: None)
    assert install.main([]) == 2
    assert "no C++ compiler (c++, g++ or clang++): install one" in capsys.readouterr().err


def test_what_pip_said_is_shown_when_it_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "compiler", lambda: "c++")
    assert install.main(["--no-such-option"]) != 0
    error = capsys.readouterr().err
    assert "no such option: --no-such-option" in error
    assert error.splitlines()[-1].startswith("pip failed; its last ")
