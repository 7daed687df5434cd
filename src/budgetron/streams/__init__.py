"""Sources of rows: a stream yields chunks (X, y), has a name, and can resume from a position.

`open_stream` opens any source: LIBSVM, CSV, Parquet and npz files, standard input, arrays and
tables in memory, data sets and synthetic streams by name. The protocol is `Stream`; an error in a
source is a `StreamError`. May use `datasets`.
"""

from budgetron.streams.arrays import ArrayStream
from budgetron.streams.base import RowStream, Stream, StreamError
from budgetron.streams.libsvm import LibsvmStream
from budgetron.streams.opening import SourceOptions, open_stream
from budgetron.streams.synthetic import SyntheticStream, synthetic, two_gaussians
from budgetron.streams.table import TableStream

__all__ = [
    "ArrayStream",
    "LibsvmStream",
    "RowStream",
    "SourceOptions",
    "Stream",
    "StreamError",
    "SyntheticStream",
    "TableStream",
    "open_stream",
    "synthetic",
    "two_gaussians",
]
