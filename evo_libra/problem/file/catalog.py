"""The catalogue of a problem file: linear prices, or parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evo_libra.errors import InputError, unknown
from evo_libra.files.source import named_by
from evo_libra.network.catalog.parts import is_parts, load_parts, parts_files
from evo_libra.network.catalog.technologies import Catalog, catalog_file, load_catalog
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.pricing.kits import catalog_of


def catalog_paths(file: ProblemFile) -> list[Path]:
    """Return the files of a problem's catalogue; none where it is not there."""
    name, folder = file.spec.fabric.catalog, file.folder
    try:
        return parts_files(name, folder) if is_parts(name, folder) else [catalog_file(name, folder)]
    except InputError:
        return []


def technologies_of(file: ProblemFile) -> Catalog:
    """Return the technologies that a problem may use, of either kind of catalogue."""
    fabric = file.spec.fabric
    try:
        parts = load_parts(fabric.catalog, file.folder) if is_parts(fabric.catalog, file.folder) else None
        priced = load_catalog(fabric.catalog, file.folder) if parts is None else None
    except InputError as error:
        raise named_by(file.source, ("fabric", "catalog"), error) from None
    if priced is not None:
        _check_names(file, priced.names)
        return priced.select(fabric.technologies) if fabric.technologies else priced
    assert parts is not None  # noqa: S101 - it is one of the two
    _check_names(file, tuple(parts.technologies))
    catalog = catalog_of(parts, fabric.technologies, fabric.blocks)
    if not catalog.technologies:
        raise file.fail(("fabric", "blocks"), "no technology of the catalogue has one of these blocks")
    return catalog


def _check_names(file: ProblemFile, known: Sequence[str]) -> None:
    """Refuse technologies that the catalogue lacks, or that are named twice."""
    named = file.spec.fabric.technologies or ()
    for index, name in enumerate(named):
        if name not in known:
            raise file.fail(("fabric", "technologies", index), unknown("technology", name, known))
    if len(set(named)) < len(named):
        raise file.fail(("fabric", "technologies"), "a technology is named twice")
