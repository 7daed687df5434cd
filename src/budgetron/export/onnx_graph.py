"""The ONNX writer: the description as a graph of plain operators.

    x -> missing values, flags -> units -> MatMul, Add, Min, Exp -> MatMul, Add -> ArgMax

Outputs: `label` and `probabilities`, as scikit-learn's converters name them, and `scores`, the
result of `decision_function`; for a regressor `variable`. The graph computes in the dtype of the
learned rows, float32 or float64; in float64 if float would lose digits. Needs the package onnx
(extra `onnx`).

A `Graph` writes nodes, for onnx alone or for skl2onnx, which has the same operators.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from budgetron import __version__
from budgetron.errors import BudgetronError
from budgetron.export.description import LEAST_SLOPE, Description, ExportError, Link
from budgetron.export.precision import needs_double
from budgetron.export.reading import describe

OPSET = 17
TYPES = ("float32", "float64")
FLOAT, DOUBLE = 1, 11  # types of tensors


def to_onnx(model: Any, *, dtype: str | None = None, name: str = "budgetron") -> Any:
    """Convert a fitted model to an ONNX model.

    Parameters
    ----------
    model : a learner, or a `budgetron.export.Description`. For a learner after a TableEncoder, the
        graph begins after it: its inputs are the encoder's features
    dtype : "float32" or "float64", for the input and the computation, except if float32 would lose
        digits; None: that of the learned rows
    name : name of the graph

    Returns
    -------
    model : onnx.ModelProto
        Input ``X``, (n, features). Outputs of a classifier: ``label`` (n,), ``probabilities``
        (n, K), ``scores`` (n,) or (n, K) as `decision_function` has them; of a regressor
        ``variable`` (n, 1).

    Raises
    ------
    ExportError
        If the model cannot be exported.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import BudgetronClassifier
    >>> from budgetron.onnx import to_onnx  # doctest: +SKIP
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = BudgetronClassifier(budget=20).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> [each.name for each in to_onnx(model).graph.output]  # doctest: +SKIP
    ['label', 'probabilities', 'scores']
    """
    onnx = _onnx()
    found = model if isinstance(model, Description) else describe(model)
    if dtype not in (None, *TYPES):
        raise ExportError(f"dtype={dtype!r} must be one of {', '.join(TYPES)}, or None")
    real = np.dtype(dtype or found.dtype)
    helper, proto = onnx.helper, onnx.TensorProto
    number = proto.FLOAT if real == np.float32 else proto.DOUBLE
    graph = Plain(onnx, computed_in(found, real))
    tensors = outputs_of(graph, found, as_computed(graph, "X", real))
    shapes = {"label": ["n"], "probabilities": ["n", len(found.classes or [])]}
    shapes |= {"scores": ["n"] if found.outputs == 1 else ["n", found.outputs]}
    shapes |= {"variable": ["n", 1]}
    kinds = {}
    for label in (found.classes or [])[:1]:
        of_type = {str: proto.STRING, bool: proto.BOOL, float: number}
        kinds["label"] = of_type.get(type(label), proto.INT64)
    outputs = []
    for output, tensor in tensors.items():
        kind = kinds.get(output, number)
        graph.add("Cast" if kind == number else "Identity", [tensor], output, **_to(kind, number))
        outputs.append(helper.make_tensor_value_info(output, kind, shapes[output]))
    given = helper.make_tensor_value_info("X", number, ["n", len(found.features)])
    made = helper.make_graph(graph.nodes, name, [given], outputs, graph.constants)
    whole = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="budgetron",
        producer_version=__version__,
        ir_version=8,
    )
    onnx.checker.check_model(whole)
    return whole


def computed_in(found: Description, real: Any) -> Any:
    """The dtype for computing rows of dtype `real`: float64 if float is not enough."""
    return np.dtype(np.float64 if real == np.float64 or needs_double(found) else np.float32)


def as_computed(graph: Graph, x: str, real: Any) -> str:
    """The tensor in the graph's dtype; `real` is its own."""
    if graph.real == real:
        return x
    return graph.add("Cast", [x], to=DOUBLE if graph.real == np.float64 else FLOAT)


def _to(kind: int, number: int) -> dict[str, int]:
    return {"to": number} if kind == number else {}


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise BudgetronError("ONNX needs the package onnx: pip install 'budgetron[onnx]'") from None
    return onnx


