"""The papers' tables as data, and what runs them again: `python -m budgetron.experiments`.

A table is a TOML file here: the data sets and how they were prepared, the settings of every
learner, and what the paper published. `tables` reads it, `data` finds the rows, `runner` runs
seeded permutations in parallel, `report` prints ours beside theirs.
"""

from budgetron.experiments.tables import Row, Set, Table, names, read

__all__ = ["Row", "Set", "Table", "names", "read"]
