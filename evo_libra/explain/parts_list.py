"""Parts of a design over all of its dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evo_libra.arrays import Population
from evo_libra.explain.record import OrderLine, PartCost
from evo_libra.problem.problem import Problem

_USD = "_usd"


def parts_list(problem: Problem, population: Population) -> tuple[PartCost, ...]:
    """Return the parts of the first design, the most expensive first; their costs add up to the design's.

    ``pieces`` is None where prices are per bandwidth. Parts in fractions are ports by technology.
    """
    found: dict[str, PartCost] = {}
    for name, pieces, usd in _parts(problem, population.select([0])):
        entry = found.get(name, PartCost(part=name, pieces=0, cost_usd=0.0))
        count = None if pieces is None or entry.pieces is None else entry.pieces + pieces
        found[name] = PartCost(part=name, pieces=count, cost_usd=entry.cost_usd + usd)
    return tuple(sorted((one for one in found.values() if one.cost_usd), key=lambda one: (-one.cost_usd, one.part)))


def _of_order(line: OrderLine) -> tuple[str, float | None, float]:
    """Return a product, its pieces and its cost."""
    return line.product, line.pieces, line.cost_usd or 0.0


def _parts(problem: Problem, one: Population) -> Iterator[tuple[str, float | None, float]]:
    if problem.book is not None:
        from evo_libra.explain.order_bill import order_lines  # noqa: PLC0415 - designs do not need it

        yield from (_of_order(line) for line in order_lines(problem, one))
        return
    bill = problem.pricing.bill(one)
    for row in bill:
        yield row["part"] or row["item"], row["pieces"], row["cost_usd"]
    if bill:
        return
    used = np.flatnonzero(one.npus[:, 0] > 1)
    for d, row in zip(used.tolist(), problem.pricing.breakdown(one), strict=True):
        technology = problem.catalog.names[int(one.technology[d, 0])]
        if "ports" in row:
            yield f"port of {technology}", row["ports"], row["cost_usd"]
        else:
            for key, usd in row.items():
                if key != "cost_usd":
                    yield f"{key.removesuffix(_USD)} of {technology}", None, usd
