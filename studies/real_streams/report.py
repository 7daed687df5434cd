"""docs/results/real-streams.md, from finished cells: every cell, the lost ones too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from budgetron._text import bytes_text
from budgetron.lab.report import render
from studies.build import OURS
from studies.real_streams import plan
from studies.real_streams.harm import CLEAN, HARMED, HARMS
from studies.real_streams.others import RIVER, installed
from studies.real_streams.results import Results, Run, Table, kind_of
from studies.real_streams.sources import FIRST, SOURCES

PAGE = Path("docs/results/real-streams.md")
FIGURE = Path("docs/images/real-streams")
MOST_BEHIND = 1.1  # allowed ratio to the best, on a real stream
FORESTS = ("ARF(10)", "SRP(10)")


def page(results: Results) -> str:
    """The whole page."""
    first = results.first
    late = {delay: each for delay, each in results.delayed.items() if each.streams()}
    texts = {
        "headline": headline(first),
        "goals": goals(first),
        "summary": summary(first),
        "best": best(first),
        "cells": cells(first, first.streams()),
        "whole": cells(results.whole, results.whole.streams()),
        "lost": lost(results.whole),
        "late_means": late_means(results),
        "harmed": harmed(results.harmed),
    }
    return render(
        "page.md",
        "studies.real_streams",
        **{name: Markup(text) for name, text in texts.items()},
        late=[(delay, Markup(cells(each, each.streams()))) for delay, each in late.items()],
        sources=[each for each in SOURCES if each.name in first.streams()],
        cut=cut(first),
        seconds={**dict.fromkeys(RIVER, plan.MOST_SECONDS), **plan.SECONDS},
        rows=FIRST,
        versions={name: installed(name) for name in ("river", "vowpalwabbit")},
    )


# ---- sentences ---------------------------------------------------------------------------------


def headline(table: Table) -> str:
    """The result in one sentence."""
    streams = table.streams("classification")
    means = sorted((table.mean(name, streams)[0], name) for name in _everywhere(table))
    place = [name for _, name in means].index(OURS) + 1
    if len(means) == 1:
        return "No other learner has run on all streams yet."
    other, who = next(each for each in means if each[1] != OURS)
    micro = table.microseconds(OURS, streams)
    lead = (
        f"the least error of {len(means)} learners"
        if place == 1
        else f"place {place} of {len(means)} learners by error"
    )
    behind = _behind(table)
    where = (
        f"it is more than 10 % behind the best on {len(behind)} of {_real(table)} real streams "
        f"({', '.join(name for name, _, _ in behind)})"
        if behind
        else f"it is at most 10 % behind the best on all {_real(table)} real streams"
    )
    return (
        f"**With nothing given but a budget of 100 examples, `budgetron` has {lead} in the "
        f"geometric mean of {len(streams)} streams, {_times(other)} that of {_shown(who)}, "
        f"at {micro:.1f} µs per row; {where}.**"
    )


def _everywhere(table: Table) -> list[str]:
    """Learners that have a cell of every classification stream."""
    streams = table.streams("classification")
    return [name for name in table.learners if table.mean(name, streams)[1] == len(streams)]


def _times(other: float) -> str:
    return f"{1 / other:.2f} times"


def _real(table: Table) -> int:
    return len(table.streams(real=True))


def _behind(table: Table) -> list[tuple[str, str, float]]:
    """Real streams where another learner is better by more than a tenth: stream, which, factor."""
    found = []
    for stream in table.streams(real=True):
        who, ratio = table.best(stream)
        if 1 / ratio > MOST_BEHIND:
            found.append((stream, who, 1 / ratio))
    return found


def goals(table: Table) -> str:
    """Whether each goal is reached, with its numbers."""
    streams = table.streams("classification")
    ahead = [(table.mean(name, streams)[0], name) for name in _everywhere(table) if name != OURS]
    if not ahead:
        return ""
    better = sorted(each for each in ahead if each[0] <= 1)
    lines = []
    if better:
        who = ", ".join(f"{_shown(name)} ({mean:.2f} of budgetron's)" for mean, name in better)
        lines.append(f"- First in the geometric mean: **missed**. Ahead of it: {who}.")
    else:
        mean, name = min(ahead)
        lines.append(
            f"- First in the geometric mean: **reached**. The next, {_shown(name)}, has "
            f"{mean:.2f} times its error."
        )
    partly = [name for name in table.learners if name not in _everywhere(table)]
    counts = {name: table.mean(name, streams)[1] for name in partly}
    total = len(streams)
    said = ", ".join(f"{_shown(name)} ({n} of {total})" for name, n in counts.items() if n)
    if said:
        lines.append(f"- Not on all streams, so not counted above: {said}.")
    behind = _behind(table)
    said = "; ".join(
        f"{s}: {factor:.2f} times that of {_shown(w)}{_short(table, s, w)}"
        for s, w, factor in behind
    )
    lines.append(
        "- Not more than 10 % behind the best on any real stream: "
        + (f"**missed**. Its error is on {said}." if behind else "**reached**.")
    )
    for title, names in (
        ("a forest (ARF or SRP)", FORESTS),
        ("the last label", ("last label",)),
    ):
        found = _won(table, names)
        where = "; ".join(found) if found else "on no stream"
        lines.append(f"- Where {title} has less error than budgetron: {where}.")
    return "\n".join(lines)


def _short(table: Table, stream: str, learner: str) -> str:
    """After how many rows the time limit ended the learner's cell, if it did."""
    ours = table.runs[stream][OURS]
    rows = table.runs[stream][learner].beside(ours)[0]
    return "" if rows == ours.rows else f" after {rows:,} rows, where its time ended"


