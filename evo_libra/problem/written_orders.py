"""Designs of a problem of orders as people write and read them: the order, and the plans of its workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import IntArray, Population
from evo_libra.errors import InputError, shortened
from evo_libra.network.fabric import Fabric, fabrics_of
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import built_of
from evo_libra.network.orders.differences import not_among
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.text import is_order, split_options, with_options
from evo_libra.network.orders.topology import topology_of
from evo_libra.problem.orders import OrderBook, pool_of
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.problem.written_designs import dimension_columns, plan_columns, plans_of
from evo_libra.workload.training.planned_step import PlannedStep

BAR = " | "
"""The text between an order and its plans."""


@dataclass(frozen=True)
class OrderNotation:
    """Notation of the designs of a problem of orders, written and read.

    Attributes
    ----------
    book : the orders of the problem.
    time : which plans there are, and ways to run collectives.
    """

    book: OrderBook
    time: TimeModel

    def read(self, designs: str | Sequence[str]) -> Population:
        """Return (n,) designs.

        An `InputError` says which one cannot be read, breaks a rule of vendors, or is none of the orders of the file.
        """
        texts = [designs] if isinstance(designs, str) else designs
        heads, options, plans = zip(*(_split(text) for text in texts), strict=True)
        structure = np.array([self._place(head) for head in heads], dtype=np.int64)
        population = networks_of_orders(self.book, structure)
        rows = zip(fabrics_of(population, self.book.catalog.names), options, plans, strict=True)
        fabrics = [replace(fabric, options=named, plans=self._open(mine)) for fabric, named, mine in rows]
        population = replace(population, schedule=self.time.schedules.read(fabrics, population.block))
        names: list[str | None] = [self.book.names[place] for place in self.book.pool[structure].tolist()]
        if len(self.book.names) == 1:
            names = [None] * len(names)
        return replace(population, plan=plans_of(fabrics, self.time.tables, names, heads))

    def _open(self, plans: tuple[str, ...]) -> tuple[str, ...]:
        """Return written plans; none where they are the only ones, which a file of more systems has to name."""
        only = tuple(loop.workload.plan for loop in self.time.loops if isinstance(loop.workload, PlannedStep))
        return () if plans == only and not self.time.tables else plans

    def _place(self, text: str) -> int:
        """Return the place of an order, or of one that builds the same."""
        if not is_order(text):
            raise InputError(
                f"'{shortened(text)}' is no order, which begins with a number of systems, such as "
                f"'{self.book.notation(0)}'; the file asks for an order"
            )
        order = read_order(text, self.book.products)
        if order in self.book.orders:
            return self.book.orders.index(order)
        broken = violations(order, self.book.products, self.book.limits)
        if broken:
            raise InputError(f"the order '{text}' cannot be bought: {broken[0]}")
        if (place := place_of(order, self.book)) is not None:
            return place
        if (lacks := self.book.planless.get(pool_of(order))) is not None:
            raise InputError(f"the order '{text}' has no plan because none of the file fits {order.system}: {lacks}")
        why = not_among(order, self.book.orders)
        raise InputError(f"the order '{text}' is none of the {len(self.book):,} that the file allows: {why}")

    def written(self, population: Population) -> list[str]:
        """Return designs in the notation."""
        texts = list(zip(*plan_columns(population, self.time.tables).values(), strict=True)) or [()] * len(population)
        heads = [self.book.notation(place) for place in self.book.place(population).tolist()]
        if population.schedule is not None:
            rows = zip(heads, self.fabrics(population), strict=True)
            heads = [with_options(head, fabric.options) for head, fabric in rows]
        return [BAR.join([head, *plans]) for head, plans in zip(heads, texts, strict=True)]

    def fabrics(self, population: Population) -> list[Fabric]:
        """Return the networks of designs as records, with the options that the problem leaves open."""
        return self.time.schedules.named(fabrics_of(population, self.book.catalog.names), population)

    def describe(self, population: Population) -> Mapping[str, list[Any]]:
        """Return the columns that describe designs: the notation, products, and each part of each dimension."""
        orders = [self.book.orders[place] for place in self.book.place(population).tolist()]
        found: dict[str, list[Any]] = {
            "design": self.written(population),
            "system": [order.system for order in orders],
            "systems": [order.count for order in orders],
            "npus": [order.active_npus for order in orders],
            "bought_npus": [order.bought_npus for order in orders],
        }
        found |= self.time.schedules.columns(population)
        return (
            found | plan_columns(population, self.time.tables) | dimension_columns(population, self.book.catalog.names)
        )


def place_of(order: Order, book: OrderBook) -> int | None:
    """Return the place of an order, or of one that builds the same; None where the file allows no such order.

    An `InputError` says that its switches have no ports for its NPUs.
    """
    built = built_of(order, topology_of(order, book.products))
    pairs = enumerate(zip(book.orders, book.trees, strict=True))
    return next((place for place, (one, tree) in pairs if built_of(one, tree) == built), None)


def networks_of_orders(book: OrderBook, places: IntArray) -> Population:
    """Return the networks of (n,) orders by their places, without plans."""
    npus, technology = book.structures.look_up(places)
    rate = np.array([one.bandwidth_cap or 0.0 for one in book.catalog.technologies])[technology]
    return Population(
        npus=npus, block=book.blocks[technology], technology=technology, bandwidth=np.where(npus > 1, rate, 0.0)
    )


def _split(text: str) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return an order, its options and its plans."""
    head, *plans = (part.strip() for part in text.split("|"))
    return *split_options(head), tuple(plans)
