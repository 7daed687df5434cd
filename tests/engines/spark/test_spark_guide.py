"""docs/guide/spark.md, all of it: its blocks print what it shows.

They run in a separate process: the session would stay in the folder in which the blocks start,
which is removed at the end.
"""

from __future__ import annotations

import subprocess
import sys

from tests.docs.documents import results, shown
from tests.support.repository import ROOT

EXCUSE = "<!-- not run: make engines-spark runs it -->\n"
BLOCKS = 5


def check() -> None:
    """Run the guide with its blocks on Spark."""
    text = (ROOT / "docs/guide/spark.md").read_text(encoding="utf-8").replace(EXCUSE, "")
    count = 0
    for block, said, printed in results(text):
        assert shown(said) == shown(printed), f"line {block.line}: {printed}"
        count += 1
    assert count == BLOCKS, f"{count} blocks ran"


def test_the_guide_prints_what_it_says() -> None:
    words = [sys.executable, "-m", "tests.engines.spark.test_spark_guide"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    check()
