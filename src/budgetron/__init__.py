"""Kernel machines that learn from a stream in fixed memory.

>>> import budgetron
>>> model = budgetron.make("ahpatron", budget=50)
>>> model
AhpatronClassifier(budget=50)

The public names are listed in `__init__.pyi`. Each is imported when it is first asked for, so
importing this package is quick.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
