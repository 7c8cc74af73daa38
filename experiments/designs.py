"""Designs whose links are a maker's choice, on the GPUs of problems that ask for an order: studies and tests have them.

A file of `problems` here has the models, batches and plans of the order of its name.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "problems"


def design_file(name: str) -> str:
    """Return the path of a problem of this folder; of another one the name, as it comes with the package."""
    path = FOLDER / f"{name}.yaml"
    return str(path) if path.is_file() else name


def design_names() -> list[str]:
    """Return the names of the problems of this folder."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
