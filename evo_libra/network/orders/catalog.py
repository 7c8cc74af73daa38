"""Catalogues of products: those that come with the package, and a user's own, which may extend them."""

from __future__ import annotations

from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.files.kinds import ENDINGS
from evo_libra.files.source import Source, named_by, packaged, read_source, validate
from evo_libra.network.catalog.technologies import names_in, unknown_catalog
from evo_libra.network.orders.mistakes import product_mistakes
from evo_libra.network.orders.products import ProductsSpec

_FOLDER = Path(__file__).parent
_GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs", "rules")


def products_names() -> list[str]:
    """Return the names of the catalogues of products that come with the package."""
    return names_in(_FOLDER)


def is_products(name: str, folder: Path = Path()) -> bool:
    """Return whether a name is the path of a file that says ``kind: products``."""
    if not name.endswith(ENDINGS):
        return False
    data = read_source(folder / name).data
    return isinstance(data, dict) and data.get("kind") == "products"


def load_products(name: str, folder: Path = Path()) -> ProductsSpec:
    """Load a catalogue that comes with the package, or a YAML file: a path that ends in .yaml, relative to a folder.

    An InputError says that there is no such catalogue, or what is wrong in its file.
    """
    return _spec(name, folder, ())


def _spec(name: str, folder: Path, extending: tuple[Path, ...]) -> ProductsSpec:
    """Return a catalogue with what it extends; the files that led to it are not to come again."""
    path = folder / name
    if name.endswith(ENDINGS):
        if path.resolve() in (seen.resolve() for seen in extending):
            raise InputError(f"'{name}' extends this file in turn")
        return _checked(read_source(path), path, extending)
    if name not in products_names():
        raise unknown_catalog("catalogue of products", name, products_names())
    own = packaged(ProductsSpec, _FOLDER / f"{name}.yaml")
    return own if own.extends is None else _merged(_spec(own.extends, _FOLDER, ()), own)


def _merged(base: ProductsSpec, own: ProductsSpec) -> ProductsSpec:
    merged = {group: getattr(base, group) | getattr(own, group) for group in _GROUPS}
    return own.model_copy(update={**merged, "room": own.room or base.room})


def _checked(source: Source, path: Path, extending: tuple[Path, ...] = ()) -> ProductsSpec:
    """Return what a user's file says with what it extends; an `InputError` has all mistakes."""
    own = whole = validate(ProductsSpec, source)
    if own.extends is not None:
        try:
            whole = _merged(_spec(own.extends, path.parent, (*extending, path)), own)
        except InputError as error:
            raise named_by(source, ("extends",), error) from None
    mistakes = [source.mistake(key, message) for key, message in product_mistakes(whole)]
    if mistakes:
        raise InputError(mistakes)
    return whole
