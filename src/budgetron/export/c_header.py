"""The C writer: one C99 header with everything that `predict` needs.

No allocation, no library but math.h, no state: constant arrays and functions that read them, so
that they may be in flash. A row's numbers and the sums of f are double unless the user says
otherwise (macros); examples and coefs are float, or int8 times one float per column. Kernel values
are float. For some models float would lose digits that matter: coefs that cancel under a linear or
polynomial kernel, frequencies of the Cauchy distribution. precision.py tests it; then all is
computed in double, and stored as double if needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from budgetron import __version__
from budgetron.export.c_table import table_text
from budgetron.export.c_text import array, comment, literal, quoted
from budgetron.export.description import LEAST_SLOPE, Description, ExportError, Floats
from budgetron.export.precision import needs_double, stores_double
from budgetron.export.quantised import quantised
from budgetron.export.reading import describe

PRECISIONS = ("float32", "int8")


@dataclass
class Header:
    """A header and its cost.

    Attributes
    ----------
    text : the header
    constant_bytes : bytes of its arrays
    stack_bytes : bytes of stack that a call takes, about
    multiplies, functions : multiply-adds, and exponentials, powers or sines, per row
    function : the name of these functions
    stored : type of the stored examples
    calls : the functions for the user
    arrays : the text of its constants
    """

    text: str = ""
    constant_bytes: int = 0
    stack_bytes: int = 0
    multiplies: int = 0
    functions: int = 0
    function: str = "exponentials"
    stored: str = "float32"
    calls: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)

    def add(self, kind: str, name: str, values: Any, size: int) -> None:
        self.arrays.append(array(kind, name, values))
        self.constant_bytes += np.size(values) * size


def to_c(model: Any, *, name: str = "model", precision: str = "float32") -> str:
    """Write what `predict` needs of a fitted model as a C99 header.

    Parameters
    ----------
    model : as for `budgetron.export.describe`, or a `Description`
    name : prefix of all names in the header
    precision : "float32" or "int8", type of the stored examples

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import BudgetronClassifier
    >>> from budgetron.export import to_c
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> text = to_c(BudgetronClassifier(budget=20).fit(X, X[:, 0] * X[:, 1] > 0), name="xor")
    >>> [line for line in text.splitlines() if "void xor_decide(" in line]
    ['static inline void xor_decide(const XOR_INPUT *x, XOR_SUM *f) {']
    """
    return header(model, name=name, precision=precision).text


def name_of(path: str) -> str:
    """A valid C name made from a file name.

    >>> name_of("out/my-model.h"), name_of("3.h")
    ('my_model', 'model_3')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", PurePath(path).stem).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"model_{name}".rstrip("_")