class Graph(Protocol):
    """Writes nodes: for onnx alone, or for skl2onnx."""

    real: np.dtype[Any]

    def constant(self, values: Any, dtype: Any = None) -> str: ...
    def add(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str: ...
    def top(self, tensor: str, count: int) -> str: ...


class Plain:
    """Nodes and constants of a graph, for the package onnx alone.

    `real` is the dtype of all numbers that are computed.
    """

    def __init__(self, onnx: Any, real: Any) -> None:
        self.onnx, self.real = onnx, np.dtype(real)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A tensor of the graph with these values, of its dtype unless another one is given."""
        name = f"c{len(self.constants)}"
        array = np.asarray(values)
        if array.dtype.kind == "U":
            array = array.astype(object)
        else:
            array = array.astype(dtype or self.real)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """A node with one output."""
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def top(self, tensor: str, count: int) -> str:
        """The largest numbers of each row, in order."""
        name = f"t{len(self.nodes)}"
        inputs = [tensor, self.constant([count], np.int64)]
        outputs = [name, f"{name}_at"]
        self.nodes.append(self.onnx.helper.make_node("TopK", inputs, outputs, axis=1))
        return name


def outputs_of(graph: Graph, found: Description, x: str) -> dict[str, str]:
    """Write the nodes from the tensor `x`, of the graph's dtype; return the output names."""
    f = _decision(graph, found, _shown(graph, found, x))
    if found.classes is None or found.link is None:
        return {"variable": f}
    count = len(found.classes)
    if count > 2:
        best = graph.add("ArgMax", [f], axis=1, keepdims=0)
        shares, scores = _more(graph, found.link, f, count), f
    else:
        scores = graph.add("Squeeze", [f, graph.constant([1], np.int64)])
        zero = graph.constant(0.0)
        if count == 2:
            second = graph.add("GreaterOrEqual", [scores, zero])
            best = graph.add("Cast", [second], to=7)
            shares = _two(graph, found.link, f, graph.add("GreaterOrEqual", [f, zero]))
        else:
            best = graph.add("Cast", [graph.add("Mul", [scores, zero])], to=7)
            shares = graph.add("Add", [graph.add("Mul", [f, zero]), graph.constant(1.0)])
    labels = np.array(found.classes)
    names = graph.constant(labels, None if labels.dtype.kind == "U" else _kind(graph, labels))
    label = graph.add("Gather", [names, best], axis=0)
    return {"label": label, "probabilities": shares, "scores": scores}


def _kind(graph: Graph, labels: NDArray[Any]) -> Any:
    kinds = {"b": np.bool_, "f": graph.real}
    return kinds.get(labels.dtype.kind, np.int64)


def _shown(graph: Graph, found: Description, x: str) -> str:
    """The row as the learner sees it."""
    units = found.units
    # Always in double: a number may be large compared with its distance to the centre.
    short = graph.real == np.float32 and not (units.plain and units.missing is None)
    if short:
        x = graph.add("Cast", [x], to=DOUBLE)

    def constant(values: Any) -> str:
        return graph.constant(values, np.float64)

    if units.missing is not None:
        gaps = graph.add("IsNaN", [x])
        x = graph.add("Where", [gaps, constant(units.missing[None, :]), x])
        if units.flagged:
            x = graph.add("Concat", [x, graph.add("Cast", [gaps], to=DOUBLE)], axis=1)
    if not units.plain:
        x = graph.add("Sub", [x, constant(units.center)])
        x = graph.add("Mul", [x, constant(units.inverse)])
    if np.isfinite(units.clip):
        x = graph.add("Max", [x, constant(-units.clip)])
        x = graph.add("Min", [x, constant(units.clip)])
    if (units.stretch != 1).any():
        x = graph.add("Mul", [x, constant(units.stretch)])
    return graph.add("Cast", [x], to=FLOAT) if short else x


def _decision(graph: Graph, found: Description, z: str) -> str:
    """The decisions on rows in units, (n, outputs)."""
    if found.frequencies is not None:
        angles = graph.add("MatMul", [z, graph.constant(found.frequencies)])
        # cos a = sin(a + pi/2): onnxruntime has no cosine of float64
        turned = graph.add("Add", [angles, graph.constant(np.pi / 2)])
        both = graph.add("Concat", [turned, angles], axis=1)
        values = graph.add("Sin", [both])
    elif len(found.coefs):
        values = _kernel(graph, found, z)
    else:
        values = ""
    if values:
        f = graph.add("MatMul", [values, graph.constant(found.coefs)])
        f = graph.add("Add", [f, graph.constant(found.intercept)])
    else:
        nothing = graph.constant(np.zeros((found.columns, found.outputs)))
        f = graph.add("Add", [graph.add("MatMul", [z, nothing]), graph.constant(found.intercept)])
    if found.straight is not None:
        f = graph.add("Add", [f, graph.add("MatMul", [z, graph.constant(found.straight)])])
    return f


def _kernel(graph: Graph, found: Description, z: str) -> str:
    kernel, examples = found.kernel, found.examples.toarray().astype(np.float64)
    assert kernel is not None
    if kernel.kind == "laplacian":
        third = graph.constant([1], np.int64)
        far = graph.add("Sub", [graph.add("Unsqueeze", [z, third]), graph.constant(examples[None])])
        last = graph.constant([2], np.int64)
        far = graph.add("ReduceSum", [graph.add("Abs", [far]), last], keepdims=0)
        return graph.add("Exp", [graph.add("Mul", [far, graph.constant(-kernel.gamma)])])
    if kernel.kind == "rbf":
        # -gamma (|z|^2 + |s|^2 - 2 z.s) in one product: of z and |z|^2 with 2 gamma s and -gamma
        last = graph.constant([1], np.int64)
        norms = graph.add("ReduceSum", [graph.add("Mul", [z, z]), last], keepdims=1)
        both = graph.add("Concat", [z, norms], axis=1)
        factors = np.vstack([2 * kernel.gamma * examples.T, np.full(len(examples), -kernel.gamma)])
        own = -kernel.gamma * (examples**2).sum(axis=1)
        far = graph.add("MatMul", [both, graph.constant(factors)])
        far = graph.add("Add", [far, graph.constant(own)])
        return graph.add("Exp", [graph.add("Min", [far, graph.constant(0.0)])])
    dots = graph.add("MatMul", [z, graph.constant(kernel.gamma * examples.T)])
    if kernel.coef0:
        dots = graph.add("Add", [dots, graph.constant(kernel.coef0)])
    if kernel.kind == "sigmoid":
        return graph.add("Tanh", [dots])
    power = dots
    for _ in range(kernel.degree - 1):
        power = graph.add("Mul", [power, dots])
    return power


def _two(graph: Graph, link: Link, f: str, second: str) -> str:
    """Probabilities of two classes, (n, 2)."""
    size = graph.add("Abs", [f])
    odds = []
    for slope, offset, steep in (link.below[0], link.above[0]):
        line = graph.add("Mul", [size, graph.constant(slope)])
        least = graph.add("Mul", [size, graph.constant(LEAST_SLOPE * slope)])
        line = graph.add("Max", [graph.add("Add", [line, graph.constant(offset)]), least])
        most = graph.add("Mul", [size, graph.constant(steep)])
        odds.append(graph.add("Max", [graph.add("Min", [line, most]), graph.constant(0.0)]))
    z = graph.add("Where", [second, odds[1], odds[0]])
    small = graph.add("Exp", [graph.add("Neg", [z])])
    whole = graph.add("Add", [small, graph.constant(1.0)])
    half = np.nextafter(graph.real.type(0.5), graph.real.type(1))
    large = graph.add("Max", [graph.add("Reciprocal", [whole]), graph.constant(half)])
    small = graph.add("Div", [small, whole])
    first = graph.add("Where", [second, small, large])
    other = graph.add("Where", [second, large, small])
    return graph.add("Concat", [first, other], axis=1)


def _more(graph: Graph, link: Link, f: str, count: int) -> str:
    """Probabilities of more than two classes, (n, K)."""
    axis = graph.constant([1], np.int64)
    place = graph.add("ArgMax", [f], axis=1, keepdims=1)
    predicted = graph.add("Equal", [place, graph.constant(np.arange(count)[None, :], np.int64)])
    two = graph.top(f, 2)
    top = graph.add("Slice", [two, *(graph.constant([i], np.int64) for i in (0, 1, 1))])
    second = graph.add("Slice", [two, *(graph.constant([i], np.int64) for i in (1, 2, 1))])
    margins = graph.add("Sub", [f, graph.add("Where", [predicted, second, top])])
    own = graph.add("Mul", [margins, graph.constant(link.above[:, 0])])
    own = graph.add("Add", [own, graph.constant(link.above[:, 1])])
    other = graph.add("Mul", [margins, graph.constant(link.below[:, 0])])
    other = graph.add("Sub", [other, graph.constant(link.below[:, 1])])
    odds = graph.add("Where", [predicted, own, other])
    # log sigmoid z = min(z, 0) - log(1 + exp(-|z|))
    small = graph.add("Exp", [graph.add("Neg", [graph.add("Abs", [odds])])])
    small = graph.add("Log", [graph.add("Add", [small, graph.constant(1.0)])])
    logs = graph.add("Sub", [graph.add("Min", [odds, graph.constant(0.0)]), small])
    shares = graph.add("Softmax", [logs], axis=1)
    # Classes more likely than the predicted one get the mean of these and its own: the largest.
    none = graph.constant(0.0)
    mine = graph.add("Where", [predicted, shares, none])
    mine = graph.add("ReduceSum", [mine, axis], keepdims=1)
    rest = graph.top(graph.add("Where", [predicted, graph.constant(-1.0), shares]), count - 1)
    upper = graph.constant(np.triu(np.ones((count - 1, count - 1))))  # sums up to each
    means = graph.add("Add", [graph.add("MatMul", [rest, upper]), mine])
    means = graph.add("Div", [means, graph.constant(np.arange(2, count + 1))])
    level = graph.add("Max", [graph.top(means, 1), mine])
    held = graph.add("Min", [graph.add("Where", [predicted, none, shares]), level])
    most = graph.add("Mul", [graph.top(held, 1), graph.constant(1 + np.finfo(graph.real).eps)])
    return graph.add("Where", [predicted, graph.add("Max", [level, most]), held])
