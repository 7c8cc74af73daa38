"""Every network that can be built of whole ports, one by one: what searches and proofs are compared with."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem


def whole_networks(problem: Problem) -> FloatArray:
    """Return the (2, n) objectives of all feasible networks of parts: every structure with every number of ports.

    Where a workload leaves its plan open, of every network with every plan, and with every way to run collectives.
    """
    assert isinstance(problem.pricing, BillOfMaterials)
    found = []
    for s in range(len(problem.structures)):
        npus, technology = problem.structures.look_up(np.array([s]))
        one = problem.pricing.hardware_of(npus, technology)
        ports = [
            np.arange(low, high + 1, max(step, 1))
            for low, high, step in zip(one.min_ports[:, 0], one.max_ports[:, 0], one.quantum[:, 0], strict=True)
        ]
        bandwidth = np.array(list(itertools.product(*ports))).T * one.rate
        shape = bandwidth.shape
        block = np.broadcast_to(np.array([[kit.block for kit in problem.pricing.kits]]).T[technology[:, 0]], shape)
        designs = Population(np.broadcast_to(npus, shape), block, np.broadcast_to(technology, shape), bandwidth)
        evaluation = problem.evaluate(under_every_schedule(problem, under_every_plan(problem, designs)))
        found.append(evaluation.objectives[:, evaluation.violation <= 0])
    return np.concatenate(found, axis=1)


def under_every_plan(problem: Problem, networks: Population) -> Population:
    """Return networks with every plan that they can hold, where a workload leaves its plan open."""
    if not problem.time.tables:
        return networks
    (table,) = problem.time.tables
    network, plan = np.indices((len(networks), len(table))).reshape(2, -1)
    designs = replace(networks.select(network), plan=plan[None])
    return designs.select(np.flatnonzero(problem.time.fits(designs.npus, designs.plan, designs.technology)))


def under_every_schedule(problem: Problem, designs: Population) -> Population:
    """Return designs with every way to run collectives, where the time model has some."""
    schedules = problem.time.schedules
    choices = [range(highest + 1) for _, highest in schedules.genes(len(problem.choices))]
    rows = list(itertools.product(*choices))
    genes = np.array(rows, dtype=np.int64).reshape(len(rows), len(choices)).T
    every = designs.select(np.repeat(np.arange(len(designs)), genes.shape[1]))
    return replace(every, schedule=schedules.schedule(np.tile(genes, len(designs)), every.block))