def _won(table: Table, names: Sequence[str]) -> list[str]:
    found = []
    for stream in table.streams():
        ratios = {name: table.relative(name, stream) for name in names}
        ratios = {name: each for name, each in ratios.items() if each < 1}
        if ratios:
            who = min(ratios, key=lambda name: ratios[name])
            _, mine, its = table.runs[stream][who].beside(table.runs[stream][OURS])
            found.append(f"{stream} ({_shown(who)} {_error(mine)}, budgetron {_error(its)})")
    return found


# ---- tables ------------------------------------------------------------------------------------


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    made = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(each) + " |" for each in made)


def _shown(learner: str) -> str:
    return (
        learner
        if kind_of(learner) in ("River", "Vowpal Wabbit")
        else f"`{learner}`"
        if (kind_of(learner) != "no feature")
        else f"the {learner}"
    )


def _error(value: float) -> str:
    if not math.isfinite(value):
        return "diverged"
    return f"{value:.2f}" if value < 1000 else "> 1,000"


def _ratio(value: float) -> str:
    return "–" if math.isnan(value) else "diverged" if math.isinf(value) else f"{value:.2f}"


def _bytes(value: float) -> str:
    return "–" if math.isnan(value) else bytes_text(value)


def summary(table: Table) -> str:
    """Geometric means, time and bytes of every learner."""
    every = table.streams("classification")
    real = table.streams("classification", real=True)
    made = table.streams("classification", real=False)
    lines = []
    for name in table.learners:
        mean, n = table.mean(name, every)
        if not n:
            continue
        note = "" if n == len(every) else f" ({n} of {len(every)})"
        text = [_ratio(mean) + note, _ratio(table.mean(name, real)[0])]
        text += [_ratio(table.mean(name, made)[0])]
        text += [f"{table.microseconds(name, every):,.1f}", _bytes(table.bytes(name, every))]
        shown = f"**{name}**" if name == OURS else name
        lines.append([shown, kind_of(name) if name != OURS else "ours", *text])
    head = ["learner", "of", f"all {len(every)}", f"real, {len(real)}", f"made, {len(made)}"]
    return _table([*head, "µs per row", "bytes"], lines)


def best(table: Table) -> str:
    """Budgetron beside the best other, stream by stream."""
    lines = []
    for stream in table.streams():
        runs = table.runs[stream]
        others = [name for name in runs if name != OURS]
        others = [name for name in others if not math.isnan(table.relative(name, stream))]
        ranked = sorted(others, key=lambda name: table.relative(name, stream))
        if not ranked:
            continue
        who = ranked[0]
        rows, mine, its = runs[who].beside(runs[OURS])
        won = its <= mine
        ours = f"**{_error(its)}**" if won else _error(its)
        other = _error(mine) if won else f"**{_error(mine)}**"
        forests = [(table.relative(n, stream), n) for n in FORESTS if n in runs]
        shown = "–"
        if forests:
            least = min(forests)[1]
            shown = f"{_error(_last(runs[least]))} ({least})"
        plain = _error(_last(runs["last label"])) if "last label" in runs else "–"
        ahead = sum(table.relative(name, stream) > 1 for name in others)
        known = [stream, f"{rows:,}", ours, who, other, f"{its / mine:.2f}"]
        lines.append([*known, f"{ahead} of {len(others)}", shown, plain])
    head = ["stream", "rows", "budgetron", "best other", "its error", "budgetron's in terms of it"]
    return _table([*head, "budgetron ahead of", "better forest", "last label"], lines)


