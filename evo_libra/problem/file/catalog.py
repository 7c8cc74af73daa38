"""The catalogue of a problem file: linear prices, or parts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, unknown
from evo_libra.files.source import named_by
from evo_libra.network.catalog import Catalog, load_catalog
from evo_libra.network.catalog.parts import PartsCatalog, is_parts, load_parts, parts_files
from evo_libra.network.catalog.technologies import catalog_file
from evo_libra.problem.design_parts import catalog_of
from evo_libra.problem.file.workloads import WorkloadLoader


class CatalogLoader(WorkloadLoader):
    """Reads what a problem file says of its catalogue, and workloads."""

    def identity(self, catalog: Catalog) -> dict[str, Any]:
        """Return the problem file with the figures of its catalogue and its files: what makes it another problem.

        Whatever has an order that means something is a list: the technologies, the innermost first, are one.
        """
        more = {"files": self.files(), "models": self.models()}
        return {
            **self.spec.model_dump(mode="json"),
            "technologies": [asdict(technology) for technology in catalog.technologies],
            **{key: found for key, found in more.items() if found},
        }

    def paths(self) -> list[Path]:
        """Return every file that the problem is read from beside its own; what is not there is left out."""
        try:
            return [*_catalog_files(self.spec.fabric.catalog, self.folder), *super().paths()]
        except InputError:
            return super().paths()

    def catalog(self) -> Catalog:
        """Return the technologies that the problem may use, of either kind of catalogue."""
        fabric = self.spec.fabric
        try:
            if is_parts(fabric.catalog, self.folder):
                return self._parts(load_parts(fabric.catalog, self.folder))
            catalog = load_catalog(fabric.catalog, self.folder)
        except InputError as error:
            raise named_by(self.source, ("fabric", "catalog"), error) from None
        for index, name in enumerate(fabric.technologies or ()):
            if name not in catalog.names:
                raise self.fail(("fabric", "technologies", index), unknown("technology", name, catalog.names))
        if len(set(fabric.technologies or ())) < len(fabric.technologies or ()):
            raise self.fail(("fabric", "technologies"), "a technology is named twice")
        return catalog.select(fabric.technologies) if fabric.technologies else catalog

    def _parts(self, parts: PartsCatalog) -> Catalog:
        named = self.spec.fabric.technologies or ()
        for index, name in enumerate(named):
            if name not in parts.technologies:
                raise self.fail(("fabric", "technologies", index), unknown("technology", name, parts.technologies))
        if len(set(named)) < len(named):
            raise self.fail(("fabric", "technologies"), "a technology is named twice")
        catalog = catalog_of(parts, named or None, self.spec.fabric.blocks)
        if not catalog.technologies:
            raise self.fail(("fabric", "blocks"), "no technology of the catalogue has one of these blocks")
        return catalog


def _catalog_files(name: str, folder: Path) -> list[Path]:
    return parts_files(name, folder) if is_parts(name, folder) else [catalog_file(name, folder)]
