"""The device of examples/device answers on a serial line, here a pseudo terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import tty
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron.export import to_c
from tests.export.exported import COMPILERS, STRICT, needs_compiler, rows
from tests.support.repository import ROOT

pytestmark = needs_compiler


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_device_answers(tmp_path: Path, compiler: str) -> None:
    X, y = rows(1000, 0, 3, gaps=True)
    labels = np.array(["shut", "ajar", "open"])[y]
    model = budgetron.BudgetronClassifier(budget=30).fit(X, labels)
    folder = ROOT / "examples" / "device"
    for file in folder.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "model.h").write_text(to_c(model))
    sources = [str(tmp_path / name) for name in ("device.c", "serial_line.c")]
    program = str(tmp_path / "device")
    subprocess.run([compiler, *STRICT, *sources, "-o", program, "-lm"], check=True)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)  # as a serial line is; else it repeats what comes before the device is there
    with subprocess.Popen([program, os.ttyname(theirs)]) as device:
        try:
            with os.fdopen(ours, "r+b", buffering=0) as line:
                shares = model.predict_proba(X[:50]).max(axis=1)
                for x, label, share in zip(X[:50], model.predict(X[:50]), shares, strict=True):
                    text = ",".join("" if np.isnan(v) else repr(float(v)) for v in x)
                    word, per_cent = asked(line, text).split()
                    assert word == label
                    assert abs(int(per_cent) - 100 * share) <= 1
                assert asked(line, "1,2,3").startswith("error: not as many numbers")
                assert asked(line, "1,2,3,x").startswith("error: ")
                assert asked(line, "7," * 400).startswith("error: the line is too long")
                assert asked(line, " 1, 2 ,3,4\r").split()[0] in labels
        finally:
            device.kill()
            os.close(theirs)
    wrong = subprocess.run([program, str(tmp_path / "model.h")], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "is no serial line" in wrong.stderr


def asked(line: object, text: str) -> str:
    line.write(text.encode() + b"\n")  # type: ignore[attr-defined]
    found = b""
    while not found.endswith(b"\n"):
        found += line.read(1)  # type: ignore[attr-defined]
    return found.decode().strip()
