"""Tables of the page about the systems that this program grew out of: their headlines, published and computed."""

from __future__ import annotations

from layout import table

from evo_libra.quantities import number
from evo_libra.validation.source import PublishedRow, errors_of
from evo_libra.validation.sources import chosen


def headlines(*names: str) -> str:
    """Return a table of every figure of some sources of `evo-libra validate`."""
    rows = [[row.id, *_figures(row), source.basis.value] for source in chosen(names) for row in source.rows()]
    return table(["figure", "published", "here", "off [%]", "basis"], rows)


def headline_errors(*names: str) -> str:
    """Return a table of the errors of some sources that have many figures."""
    rows = []
    for source in chosen(names):
        found, name = errors_of(source.rows()), f"`{source.name}`: {source.title}"
        errors = (f"{100 * error:.2f}" for error in (found.mean, found.maximum))
        rows.append([name, str(found.count), *errors, source.basis.value])
    return table(["source", "figures", "mean error [%]", "largest [%]", "basis"], rows)


def _figures(row: PublishedRow) -> tuple[str, str, str]:
    unit = {"x": " times", "percent": " %"}.get(row.unit, f" {row.unit}")
    off = f"{100.0 * row.error:+.1f}" if row.published else ""
    return f"{number(row.published)}{unit}", f"{number(row.ours)}{unit}", off
