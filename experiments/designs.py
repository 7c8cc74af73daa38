"""Problems of studies and tests, whose links are a maker's choice.

A file of the name of a problem that asks for an order has the same models, batches and plans.
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
