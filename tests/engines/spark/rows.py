"""Rows of a stream in files, some repeated, late or bad, and the result of a local fleet."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from budgetron.fleet.keys import encode
from budgetron.spark.sequences import Sequences
from tests.engines.spark.query import BUCKETS, FEATURES, digest, made

FILES, ROWS, USERS = 4, 1500, 60


def written(folder: Path) -> list[pandas.DataFrame]:
    """The rows of each micro-batch, which are in `folder/rows` in another order."""
    rng = np.random.default_rng(3)
    taste = rng.normal(size=3) + rng.normal(size=(USERS, 3))
    (folder / "rows").mkdir(parents=True)
    batches = []
    number = 0
    for file in range(FILES):
        users = rng.integers(0, USERS, ROWS)
        X = rng.normal(size=(ROWS, 3))
        frame = pandas.DataFrame(X, columns=FEATURES)
        frame.insert(0, "y", np.where((X * taste[users]).sum(axis=1) > 0, "buys", "leaves"))
        frame.insert(0, "number", number + np.arange(ROWS))
        frame.insert(0, "user", [f"user {each}" for each in users])
        number += ROWS
        if file:  # rows of the batch before come again, and late ones, whose numbers are lower
            again = batches[-1].sample(40, random_state=file)
            late = frame.sample(20, random_state=file).assign(number=lambda f: f["number"] - 5000)
            frame = pandas.concat([frame, again, late], ignore_index=True)
        frame.loc[11, "b"] = np.nan  # a gap, which is no mistake
        frame = pandas.concat([frame, frame.sample(10, random_state=file)], ignore_index=True)
        frame.loc[7, "user"] = None
        frame.loc[8, "y"] = "wonders"
        frame.loc[9, "y"] = None
        frame.loc[10, "a"] = np.inf
        batches.append(frame)
        mixed = frame.sample(frac=1, random_state=file)
        path = folder / "rows" / f"{file}.parquet"
        mixed.to_parquet(path, index=False)
        # Files are read in the order of their times.
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    return batches


def learned(batches: list[pandas.DataFrame]) -> dict[int, dict[str, Any]]:
    """The state of each bucket in the format of query.py: fleets that learned row by row, here."""
    fleets = {bucket: made() for bucket in range(BUCKETS)}
    counts: dict[int, Counter[str]] = {bucket: Counter() for bucket in range(BUCKETS)}
    sequences = {bucket: Sequences() for bucket in range(BUCKETS)}
    last: dict[str, int] = {}
    for number, frame in enumerate(batches):
        keyed = frame["user"].fillna("")
        where = made().bucket_of(keyed, BUCKETS)
        where[keyed == ""] = 0
        bad = (keyed == "") | ~frame["y"].isin(["buys", "leaves"])
        bad |= np.isinf(frame[FEATURES]).any(axis=1)
        for bucket in np.unique(where):
            counts[bucket]["bad"] += int(bad[where == bucket].sum())
        good = frame.assign(bucket=where)[~bad.to_numpy()]
        for bucket, rows in good.groupby("bucket"):
            sequences[bucket].accept(encode(rows["user"]), rows["number"].to_numpy(), number)
        good = good.sort_values("number", kind="stable")
        for row in good.itertuples():
            if row.user in last and row.number <= last[row.user]:
                counts[row.bucket]["repeated"] += 1
                continue
            last[row.user] = row.number
            x = [[row.a, row.b, row.c]]
            fleets[row.bucket].learn([row.user], np.array(x), [row.y])
            counts[row.bucket]["rows"] += 1
    return {
        bucket: {
            "bucket": bucket,
            "fleet": digest(fleet.to_bytes()),
            "sequences": digest(sequences[bucket].to_bytes()),
            **{name: counts[bucket][name] for name in ("rows", "repeated", "bad")},
            "mistakes": fleet.n_mistakes_,
            "batches": len(batches),
            "read": digest(fleet.to_bytes()),
        }
        for bucket, fleet in fleets.items()
    }
