"""The catalogue of a problem file: linear prices, or parts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evo_libra.errors import InputError, unknown
from evo_libra.model.catalog import Catalog, load_catalog
from evo_libra.model.catalog.parts import PartsCatalog, is_parts, load_parts
from evo_libra.problem.kits import KitTechnology, catalog_of
from evo_libra.problem.load_workloads import WorkloadLoader


class CatalogLoader(WorkloadLoader):
    """Reads what a problem file says of its catalogue, and workloads."""

    def identity(self, catalog: Catalog) -> dict[str, Any]:
        """Return the problem file with the figures of its catalogue: what makes it another problem."""
        prices = {
            f"{t.name} {t.blocks[0]}" if t.rank is not None else t.name: [
                t.link,
                t.switch,
                t.nic,
                t.largest_dimension,
                t.bandwidth_cap,
                t.blocks,
            ]
            + ([] if t.latency is None else [t.latency])
            + ([asdict(t.kit)] if isinstance(t, KitTechnology) and t.kit is not None else [])
            for t in catalog.technologies
        }
        files = self.files()
        return {**self.spec.model_dump(mode="json"), "technologies": prices} | ({"files": files} if files else {})

    def catalog(self) -> Catalog:
        """Return the technologies that the problem may use, of either kind of catalogue."""
        fabric = self.spec.fabric
        try:
            if is_parts(fabric.catalog, self.folder):
                return self._parts(load_parts(fabric.catalog, self.folder))
            catalog = load_catalog(fabric.catalog, self.folder)
        except InputError as error:
            raise (error if error.mistakes[0].file else self.fail(("fabric", "catalog"), str(error))) from None
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
