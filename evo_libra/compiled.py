"""The one place that imports numba, which comes with the extra ``fast``; without it the NumPy models run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


@cache
def compile_function(function: F) -> F | None:
    """Return a function compiled, kept on disk for the next time; None where numba is not installed."""
    try:
        import numba  # noqa: PLC0415 - the one optional import
    except ImportError:
        return None
    found: Any = numba.njit(cache=True)(function)
    return cast("F", found)
