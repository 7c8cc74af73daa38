"""Designs back to genes: the other direction of `Problem.decode`."""

from __future__ import annotations

import numpy as np

from evo_libra.errors import InputError
from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population
from evo_libra.problem.problem import Problem
from evo_libra.problem.space import padded


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
