"""How learners stand: of each cell its errors, its bytes, and the paired test against Budgetron.

The p is of a two-sided paired t-test over the permutations that both have.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from budgetron.lab.baselines import REFERENCES
from budgetron.lab.statistics import ERRORS, SIGNIFICANT, errors, paired_p
from budgetron.lab.store import Record
from studies.proof.plan import BUDGETS
from studies.proof.rivals import OURS
from studies.proof.sets import ProofSet

Budget = int | str | None


@dataclass(frozen=True)
class Entry:
    """A learner at a budget on a set: its runs, and how it stands against Budgetron.

    Attributes
    ----------
    runs : permutation -> error
    bytes : of the model after the last row, their mean
    apart : mean error less Budgetron's over the permutations both have; nan if there is none
    p, verdict : of the paired test there; "worse" or "better" than Budgetron, "even" where the test
        does not tell them apart, empty for Budgetron itself and with fewer than two permutations
    """

    learner: str
    task: str
    runs: dict[int, float]
    bytes: float
    apart: float = math.nan
    p: float = math.nan
    verdict: str = ""

    @property
    def errors(self) -> list[float]:
        return list(self.runs.values())

    @property
    def mean(self) -> float:
        return statistics.fmean(self.errors)

    @property
    def shown(self) -> str:
        """`6.59 ± 0.08`."""
        style = style_of(self.task, self.mean)
        spread = f" ± {statistics.stdev(self.errors):{style}}" if len(self.runs) > 1 else ""
        return f"{self.mean:{style}}{spread}"

    def beside(self, other: Entry) -> Entry:
        """With the permutations that the other has too."""
        both = {repeat: error for repeat, error in self.runs.items() if repeat in other.runs}
        return replace(self, runs=both)


def style_of(task: str, mean: float) -> str:
    """Two digits for per cent and minutes, four for targets in [0, 1]."""
    return ".2f" if mean >= 2 else ERRORS[task][3]


class Table:
    """All finished cells of a set by budget and learner.

    Parameters
    ----------
    proof_set : whose
    records : finished cells, of any sets; of two for the same run the later counts
    refused : cells that could not be run
    """

    def __init__(
        self, proof_set: ProofSet, records: Iterable[Record], refused: Iterable[Record] = ()
    ) -> None:
        self.proof_set = proof_set
        self.records = [each for each in records if each["stream"] == proof_set.name]
        self.refused = {
            (each["algorithm"], each["budget"])
            for each in refused
            if each["stream"] == proof_set.name
        }
        groups: dict[Budget, dict[str, dict[int, Record]]] = {}
        for record in self.records:
            line = groups.setdefault(record["budget"], {})
            line.setdefault(record["algorithm"], {})[record["repeat"]] = record
        self.entries = {
            budget: {name: _entry(name, runs, lines.get(OURS)) for name, runs in lines.items()}
            for budget, lines in groups.items()
        }

    def rivals(self, budget: Budget) -> list[Entry]:
        """All but Budgetron, the best first."""
        apart = (OURS, *REFERENCES[self.proof_set.task])
        found = [e for e in self.entries.get(budget, {}).values() if e.learner not in apart]
        return sorted(found, key=lambda e: e.mean if math.isnan(e.apart) else e.apart)

    @property
    def references(self) -> list[Entry]:
        """What looks at no feature."""
        found = self.entries.get(None, {})
        return [found[name] for name in REFERENCES[self.proof_set.task] if name in found]

    def paired(self, budget: Budget) -> list[Entry]:
        """Those with a permutation that Budgetron has too."""
        return [entry for entry in self.rivals(budget) if not math.isnan(entry.apart)]

    @property
    def compared(self) -> bool:
        """Whether there are others with a budget."""
        return any(self.rivals(budget) for budget in BUDGETS)

    @property
    def learners(self) -> list[str]:
        """Those with a budget: Budgetron, then the others, the best at B = 100 first."""
        names = {e.learner for b in BUDGETS for e in self.rivals(b)}
        names |= {learner for learner, _ in self.refused}
        at = [e.learner for e in self.rivals(100)]
        return [OURS, *at, *sorted(names - {OURS, *at})]


def _entry(name: str, runs: dict[int, Record], ours: dict[int, Record] | None) -> Entry:
    order = sorted(runs)
    held = statistics.fmean(run["checkpoints"][-1]["bytes"] for run in runs.values())
    mine = dict(zip(order, errors([runs[repeat] for repeat in order]), strict=True))
    found = Entry(name, runs[order[0]]["task"], mine, held)
    both = sorted(runs.keys() & (ours or {}).keys())
    if name == OURS or ours is None or not both:
        return found
    left, right = [runs[repeat] for repeat in both], [ours[repeat] for repeat in both]
    apart = statistics.fmean(errors(left)) - statistics.fmean(errors(right))
    p = paired_p(left, right)
    word = "even" if not p < SIGNIFICANT else "worse" if apart > 0 else "better"
    return replace(found, apart=apart, p=p, verdict="" if math.isnan(p) else word)


def tally(rivals: Sequence[Entry]) -> tuple[int, int, int]:
    """Of how many Budgetron is better, not told apart, worse."""
    words = [entry.verdict for entry in rivals]
    return words.count("worse"), words.count("even"), words.count("better")


def ahead(rivals: Sequence[Entry]) -> int:
    """How many have a larger mean error than Budgetron."""
    return sum(entry.apart > 0 for entry in rivals)
