"""The networks of each system of a problem of orders, what each adds, and why a system is in no row of a front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.explain.labels import change, noun
from evo_libra.front.front import SYSTEM, Front
from evo_libra.optimality.order_fronts import SystemFront, system_fronts
from evo_libra.problem.bands import Band, bands_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import FOLDED, SearchProblem

_FREE = 1.0
"""USD of a network that costs nothing, so that it has a logarithm."""


@dataclass(frozen=True, kw_only=True)
class SystemRow:
    """An order that no other order of its system beats.

    Attributes
    ----------
    objectives : by column.
    network_cost_usd, order_cost_usd : price of the scale-out network, and of the whole order.
    adds : what it costs and saves beyond the row before, whose network is the next cheaper one.
    band : of the first objective; None where it has none.
    """

    system: str
    design: str
    objectives: dict[str, float]
    network_cost_usd: float
    order_cost_usd: float
    adds: str
    band: Band | None = None


@dataclass(frozen=True)
class SystemViews:
    """The networks of each system of a problem of orders, and why products that the file names are in no row."""

    systems: tuple[SystemRow, ...]
    absent: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """The designs whose networks the sentences on what is absent name."""
        texts = [(row.design, row.design.partition(" | ")[0]) for row in self.systems]
        return tuple(design for design, network in texts if any(f", {network}, " in text for text in self.absent))


def views_of(problem: SearchProblem, front: Front) -> SystemViews | None:
    """Return the views of a problem of orders and its front; None of another problem."""
    if not isinstance(problem, Problem) or problem.book is None:
        return None
    rows = system_rows(problem)
    return SystemViews(rows, tuple(absent(problem, front, rows)))


def system_rows(problem: Problem) -> tuple[SystemRow, ...]:
    """Return the front of each system in the first objective and the cost of its network, the cheapest network first.

    An order has its fastest plan. Rows that are hardly better than another are left out. Within the whole order most
    networks would be, as they are a small part of it.
    """
    fronts = system_fronts(problem) or {}
    return tuple(row for name, front in fronts.items() for row in _rows(problem, name, front))


def _rows(problem: Problem, system: str, front: SystemFront) -> Iterator[SystemRow]:
    assert problem.book is not None, "the problem is of orders"  # noqa: S101 - internal error
    fastest = _fastest_of_each_order(front)
    designs = front.designs.select(fastest).population(problem)
    bills = [problem.book.bills[place] for place in problem.book.place(designs).tolist()]
    network, whole = ([getattr(bill, name)().value for bill in bills] for name in ("network_usd", "order_usd"))
    values, texts = front.objectives[:, fastest], problem.notation.written(designs)
    # The network of a slice that is rented has no price of its own.
    kept = _folded(np.vstack([values[0], np.maximum(network, _FREE)])).tolist()
    order = sorted(kept, key=lambda n: (network[n], whole[n], values[0, n]))
    before: int | None = None
    bands, first = bands_of(problem, designs), problem.objectives[0].column
    for n in order:
        figures = {o.column: float(value) / o.scale for o, value in zip(problem.objectives, values[:, n], strict=True)}
        adds = "" if before is None else _adds(whole[n] / whole[before], values[0, n] / values[0, before], problem)
        yield SystemRow(
            system=system, design=texts[n], objectives=figures, network_cost_usd=network[n], order_cost_usd=whole[n],
            adds=adds, band=bands[n].get(first),
        )  # fmt: skip
        before = n


def _adds(cost: float, value: float, problem: Problem) -> str:
    """Return what a row costs and saves beyond the one before.

    The figures are ratios of the whole order's cost, and of the first objective.
    """
    first = noun(problem.objectives[0].column)
    return f"{change(100.0 * (cost - 1.0))} % of the order, {change(100.0 * (value - 1.0))} % {first}"


def _fastest_of_each_order(front: SystemFront) -> np.ndarray:
    """Return the place of the least first objective of each order, whose designs differ in plans."""
    order = np.lexsort((front.objectives[0], front.designs.structure))
    structure = front.designs.structure[order]
    return np.asarray(order[np.append(True, structure[1:] != structure[:-1])])


def _folded(objectives: FloatArray) -> np.ndarray:
    """Return the places of (m, n) objectives without those that another one is as good as, but for a little."""
    kept: list[int] = []
    for n in np.argsort(np.log(objectives).sum(axis=0), kind="stable").tolist():
        if not (objectives[:, kept] < objectives[:, [n]] * (1.0 + FOLDED)).all(axis=0).any():
            kept.append(n)
    return np.array(kept, dtype=np.int64)


def absent(problem: Problem, front: Front, rows: Sequence[SystemRow]) -> list[str]:
    """Return why a product that the file names is in no row of a front.

    It is in no order, or no order of it meets the constraints, or its orders are beaten.
    """
    if problem.book is None or SYSTEM not in front.frame.columns:
        return []
    there = set(front.frame[SYSTEM].to_list())
    beaten = dict.fromkeys(row.system for row in rows if row.system not in there)
    return [
        *problem.book.reasons, *_outside(problem, {row.system for row in rows}),
        *(_beaten(front, [row for row in rows if row.system == name]) for name in beaten),
    ]  # fmt: skip


def _outside(problem: Problem, within: Collection[str]) -> Iterator[str]:
    """Yield why systems have no order within the constraints; nothing where not every order was evaluated."""
    assert problem.book is not None, "the problem is of orders"  # noqa: S101 - internal error
    limits = " and ".join(f"'{one.text}'" for one in problem.constraints if not (one.ports or one.own_memory))
    orders = Counter(order.system for order in problem.book.orders)
    for system, count in orders.items() if within else ():
        if system not in within:
            yield f"{system} is on no row: none of its {count:,} orders meets {limits or 'its memory'}"


def _beaten(front: Front, rows: Sequence[SystemRow]) -> str:
    """Return which design of a front beats the order of a system that comes nearest to it, or comes close to it."""
    columns = list(front.objectives)
    values = np.log(front.frame.select(columns).to_numpy())
    mine = np.log(np.array([[row.objectives[column] for column in columns] for row in rows]))
    # Of the designs that are no worse in anything, the one that is least better in what it is most better in. A row
    # that others only come close to is on no front: then of those that are least worse.
    behind = mine[:, None, :] - values[None]
    least = behind.min(axis=2)
    most = np.where(least >= min(-_ROUNDING, float(least.max())), behind.max(axis=2), np.inf)
    row, design = map(int, np.unravel_index(int(most.argmin()), most.shape))
    worse = 100.0 * np.expm1(behind[row, design])
    words = [f"{change(float(w))} % {noun(column)}" for w, column in zip(worse, columns, strict=True)]
    return (
        f"{rows[row].system} is on no row: its nearest order, {rows[row].design.partition(' | ')[0]}, has "
        f"{' and '.join(words)} against #{front.frame['id'][int(design)]}"
    )


_ROUNDING = 1e-9
