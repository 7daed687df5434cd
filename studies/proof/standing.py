"""Compares learners: the line of each cell, and the paired test against Budgetron.

p is that of a two-sided paired t-test over the permutations that both have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from budgetron.lab.baselines import REFERENCES
from budgetron.lab.statistics import (
    ERRORS,
    SIGNIFICANT,
    Line,
    errors,
    paired_p,
    summarise,
    with_spread,
)
from budgetron.lab.store import Record
from studies.build import OURS
from studies.proof import plan
from studies.proof.sets import ProofSet

Budget = int | str | None


@dataclass(frozen=True)
class Entry:
    """A learner at a budget on a set: its line, and its comparison with Budgetron.

    Attributes
    ----------
    line : its runs
    apart : mean error minus Budgetron's over the permutations both have; nan if there is none
    p, verdict : of the paired test there; "worse" or "better" than Budgetron, "even" if the test
        finds no difference, empty for Budgetron itself and with fewer than two permutations
    """

    line: Line
    apart: float = math.nan
    p: float = math.nan
    verdict: str = ""

    @property
    def learner(self) -> str:
        return self.line.algorithm

    @property
    def n(self) -> int:
        return len(self.line.errors)

    @property
    def bytes(self) -> float:
        """Bytes of the model after the last row, the mean of all runs."""
        return self.line.means["bytes"]

    @property
    def shown(self) -> str:
        """`6.59 ± 0.08`: two digits for per cent and minutes, four for targets in [0, 1]."""
        style = ".2f" if self.line.mean >= 2 else ERRORS[self.line.task][3]
        return "diverged" if self.line.diverged else with_spread(self.line.errors, style)

    def beside(self, other: Entry) -> Entry:
        """Only with the permutations that the other has too."""
        there = {record["repeat"] for record in other.line.records}
        both = tuple(record for record in self.line.records if record["repeat"] in there)
        return self.of(both)

    def of(self, records: Sequence[Record]) -> Entry:
        """Only with these of its runs."""
        found = tuple(errors(records)) if records else ()
        return replace(self, line=replace(self.line, records=tuple(records), errors=found))


@dataclass(frozen=True)
class Duel:
    """Budgetron and the others at one budget of a set: those that share a permutation with it.

    Attributes
    ----------
    ours, best : Budgetron and the best other, on the permutations both have
    rivals : all others, the best first
    """

    proof_set: ProofSet
    budget: Budget
    ours: Entry
    best: Entry
    rivals: list[Entry]

    @property
    def tally(self) -> tuple[int, int, int]:
        """How many others are worse than Budgetron, not significantly different, better."""
        words = [entry.verdict for entry in self.rivals]
        return words.count("worse"), words.count("even"), words.count("better")

    @property
    def ahead(self) -> int:
        """How many others have a larger mean error than Budgetron."""
        return sum(entry.apart > 0 for entry in self.rivals)


class Table:
    """All finished cells of a set by budget and learner.

    Parameters
    ----------
    proof_set : the set
    records : finished cells, of any sets; if two are of the same run the later counts
    refused : cells that could not be run
    """

    def __init__(
        self, proof_set: ProofSet, records: Iterable[Record], refused: Iterable[Record] = ()
    ) -> None:
        self.proof_set = proof_set
        mine = [each for each in records if each["stream"] == proof_set.name]
        once = {(each["budget"], each["algorithm"], each["repeat"]): each for each in mine}
        self.records = list(once.values())
        self.refused = {
            (each["algorithm"], each["budget"]): str(each["why"])
            for each in refused
            if each["stream"] == proof_set.name
        }
        lines: dict[Budget, dict[str, Line]] = {}
        for line in summarise(self.records).get(proof_set.name, []):
            lines.setdefault(line.budget, {})[line.algorithm] = line
        self.entries = {
            budget: {name: _entry(line, those.get(OURS)) for name, line in those.items()}
            for budget, those in lines.items()
        }

    def rivals(self, budget: Budget) -> list[Entry]:
        """All but Budgetron, the best first."""
        apart = (OURS, *REFERENCES[self.proof_set.task])
        found = [e for e in self.entries.get(budget, {}).values() if e.learner not in apart]
        return sorted(found, key=lambda e: e.line.mean if math.isnan(e.apart) else e.apart)

    @property
    def references(self) -> list[Entry]:
        """Reference learners that use no feature."""
        found = self.entries.get(None, {})
        return [found[name] for name in REFERENCES[self.proof_set.task] if name in found]

    @property
    def duels(self) -> Iterator[Duel]:
        """The duel at every budget with other learners."""
        for budget in plan.BUDGETS:
            paired = [entry for entry in self.rivals(budget) if not math.isnan(entry.apart)]
            ours = self.entries.get(budget, {}).get(OURS)
            if ours is not None and paired:
                best = paired[0].beside(ours)
                yield Duel(self.proof_set, budget, ours.beside(best), best, paired)

    @property
    def compared(self) -> bool:
        """Whether there are other learners with a budget."""
        return any(self.rivals(budget) for budget in plan.BUDGETS)

    @property
    def learners(self) -> list[str]:
        """The learners with a budget: Budgetron, then the others, the best at B = 100 first."""
        names = {e.learner for b in plan.BUDGETS for e in self.rivals(b)}
        names |= {learner for learner, _ in self.refused}
        at = [e.learner for e in self.rivals(100)]
        return [OURS, *at, *sorted(names - {OURS, *at})]


def _entry(line: Line, ours: Line | None) -> Entry:
    if ours is None or line.algorithm == OURS:
        return Entry(line)
    left = Entry(line).beside(Entry(ours)).line
    right = Entry(ours).beside(Entry(line)).line
    if not left.errors:
        return Entry(line)
    apart = left.mean - right.mean
    p = paired_p(left.records, right.records)
    word = "even" if not p < SIGNIFICANT else "worse" if apart > 0 else "better"
    return Entry(line, apart, p, "" if math.isnan(p) else word)
