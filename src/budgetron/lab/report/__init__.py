"""The files that a comparison writes: tables, records, figures and a page, from templates.

`write` makes about.json, table.md, records and checkpoints as CSV and Parquet, the figures, and
report.html, a single page without other files, for laptop and phone, light and dark.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron._text import shown
from budgetron.lab.report import figures, tables
from budgetron.lab.report.about import about
from budgetron.lab.statistics import ERRORS

if TYPE_CHECKING:
    from budgetron.lab.cells import Settings
    from budgetron.lab.compare import Comparison
    from budgetron.lab.rows import Rows
    from budgetron.lab.workers import Workers


def write(
    folder: Path,
    found: Comparison,
    streams: Sequence[Rows],
    settings: Settings,
    command: str | None,
    pool: Workers,
) -> None:
    """Write everything."""
    facts = about(streams, settings, command, pool.count)
    failed = Counter(str(failure) for failure in found.failures)
    facts["conclusion"] = found.conclusion
    facts["failed"] = [{"what": what, "cells": cells} for what, cells in failed.items()]
    facts["warnings"] = [{"what": what, "cells": n} for what, n in found.warnings.items()]
    drawn = figures.draw(folder / "figures", found.summary, pool.here)
    sections = [
        {
            "id": f"stream-{number}",
            "name": stream,
            "title": tables.Entry(stream),
            "positive": tables.Entry(facts["streams"][stream]["positive"] or ""),
            "error": ERRORS[lines[0].task][1],
            "facts": facts["streams"][stream],
            "pivot": tables.pivot(lines),
            "detail": tables.detail(lines, facts["streams"][stream]["positive"]),
            "figures": [(_svg(each.path), each.caption) for each in drawn[stream]],
        }
        for number, (stream, lines) in enumerate(found.summary.items(), start=1)
    ]
    for name, template in (("report.html", "comparison.html"), ("table.md", "comparison.md")):
        text = render(template, facts=facts, sections=sections, legend=tables.LEGEND)
        (folder / name).write_text(text, encoding="utf-8")
    text = json.dumps(facts, indent=1, default=str) + "\n"
    (folder / "about.json").write_text(text, encoding="utf-8")
    tables.write_records(folder, found.records)


def render(template: str, package: str = "budgetron.lab.report", /, **given: Any) -> str:
    """A template of the package's folder `templates`, filled in."""
    text: str = _environment(package).get_template(template).render(**given)
    return text


@cache
def _environment(package: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    """Text for a template, without control characters. Markup is already clean."""
    return shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _svg(path: Path) -> str:
    data = base64.b64encode(Path(f"{path}.svg").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{data}"
