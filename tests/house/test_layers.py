"""Every file belongs to one layer, and a layer uses only itself and the layers below it.

To add a layer: one line in LAYERS. To read another language: one entry in READERS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

STUB = ast.parse((ROOT / "src/budgetron/__init__.pyi").read_text(encoding="utf-8"))
# The module of every public name.
HOMES = {
    each.name: f"budgetron.{node.module}"
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for each in node.names
}

# The folders of core/, from the top. Each may use itself and all that follow.
CORE = (
    "core/fleet",
    "core/model",
    "core/learners",
    "core/hypothesis",
    "core/storage",
    "core/simd",
    "core/base",
)
# Files that use nothing of the package: its name and version, the compiled module, rows, text
# output, errors, events, the warning of a model that does not learn.
GROUND = (
    "src/budgetron/__init__.py",
    "src/budgetron/_batch.py",
    "src/budgetron/_core.pyi",
    "src/budgetron/_csr.py",
    "src/budgetron/_held.py",
    "src/budgetron/_papers.py",
    "src/budgetron/_text.py",
    "src/budgetron/errors.py",
    "src/budgetron/events.py",
    "src/budgetron/verdict.py",
)
# Tables of mixed columns as numbers: below the estimators and below the streams.
TABLES = "src/budgetron/tables"
# The package, from the top.
PACKAGE = (
    "src/budgetron/cli",
    "src/budgetron/lab",
    "src/budgetron/engines",
    "src/budgetron/evaluate",
    "src/budgetron/fleet",
    "src/budgetron/model_file",
    "src/budgetron/catalogue.py",
    "src/budgetron/estimators",
    "src/budgetron/merging",
    "src/budgetron/_engine.py",
    "src/budgetron/parts",
    TABLES,
)
# A data set is read as a stream, and `data:NAME` is a stream: one layer.
# A source of messages is one too.
ROWS = ("src/budgetron/datasets", "src/budgetron/sources", "src/budgetron/streams")
EXPLAINING = "src/budgetron/explaining"
SERVE = "src/budgetron/serve"
EXPORT = "src/budgetron/export"
SCORING = "src/budgetron/scoring.py"
SPARK = "src/budgetron/spark"
ESTIMATORS = PACKAGE[PACKAGE.index("src/budgetron/catalogue.py") :]

# A layer is a folder with everything below it, or a file; with the layers that it may use.
LAYERS: dict[str, tuple[str, ...]] = {
    **{folder: CORE[i:] for i, folder in enumerate(CORE)},
    "core/io": ("core/io", "core/base"),
    "bindings": ("bindings", "core/io", "core/fleet", "core/model", "core/base"),
    # Tests may use everything of the core.
    "core/tests": ("core/tests", "core/fuzz", "core/io", *CORE),
    "core/fuzz": ("core/fuzz", "core/io", "core/base"),
    **{folder: (*PACKAGE[i:], *ROWS, *GROUND) for i, folder in enumerate(PACKAGE[:2])},
    **{folder: (*PACKAGE[i:], *GROUND) for i, folder in enumerate(PACKAGE) if i >= 2},
    **dict.fromkeys(ROWS, (*ROWS, TABLES, *GROUND)),
    **dict.fromkeys(GROUND, GROUND),
    "src/budgetron/checks": ("src/budgetron/checks", *PACKAGE[3:], *GROUND),
    "src/budgetron/cards.py": ("src/budgetron/catalogue.py", *GROUND),
    # Explains a model's decisions by its columns.
    EXPLAINING: (EXPLAINING, *ESTIMATORS, *GROUND),
    # A server is one layer; so is its client, which needs no other.
    SERVE: (SERVE, *PACKAGE[3:], EXPLAINING, *ROWS, "src/budgetron/client.py", *GROUND),
    "src/budgetron/client.py": GROUND,
    # Models for programs without Python, and the public interface of their ONNX graphs.
    EXPORT: (EXPORT, *ESTIMATORS, *GROUND),
    "src/budgetron/onnx.py": (EXPORT,),
    # A model's answers for the batches of a large table, for any engine.
    SCORING: (*PACKAGE[4:], *GROUND),
    SPARK: (SPARK, SCORING, *PACKAGE[4:], *GROUND),
    "src/budgetron/river": ("src/budgetron/river", *ESTIMATORS, *GROUND),
    # Pictures in Python, made of the laboratory's parts.
    "src/budgetron/plot": ("src/budgetron/plot", *PACKAGE[1:], *GROUND),
    # Public interfaces: they only re-export names; the package imports its own lazily.
    "src/budgetron/__init__.pyi": (*PACKAGE[3:], EXPLAINING, *GROUND),
    "src/budgetron/__main__.py": ("src/budgetron/cli",),
    "src/budgetron/compare.py": ("src/budgetron/lab",),
    "src/budgetron/dask.py": ("src/budgetron/engines",),
    "src/budgetron/ray.py": ("src/budgetron/engines",),
    "src/budgetron/tune.py": ("src/budgetron/lab",),
}
LAYERS["src/budgetron/model_file"] += ("src/budgetron/river",)  # which it stores as data
LAYERS["src/budgetron/cli"] += ("src/budgetron/cards.py", EXPLAINING, EXPORT, SERVE)
# Folders in which every source file must belong to a layer.
COVERED = ("core", "bindings", "src/budgetron")
# Not in the wheel, so no file of the package may use it.
OUTSIDE = ("papers", "studies", "tests", "benchmarks", "docs", "examples")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
# Python headers, which only bindings/ may use.
PYTHON = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:nanobind/|Python\.h)[^>\"]*)", re.M)


def included(path: str, text: str) -> Iterator[str]:
    """The includes of a C++ file: beside it, or from core/; in core/ also headers of Python."""
    if path.startswith("core/"):
        yield from PYTHON.findall(text)
    for name in INCLUDE.findall(text):
        beside = Path(path).parent / name
        yield (beside if (ROOT / beside).is_file() else Path("core") / name).as_posix()


def module(name: str) -> str | None:
    """The file of a module of the package; None if it is not one."""
    path = Path("src", *name.split("."))
    files = (path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyi"))
    return next((file.as_posix() for file in files if (ROOT / file).is_file()), None)


def imported(path: str, text: str) -> Iterator[str]:
    """What a Python file uses of the package and of OUTSIDE, anywhere in it.

    By import, by `import_module("...")`, or as an attribute of `budgetron`; a public name counts as
    the module that defines it. Only the stub uses relative imports.
    """
    nodes = list(ast.walk(ast.parse(text)))
    package = {
        each.asname or "budgetron"
        for node in nodes
        if isinstance(node, ast.Import)
        for each in node.names
        if each.name == "budgetron" or (each.name.startswith("budgetron.") and not each.asname)
    }
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level and not path.endswith(".pyi"):
            yield f"the relative import {'.' * node.level}{node.module or ''}"
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            source = f"budgetron.{node.module}" if node.level else node.module
            inside = [f"{source}.{each.name}" for each in node.names]
            homes = [HOMES.get(each.name, source) for each in node.names]
            names = [
                name if module(name) else home if source == "budgetron" else source
                for name, home in zip(inside, homes, strict=True)
            ]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in package:
                inside_it = f"budgetron.{node.attr}"
                names = [inside_it if module(inside_it) else HOMES.get(node.attr, "budgetron")]
        elif isinstance(node, ast.Call):
            names = dynamic(node)
        for name in names:
            root = name.split(".")[0]
            if root == "budgetron":
                yield module(name) or f"src/{name.replace('.', '/')}.py"
            elif root in OUTSIDE:
                yield f"{name.replace('.', '/')}.py"


def dynamic(call: ast.Call) -> list[str]:
    """The argument of `import_module`: for an f-string, its fixed packages."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in ("import_module", "__import__") or not call.args:
        return []
    text = call.args[0]
    if isinstance(text, ast.JoinedStr) and isinstance(text.values[0], ast.Constant):
        return [str(text.values[0].value).rpartition(".")[0]]
    return [text.value] if isinstance(text, ast.Constant) and isinstance(text.value, str) else []


