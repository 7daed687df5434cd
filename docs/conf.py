"""The documentation site: `make docs` builds it, warnings are errors.

Pages that stand elsewhere in the repository, or that are made from something else (cards,
examples), are written into docs/pages/ by the files of docs/making/; nothing there is edited or
committed.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from making import (  # noqa: E402
    algorithms,
    charts,
    command_line,
    copies,
    figures,
    gallery,
    kernel,
    reference,
)

import budgetron  # noqa: E402

project = "budgetron"
author = "The budgetron developers"
copyright = author
release = budgetron.__version__
extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "making"]
html_theme = "furo"
html_title = f"budgetron {release}"
html_static_path = ["static"]
html_css_files = ["budgetron.css"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

# Notebooks of docs/notebooks are run when they have changed; an error in one ends the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
kernel.write(DOCS / "_build" / "jupyter")

PAGES = DOCS / "pages"
written = {
    *copies.write(PAGES),
    *algorithms.write(PAGES / "algorithms"),
    *gallery.write(PAGES),
    *reference.write(PAGES),
    *command_line.write(PAGES),
    *charts.write(PAGES),
}
for stale in {path for path in PAGES.rglob("*") if path.is_file()} - written:
    stale.unlink()


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("doctree-read", figures.mark)  # type: ignore[attr-defined]
