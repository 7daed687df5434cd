"""Runs the code blocks of a Markdown document in their order.

All blocks of a document share a fresh folder and one Python namespace. It runs:

- ```` ```python ````: the code; a ```` ```text ```` block right after it is what it prints.
- ```` ```console ````: every line that begins with `$ `, and below it what it prints. `budgetron`
  runs in this process, anything else by the shell. Times differ from run to run and are not
  compared.

A comment on the line before a block changes this: `<!-- file: NAME -->` writes the block into the
folder, `<!-- needs NAME -->` runs it if that data set is here, `<!-- not run: REASON -->` skips it.
`python -m tests.docs.documents FILE...` writes the current output of the blocks into the documents.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"(?:^<!-- (?P<comment>(?:(?!-->)[^\n])*?) -->\n)?"
    r"^```(?P<kind>[\w+-]*)[^\n]*\n(?P<body>.*?)^```$"
    r"(?:\n+^```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "console")
CODE = (*RUN, "py", "bash", "sh", "cpp", "toml", "yaml", "make")  # to be run, or excused
LONG = re.compile(r"\d+\.\d{7,}")
TIMES = re.compile(r"^.*\b(seconds|rows per second)\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block; `printed` is the text block after Python."""

    kind: str
    body: str
    comment: str
    printed: str | None
    line: int
    span: tuple[int, int]  # of body (console) or printed (python), in the document

    @property
    def excused(self) -> bool:
        """Not run, for a reason, or by another test: the walk-through of CONTRIBUTING.md is."""
        return self.comment.startswith(("not run: ", "file: ", "in ", "after the build"))


def blocks(text: str) -> Iterator[Block]:
    """All blocks with code in them."""
    for found in BLOCK.finditer(text):
        if found["kind"] in CODE or (found["comment"] or "").startswith("file: "):
            where = found.span("body" if found["kind"] == "console" else "printed")
            line = text.count("\n", 0, found.start("kind")) + 1
            comment = found["comment"] or ""
            yield Block(found["kind"], found["body"], comment, found["printed"], line, where)


def shown(text: str) -> list[str]:
    """The text to compare: words without frames, times, folders and more than six digits."""
    text = re.sub(r" /\S+/", " ", text)
    text = LONG.sub(lambda number: f"{float(number[0]):.6f}", TIMES.sub("", text))
    return re.sub(r"[│─┌┐└┘┬┴├┤┼━]", " ", text).split()


def here(data_set: str) -> bool:
    """Whether the files of a data set are here."""
    from budgetron import datasets

    return datasets.here(data_set)


@contextlib.contextmanager
def folder() -> Iterator[None]:
    """A new current folder, from which modules can be imported."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        sys.path.insert(0, name)
        try:
            yield
        finally:
            sys.path.remove(name)
            os.chdir(before)


def results(text: str) -> Iterator[tuple[Block, str, str]]:
    """For every block that is run: the output in the document, and the current output."""
    space: dict[str, Any] = {"__name__": "document"}
    with folder():
        for block in blocks(text):
            word, _, rest = block.comment.partition(" ")
            if word == "file:":
                Path(rest).write_text(block.body, encoding="utf-8")
            elif word == "needs" and not here(rest):
                continue
            elif block.kind == "python" and not block.excused:
                yield block, block.printed or "", _python(block.body, space)
            elif block.kind == "console" and not block.excused:
                yield block, block.body, _console(block.body)


def _python(code: str, space: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "document", "exec"), space)
    return out.getvalue()


def _console(body: str) -> str:
    """The block with the current output of its commands."""
    text = []
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        if part.startswith("$ "):
            command = re.match(r"\$ ((?:[^\n]*\\\n)*[^\n]*\n)", part)[1]
            words = command.replace("\\\n", " ").strip()
            text.append(
                f"$ {command}{_command(words, quiet=part.strip() == '$ ' + command.strip())}"
            )
    return "".join(text)


def _command(words: str, *, quiet: bool) -> str:
    """The output of a command; nothing if the document shows none."""
    if words.startswith("budgetron ") and not re.search(r"[|<>;&]", words):
        from budgetron.cli import main

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main(shlex.split(words)[1:])
            except SystemExit as end:
                if end.code not in ((0,) if quiet else (0, 2)):
                    raise RuntimeError(f"{words}: {out.getvalue()}") from None
        return "" if quiet else out.getvalue()
    with tempfile.TemporaryDirectory() as bin:
        script = Path(bin) / "budgetron"
        call = "import sys; from budgetron.cli import main; main()"
        script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{call}' \"$@\"\n")
        script.chmod(0o755)
        path = os.pathsep.join([bin, os.environ["PATH"]])
        done = subprocess.run(
            words,
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path},
        )
    return "" if quiet else done.stdout


def update(document: Path) -> None:
    """Put the current output of the blocks into the document."""
    text = document.read_text(encoding="utf-8")
    changed = text
    for block, before, now in reversed(list(results(text))):
        start, end = block.span
        if start >= 0 and shown(before) != shown(now):
            changed = changed[:start] + now + changed[end:]
            print(f"{document}:{block.line}: another output")
    document.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(Path(name).resolve())
