"""Budgetron on Spark: fleets that learn a stream, scoring of tables, one model from partitions.

`learning` is a stateful operator of Structured Streaming with one fleet per bucket of keys;
`packing` packs the rows for it, `processor` learns them, `sequences` has the last sequence number
of each key. `scoring` runs a `Scorer` over a table, `training` learns one model in partitions and
merges. PySpark is imported when a function needs it. May use the scorer, fleets, model files and
the layers below; the processor and what it uses know nothing about Spark except that it provides
state.
"""

from budgetron.spark.learning import fleets as fleets
from budgetron.spark.learning import learn_fleet as learn_fleet
from budgetron.spark.scoring import score as score
from budgetron.spark.training import train as train
