"""How commands print warnings about the figures that they show."""

from __future__ import annotations

from collections.abc import Iterable
from shutil import get_terminal_size
from textwrap import fill

from evo_libra.problem.quirks import Warned


def show_warnings(warnings: Iterable[Warned]) -> None:
    """Print each warning, folded to the width of the terminal."""
    width = get_terminal_size().columns
    for warned in warnings:
        print(fill(str(warned), width, subsequent_indent="  ", break_on_hyphens=False))
