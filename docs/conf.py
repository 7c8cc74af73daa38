"""Settings of the documentation."""

project = "evo_libra"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "description"
napoleon_use_rtype = False