def _last(run: Run) -> float:
    return run.errors[run.rows]


def cells(table: Table, streams: Sequence[str]) -> str:
    """Every error; in brackets the rows of a cell that the time limit ended."""
    streams = [each for each in streams if each in table.runs]
    if not streams:
        return ""
    lines = []
    for name in table.learners:
        text = []
        for stream in streams:
            run = table.runs[stream].get(name)
            if run is None:
                text.append("–")
                continue
            most = max(each.rows for each in table.runs[stream].values())
            short = f" ({run.rows:,})" if run.rows < most else ""
            shown = _error(_last(run)) + short
            text.append(f"**{shown}**" if table.best(stream)[0] == name else shown)
        if any(each != "–" for each in text):
            lines.append([name, *text])
    return _table(["learner", *streams], lines)


def lost(table: Table) -> str:
    """Where Budgetron does not have the least error, and by how much."""
    found = []
    for stream in table.streams():
        who, ratio = table.best(stream)
        if who != OURS:
            found.append(f"{stream} ({1 / ratio:.2f} times that of {_shown(who)})")
    return "Budgetron does not have the least error on " + ", ".join(found) + "." if found else ""


def late_means(results: Results) -> str:
    """Errors with delayed labels relative to Budgetron's with the same delay."""
    tables = {0: results.first, **results.delayed}
    names = dict.fromkeys(n for d, t in results.delayed.items() for n in t.learners)
    streams = results.first.streams("classification")
    for table in results.delayed.values():
        streams = [each for each in streams if OURS in table.runs.get(each, {})]
    if not streams:
        return ""
    lines = []
    for name in names:
        found = {delay: table.mean(name, streams) for delay, table in tables.items()}
        if all(n == len(streams) for _, n in found.values()):
            lines.append([name, *(_ratio(mean) for mean, _ in found.values())])
    lines.sort(key=lambda each: (each[0] != OURS, float(each[2]) if each[2] != "diverged" else 1e9))
    head = ["learner", *("at once" if not d else f"{d:,} rows later" for d in tables)]
    better = []
    for delay, table in results.delayed.items():
        who = [n for n in names if table.mean(n, streams)[1] == len(streams)]
        who = [n for n in who if table.mean(n, streams)[0] < 1]
        said = ", ".join(map(_shown, who)) if who else "nobody"
        better.append(f"{delay:,} rows later {said}")
    wins = f"Less error than budgetron: {'; '.join(better)}."
    return _table(head, lines) + f"\n\nOf {', '.join(streams)}. {wins}"


def harmed(table: Table) -> str:
    """The error with damage relative to that without."""
    lines = []
    for source in HARMED:
        clean = table.runs.get(f"{source}: {CLEAN}", {})
        for name in (OURS, *plan.HARMED_OTHERS):
            if name not in clean:
                continue
            text = [_error(_last(clean[name]))]
            for harm in HARMS:
                run = table.runs.get(f"{source}: {harm}", {}).get(name)
                if run is None:
                    text.append("–")
                    continue
                _, mine, its = run.beside(clean[name])
                text.append(f"{_error(mine)} ({mine / its:.2f})")
            short = (
                ""
                if clean[name].rows == max(r.rows for r in clean.values())
                else (f" (first {clean[name].rows:,} rows)")
            )
            lines.append([source, name + short, *text])
    return _table(["set", "learner", CLEAN, *HARMS], lines) if lines else ""


def cut(table: Table) -> str:
    """How many cells the time limit ended."""
    runs = [
        (run, max(each.rows for each in runs.values()))
        for runs in table.runs.values()
        for run in runs.values()
    ]
    short = sum(run.rows < most for run, most in runs)
    return f"{short} of {len(runs)}"
