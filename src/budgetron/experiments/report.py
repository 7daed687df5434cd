"""Ours beside theirs, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from budgetron.experiments.runner import Measured
from budgetron.experiments.tables import Row, Set, Table

# Worse, and better, begin at this many published standard deviations.
BAR = 3.0

# A set of a table with its measurements, or with the reason why there are none.
Result = tuple[Set, list[Measured] | str]
Results = Sequence[Result]


def measured(results: Results) -> Iterator[tuple[Set, Row, Measured]]:
    """Every line that was run."""
    for data_set, lines in results:
        if not isinstance(lines, str):
            for row, ours in zip(data_set.published, lines, strict=True):
                yield data_set, row, ours


def deviations(row: Row, mean: float) -> float | None:
    """How far above the published mean, in the published standard deviation."""
    if row.mean is None or row.sd is None:
        return None
    return (mean - row.mean) / row.sd


def verdict(row: Row, mean: float) -> str:
    """Whether ok, better or worse than published; - if there is no published number."""
    distance = deviations(row, mean)
    if distance is None:
        return "-"
    if distance > BAR:
        return "worse"
    return "better" if distance < -BAR else "ok"


def unexplained(results: Results) -> bool:
    """Whether a line is worse than published and its table gives no reason."""
    return any(
        verdict(row, ours.mean) == "worse" and row.reason is None
        for _, row, ours in measured(results)
    )


def markdown(table: Table, results: Results) -> str:
    """The whole table, with what differs and what was not run below it."""
    lines = [f"## {table.title}", "", table.citation, "", table.text, ""]
    lines += ["| set | algorithm | setting | theirs | ours | difference | verdict |"]
    lines += ["|---|---|---|---|---|---|---|"]
    lines += [_line(*line) for line in measured(results)]
    tally: dict[str, int] = {}
    differing: dict[tuple[str, str], list[str]] = {}
    for data_set, row, ours in measured(results):
        word = verdict(row, ours.mean)
        tally[word] = tally.get(word, 0) + 1
        if word in ("better", "worse"):
            where = f"{data_set.name} {_label(row)}"
            differing.setdefault((word, row.reason or "not known."), []).append(where)
    lines += ["", "Lines: " + ", ".join(f"{n} {word}" for word, n in sorted(tally.items())) + "."]
    if differing:
        lines += ["", f"Beyond {BAR:g} deviations, and the likely reason:", ""]
        for (word, reason), where_all in sorted(differing.items(), reverse=True):
            lines.append(f"- **{word}** {'; '.join(where_all)}: {reason}")
    absent = [f"- {data_set.name}: {why}." for data_set, why in results if isinstance(why, str)]
    if absent:
        lines += ["", "Not run:", "", *absent]
    return "\n".join(lines) + "\n"


def _line(data_set: Set, row: Row, ours: Measured) -> str:
    distance = deviations(row, ours.mean)
    shown = "-" if distance is None else f"{distance:+.1f} sd"
    theirs = "-" if row.mean is None else f"{row.mean:.2f}"
    if row.mean is not None and row.sd is not None and not row.sd_ours:
        theirs += f" ± {row.sd:.2f}"
    if row.stored is not None:
        theirs += f" ({row.stored:,.0f})"
    mine = f"{ours.mean:.2f} ± {ours.sd:.2f} ({ours.stored:,.0f})"
    setting = _setting(row, ours)
    cells = (data_set.name, row.algorithm, setting, theirs, mine, shown, verdict(row, ours.mean))
    return f"| {' | '.join(cells)} |"


def _label(row: Row) -> str:
    budget = row.params.get("budget")
    return row.algorithm if budget is None else f"{row.algorithm} (B {budget})"


def _setting(row: Row, ours: Measured) -> str:
    names = {"budget": "B", "threshold": "threshold", "n_components": "D"}
    fixed = {short: row.params[name] for name, short in names.items() if name in row.params}
    return ", ".join(f"{name} {_short(v)}" for name, v in {**fixed, **ours.chosen}.items())


def _short(setting: Any) -> str:
    return f"{setting:g}" if isinstance(setting, float) else str(setting)
