"""The command `catalog`: names for problem files, of catalogues, models, problems, engines."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Flag, Json, app
from evo_libra.ui.tables.ages import show_stale, stale_entries
from evo_libra.ui.tables.catalogue_data import entry_of, everything, named
from evo_libra.ui.tables.catalogues import show_catalog
from evo_libra.ui.tables.output import print_json


@app.command
def catalog(
    name: str | None = None,
    part: str | None = None,
    *,
    whole: Annotated[Flag, Parameter(name="--all")] = False,
    sources: bool = False,
    stale: int | None = None,
    as_json: Json = False,
) -> int:
    """List what problem files can name: catalogues with prices, accelerators, models, blocks, problems, engines.

    Parameters
    ----------
    name:
        Show only this catalogue (a name, or a .yaml file), this entry, or entries of this kind, such as accelerators.
    part:
        Of a catalogue or a list, show only this kind of entries, or this entry.
    whole:
        Show all: each name, each table of a catalogue, models of any year.
    sources:
        Show where the figures come from, in place of the figures.
    stale:
        List the entries of all catalogues whose newest source is older than this year.
    """
    if stale is not None:
        return _stale(name, stale, sources=sources, as_json=as_json)
    data = everything() if name is None else named(name, part)
    if as_json:
        print_json(data)
    else:
        show_catalog(data, sources=sources, whole=whole, alone=name is not None)
    return 0


def _stale(name: str | None, year: int, *, sources: bool, as_json: bool) -> int:
    """Print the entries whose newest source is older than a year, or their sources."""
    if name is not None:
        raise InputError(f"--stale is about all catalogues; leave out '{name}'")
    if as_json:
        print_json({"stale": [vars(entry) | {"year": entry.year or None} for entry in stale_entries(year)]})
    elif sources:
        for entry in stale_entries(year):
            show_catalog(entry_of(entry.kind, entry.name), sources=True, whole=False, alone=True)
    else:
        show_stale(year)
    return 0
