"""Pareto-optimal networks for distributed AI: what to order, or to make, to train and serve models."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evo_libra.version import __version__

if TYPE_CHECKING:
    from evo_libra.experiment.results.result import Result
    from evo_libra.front.front import Front
    from evo_libra.optimality.certificate import certify
    from evo_libra.problem.file.registry import load_problem
    from evo_libra.problem.optimize import optimize
    from evo_libra.problem.problem import Problem
    from evo_libra.searching.generations import search

__all__ = ["Front", "Problem", "Result", "__version__", "certify", "load_problem", "optimize", "search"]

# Imported when first asked for, so that `evo-libra --help` does not wait for NumPy.
_HOMES = {
    "Front": "evo_libra.front.front",
    "Problem": "evo_libra.problem.problem",
    "Result": "evo_libra.experiment.results.result",
    "certify": "evo_libra.optimality.certificate",
    "optimize": "evo_libra.problem.optimize",
    "load_problem": "evo_libra.problem.file.registry",
    "search": "evo_libra.searching.generations",
}


def __dir__() -> list[str]:
    """Return the public names, which completion lists."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'evo_libra' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
