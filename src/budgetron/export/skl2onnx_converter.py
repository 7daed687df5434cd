"""The learners as converters of skl2onnx, so that a scikit-learn Pipeline with one converts.

skl2onnx asks a converter for nodes in its own container; the graph is that of onnx_graph.py. All is
computed in the type that the steps before return: float, or double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron.catalogue import CATALOGUE
from budgetron.export.onnx_graph import DOUBLE, FLOAT, as_computed, computed_in, outputs_of
from budgetron.export.reading import describe

LEAST_OPSET = 13  # since then Squeeze and ReduceSum take their axes as inputs


def register() -> bool:
    """Register the learners with skl2onnx; return whether it is installed.

    Examples
    --------
    >>> from budgetron.onnx import register
    >>> register()  # doctest: +SKIP
    True
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import (
            calculate_linear_classifier_output_shapes,
            calculate_linear_regressor_output_shapes,
        )
    except ImportError:
        return False
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    for learner in sorted(_learners(), key=lambda each: each.__name__):
        classifier = learner._task == "classification"
        update_registered_converter(
            learner,
            f"Budgetron{learner.__name__}",
            calculate_linear_classifier_output_shapes
            if classifier
            else calculate_linear_regressor_output_shapes,
            _convert,
            options=options if classifier else None,
        )
    return True


def _learners() -> set[Any]:
    from budgetron.estimators.custom import KernelClassifier

    found: set[Any] = {KernelClassifier}
    for entry in CATALOGUE.values():
        found |= {entry.estimator(task) for task in entry.tasks}
    return found


class Container:
    """The writing of nodes, as `onnx_graph.Plain`, into skl2onnx's container."""

    def __init__(self, scope: Any, container: Any, real: Any) -> None:
        self.scope, self.container, self.real = scope, container, np.dtype(real)

    def _name(self, word: str) -> str:
        return str(self.scope.get_unique_variable_name(f"budgetron_{word}"))

    def constant(self, values: Any, dtype: Any = None) -> str:
        from onnx.helper import np_dtype_to_tensor_dtype

        array = np.asarray(values)
        name = self._name("constant")
        if array.dtype.kind == "U":
            content: list[Any] = [text.encode() for text in array.tolist()]
            kind = 8
        else:
            array = array.astype(dtype or self.real)
            kind, content = np_dtype_to_tensor_dtype(array.dtype), array.ravel().tolist()
        self.container.add_initializer(name, kind, list(array.shape), content)
        return name

    def add(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        output = output or self._name(operator.lower())
        self.container.add_node(operator, inputs, [output], name=self._name("node"), **attributes)
        return output

    def top(self, tensor: str, count: int) -> str:
        values, places = self._name("top"), self._name("places")
        inputs = [tensor, self.constant([count], np.int64)]
        self.container.add_node("TopK", inputs, [values, places], name=self._name("node"), axis=1)
        return values


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import guess_proto_type

    if container.target_opset < LEAST_OPSET:
        raise RuntimeError(f"budgetron's graphs need target_opset >= {LEAST_OPSET}")
    given = operator.inputs[0]
    number = DOUBLE if guess_proto_type(given.type) == DOUBLE else FLOAT
    real = np.dtype(np.float64 if number == DOUBLE else np.float32)
    found = describe(operator.raw_operator)
    graph = Container(scope, container, computed_in(found, real))
    x = graph.add("Cast", [given.full_name], to=number)
    tensors = outputs_of(graph, found, as_computed(graph, x, real))
    if found.classes is None:
        graph.add("Cast", [tensors["variable"]], operator.outputs[0].full_name, to=number)
        return
    label = tensors["label"]
    if not isinstance(found.classes[0], str):
        label = graph.add("Cast", [label], to=7)  # as skl2onnx declares it
    graph.add("Identity", [label], operator.outputs[0].full_name)
    graph.add("Cast", [tensors["probabilities"]], operator.outputs[1].full_name, to=number)
