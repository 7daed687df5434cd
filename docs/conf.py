"""The documentation site: `make docs` builds it, warnings are errors.

Pages that stand elsewhere in the repository, or that are made from something else (cards,
examples), are written into docs/pages/ by the files of docs/making/; nothing there is edited or
committed.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from making import algorithms, copies, gallery, reference  # noqa: E402

import budgetron  # noqa: E402

project = "budgetron"
author = "The budgetron developers"
copyright = author
release = budgetron.__version__
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "making"]
html_theme = "furo"
html_title = f"budgetron {release}"
html_static_path = ["static"]
html_css_files = ["wide-tables.css"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

PAGES = DOCS / "pages"
written = {
    *copies.write(PAGES),
    *algorithms.write(PAGES / "algorithms"),
    *gallery.write(PAGES),
    *reference.write(PAGES),
}
for stale in {path for path in PAGES.rglob("*") if path.is_file()} - written:
    stale.unlink()
