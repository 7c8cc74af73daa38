"""Designs that people write: read for a problem, and told what they break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.errors import InputError
from evo_libra.model.arrays import GIGA, Population
from evo_libra.model.fabric import BLOCKS, Fabric, parse_fabric, population_of
from evo_libra.problem.constraints import TOLERANCE, excess
from evo_libra.problem.kits import with_kits
from evo_libra.problem.repair import violation

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem


def read_designs(problem: Problem, designs: str | Sequence[str]) -> Population:
    """Read designs of a problem from the notation; see `Problem.evaluate` for the errors."""
    texts = [designs] if isinstance(designs, str) else list(designs)
    fabrics = [parse_fabric(text) for text in texts]
    for fabric in fabrics:
        _check(problem, fabric)
    population = with_kits(population_of(fabrics, problem.catalog.names, len(problem.choices)), problem.catalog)
    if problem.time.fidelity is not None:
        population = replace(population, schedule=problem.time.fidelity.read(fabrics, population.block))
    for fabric, fits in zip(fabrics, problem.time.fits(population.npus), strict=True):
        if not fits:
            groups = ", ".join(
                dict.fromkeys(f"{n} {g}" for loop in problem.time.loops for n, g in loop.degrees.items())
            )
            raise InputError(f"the dimensions of the design '{fabric}' cannot hold the process groups {groups}")
    return population


def _check(problem: Problem, fabric: Fabric) -> None:
    if fabric.options and problem.time.fidelity is None:
        raise InputError(f"the design '{fabric}' has options; under LIBRA's time there are none")
    if fabric.npus != problem.npus:
        raise InputError(f"the design '{fabric}' has {fabric.npus} NPUs; the problem has {problem.npus}")
    if len(fabric.dimensions) > len(problem.choices):
        raise InputError(
            f"the design '{fabric}' has {len(fabric.dimensions)} dimensions, more than {len(problem.choices)}"
        )
    for dimension in fabric.dimensions:
        block, name = BLOCKS[dimension.block].name, dimension.technology
        allowed = [known for t in problem.catalog.technologies if t.name == name for known in t.blocks]
        if allowed and block not in allowed:
            raise InputError(
                f"'{dimension}' in the design '{fabric}': a {block} cannot be built of {name}; "
                f"allowed: {', '.join(allowed)}"
            )


def violations(problem: Problem, population: Population) -> list[str]:
    """Return what the first design of a population breaks, one sentence each."""
    found = []
    for d in range(population.npus.shape[0]):
        npus, bandwidth = int(population.npus[d, 0]), float(population.bandwidth[d, 0])
        technology = problem.catalog.technologies[int(population.technology[d, 0])]
        inside = int(population.npus[:d, 0].prod())
        if npus > 1 and not technology.permits(npus, inside):
            found.append(f"dimension {d} has {npus} NPUs; {technology.reach(inside)}")
        if technology.bandwidth_cap and npus > 1 and bandwidth > technology.bandwidth_cap:
            cap = technology.bandwidth_cap / GIGA
            found.append(f"dimension {d} has {bandwidth / GIGA:g} GB/s; {technology.name} carries at most {cap:g}")
    found += _broken_lanes(problem, population)
    price = problem.unit_prices(population)
    worth = problem.time(population)
    for constraint in problem.constraints:
        if constraint.quantity == "time":
            broken = excess(constraint, constraint.objective * worth, 0.0)
        else:
            coefficients = constraint.coefficients(population.technology, price)
            broken = violation(constraint, coefficients, population.bandwidth)
        if broken[0] > 0:
            found.append(f"the constraint '{constraint.text}' is broken by {100 * broken[0]:.3g} %")
    return found


def _broken_lanes(problem: Problem, population: Population) -> list[str]:
    """Return what is not in whole lanes; with `optimal`, parts come in any fraction."""
    if not problem.tables.kits or problem.optimal:
        return []
    hardware = problem.tables.hardware_of(population.npus[:, :1], population.technology[:, :1])
    given = population.bandwidth[:, :1]
    whole = hardware.lanes(given, up=True) * hardware.rate
    return [
        f"dimension {d} has {given[d, 0] / GIGA:g} GB/s; the nearest it can be built with is {whole[d, 0] / GIGA:g}"
        for d in np.flatnonzero(np.abs(whole - given)[:, 0] > TOLERANCE * whole[:, 0]).tolist()
        if whole[d, 0] > 0  # of what cannot be built, there are no lanes
    ]
