"""The commands of docs/guide/serve.md, in one shell, as a reader would type them.

`python -m tests.docs.serve_guide` writes their current output into the guide. It waits for the
server after the command that starts it, and uses a free port.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.docs.documents import Block, blocks
from tests.support.repository import ROOT

GUIDE = ROOT / "docs" / "guide" / "serve.md"
PORT = "8123"  # in the guide
BEGIN = "@@ command"


def commands(block: Block) -> list[str]:
    """The commands of a block, without their output."""
    return [
        found[1].rstrip("\n")
        for found in re.finditer(r"^\$ ((?:[^\n]*\\\n)*[^\n]*\n)", block.body, re.MULTILINE)
    ]


def printed() -> Iterator[tuple[Block, str]]:
    """The blocks with commands, and each with the current output of its commands."""
    found = list(blocks(GUIDE.read_text(encoding="utf-8")))
    console = [block for block in found if block.kind == "console"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        for block in found:
            if block.comment.startswith("file: "):
                Path(folder, block.comment.partition(" ")[2]).write_text(block.body)
        bin = Path(folder, "bin")
        bin.mkdir()
        call = "import sys; from budgetron.cli import main; main()"
        for name, what in (("budgetron", f"-c '{call}'"), ("python", "")):
            (bin / name).write_text(f'#!/bin/sh\nexec {sys.executable} {what} "$@"\n')
            (bin / name).chmod(0o755)
        output = _run(folder, [each for block in console for each in commands(block)], port)
    for block in console:
        text = ""
        for command in commands(block):
            said = output.pop(0)
            said = said.replace(port, PORT).replace(folder, "").rstrip()
            text += f"$ {command}\n" + (f"{said}\n" if said else "")
        yield block, text


def _run(folder: str, listed: list[str], port: str) -> list[str]:
    """The output of each command; the server is stopped at the end."""
    script = ["trap 'kill -9 $! 2> /dev/null' EXIT"]
    wait = f"until curl -s -o /dev/null localhost:{port}/v2/health/live; do sleep 0.05; done"
    for command in listed:
        script += [f"echo '{BEGIN}'", command.replace(PORT, port)]
        if "budgetron serve" in command:
            script += ["sleep 0.3", wait]
    path = f"{folder}/bin:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.split(f"{BEGIN}\n")[1:]


def main() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for block, now in reversed(list(printed())):
        text = text[: block.span[0]] + now + text[block.span[1] :]
    GUIDE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