def header(model: Any, *, name: str = "model", precision: str = "float32") -> Header:
    """The header with its cost; see `to_c`."""
    found = model if isinstance(model, Description) else describe(model)
    if precision not in PRECISIONS:
        raise ExportError(f"precision={precision!r} must be one of {', '.join(PRECISIONS)}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ExportError(f"name={name!r} must be letters, digits and _, and begin with a letter")
    if precision == "int8" and found.examples is None:
        raise ExportError(f"{found.learner} stores no examples that could be int8: use float32")
    made = Header()
    steps = None
    if precision == "int8":
        found, steps = quantised(found)
    real = "double" if needs_double(found) else "float"
    held = "double" if real == "double" and stores_double(found) else "float"
    counts = _numbers(found, made)
    body = [
        *_shown(found, made, real),
        *_decided(found, made, (real, held), steps),
        *_answered(found, made),
    ]
    if found.table is not None:
        text, size = table_text(found.table, len(found.features))
        body += [text]
        made.constant_bytes += size
        made.stack_bytes += 8 * len(found.features)
    made.stack_bytes += (8 if real == "double" else 4) * found.columns + 16 * found.outputs
    made.multiplies += found.columns * (1 + (found.straight is not None) * found.outputs)
    what = "examples" if found.frequencies is None else "frequencies"
    made.stored = f"{precision} {what}"
    if held == "double" and steps is None:
        made.stored = f"float64 {what}"
    if real == "double":
        made.stored += ", computed in double"
    answer = ["predict"] if found.classes is None else ["classify", "probabilities"]
    calls = ["decide", *answer, *(["encode"] if found.table is not None else [])]
    made.calls = [f"{name}_{each}" for each in calls]
    opening = _opening(found, made, real)
    lines = [*opening, *counts, *made.arrays, "", *body, "#endif", ""]
    made.text = "\n".join(lines).replace("@@", name.upper()).replace("@", name)
    return made


def _opening(found: Description, made: Header, real: str) -> list[str]:
    named = ", ".join(found.features[:8]) + (", ..." if len(found.features) > 8 else "")
    exp = "exp" if real == "double" else "expf"
    outputs = "one number" if found.classes is None else f"{len(found.classes)} classes"
    text = f"""{found.learner}: {len(found.features)} features ({named}), {outputs}.

Written by budgetron {__version__}; do not edit. C99, no allocation, math.h alone.
{made.constant_bytes:,} bytes of constants ({made.stored}),
about {made.stack_bytes:,} bytes of stack.
One row: {made.multiplies:,} multiply-adds, {made.functions:,} {made.function}.
"""
    how = [
        "@_decide(x, f)           f of a row: @_outputs numbers",
        "@_predict(x)             the predicted number"
        if found.classes is None
        else "@_classify(x)            the predicted class; @_labels has its name",
    ]
    if found.classes is not None:
        how.append("@_probabilities(f, p)    the probability of each class, of what @_decide found")
    if found.table is not None:
        how.append("@_encode(&row, x)        the features of a row of the table")
    if found.units.missing is not None:
        how.append("A missing number is NAN.")
    return [
        comment(text + "\n" + "\n".join(how)),
        "#ifndef BUDGETRON_@@_H",
        "#define BUDGETRON_@@_H",
        "",
        "#include <math.h>",
        "#include <stdint.h>",
        "",
        comment(
            "What the numbers of a row are, and what f is summed up in. On a device whose\n"
            "float is much quicker: float, if no feature is large beside its spread."
        ),
        "#ifndef @@_INPUT",
        "#define @@_INPUT double",
        "#endif",
        "#ifndef @@_SUM",
        "#define @@_SUM double",
        "#endif",
        comment("The exponential of the kernel: another one may be quicker, or a table."),
        "#ifndef @@_EXP",
        f"#define @@_EXP {exp}",
        "#endif",
        "",
    ]


def _numbers(found: Description, made: Header) -> list[str]:
    counts = {
        "features": len(found.features),
        "columns": found.columns,
        "outputs": found.outputs,
    }
    if found.classes is not None:
        counts["classes"] = len(found.classes)
    inside = ", ".join(f"@_{word} = {count}" for word, count in counts.items())
    lines = [f"enum {{ {inside} }};", ""]
    if found.classes is not None:
        names = [quoted(_label(each)) for each in found.classes]
        made.constant_bytes += sum(len(_label(each).encode()) + 1 + 8 for each in found.classes)
        lines += ["static const char *const @_labels[@_classes] = {"]
        lines += [f"  {each}," for each in names] + ["};", ""]
    return lines


def _label(value: Any) -> str:
    return str(value)


def _shown(found: Description, made: Header, real: str) -> list[str]:
    """The function that shows a row to the learner."""
    units, width = found.units, len(found.features)
    lines = [
        comment("A row in the units that the learner knows."),
        f"static inline void @_show(const @@_INPUT *x, {real} *z) {{",
        "  int j;",
        "  for (j = 0; j < @_features; ++j) {",
        "    @@_INPUT v = x[j];",
    ]
    if units.missing is not None:
        made.add("@@_INPUT", "@_missing[@_features]", units.missing, 8)
        lines += ["    const int gap = v != v;", "    if (gap) v = @_missing[j];"]
    if not units.plain:
        made.add("@@_INPUT", "@_center[@_features]", units.center[:width], 8)
        made.add("@@_INPUT", "@_inverse[@_features]", units.inverse[:width], 8)
        lines += ["    v = (v - @_center[j]) * @_inverse[j];"]
    if np.isfinite(units.clip):
        most = literal(units.clip)
        lines += [f"    if (v > {most}) v = {most};", f"    if (v < -{most}) v = -{most};"]
    if (units.stretch != 1).any():
        made.add("@@_INPUT", "@_stretch[@_features]", units.stretch[:width], 8)
        lines += ["    v *= @_stretch[j];"]
    lines += [f"    z[j] = ({real})v;"]
    if units.flagged:
        flags = units.inverse[width:] * units.stretch[width:]
        made.add("float", "@_flag[@_features]", flags, 4)
        lines += ["    z[@_features + j] = gap ? @_flag[j] : 0.0f;"]
    return [*lines, "  }", "}", ""]


def _decided(
    found: Description, made: Header, types: tuple[str, str], steps: Floats | None
) -> list[str]:
    real = types[0]
    lines = [
        comment("f of a row: what decision_function answers, or the predicted number."),
        "static inline void @_decide(const @@_INPUT *x, @@_SUM *f) {",
        f"  {real} z[@_columns];",
        "  int k;",
        "  @_show(x, z);",
        "  for (k = 0; k < @_outputs; ++k) f[k] = @_intercept[k];",
    ]
    made.add("@@_SUM", "@_intercept[@_outputs]", found.intercept, 8)
    if found.straight is not None:
        made.add("double", "@_straight[@_columns][@_outputs]", found.straight, 8)
        lines += _block(
            "int j;",
            "for (j = 0; j < @_columns; ++j) {",
            [
                "for (k = 0; k < @_outputs; ++k) f[k] += (@@_SUM)z[j] * @_straight[j][k];",
            ],
        )
    if found.frequencies is not None:
        lines += _mapped(found, made, real)
    elif len(found.coefs):
        lines += _expanded(found, made, types, steps)
    return [*lines, "}", ""]


def _block(first: str, loop: str, body: Iterable[str]) -> list[str]:
    return [
        "  {",
        f"    {first}",
        f"    {loop}",
        *(f"      {each}" for each in body),
        "    }",
        "  }",
    ]


def _mapped(found: Description, made: Header, real: str) -> list[str]:
    assert found.frequencies is not None
    components = found.frequencies.shape[1]
    size, tail = (8, "") if real == "double" else (4, "f")
    made.add(real, f"@_frequency[{components}][@_columns]", found.frequencies.T, size)
    made.add(real, f"@_coef[{2 * components}][@_outputs]", found.coefs, size)
    made.multiplies += components * (found.columns + 2 * found.outputs)
    made.functions, made.function = 2 * components, "sines and cosines"
    return _block("int i, j;", f"for (i = 0; i < {components}; ++i) {{", [
        f"{real} angle = 0;",
        "for (j = 0; j < @_columns; ++j) angle += z[j] * @_frequency[i][j];",
        "for (k = 0; k < @_outputs; ++k) {",
        f"  f[k] += (@@_SUM)cos{tail}(angle) * @_coef[i][k];",
        f"  f[k] += (@@_SUM)sin{tail}(angle) * @_coef[{components} + i][k];",
        "}",
    ])  # fmt: skip


def _expanded(
    found: Description, made: Header, types: tuple[str, str], steps: Floats | None
) -> list[str]:
    real = types[0]
    assert found.kernel is not None
    count, kind = len(found.coefs), found.kernel.kind
    far = kind in ("rbf", "laplacian")
    size_of, absolute = (8, "fabs") if real == "double" else (4, "fabsf")
    made.add(real, f"@_coef[{count}][@_outputs]", found.coefs, size_of)
    values, example = _examples(found, made, types, steps)
    made.multiplies += values + count * found.outputs
    made.functions = 0 if kind == "linear" else count
    made.function = {"poly": "powers", "sigmoid": "tanh"}.get(kind, "exponentials")
    if found.sparse:
        size = {"rbf": "(@@_SUM)z[j] * z[j]", "laplacian": f"{absolute}(z[j])"}.get(kind)
        before = ["@@_SUM size = 0;", "int j;"] if size else []
        if size:
            before += [f"for (j = 0; j < @_columns; ++j) size += {size};"]
        term = {
            "rbf": "(@@_SUM)s * (s - 2 * z[j])",
            "laplacian": f"{absolute}(z[j] - s) - {absolute}(z[j])",
        }.get(kind, "(@@_SUM)s * z[j]")
        lines = ["  {", *(f"    {each}" for each in before), "    int i;", "    uint32_t at = 0;"]
        lines += [f"    for (i = 0; i < {count}; ++i) {{"]
        lines += [f"      @@_SUM sum = {'size' if far else '0'};", f"      {real} value;"]
        lines += ["      for (; at < @_end[i]; ++at) {"]
        lines += [f"        const int {'column' if size else 'j'} = (int)@_place[at];"]
        name = "column" if size else "j"
        lines += [f"        const {real} s = {example.replace('[j]', f'[{name}]')};"]
        lines += [f"        sum += {term.replace('[j]', f'[{name}]')};", "      }"]
        if far:
            lines += ["      if (sum < 0) sum = 0;"]
    else:
        term = {"rbf": "gap * gap", "laplacian": f"{absolute}(gap)"}.get(kind, "s * z[j]")
        lines = ["  {", "    int i, j;", f"    for (i = 0; i < {count}; ++i) {{"]
        lines += [f"      {real} sum = 0, value;", "      for (j = 0; j < @_columns; ++j) {"]
        lines += [f"        const {real} s = {example};"]
        lines += [f"        const {real} gap = z[j] - s;"] if far else []
        lines += [f"        sum += {term};", "      }"]
    lines += [f"      {each}" for each in _finished(found, real)]
    lines += ["      for (k = 0; k < @_outputs; ++k) f[k] += (@@_SUM)value * @_coef[i][k];"]
    return [*lines, "    }", "  }"]


def _examples(
    found: Description, made: Header, types: tuple[str, str], steps: Floats | None
) -> tuple[int, str]:
    """Add the stored examples; return the number of values, and the C expression of one."""
    examples = found.examples
    count, columns = examples.shape
    real, held = types
    wide = 8 if held == "double" else 4
    kind, size = (held, wide) if steps is None else ("int8_t", 1)
    if steps is not None:
        made.add(held, "@_step[@_columns]", steps, wide)
        examples = examples.copy()
        examples.data = np.rint(examples.data / steps[examples.indices])
    if found.sparse:
        bits = next(bits for bits in (8, 16, 32) if columns <= 2**bits or bits == 32)
        held = max(1, examples.nnz)
        values = examples.data if examples.nnz else np.zeros(1)
        places = examples.indices if examples.nnz else np.zeros(1)
        made.add(f"uint{bits}_t", f"@_place[{held}]", places.astype(int), bits // 8)
        made.add(kind, f"@_value[{held}]", values if steps is None else values.astype(int), size)
        made.add("uint32_t", f"@_end[{count}]", examples.indptr[1:].astype(int), 4)
        value, terms = "@_value[at]", examples.nnz
    else:
        dense = examples.toarray()
        dense = dense if steps is None else dense.astype(int)
        made.add(kind, f"@_example[{count}][@_columns]", dense, size)
        value, terms = "@_example[i][j]", count * columns
    return terms, value if steps is None else f"@_step[j] * ({real}){value}"


def _finished(found: Description, real: str) -> list[str]:
    """From the sum over features to the kernel value."""
    kernel = found.kernel
    assert kernel is not None
    tail = "" if real == "double" else "f"
    gamma, coef0 = literal(kernel.gamma, tail), literal(kernel.coef0, tail)
    if kernel.kind == "linear":
        return [f"value = ({real})sum;"]
    if kernel.kind == "poly":
        return [
            f"{{ int d; const {real} base = {gamma} * ({real})sum + {coef0}; value = 1;",
            f"  for (d = 0; d < {kernel.degree}; ++d) value *= base; }}",
        ]
    if kernel.kind == "sigmoid":
        return [f"value = tanh{tail}({gamma} * ({real})sum + {coef0});"]
    return [f"value = @@_EXP(-{gamma} * ({real})sum);"]


def _answered(found: Description, made: Header) -> list[str]:
    if found.classes is None or found.link is None:
        return [
            comment("The predicted number."),
            "static inline double @_predict(const @@_INPUT *x) {",
            "  @@_SUM f[@_outputs];",
            "  @_decide(x, f);",
            "  return (double)f[0];",
            "}",
            "",
        ]
    if len(found.classes) == 1:
        best, shares = "  (void)f;\n  return 0;", "  (void)f;\n  p[0] = 1.0;"
    else:
        for side, lines in (("below", found.link.below), ("above", found.link.above)):
            made.add("double", f"@_{side}[@_outputs][3]", lines, 8)
        two = found.outputs == 1
        best, shares = (_TWO_BEST, _TWO) if two else (_MORE_BEST, _MORE)
    return [
        comment("The class of a decision; of tied classes the first, of two the second."),
        "static inline int @_best(const @@_SUM *f) {",
        best,
        "}",
        "",
        comment("The class of a row."),
        "static inline int @_classify(const @@_INPUT *x) {",
        "  @@_SUM f[@_outputs];",
        "  @_decide(x, f);",
        "  return @_best(f);",
        "}",
        "",
        comment(
            "The probability of each class, from a decision. That of the predicted class is\n"
            "the largest, always."
        ),
        "static inline void @_probabilities(const @@_SUM *f, double *p) {",
        shares,
        "}",
        "",
    ]


_TWO_BEST = "  return f[0] >= 0;"
_TWO = f"""\
  const int best = @_best(f);
  const double *line = best ? @_above[0] : @_below[0];
  const double m = fabs((double)f[0]);
  const double least = {literal(LEAST_SLOPE)} * line[0] * m;
  double z = line[0] * m + line[1], small;
  if (!(z > least)) z = least;
  if (z > line[2] * m) z = line[2] * m;
  if (!(z > 0)) z = 0;
  small = exp(-z);
  p[best] = 1.0 / (1.0 + small);
  if (p[best] <= 0.5) p[best] = nextafter(0.5, 1.0);
  p[1 - best] = small / (1.0 + small);"""
_MORE_BEST = """\
  int k, best = 0;
  for (k = 1; k < @_outputs; ++k) {
    if (f[k] > f[best]) best = k;
  }
  return best;"""
_MORE = """\
  const int best = @_best(f);
  double second = 0, top = 0, total = 0, level, most = 0;
  int k, above, before = @_classes, first = 1;
  for (k = 0; k < @_classes; ++k) {
    if (k == best) continue;
    if (first || (double)f[k] > second) second = (double)f[k];
    first = 0;
  }
  for (k = 0; k < @_classes; ++k) {
    const double m = (double)f[k] - (k == best ? second : (double)f[best]);
    const double z = k == best ? @_above[k][0] * m + @_above[k][1]
                               : @_below[k][0] * m - @_below[k][1];
    p[k] = (z < 0 ? z : 0) - log1p(exp(-fabs(z)));
    if (k == 0 || p[k] > top) top = p[k];
  }
  for (k = 0; k < @_classes; ++k) total += p[k] = exp(p[k] - top);
  for (k = 0; k < @_classes; ++k) p[k] /= total;
  /* Classes likelier than the predicted one get the mean of theirs and its own. */
  for (level = p[best];; before = above) {
    double sum = p[best];
    above = 0;
    for (k = 0; k < @_classes; ++k) {
      if (k != best && p[k] > level) {
        sum += p[k];
        ++above;
      }
    }
    if (above == before || above == 0) break;
    level = sum / (above + 1);
  }
  for (k = 0; k < @_classes; ++k) {
    if (k == best) continue;
    if (p[k] > level) p[k] = level;
    if (p[k] > most) most = p[k];
  }
  p[best] = level > most ? level : nextafter(most, 2.0);"""
