"""Catalogues: the technologies that can be bought and the models that can be trained, from YAML files."""

from evo_libra.network.catalog.technologies import Catalog, Technology, catalog_names, load_catalog
from evo_libra.workload.language_models import MODELS_FILE, ModelSpec, load_models

__all__ = ["MODELS_FILE", "Catalog", "ModelSpec", "Technology", "catalog_names", "load_catalog", "load_models"]
