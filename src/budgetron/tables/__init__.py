"""Tables of mixed columns as numbers: what kind each column is, and which features it becomes.

`Encoding.infer(table)` looks at some rows and decides; `Encoding.encode(table)` then turns any rows
into features of a fixed number and order. An encoding depends on the values of the rows it was
inferred from and not on their order, and a row's features depend on the encoding and on that row
alone: neither the order of rows nor the size of chunks makes a difference.

Three interfaces use it: the scikit-learn transformer `budgetron.TableEncoder`, the River
transformer `budgetron.river.TableEncoder`, and the readers of `budgetron.streams`. The layer uses
nothing of the package but what lies at its ground. Begin with encoding.py.
"""
