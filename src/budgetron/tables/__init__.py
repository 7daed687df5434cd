"""Tables of mixed columns as numbers: the kind of each column, and its features.

`Encoding.infer(table)` looks at some rows and decides; `Encoding.encode(table)` then turns any rows
into features of a fixed number and order. An encoding depends on the values of the rows it was
inferred from, not on their order; a row's features depend only on the encoding and on that row: the
order of rows and the size of chunks make no difference.

Three interfaces use it: the scikit-learn transformer `budgetron.TableEncoder`, the River
transformer `budgetron.river.TableEncoder`, and the readers of `budgetron.streams`. This layer uses
only the lowest modules of the package. Begin with encoding.py.
"""
