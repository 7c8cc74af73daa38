"""Designs that people write, read for a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.fabric import Fabric, parse_fabric, population_of
from evo_libra.problem.pricing.kits import with_kits
from evo_libra.problem.time_models.time_model import TimeModel


def read_fabrics(designs: str | Sequence[str], npus: int, depth: int, catalog: Catalog, time: TimeModel) -> Population:
    """Return the networks of designs in the notation.

    Parameters
    ----------
    designs : with technologies and bandwidths in GB/s.
    npus, depth : NPUs of every design, and the most dimensions of one.
    catalog : the technologies.
    time : which says how collectives run, and whether the process groups fit.

    Raises
    ------
    InputError : a design cannot be read, has another number of NPUs, or cannot hold a process group.
    """
    fabrics = [parse_fabric(text) for text in ([designs] if isinstance(designs, str) else designs)]
    for fabric in fabrics:
        _check(fabric, npus, depth, catalog)
    population = with_kits(population_of(fabrics, catalog.names, depth), catalog)
    population = replace(population, schedule=time.schedule(fabrics, population.block))
    for fabric, fits in zip(fabrics, time.fits(population.npus), strict=True):
        if not fits:
            groups = ", ".join(
                dict.fromkeys(f"{n} {group}" for loop in time.loops for group, n in loop.degrees.items())
            )
            raise InputError(f"the dimensions of the design '{fabric}' cannot hold the process groups {groups}")
    return population


def _check(fabric: Fabric, npus: int, depth: int, catalog: Catalog) -> None:
    if fabric.npus != npus:
        raise InputError(f"the design '{fabric}' has {fabric.npus} NPUs; the problem has {npus}")
    if len(fabric.dimensions) > depth:
        raise InputError(f"the design '{fabric}' has {len(fabric.dimensions)} dimensions, more than {depth}")
    for dimension in fabric.dimensions:
        block, name = BLOCKS[dimension.block].name, dimension.technology
        allowed = [known for t in catalog.technologies if t.name == name for known in t.blocks]
        if allowed and block not in allowed:
            raise InputError(
                f"'{dimension}' in the design '{fabric}': a {block} cannot be built of {name}; "
                f"allowed: {', '.join(allowed)}"
            )
