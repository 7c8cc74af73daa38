"""Designs that people write: read for a problem, and told what they break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.errors import InputError
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.fabric import Fabric, parse_fabric, population_of
from evo_libra.problem.constraints import TOLERANCE
from evo_libra.problem.design_parts import with_kits

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.problem.space import padded


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
    """Return what the first design of a population breaks, one sentence each; none where its violation is 0."""
    one = population.select([0])
    found = []
    for d in np.flatnonzero(one.npus[:, 0] > 1).tolist():
        technology = problem.catalog.technologies[int(one.technology[d, 0])]
        npus, inside = int(one.npus[d, 0]), int(one.npus[:d, 0].prod())
        if not technology.permits(npus, inside):
            found.append(f"dimension {d} has {npus} NPUs; {technology.reach(inside)}")
    found += _outside(problem, one) or _broken_ports(problem, one)
    worth = problem.measure(one)
    for constraint in problem.constraints:
        broken = problem.broken(constraint, worth, one)[0]
        if broken > 0:
            found.append(f"the constraint '{constraint.text}' is broken by {100 * broken:.3g} %")
    return found


def _outside(problem: Problem, one: Population) -> list[str]:
    """Return which dimensions of a design have less or more bandwidth than they may."""
    low, high = problem.tables.box(one.technology)
    found = []
    for d in np.flatnonzero(one.npus[:, 0] > 1).tolist():
        technology = problem.catalog.technologies[int(one.technology[d, 0])]
        given, least, most = float(one.bandwidth[d, 0]), float(low[d, 0]), float(high[d, 0])
        head = f"dimension {d} has {given / GIGA:g} GB/s"
        if given > most * (1.0 + TOLERANCE):
            capped = technology.bandwidth_cap == most
            found.append(f"{head}; {technology.name if capped else 'the problem'} {_MOST[capped]} {most / GIGA:g}")
        elif given < least * (1.0 - TOLERANCE) or given <= 0:
            found.append(f"{head}; at least {least / GIGA:g} are needed" if least else f"{head}; it needs some")
    return found


_MOST = {True: "carries at most", False: "allows at most"}


def unbuildable(problem: Problem, population: Population) -> FloatArray:
    """Return (n,) the number of dimensions that cannot be built: too large, or not in whole ports."""
    npus, technology = population.npus, population.technology
    inside = inner_npus(npus)
    some, kind = np.unique(np.stack([technology, npus, inside]).reshape(3, -1), axis=1, return_inverse=True)
    permitted = [n < 2 or problem.catalog.technologies[t].permits(n, i) for t, n, i in some.T.tolist()]  # noqa: PLR2004
    wrong = ~np.array(permitted)[kind.reshape(npus.shape)]
    return np.asarray((wrong | (_whole(problem, population)[1] > 0)).sum(axis=0), dtype=np.float64)


def _whole(problem: Problem, population: Population) -> tuple[FloatArray, FloatArray]:
    """Return (d, n) the nearest B/s that dimensions can be built with, and 1 where that is not what they have."""
    nothing = np.zeros(population.npus.shape)
    if not problem.tables.kits or problem.optimal:  # with `optimal`, parts come in any fraction
        return nothing, nothing
    hardware = problem.tables.hardware_of(population.npus, population.technology)
    whole = hardware.ports(population.bandwidth) * hardware.rate
    # Of what cannot be built, there are no ports.
    wrong = (np.abs(whole - population.bandwidth) > TOLERANCE * whole) & (whole > 0)
    return whole, wrong.astype(np.float64)


def _broken_ports(problem: Problem, one: Population) -> list[str]:
    """Return which dimensions of a design are not in whole ports."""
    whole, wrong = _whole(problem, one)
    return [
        f"dimension {d} has {one.bandwidth[d, 0] / GIGA:g} GB/s; the nearest it can be built with is "
        f"{whole[d, 0] / GIGA:g}"
        for d in np.flatnonzero(wrong[:, 0]).tolist()
    ]


def genes_of(problem: Problem, designs: Population) -> FloatArray:
    """Return the (g, n) genes of designs.

    They decode to the same designs, bandwidths to within rounding; where these are solved for, to the best ones for the
    money that a design costs.

    Raises
    ------
    InputError : a design is not in the search space.

    >>> from evo_libra import load_problem
    >>> from evo_libra.problem.designs import read_designs
    >>> problem = load_problem("gpt3-4k")
    >>> designs = read_designs(problem, "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
    >>> (problem.decode(genes_of(problem, designs)).bandwidth / 1e9).round(9).ravel().tolist()
    [250.0, 125.0, 60.0, 20.0]
    """
    outside = np.flatnonzero(~in_space(problem, designs))
    if len(outside):
        first = problem.fabrics(designs.select(outside[:1]))[0]
        raise InputError(
            f"the design '{first}' is not in the search space of '{problem.name}': its sizes, technologies, blocks or "
            "options are none of the choices there"
        )
    structure, block, schedule = _whole_genes(problem, designs)
    whole = np.maximum(np.vstack([structure[None], block, schedule]), 0)
    return problem.genome.repair(np.vstack([whole, _real(problem, designs)]).astype(np.float64))


def in_space(problem: Problem, designs: Population) -> BoolArray:
    """Return (n,) whether designs are in the search space, bandwidths and constraints aside."""
    structure, block, schedule = _whole_genes(problem, designs)
    used = designs.npus > 1
    known = (structure >= 0) & ((block >= 0) | ~used).all(axis=0)
    needed, fidelity = np.ones(schedule.shape, dtype=np.bool_), problem.time.fidelity
    if fidelity is not None and fidelity.algorithms.shape[1] > 1:
        needed[-len(used) :] = used
    return np.asarray(known & ((schedule >= 0) | ~needed).all(axis=0))


def _whole_genes(problem: Problem, designs: Population) -> tuple[IntArray, IntArray, IntArray]:
    """Return the structure, the block genes and the genes of the schedule; -1 for what there is no gene for."""
    tables, technology = problem.tables, padded(designs.npus, designs.technology)
    structure = problem.structures.find(designs.npus, technology)
    choices = tables.blocks[np.arange(len(technology))[:, None], technology]
    same = choices == designs.block[..., None]
    block = np.where(same.any(axis=2), same.argmax(axis=2), -1)
    fidelity = problem.time.fidelity
    if fidelity is None or designs.schedule is None:
        return structure, block, np.empty((0, len(designs)), dtype=np.int64)
    return structure, block, fidelity.genes_of(designs.schedule, designs.block)


def _real(problem: Problem, designs: Population) -> FloatArray:
    """Return the (k, n) genes of the bandwidths."""
    if problem.optimal:
        budget = (problem.unit_prices(designs) * designs.bandwidth).sum(axis=0)
        priced = any(objective.name == "cost" for objective in problem.objectives)
        return np.log(budget)[None] if priced else np.empty((0, len(designs)))
    share = designs.bandwidth / designs.bandwidth.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.vstack([np.log(designs.bandwidth.sum(axis=0)), np.log(share)])
