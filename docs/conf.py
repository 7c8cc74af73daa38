"""Settings of the documentation."""

import sys
from inspect import signature
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import converted
from generated import expanded
from sphinx.util.inspect import TypeAliasForwardRef

project = "evo_libra"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "evo_libra"
html_static_path = ["static"]
html_css_files = ["tables.css"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 3
smartquotes = False  # `--` is what options begin with
autodoc_typehints = "description"
autodoc_type_aliases = {name: name for name in ("FloatArray", "IntArray", "BoolArray", "Arrays")}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # else `Sequence[FloatArray]` shows the class of the alias
autodoc_preserve_defaults = True
default_role = "py:obj"  # `name` is a link where the name is on a page, else it is set as code
toc_object_entries_show_parents = "hide"


def setup(app: Any) -> None:  # noqa: ANN401 - Sphinx, which is not installed everywhere
    """Have lists made and docstrings converted; a section that cannot be read ends the build."""
    app.connect("source-read", _expand)
    app.connect("autodoc-process-docstring", _convert)


def _expand(_app: Any, _page: str, source: list[str]) -> None:  # noqa: ANN401 - Sphinx's
    source[0] = expanded(source[0])


def _convert(_app: Any, what: str, name: str, found: Any, _options: Any, lines: list[str]) -> None:  # noqa: ANN401 - Sphinx's
    try:
        lines[:] = converted(lines, signature(found).parameters if what == "class" else ())
    except ValueError as error:
        raise ValueError(f"docstring of the {what} {name}: {error}") from None
