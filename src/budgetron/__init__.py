"""Kernel machines that learn from a stream in fixed memory.

>>> import budgetron
>>> model = budgetron.make("ahpatron", budget=50)
>>> model
AhpatronClassifier(budget=50)

`__init__.pyi` lists the public names. Each is imported on first use, so importing this package is
quick.
"""

import sys

import lazy_loader

__version__ = "0.1.0"

_load, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_names]


def __getattr__(name: str) -> object:
    if name in _names:
        return _load(name)
    message = f"module {__name__!r} has no attribute {name!r}"  # as Python says it
    raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__.copy()
