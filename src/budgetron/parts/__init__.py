"""The parts a learner is made of, as frozen dataclasses.

A part has all that Python knows about its parameters: defaults, allowed values, and the kernels
that the part works with. The compiled core reads its fields, by the same names; the core has no
defaults, and refuses an unknown or missing name. A part belongs to a family by its base class, such
as `Budget` or `Update`; there is no other list. May use `budgetron.errors`.

>>> Halve(size=10).spec()
{'kind': 'halve', 'size': 10, 'ridge': 0.0005, 'norm': 0.0}

Parts are values: changing a parameter makes another part.

>>> GradientUpdate().set_params(step=0.1, loss=SmoothHinge()).set_params(loss__tau=0.2)
GradientUpdate(step=0.1, regularization=0.0, loss=SmoothHinge(tau=0.2))
"""

from budgetron.parts.budgets import *  # noqa: F403
from budgetron.parts.kernels import *  # noqa: F403
from budgetron.parts.learners import *  # noqa: F403
from budgetron.parts.losses import *  # noqa: F403
from budgetron.parts.part import Part as Part
from budgetron.parts.part import Spec as Spec
from budgetron.parts.updates import *  # noqa: F403

# The parts, and the tuples of parts that are a family; not what their modules import.
__all__ = ["Spec"] + [
    name
    for name, value in globals().copy().items()
    if (isinstance(value, tuple) and name.isupper())
    or (isinstance(value, type) and issubclass(value, Part))
]