# By file ending: the paths that a file uses, from its own path and its text.
READERS: dict[str, Callable[[str, str], Iterator[str]]] = {
    ".hpp": included,
    ".cpp": included,
    ".py": imported,
    ".pyi": imported,
}

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in COVERED
    for path in (ROOT / folder).rglob("*")
    if path.suffix in READERS
)


def layer(path: str) -> str | None:
    """The layer of a file; None if it has none."""
    folders = [path, *(parent.as_posix() for parent in Path(path).parents)]
    return next((folder for folder in folders if folder in LAYERS), None)


def wrong(path: str, text: str) -> list[str]:
    """What a file uses although its layer may not, one line each."""
    allowed = LAYERS.get(layer(path) or "", ())
    return [
        f"{path} uses {used}, which is not in {', '.join(allowed)}"
        for used in READERS[Path(path).suffix](path, text)
        if layer(used) not in allowed
    ]


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_uses_only_what_is_below_it(folder: str) -> None:
    files = [path for path in FILES if layer(path) == folder]
    assert files, f"{folder} has no files"
    found = [
        line for path in files for line in wrong(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", [*CORE, "core/io", "bindings"])
def test_a_layer_says_what_it_is(folder: str) -> None:
    """A few lines: what is there, what it may use, where to begin."""
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert 3 <= len(text.splitlines()) <= 10
    uses, _, begin = text.partition("May use: ")[2].partition("Begin with ")
    words = set(re.findall(r"`(?:core/)?(\w+)`", uses))
    allowed = [name.rpartition("/")[2] for name in LAYERS[folder] if name != folder]
    if "all below" in uses:
        assert words == set(allowed[:1])
    else:
        assert words == set(allowed)
    assert all((ROOT / folder / name).is_file() for name in re.findall(r"`([\w/]+\.\w+)`", begin))
    assert "`" in begin


def test_every_file_belongs_to_a_layer() -> None:
    assert [path for path in FILES if layer(path) is None] == []


def test_what_is_used_exists() -> None:
    for path in FILES:
        for used in READERS[Path(path).suffix](path, (ROOT / path).read_text(encoding="utf-8")):
            assert (ROOT / used).is_file(), f"{path} uses {used}, which is not there"


@pytest.mark.parametrize(
    ("path", "uses", "right"),
    [
        ("core/base/state.hpp", "base/sample.hpp", True),
        ("core/base/state.hpp", "storage/byte_limit.hpp", False),
        ("core/storage/byte_limit.hpp", "hypothesis/kernel.hpp", False),
        ("core/learners/updates/update.hpp", "hypothesis/turn.hpp", True),
        ("core/learners/updates/update.hpp", "model/model.hpp", False),
        ("core/io/csr_check.hpp", "storage/byte_limit.hpp", False),
        ("core/simd/vec.hpp", "tests/harness.hpp", False),
        ("core/model/model.hpp", "nowhere.hpp", False),
        ("bindings/model.cpp", "arrays.hpp", True),
        ("bindings/model.cpp", "simd/vec.hpp", False),
        ("bindings/model.cpp", "<nanobind/nanobind.h>", True),
        ("core/model/model.hpp", "<vector>", True),
        ("core/model/model.hpp", "<nanobind/nanobind.h>", False),
        ("core/model/model.hpp", "nanobind/nanobind.h", False),
        ("core/io/csr_check.hpp", "<Python.h>", False),
    ],
)
def test_an_arrow_that_points_up_is_seen(path: str, uses: str, right: bool) -> None:
    named = uses if uses.startswith("<") else f'"{uses}"'
    assert (wrong(path, f"#pragma once\n  #  include {named}\n") == []) is right


@pytest.mark.parametrize(
    ("path", "line", "right"),
    [
        ("lab/compare/tables.py", "from budgetron._text import shown", True),
        ("lab/compare/tables.py", "from budgetron.cli._console import fail", False),
        ("lab/compare/tables.py", "from budgetron import cli", False),
        ("estimators/avm.py", "import budgetron.estimators._base.weights", True),
        ("estimators/avm.py", "    from budgetron.model_file import load", False),
        ("parts/__init__.py", "from budgetron._engine import Engine", False),
        ("streams/base.py", "from budgetron.datasets import registry", True),
        ("streams/base.py", "from budgetron.evaluate import loop", False),
        ("evaluate/loop.py", "from budgetron.streams import base", False),
        ("river/model.py", "from budgetron.lab import workers", False),
        ("estimators/avm.py", "from budgetron import make", False),
        ("estimators/avm.py", "from budgetron import __version__", True),
        # What is not in the wheel.
        ("estimators/avm.py", "from numpy import papers", True),
        ("estimators/avm.py", "from papers.page import Page", False),
        ("lab/workers.py", "import studies.proof", False),
        ("cli/run.py", "    from tests.support import cases", False),
        # Relative imports.
        ("__init__.pyi", "from .model_file import load as load", True),
        ("__init__.pyi", "from .cli import run as run", False),
        ("estimators/avm.py", "from . import diameter", False),
        ("estimators/avm.py", "from .. import cli", False),
        # Attributes of the package.
        ("lab/workers.py", "import budgetron\nbudgetron.load('model.btn')", True),
        ("estimators/avm.py", "import budgetron\nbudgetron.__version__", True),
        ("estimators/avm.py", "budgetron = object()\nbudgetron.load", True),
        ("estimators/avm.py", "import budgetron\nbudgetron.load('model.btn')", False),
        ("estimators/avm.py", "import budgetron as b\nb.load('model.btn')", False),
        ("estimators/avm.py", "import budgetron.parts\nbudgetron.lab.workers", False),
        # Modules by their names as text.
        ("catalogue.py", 'import_module(f"budgetron.estimators.{name}")', True),
        ("catalogue.py", 'importlib.import_module("numpy")', True),
        ("catalogue.py", 'import_module("budgetron.cli")', False),
        ("catalogue.py", 'importlib.import_module(f"budgetron.cli.{name}")', False),
        ("catalogue.py", '__import__("papers.page")', False),
    ],
)
def test_an_import_that_points_up_is_seen(path: str, line: str, right: bool) -> None:
    text = f"def f():\n{line}" if line.startswith(" ") else line
    assert (wrong(f"src/budgetron/{path}", text) == []) is right


# ---- tests ---------------------------------------------------------------------------------------

TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.name != "native.py")


def reaches_inside(text: str) -> list[str]:
    """Where a test accesses the engine or the compiled model of an estimator directly."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in ("_engine", "_native"):
            whose = node.value.id if isinstance(node.value, ast.Name) else ""
            if whose != "budgetron":
                found.append(f"line {node.lineno}: .{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module == "budgetron._engine":
            names = [each.name for each in node.names]
            found += [f"line {node.lineno}: Engine"] if "Engine" in names else []
    return found


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_the_compiled_model_is_reached_in_one_place(path: Path) -> None:
    assert not reaches_inside(path.read_text(encoding="utf-8")), "use tests/support/native.py"


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("model._engine.native.save()", True),
        ("make().fit(X, y)._native.ids()", True),
        ("from budgetron._engine import Engine", True),
        ("from budgetron._engine import blas_of_scipy", False),
        ("state_of(model)", False),
        ("budgetron._engine.PrecisionWarning", False),
    ],
)
def test_reaching_inside_is_seen(text: str, inside: bool) -> None:
    assert bool(reaches_inside(text)) == inside
