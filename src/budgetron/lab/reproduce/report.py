"""Ours beside theirs, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from budgetron.lab.report import render
from budgetron.lab.reproduce.protocols import PROTOCOLS, Protocol
from budgetron.lab.reproduce.runner import FAILED, Measured
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


def failed(table: Table, results: Results) -> list[str]:
    """What failed, one line per reason."""
    return [
        f"{table.title}: {data_set.name}: {ours.removeprefix(FAILED)}"
        for data_set, lines in results
        for ours in (lines if not isinstance(lines, str) else ())
        if isinstance(ours, str) and ours.startswith(FAILED)
    ]


def conclusion(results: Results, protocol: Protocol) -> str:
    """How the lines stand to the paper's and to what looks at no feature, in one sentence."""
    lines = [(each, row, ours) for each, row, ours in measured(results) if not row.reference]
    if not lines:
        return "Nothing was run."
    words = Counter(verdict(row, ours.mean, protocol) for _, row, ours in lines)
    counts = {"ok": f"within {BAR:g} deviations of the paper", "better": "better than it"}
    counts |= {"worse": "worse than it", "-": "without a published deviation"}
    said = [
        f"{words[word]} {'is' if words[word] == 1 else 'are'} {text}"
        for word, text in counts.items()
        if words[word]
    ]
    bars = {each.name: ours.mean for each, row, ours in measured(results) if row.reference}
    for each, row, ours in measured(results):
        if row.reference:
            bars[each.name] = min(bars[each.name], ours.mean)
    poor = sum(ours.mean >= bars[each.name] for each, _, ours in lines if each.name in bars)
    which = f"{poor} are no better" if poor else "all are better"
    last = f"; {which} than the baselines" if bars else ""
    return f"Of {len(lines)} lines {', '.join(said)}{last}."


def markdown(table: Table, results: Results) -> str:
    """The whole table, with what differs and what was not run below it."""
    protocol = PROTOCOLS[table.protocol]
    rows = [row for data_set in table.sets for row in data_set.published]
    timed = any(row.seconds is not None for row in rows)
    tested = any(row.test_seconds is not None for row in rows)
    heads = ["set", "algorithm", "setting", "theirs", "ours", "difference", "verdict"]
    heads += ["seconds theirs", "ours"] if timed else []
    heads += ["test theirs", "ours"] if tested else []
    counted = timed or len({len(ours.outcomes) for _, _, ours in measured(results)}) > 1
    heads += ["runs"] if counted else []
    lines = []
    differing: dict[tuple[str, str], list[str]] = {}
    for data_set, row, ours in measured(results):
        cells = _cells(data_set, row, ours, protocol)
        ended = ours if ours.ended else None
        cells += _pair(row.seconds, ended.seconds if ended else None) if timed else []
        cells += _pair(row.test_seconds, ended.test_seconds if ended else None) if tested else []
        cells += [str(len(ours.outcomes))] if counted else []
        lines.append(cells)
        word = verdict(row, ours.mean, protocol)
        if word in ("better", "worse"):
            where = f"{data_set.name} {_label(row)}"
            differing.setdefault((word, row.reason or "not known."), []).append(where)
    return render(
        "paper.md",
        table=table,
        conclusion=conclusion(results, protocol),
        heads=heads,
        lines=lines,
        bar=f"{BAR:g}",
        differing=sorted(differing.items(), reverse=True),
        prepared=[s for s, lines in results if not isinstance(lines, str) and s.preparation],
        absent=list(_absent(results)),
    )


def _absent(results: Results) -> Iterator[tuple[str, str]]:
    """What was not run, or failed, and why."""
    for data_set, lines in results:
        if isinstance(lines, str):
            yield data_set.name, lines
            continue
        for row, ours in zip(data_set.published, lines, strict=True):
            if isinstance(ours, str):
                yield f"{data_set.name}, {_label(row)}", ours


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
