"""Catalogues: the link technologies and parts that can be bought, from YAML files."""

from evo_libra.network.catalog.technologies import Catalog, Technology, catalog_names, load_catalog

__all__ = ["Catalog", "Technology", "catalog_names", "load_catalog"]
