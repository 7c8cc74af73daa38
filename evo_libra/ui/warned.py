"""How commands print warnings about the figures that they show."""

from __future__ import annotations

from collections.abc import Iterable

from evo_libra.problem.quirks import Warned
from evo_libra.ui.texts import print_folded


def show_warnings(warnings: Iterable[Warned]) -> None:
    """Print each warning, folded to the width of the terminal."""
    for warned in warnings:
        print_folded(str(warned))
