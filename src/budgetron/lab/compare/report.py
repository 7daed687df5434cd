"""The report: one HTML file that needs nothing else, for a laptop and for a phone.

Style and script are `report.css` and `report.js`, put into the page; figures are put in as SVG.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from budgetron.lab.compare.figures import Drawn
from budgetron.lab.compare.summary import ERRORS, Line, columns
from budgetron.lab.compare.tables import LEGEND, amounts, by_error

# Further metrics of the detailed table: name, heading, factor, format.
_FURTHER = {
    "classification": (
        ("window_mistake_rate", "last window, %", 100.0, ".2f"),
        ("hinge_loss", "hinge loss", 1.0, ".3f"),
        ("f1", "F1", 1.0, ".3f"),
        ("auc", "AUC", 1.0, ".3f"),
        ("kappa", "kappa", 1.0, ".3f"),
    ),
    "regression": (
        ("mae", "MAE", 1.0, ".4f"),
        ("window_rmse", "RMSE, last window", 1.0, ".4f"),
    ),
}


def write_report(
    path: Path,
    facts: Mapping[str, Any],
    summary: Mapping[str, Sequence[Line]],
    figures: Mapping[str, Sequence[Drawn]],
) -> None:
    """Write the page."""
    ids = {stream: f"stream-{number}" for number, stream in enumerate(summary, start=1)}
    body = [_head(facts, ids)]
    for stream, lines in summary.items():
        body.append(_section(ids[stream], stream, facts["streams"][stream], lines, figures[stream]))
    body.append(_how(facts))
    page = _PAGE.format(
        title=escape(f"Comparison on {', '.join(summary)}"),
        style=_file("report.css"),
        body="\n".join(body),
        script=_file("report.js"),
    )
    path.write_text(page, encoding="utf-8")


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
<script>
{script}</script>
</body>
</html>
"""


def _head(facts: Mapping[str, Any], ids: Mapping[str, str]) -> str:
    settings = facts["settings"]
    order = "in their own order" if settings["keep_order"] else "in random order"
    late = f" Labels came {settings['delay']:,} rows late." if settings["delay"] else ""
    links = "".join(f'<a href="#{ids[name]}">{escape(name)}</a>' for name in ids)
    return (
        "<header><h1>Learners compared</h1>"
        f"<p>Each row was predicted first, then learned; {settings['repeats']} passes, the rows "
        f"{order}.{late}</p>"
        f'<p class="dim">{escape(LEGEND)}</p>'
        f'<nav>{links}<a href="#how">How it was run</a></nav></header>'
    )


def _section(
    identity: str,
    stream: str,
    about: Mapping[str, Any],
    lines: Sequence[Line],
    figures: Sequence[Drawn],
) -> str:
    label = ERRORS[lines[0].task][1]
    facts = f"{about['rows']:,} rows, {about['features']:,} features, {about['task']}"
    parts = [
        f'<section id="{identity}"><h2>{escape(stream)}</h2><p class="dim">{facts}</p>',
        f"<h3>{escape(label.capitalize() if label.islower() else label)}, by budget</h3>",
        _pivot(lines),
        "<h3>All numbers</h3>",
        _detail(lines, label),
        "<h3>Figures</h3>",
        f'<div class="figures">{"".join(map(_figure, figures))}</div></section>',
    ]
    return "\n".join(parts)


def _pivot(lines: Sequence[Line]) -> str:
    """A row an algorithm, a column a budget."""
    budgets = columns(lines)
    rows = []
    for algorithm in dict.fromkeys(line.algorithm for line in lines):
        mine = {line.budget_shown: line for line in lines if line.algorithm == algorithm}
        cells = [_cell(algorithm, algorithm), *(_error(mine.get(budget)) for budget in budgets)]
        rows.append(cells)
    return _table(["algorithm", *budgets], rows)


def _detail(lines: Sequence[Line], label: str) -> str:
    """A row a setup, with everything that was measured."""
    further = _FURTHER[lines[0].task]
    heads = [
        "algorithm",
        "budget",
        label,
        "p",
        *amounts(lines[0]),
        *(head for _, head, *_ in further),
    ]
    rows = []
    for place, (_, chosen) in enumerate(by_error(lines)):
        for line in chosen:
            rows.append(
                [
                    _cell(line.algorithm, line.algorithm),
                    _cell(line.budget_shown, place),
                    _error(line),
                    _cell(line.p_shown, 2 if line.best else line.p),
                    *map(_cell, amounts(line).values(), _amount_values(line)),
                    *(_metric(line, *metric) for metric in further),
                ]
            )
    return _table(heads, rows)


def _amount_values(line: Line) -> list[float]:
    return [line.means["stored"], line.means["bytes"], line.microseconds]


def _metric(line: Line, name: str, head: str, factor: float, style: str) -> str:
    value = factor * line.means[name]
    return _cell("–" if math.isnan(value) else f"{value:{style}}", value)


def _error(line: Line | None) -> str:
    if line is None:
        return _cell("", math.nan)
    return _cell(line.shown + (" ≈" if line.even else ""), line.mean, "best" if line.best else "")


def _cell(text: str, value: float | str, kind: str = "") -> str:
    """A cell with the value it is sorted by."""
    shown = "" if isinstance(value, float) and math.isnan(value) else value
    attribute = f' class="{kind}"' if kind else ""
    data = f' data-value="{escape(str(shown))}"' if not isinstance(value, str) else ""
    return f"<td{attribute}{data}>{escape(text)}</td>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(
        f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in heads
    )
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        '<div class="scroll"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _figure(drawn: Drawn) -> str:
    data = base64.b64encode(Path(f"{drawn.path}.svg").read_bytes()).decode()
    caption = escape(drawn.caption)
    source = f"data:image/svg+xml;base64,{data}"
    return (
        f'<figure><img alt="{caption}" src="{source}"><figcaption>{caption}</figcaption></figure>'
    )


def _how(facts: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in facts["settings"].items())
    versions = ", ".join(f"{name} {value}" for name, value in facts["versions"].items())
    machine = facts["machine"]
    lines = {
        "finished": facts["finished"],
        "versions": versions,
        "machine": f"{machine['processor']}, {machine['cores']} cores, {machine['processes']} "
        f"processes at once; {machine['system']}",
        "settings": settings,
        **{
            f"stream {name}": f"{about['source']} ({about['dtype']}, digest {about['digest']})"
            for name, about in facts["streams"].items()
        },
    }
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in lines.items())
    return (
        f'<section id="how"><h2>How it was run</h2><pre>{escape(facts["command"])}</pre>'
        f"<dl>{listed}</dl>"
        '<p class="dim">Times are processor time in the learner alone: good for comparing '
        "learners of one report, not across machines. Permutation r, and the "
        "learner's own random choices in it, have the seed of the first plus r.</p></section>"
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
