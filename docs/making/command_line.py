"""The page of the command line: what `budgetron VERB --help` says, one section per verb."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from budgetron.cli._command import app
from making import put


def write(pages: Path) -> list[Path]:
    """The page."""
    command: Any = typer.main.get_command(app)
    verbs = command.commands
    text = [
        "# Command line",
        "",
        "Made from the help: `budgetron VERB --help` prints the same in the terminal. Exit codes:",
        "0 done; 2 a mistake in the command or the data, in one line; 130 interrupted.",
        "",
        "| verb | what it does |",
        "|---|---|",
        *(f"| [{name}](#budgetron-{name}) | {_short(each)} |" for name, each in verbs.items()),
        "",
    ]
    for name, each in verbs.items():
        text += _section(each, f"budgetron {name}")
    return [put(pages / "command-line.md", "\n".join(text))]


def _section(command: Any, path: str) -> list[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    usage = re.sub(r"[{}]", "", " ".join([path, *command.collect_usage_pieces(context)]))
    text = [f"## {path}", "", _help(command.help), "", "```text", usage, "```", ""]
    panels: dict[str, list[str]] = {}
    for each in command.params:
        record = each.get_help_record(context)
        if record is None or getattr(each, "hidden", False):
            continue
        kind = "Arguments" if each.param_type_name == "argument" else "Options"
        panel = getattr(each, "rich_help_panel", None) or kind
        names, words = (re.sub(r"\s+", " ", part).strip() for part in record)
        names = re.sub(r" <str>$|`", "", names).replace("|", "\\|")
        words = words.removesuffix("[required]")
        panels.setdefault(panel, []).append(f"| `{names}` | {_cell(words)} |")
    for panel, rows in panels.items():
        text += [f"| {panel} | meaning |", "|---|---|", *rows, ""]
    for name, inner in getattr(command, "commands", {}).items():
        text += _section(inner, f"{path} {name}")
    example = re.search(r"Example:\s*(.*?)\s*Next:", command.epilog or "", re.DOTALL)
    if example:
        text += ["```console", f"$ {example[1]}", "```", ""]
    return text


def _short(command: Any) -> str:
    """The line of a verb in the list of verbs; of one with verbs of its own, theirs."""
    inner = getattr(command, "commands", {})
    listed = " ".join(f"`{name}`: {each.short_help}" for name, each in inner.items())
    return _cell(command.short_help or listed)


def _help(text: str | None) -> str:
    """Paragraphs of a help, without the marks that stop rewrapping."""
    return _options(re.sub(r"[\b\f]", "", text or "").strip())


def _options(text: str) -> str:
    """Options as code: Sphinx would make a dash of their two hyphens."""
    return re.sub(r"`[^`]*`|--\w[\w-]*", lambda each: f"`{each[0].strip('`')}`", text)


def _cell(text: str | None) -> str:
    plain = re.sub(r"\s+", " ", text or "").strip()
    plain = re.sub(r"(?<!\\)\|", r"\\|", plain)
    return _options(plain.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\["))
