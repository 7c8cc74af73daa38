"""Catalogues of products: those that come with the package, and a user's own, which may extend them.

A packaged catalogue has its name, its source and its room in one file, and its products in a folder of its name, a file
of each kind. A user's own is one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import RootModel

from evo_libra.errors import InputError
from evo_libra.files.kinds import ENDINGS
from evo_libra.files.source import Source, named_by, packaged, read_source, validate
from evo_libra.network.catalog.technologies import Name, names_in, unknown_catalog
from evo_libra.network.orders.mistakes import product_mistakes
from evo_libra.network.orders.products import (
    CableSpec,
    ModuleSpec,
    NicSpec,
    OcsSpec,
    Price,
    ProductSpec,
    ProductsSpec,
    RuleSpec,
    SwitchSpec,
    SystemSpec,
)

_FOLDER = Path(__file__).parent
_GROUPS: dict[str, type[RootModel[Any]]] = {
    "systems": RootModel[dict[Name, SystemSpec]], "nics": RootModel[dict[Name, NicSpec]],
    "switches": RootModel[dict[Name, SwitchSpec]], "cables": RootModel[dict[Name, CableSpec]],
    "modules": RootModel[dict[Name, ModuleSpec]], "ocs": RootModel[dict[Name, OcsSpec]],
    "rules": RootModel[dict[Name, RuleSpec]],
}  # fmt: skip
"""Kinds of products with the schema of their files."""
_PRICED = ("systems", "nics", "switches", "cables", "modules", "ocs")
_POWERED = ("systems", "nics", "switches", "modules", "ocs")
_KILO = 1000.0


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


def priced_products(products: ProductsSpec) -> list[str]:
    """Return the names of the products that are bought for a price of a piece."""
    rented = {name for name, system in products.systems.items() if system.order == "rent"}
    return [name for group in _PRICED for name in getattr(products, group) if name not in rented]


def with_prices(products: ProductsSpec, prices: Mapping[str, Price]) -> ProductsSpec:
    """Return a catalogue with a buyer's prices in place of its own."""
    if not prices:
        return products
    groups = {group: dict(getattr(products, group)) for group in _PRICED}
    for name, price in prices.items():
        for group in groups.values():
            if name in group:
                group[name] = _with_price(group[name], price)
    return products.model_copy(update=groups)


def powered_products(products: ProductsSpec) -> list[str]:
    """Return the names of the products that have a power of their own; that of a cable is at its ends."""
    return [name for group in _POWERED for name in getattr(products, group)]


def with_powers(products: ProductsSpec, watts: Mapping[str, float]) -> ProductsSpec:
    """Return a catalogue with a buyer's W of pieces in place of its own."""
    groups = {group: dict(getattr(products, group)) for group in _POWERED}
    for name, power in watts.items():
        for group, entries in groups.items():
            if name in entries:
                figure = {"kW": power / _KILO} if group == "systems" else {"power_W": power}
                entries[name] = entries[name].model_copy(
                    update={**figure, "sources": {**entries[name].sources, next(iter(figure)): "the buyer's own"}}
                )
    return products.model_copy(update=groups) if watts else products


def give_power(product: str) -> str:
    """Return how a file gives the power of a product that has none.

    >>> give_power("sn6600")
    '`powers: {sn6600: ...}` gives W of a piece'
    """
    return f"`powers: {{{product}: ...}}` gives W of a piece"


def _with_price(product: ProductSpec, price: Price) -> ProductSpec:
    sources = {**product.sources, "price_usd": "the buyer's own"}
    return product.model_copy(update={"price_usd": price, "sources": sources})


def _spec(name: str, folder: Path, extending: tuple[Path, ...]) -> ProductsSpec:
    """Return a catalogue with what it extends; the files that led to it are not to come again."""
    path = folder / name
    if name.endswith(ENDINGS):
        if path.resolve() in (seen.resolve() for seen in extending):
            raise InputError(f"'{name}' extends this file in turn")
        return _checked(read_source(path), path, extending)
    if name not in products_names():
        raise unknown_catalog("catalogue of products", name, products_names())
    return _whole(name)


@cache
def _whole(name: str) -> ProductsSpec:
    """Return a catalogue of the package with all files of its folder."""
    parts = {group: packaged(model, _FOLDER / name / f"{group}.yaml").root for group, model in _GROUPS.items()}
    return packaged(ProductsSpec, _FOLDER / f"{name}.yaml").model_copy(update=parts)


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
