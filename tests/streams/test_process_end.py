"""A process that reads CSV ends with an exit code, never with an abort in pyarrow's threads.

A thread that is inside Python while Python ends aborts the process. This depends on timing, so
every case runs three times, on one core, where it is most likely. The files have 10 MB, more than
pyarrow read ahead when it read from a Python file. At that time 7 of 12 such runs aborted, of .gz
2, of tune 2, of compare 3: this test failed 99 times in 100. The deterministic test is
`test_only_who_reads_a_stream_reads_its_file`.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

TIMES = 3
WORD = "word" * 30
NUMBER = f"{0.25:.480f}"

# Forks after the imports, which take longer than the runs. Each child ends like a program.
PROGRAM = """
import contextlib, gc, io, json, os, signal, sys
import budgetron.cli, budgetron.lab.report.tables, budgetron.lab.tune
import budgetron.streams.read_ahead, budgetron.streams.table.csv_text
import pandas, pyarrow.csv, matplotlib.figure
from budgetron.streams.source import Source

with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    budgetron.cli.main(["algorithms"])
gc.freeze()  # children end sooner
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
signal.signal(signal.SIGINT, signal.default_int_handler)
read, count = Source.read, 0

def interrupted(self):
    global count
    count += 1
    if count == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return read(self)

ended = {}
for name, words in json.loads(sys.argv[1]).items():
    for _ in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if name == "Ctrl-C":
                Source.read = interrupted
            budgetron.cli.main(words)
        ended.setdefault(name, []).append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ended))
"""


def write(path: Path, *fields: str) -> Path:
    """One row per field, between two numbers."""
    rows = [f"{i % 7},{field},{i % 2}" for i, field in enumerate(fields)]
    text = "\n".join(["a,b,outcome", *rows, ""]).encode()
    path.write_bytes(gzip.compress(text, 1) if path.suffix == ".gz" else text)
    return path


@pytest.mark.long
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="children are forked")
def test_every_reader_of_a_csv_file_ends_by_its_exit_code(tmp_path: Path) -> None:
    words = write(tmp_path / "words.csv", *[WORD] * 75_000)
    packed = write(tmp_path / "words.csv.gz", *[WORD] * 75_000)
    middle = write(tmp_path / "middle.csv", *[NUMBER] * 10_000, WORD, *[NUMBER] * 10_000)
    numbers = write(tmp_path / "numbers.csv", *[NUMBER] * 20_000)
    learner = ["--budget", "20", "--label", "outcome"]
    run = ["--algorithm", "rbp", *learner]
    strict = ["--types", "b=number", "--strict"]
    listed = [*run, *strict, "--columns", "a,b"]
    inferred = [*run, "--strict"]
    out = ["--budgets", "20", "--label", "outcome", "--out", str(tmp_path / "out"), *strict]
    cases = {
        "run": ["run", str(words), *listed],
        "run, .gz": ["run", str(packed), *listed],
        "run, in the middle": ["run", str(middle), *listed],
        "run, inferred": ["run", str(middle), *inferred],
        "tune": ["tune", str(words), *run, *strict],
        "compare": ["compare", str(words), "--algorithms", "rbp,bogd", *out],
        "Ctrl-C": ["run", str(numbers), *run],
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(cases), str(TIMES)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = {name: [130 if name == "Ctrl-C" else 2] * TIMES for name in cases}
    assert json.loads(done.stdout) == expected, done.stderr
