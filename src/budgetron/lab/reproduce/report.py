"""Ours beside theirs: a verdict on every line, a conclusion, a Markdown page, JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from budgetron.lab.report import render
from budgetron.lab.reproduce.protocols import PROTOCOLS, Protocol
from budgetron.lab.reproduce.runner import FAILED, Measured, Result
from budgetron.lab.reproduce.tables import Row, Set, Table

# Number of published standard deviations from which a result is worse, or better.
BAR = 3.0

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
    loss = protocol.loss(distance)
    return "worse" if loss > BAR else "better" if loss < -BAR else "ok"


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
    """How the lines compare with the paper's and with the baselines, in one sentence."""
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
    bars: dict[str, float] = {}
    for each, row, ours in measured(results):
        if row.reference:
            bar = protocol.loss(ours.mean)
            bars[each.name] = min(bar, bars.get(each.name, bar))
    losses = [(each.name, protocol.loss(ours.mean)) for each, _, ours in lines]
    poor = sum(loss >= bars[name] for name, loss in losses if name in bars)
    which = f"{poor} {'is' if poor == 1 else 'are'} no better" if poor else "all are better"
    last = f"; {which} than the baselines" if bars else ""
    return f"Of {len(lines)} lines {', '.join(said)}{last}."


def markdown(table: Table, results: Results) -> str:
    """The whole table; below it the differences, and what was not run."""
    protocol = PROTOCOLS[table.protocol]
    rows = [row for data_set in table.sets for row in data_set.published]
    timed = any(row.seconds is not None for row in rows)
    lines = []
    differing: dict[tuple[str, str], list[str]] = {}
    for data_set, row, ours in measured(results):
        word = verdict(row, ours.mean, protocol) if ours.ended else "-"
        far = deviations(row, ours.mean)
        lines.append((data_set, row, ours, _setting(row, ours), word, far))
        if word in ("better", "worse"):
            where = f"{data_set.name} {_label(row)}"
            differing.setdefault((word, row.reason or "not known."), []).append(where)
    return render(
        "paper.md",
        table=table,
        conclusion=conclusion(results, protocol),
        lines=lines,
        digits=protocol.digits,
        timed=timed,
        tested=any(row.test_seconds is not None for row in rows),
        counted=timed or len({len(ours.outcomes) for _, _, ours in measured(results)}) > 1,
        bar=f"{BAR:g}",
        differing=sorted(differing.items(), reverse=True),
        prepared=[s for s, lines in results if not isinstance(lines, str) and s.preparation],
        absent=list(_absent(results)),
    )


def save(out: Path, table: Table, results: Results, text: str) -> None:
    """The page as Markdown, and every outcome as JSON."""
    (out / f"{table.name}.md").write_text(text, encoding="utf-8")
    lines = [
        {
            "set": data_set.name,
            "algorithm": row.algorithm,
            "params": row.params,
            "published": {"mean": row.mean, "sd": row.sd, "stored": row.stored},
            "verdict": verdict(row, ours.mean, PROTOCOLS[table.protocol]),
            **asdict(ours),
        }
        for data_set, row, ours in measured(results)
    ]
    (out / f"{table.name}.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


def _absent(results: Results) -> Iterator[tuple[str, str]]:
    """What was not run, or failed, and why."""
    for data_set, lines in results:
        if isinstance(lines, str):
            yield data_set.name, lines
            continue
        for row, ours in zip(data_set.published, lines, strict=True):
            if isinstance(ours, str):
                yield f"{data_set.name}, {_label(row)}", ours


def _label(row: Row) -> str:
    budget = row.params.get("budget")
    return row.algorithm if budget is None else f"{row.algorithm} (B {budget})"


def _setting(row: Row, ours: Measured) -> str:
    fixed = {short: row.params[name] for name, short in _SETTINGS.items() if name in row.params}
    return ", ".join(f"{name} {_short(v)}" for name, v in {**fixed, **ours.chosen}.items())


def _short(setting: Any) -> str:
    return f"{setting:g}" if isinstance(setting, float) else str(setting)
