"""Settings of the documentation."""

import sys
from inspect import signature
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import converted

project = "evo_libra"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "description"


def setup(app: Any) -> None:  # noqa: ANN401 - Sphinx, which is not installed everywhere
    """Have docstrings converted; a section that cannot be read ends the build."""
    app.connect("autodoc-process-docstring", _convert)


def _convert(_app: Any, what: str, name: str, found: Any, _options: Any, lines: list[str]) -> None:  # noqa: ANN401 - Sphinx's
    try:
        lines[:] = converted(lines, signature(found).parameters if what == "class" else ())
    except ValueError as error:
        raise ValueError(f"docstring of the {what} {name}: {error}") from None
