"""The papers' tables and figures as data, and what runs them again for `budgetron reproduce`.

An experiment is a TOML file of `papers/`: the data sets and how they were prepared, the settings of
every learner, what the paper published, and which figures are drawn from the runs. `tables` reads
it, `data` finds the rows, `protocols` says what a run is, `runner` makes cells of it and runs them,
`report` prints ours beside theirs, `figures` draws.
"""

from budgetron.lab.reproduce.tables import Figure, Row, Set, Table, names, read

__all__ = ["Figure", "Row", "Set", "Table", "names", "read"]
