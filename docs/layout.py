"""Markdown of generated parts: tables and lists of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_FIGURE = re.compile(r"[\d.,\- ]*")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; columns of figures are aligned right."""
    rows = [[cell(text) for text in row] for row in rows]
    columns = [[row[place] for row in rows] for place in range(len(head))]
    rule = ["--:" if any(column) and all(map(_FIGURE.fullmatch, column)) else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def cell(text: str) -> str:
    """Return a text as Markdown has it in a table: no new lines, no HTML outside of code."""
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    return "`".join(part.replace("<", "&lt;") if place % 2 == 0 else part for place, part in enumerate(parts))


def either(options: Sequence[str]) -> str:
    """Return options as part of a sentence."""
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"
