"""A fleet in the form that `predict` uses: a column gives the key of each row."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from budgetron.cli._console import fail
from budgetron.errors import BudgetronError


def is_fleet(path: str) -> bool:
    """Whether a file holds a fleet."""
    return Path(path).is_file() and zipfile.is_zipfile(path)


class KeyedModel:
    """A fleet and the keys of the next rows.

    Parameters
    ----------
    path : file of `run --key --save` or `Fleet.save`
    key : column with the key; None: the column that the file names

    Attributes
    ----------
    key : column with the key
    document : the content of the file, for `layout_in`
    """

    def __init__(self, path: str, key: str | None) -> None:
        import tempfile

        from budgetron.fleet import Fleet

        # A fleet with a file on disk gets a temporary one that is removed when the command ends.
        self._folder = tempfile.TemporaryDirectory()
        try:
            try:
                fleet = Fleet.load(path)
            except BudgetronError as error:
                if "keeps keys in a file" not in str(error):
                    raise
                fleet = Fleet.load(path, file=Path(self._folder.name, "keys.db"))
        except BudgetronError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{path}: {(error.strerror or str(error)).lower()}")
        found = key or fleet.extra.get("key")
        if not isinstance(found, str):
            fail(f"{path}: a fleet that was not learned by `run --key`: pass the key column, --key")
        self.key: str = found
        self.document = {"extra": fleet.extra}
        self._fleet = fleet
        self._keys: list[Any] = []
        for name in ("classes_", "feature_names_in_"):
            if hasattr(fleet, name):
                setattr(self, name, getattr(fleet, name))
        self.n_features_in_ = fleet.shared_.n_features_in_
        self._engine, self._takes_gaps = fleet.shared_._engine, True

    def meet(self, keys: list[Any], numbers: Any) -> None:
        """Set the keys of the next rows, and their row numbers in the file."""
        missing = [number for key, number in zip(keys, numbers, strict=True) if key is None]
        if missing:
            what = f"row {missing[0]} has no key in column {self.key!r}"
            raise BudgetronError(f"{what}: fill or drop rows with a missing key")
        self._keys = keys

    def predict(self, X: Any) -> Any:
        """The answer for each row, from the model of its key."""
        return self._fleet.predict(self._keys, X)

    def decision_function(self, X: Any) -> Any:
        """f_key(x)."""
        return self._fleet.decision_function(self._keys, X)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class."""
        return self._fleet.predict_proba(self._keys, X)
