"""Runs the generators of the tests for a bounded time, each batch in its own process.

    python -m tests.contracts.fuzz SECONDS SEED [FILE...]

Every batch is a test file with its own seed, so a crash is a failed batch; batches that still run
when the time is up are waited for. Hypothesis shrinks failures; the command that repeats one is
printed, and the exit code is 1. `make fuzz` uses the module under asan.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.support.repository import ROOT

FILES = (
    "contracts/test_configurations.py",
    "contracts/test_adversarial.py",
    "model_file/test_model_file_fuzz.py",
    "contracts/test_bad_input.py",
    "contracts/test_attacked.py",
)
EXAMPLES = {"BUDGETRON_EXAMPLES": "20", "BUDGETRON_FUZZ_EXAMPLES": "50"}
AT_ONCE = 2
LONGEST = 1800  # seconds of a batch: one that takes longer hangs


def command(file: str, seed: int) -> list[str]:
    plugin = ["-p", "tests.support.under_asan"] if "BUDGETRON_SANITIZED" in os.environ else []
    name = os.path.relpath(ROOT / "tests" / file)
    options = ["-x", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    return [sys.executable, "-m", "pytest", *plugin, *options, name]


def batch(file: str, seed: int) -> bool:
    """Whether all tests of a file passed with this seed."""
    words = command(file, seed)
    bounded = ["timeout", str(LONGEST), *words]
    done = subprocess.run(
        bounded, env={**os.environ, **EXAMPLES}, capture_output=True, text=True, check=False
    )
    said = (done.stdout.strip().splitlines() or ["no output"])[-1]
    print(f"{file} seed {seed}: exit {done.returncode}, {said}", flush=True)
    if done.returncode:
        settings = [f"{name}={value}" for name, value in EXAMPLES.items()]
        print(done.stdout[-6000:], done.stderr[-6000:], "repeat with:", sep="\n")
        print(*settings, *words, flush=True)
    return done.returncode == 0


def main(seconds: float, seed: int, files: list[str]) -> int:
    seeds = random.Random(seed)
    until = time.monotonic() + seconds
    ends: list[bool] = []
    turns = itertools.cycle(files or FILES)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while time.monotonic() < until:
            pair = [(next(turns), seeds.randrange(2**32)) for _ in range(AT_ONCE)]
            ends += pool.map(lambda one: batch(*one), pair)
    print(f"{ends.count(True)} passed, {ends.count(False)} failed")
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
