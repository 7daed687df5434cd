"""Ours beside theirs, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from budgetron.lab.reproduce.protocols import PROTOCOLS, Protocol
from budgetron.lab.reproduce.runner import Measured
from budgetron.lab.reproduce.tables import Row, Set, Table

# Worse, and better, begin at this many published standard deviations.
BAR = 3.0

# A set of a table with its measurements, or with the reason why there are none.
Result = tuple[Set, list[Measured | str] | str]
Results = Sequence[Result]

_SETTINGS = {"budget": "B", "threshold": "threshold", "n_components": "D", "delta": "delta"}


def measured(results: Results) -> Iterator[tuple[Set, Row, Measured]]:
    """Every line that was run."""
    for data_set, lines in results:
        if not isinstance(lines, str):
            for row, ours in zip(data_set.published, lines, strict=True):
                if isinstance(ours, Measured):
                    yield data_set, row, ours


def deviations(row: Row, mean: float) -> float | None:
    """How far above the published mean, in the published standard deviation."""
    if row.mean is None or row.sd is None:
        return None
    return (mean - row.mean) / row.sd


def verdict(row: Row, mean: float, protocol: Protocol = PROTOCOLS["online"]) -> str:
    """Whether ok, better or worse than published; - if there is no published deviation."""
    distance = deviations(row, mean)
    if distance is None:
        return "-"
    loss = -distance if protocol.more_is_better else distance
    if loss > BAR:
        return "worse"
    return "better" if loss < -BAR else "ok"


def unexplained(table: Table, results: Results) -> bool:
    """Whether a line is worse than published and its table gives no reason."""
    protocol = PROTOCOLS[table.protocol]
    return any(
        verdict(row, ours.mean, protocol) == "worse" and row.reason is None
        for _, row, ours in measured(results)
    )


def markdown(table: Table, results: Results) -> str:
    """The whole table, with what differs and what was not run below it."""
    protocol = PROTOCOLS[table.protocol]
    lines = [f"## {table.title}", "", table.citation, "", table.text, ""]
    rows = [row for data_set in table.sets for row in data_set.published]
    timed = any(row.seconds is not None for row in rows)
    tested = any(row.test_seconds is not None for row in rows)
    heads = ["set", "algorithm", "setting", "theirs", "ours", "difference", "verdict"]
    heads += ["seconds theirs", "ours"] if timed else []
    heads += ["test theirs", "ours"] if tested else []
    counted = timed or len({len(ours.outcomes) for _, _, ours in measured(results)}) > 1
    heads += ["runs"] if counted else []
    lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for data_set, row, ours in measured(results):
        cells = _cells(data_set, row, ours, protocol)
        cells += _pair(row.seconds, ours.seconds if ours.ended else None) if timed else []
        cells += (
            _pair(row.test_seconds, ours.test_seconds if ours.ended else None) if tested else []
        )
        cells += [str(len(ours.outcomes))] if counted else []
        lines.append(f"| {' | '.join(cells)} |")
    lines += [*_summary(results, protocol), *_prepared(results), *_absent(results)]
    return "\n".join(lines) + "\n"


def _summary(results: Results, protocol: Protocol) -> list[str]:
    tally: dict[str, int] = {}
    differing: dict[tuple[str, str], list[str]] = {}
    for data_set, row, ours in measured(results):
        word = verdict(row, ours.mean, protocol)
        tally[word] = tally.get(word, 0) + 1
        if word in ("better", "worse"):
            where = f"{data_set.name} {_label(row)}"
            differing.setdefault((word, row.reason or "not known."), []).append(where)
    if not tally:
        return []
    lines = ["", "Lines: " + ", ".join(f"{n} {word}" for word, n in sorted(tally.items())) + "."]
    if differing:
        lines += ["", f"Beyond {BAR:g} deviations, and the likely reason:", ""]
        for (word, reason), where_all in sorted(differing.items(), reverse=True):
            lines.append(f"- **{word}** {'; '.join(where_all)}: {reason}")
    return lines


def _prepared(results: Results) -> list[str]:
    told = [
        f"- {data_set.name}: {data_set.preparation}."
        for data_set, lines in results
        if not isinstance(lines, str) and data_set.preparation
    ]
    return ["", "Rows:", "", *told] if told else []


def _absent(results: Results) -> list[str]:
    absent = []
    for data_set, lines in results:
        if isinstance(lines, str):
            absent.append(f"- {data_set.name}: {lines}.")
            continue
        for row, ours in zip(data_set.published, lines, strict=True):
            if isinstance(ours, str):
                absent.append(f"- {data_set.name}, {_label(row)}: {ours}.")
    return ["", "Not run:", "", *absent] if absent else []


def _cells(data_set: Set, row: Row, ours: Measured, protocol: Protocol) -> list[str]:
    digits = protocol.digits

    def text(number: float) -> str:
        return f"{number:,.{digits}f}"

    theirs = "-" if row.mean is None else text(row.mean)
    if row.mean is not None and row.sd is not None and not row.sd_ours:
        theirs += f" ± {text(row.sd)}"
    if row.stored is not None:
        theirs += f" ({row.stored:,.0f})"
    setting = _setting(row, ours)
    if not ours.ended:
        return [data_set.name, row.algorithm, setting, theirs, "–", "-", "-"]
    mine = text(ours.mean) + (f" ± {text(ours.sd)}" if len(ours.outcomes) > 1 else "")
    mine += f" ({ours.stored:,.0f})"
    distance = deviations(row, ours.mean)
    shown = "-" if distance is None else f"{distance:+.1f} sd"
    if distance is None and row.mean is not None:
        shown = f"{ours.mean - row.mean:+.{digits}f}"
    word = verdict(row, ours.mean, protocol)
    return [data_set.name, row.algorithm, setting, theirs, mine, shown, word]


def _pair(theirs: float | None, ours: float | None) -> list[str]:
    return ["-" if s is None else f"{s:,.2f}" if s < 100 else f"{s:,.0f}" for s in (theirs, ours)]


def _label(row: Row) -> str:
    budget = row.params.get("budget")
    return row.algorithm if budget is None else f"{row.algorithm} (B {budget})"


def _setting(row: Row, ours: Measured) -> str:
    fixed = {short: row.params[name] for name, short in _SETTINGS.items() if name in row.params}
    return ", ".join(f"{name} {_short(v)}" for name, v in {**fixed, **ours.chosen}.items())


def _short(setting: Any) -> str:
    return f"{setting:g}" if isinstance(setting, float) else str(setting)
