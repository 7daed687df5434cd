"""The data sets of the four papers: where they come from, fetched, verified, cached, read.

>>> from budgetron import datasets
>>> datasets.find("a9a").papers["ahpatron"]
'train and test joined, 48,842 rows; sigma 2, budget 150'

`fetch` downloads a file from its public origin; `load("a9a")` returns its rows, and
`budgetron.streams.open_stream("data:a9a")` streams them. The local folder `$BUDGETRON_DATA` is
searched first. May use `streams`.
"""

from budgetron.datasets.cache import cache_folder, fetch, local_folder, locate, verify
from budgetron.datasets.reading import here, load, named, paths, rows_missing, sources, stacked
from budgetron.datasets.registry import DataError, DataSet, File, data_sets, find

__all__ = [
    "DataError",
    "DataSet",
    "File",
    "cache_folder",
    "data_sets",
    "fetch",
    "find",
    "here",
    "load",
    "local_folder",
    "locate",
    "named",
    "paths",
    "rows_missing",
    "sources",
    "stacked",
    "verify",
]
