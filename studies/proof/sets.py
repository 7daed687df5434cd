"""The data sets of the proof: unscaled, large ones cut to 100,000 rows.

MNIST has 30,000 rows, like its target.

Only pixels are scaled (to [0, 1]), and casp's target, as in the AVM paper: the learners must find
the scale themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from budgetron.lab.reproduce import data
from budgetron.lab.reproduce.tables import Set
from budgetron.lab.rows import Rows

MOST_ROWS = 100_000


@dataclass(frozen=True)
class ProofSet:
    """A data set and what is run on it.

    Attributes
    ----------
    rows : what to read
    most : rows kept, drawn once at random if there are more
    raw : features have different units, so that every learner gets `scale="auto"`
    task : "classification" or "regression"
    late : its permutations come after so many more of the other sets, because it takes long
    unbounded : whether learners without a budget are run too, once
    targets : budget -> upper limit of Budgetron's error
    only : whether it is there for the targets alone
    """

    rows: Set
    most: int = MOST_ROWS
    raw: bool = False
    task: str = "classification"
    late: int = 0
    unbounded: bool = False
    targets: tuple[tuple[int, float], ...] = ()
    only: bool = False

    @property
    def name(self) -> str:
        return self.rows.name

    @property
    def length(self) -> int:
        """The number of rows of the stream, T in the papers' formulas."""
        return min(self.rows.rows, self.most)

    def load(self) -> Rows:
        """Its rows in the order of the files; the comparison makes permutations."""
        return data.whole(self.rows, self.most, self.task)


# Cheap sets first: then an interrupted proof has finished most of its cells.
SETS = (
    ProofSet(
        Set("phishing", 11_055, ("phishing",)),
        unbounded=True,
        targets=((400, 5.5), (100, 6.0)),
    ),
    ProofSet(
        Set("magic04", 19_020, ("magic04",)),
        raw=True,
        unbounded=True,
        targets=((200, 14.2),),
    ),
    ProofSet(
        Set("casp", 45_730, ("casp",), target="unit"),
        raw=True,
        task="regression",
        unbounded=True,
        targets=((400, 0.226), (100, 0.235)),
    ),
    ProofSet(
        Set("w8a", 49_749, ("w8a/train",)),
        unbounded=True,
        targets=((300, 1.8), (75, 2.2)),
    ),
    ProofSet(
        Set("a9a", 48_842, ("a9a",)),
        unbounded=True,
        targets=((150, 15.6), (37, 16.1)),
    ),
    ProofSet(
        Set("cod-rna", 59_535, ("cod-rna/train",)),
        raw=True,
        targets=((200, 5.6),),
    ),
    ProofSet(Set("ijcnn1", 141_691, ("ijcnn1",))),
    ProofSet(Set("covtype", 581_012, ("covtype",), against=2), raw=True),
    ProofSet(
        Set("airlines", 273_853, ("airlines-nyc2013",)),
        raw=True,
        task="regression",
    ),
    ProofSet(
        Set("ijcnn1, all rows", 141_691, ("ijcnn1",)),
        most=141_691,
        targets=((600, 2.0), (150, 3.1)),
        only=True,
    ),
    ProofSet(
        Set("MNIST", 60_000, ("mnist/train",), scale="whole"),
        most=30_000,
        late=1,
        targets=((400, 6.2),),
    ),
)
