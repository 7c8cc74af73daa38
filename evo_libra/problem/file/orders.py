"""From a problem file that asks for an order to the orders that it allows, and to its problem."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, key_path, validate
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products, with_powers, with_prices
from evo_libra.network.orders.choices import OrdersOffered, listed, offered_products, orders_of
from evo_libra.network.orders.counts import counts_of
from evo_libra.network.orders.order import APART, Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.slices import with_rents
from evo_libra.network.orders.topology import topology_of
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.order_spec import OrderSpec
from evo_libra.problem.file.workloads import WorkloadLoader
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.orders import OrderBook, Pool, name_of, with_plans
from evo_libra.problem.other_orders import only_order
from evo_libra.problem.protocol import FOLDED, SearchSettings
from evo_libra.timing.quirks import Quirk

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator

_NAME = re.compile(r"[A-Za-z][\w.-]*")


def order_file(source: Source, folder: Path, instead: Mapping[str, Accelerator]) -> ProblemFile:
    """Return the file of data that ask for an order; an `InputError` says that they do not follow the schema.

    `instead` has accelerators in place of those of the same name.
    """
    return _read(source, folder, validate(OrderSpec, source), instead)


def _read(source: Source, folder: Path, spec: OrderSpec, instead: Mapping[str, Accelerator]) -> ProblemFile:
    file = ProblemFile(source, folder, spec.as_design(), instead=instead)
    return replace(file, orders=OrderLoader(file, spec))


class OrderLoader:
    """Reads the products of a problem file."""

    def __init__(self, file: ProblemFile, spec: OrderSpec) -> None:
        self.file, self.spec = file, spec
        self.lacking: dict[Pool, str] = {}

    def with_plans(self, workloads: WorkloadLoader, count: int) -> WorkloadLoader:
        """Return what reads workloads, once the pools of systems that have no plan of some workload are in no order.

        An `InputError` says why none has one.
        """
        for index in range(count):
            workloads.workload(index)
        if not self.lacking:
            return workloads
        reasons = _reasons(self.lacking)
        if all(pool in self.lacking for pool in self.book.pools):
            raise self.file.fail(("workloads",), "; ".join((*self.book.reasons, *reasons)))
        self.book = with_plans(self.book, self.lacking, reasons)
        self.lacking = {}
        for name in ("npus", "counts"):
            vars(self).pop(name, None)
        return WorkloadLoader(workloads.file)

    def lacks_plan(self, place: int, why: str) -> None:
        """Note why a pool of systems, by its place, has no plan of a workload."""
        self.lacking.setdefault(self.book.pools[place], why)

    @cached_property
    def book(self) -> OrderBook:
        """The orders that the file allows; an `InputError` says why there is none."""
        self._check_apart()
        catalogue = load_products(self.spec.fabric.catalog, self.file.folder)
        whole = self._rented(with_powers(with_prices(catalogue, self.spec.prices), self.spec.powers))
        offered = self._offered(whole)
        products = offered_products(self.spec, whole)
        if not offered.orders:
            raise self.file.fail(self._reasons_for(offered.reasons, whole), "; ".join(offered.reasons))
        without = frozenset(self.spec.without)
        bills = tuple(bill_of(order, products, without=without) for order in offered.orders)
        trees = tuple(topology_of(order, products) for order in offered.orders)
        return OrderBook(
            products, offered.orders, trees=trees, bills=bills, reasons=offered.reasons, limits=self.spec.limits
        )

    def _check_apart(self) -> None:
        """Refuse systems that nothing joins where a workload is one that all of them work at together."""
        if APART in listed(self.spec.fabric.families) and not all(one.serving for one in self.spec.workloads):
            raise self.file.fail(
                ("fabric", "families"), "systems apart answer requests alone: all workloads must have the key 'serving'"
            )

    def _reasons_for(self, reasons: Sequence[str], products: ProductsSpec) -> KeyPath:
        """Return the key of the file that the reasons are of why there is no order."""
        switches = listed(self.spec.fabric.switches or ())
        if all(any(f"{name} has " in reason for name in switches) for reason in reasons):
            return ("fabric", "switches")
        counted = any(counts_of(products.systems[name], self.spec.npus) for name in listed(self.spec.systems))
        return ("systems",) if counted else ("npus",)

    def _rented(self, products: ProductsSpec) -> ProductsSpec:
        """Return a catalogue with the rents of the file, for no years where it asks for what rented systems lack."""
        limited = (name for text in self.spec.constraints for name in _NAME.findall(text))
        asked = [MEASURES[name] for name in (*self.spec.objectives, *limited) if name in MEASURES]
        if not all(measure.of_rent for measure in asked):
            return with_rents(products, self.spec.rent, None)
        # Without `tco` the objective that needs it is refused later, by its key.
        return with_rents(products, self.spec.rent, 0.0 if self.spec.tco is None else self.spec.tco.years)

    def _offered(self, products: ProductsSpec) -> OrdersOffered:
        """Return the orders of a catalogue that the file allows; an `InputError` places names that are not there."""
        try:
            return orders_of(self.spec, products, priced=True)
        except InputError as error:
            raise InputError(
                self.file.source.mistake(key_path(one.key), one.message) for one in error.mistakes
            ) from None

    @cached_property
    def npus(self) -> tuple[Accelerator, ...]:
        """The accelerator of each pool of systems, under the name of the pool."""
        chips = ((pool, self._chip(pool[0])) for pool in self.book.pools)
        return tuple(replace(chip, name=name_of(pool), chip=chip.name) for pool, chip in chips)

    def _chip(self, system: str) -> Accelerator:
        name = self.book.products.systems[system].npu
        return self.file.instead.get(name) or accelerator(name)

    def domain_of(self, npu: Accelerator) -> int:
        """Return the NPUs in use of a system, which its scale-up network joins, of a pool by its name."""
        return self.book.pools[self.book.names.index(npu.name)][2]

    def alone(self, order: Order) -> ProblemFile:
        """Return the file with one order in place of those that it allows."""
        file = self.file
        return _read(file.source, file.folder, only_order(self.spec, order), file.instead)

    @property
    def chips(self) -> tuple[Accelerator, ...]:
        """The accelerators of all systems of the orders, under their own names."""
        return tuple(map(self._chip, dict.fromkeys(system for system, *_ in self.book.pools)))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """NPUs in use of each pool."""
        return tuple(count * active for _, count, active in self.book.pools)

    def notes(self) -> tuple[Quirk, ...]:
        """Return what costs of rented systems are, where there are any."""
        systems, tco = self.book.products.systems, self.spec.tco
        rented = dict.fromkeys(order.system for order in self.book.orders if systems[order.system].order == "rent")
        if tco is None or not rented:
            return ()
        whose = f"the cost of {', '.join(rented)} is the rent for `tco.years`, {tco.years:g}"
        return (
            Quirk("rent", f"{whose}; the cost of a system that is bought is its price and the energy of these years"),
        )

    def settings(self) -> SearchSettings:
        """Return the settings of a search, where rows that differ by less than the error of times are one."""
        found = SearchSettings(**self.spec.search.model_dump())
        return found if found.epsilon is not None else replace(found, epsilon=FOLDED)

    def identity(self) -> dict[str, Any]:
        """Return the products of the orders with all of their figures, which make a problem another one."""
        return {"order": self.spec.model_dump(mode="json"), "products": self.book.products.model_dump(mode="json")}


def _reasons(lacking: Mapping[Pool, str]) -> tuple[str, ...]:
    """Return why pools have no plan, one sentence for each system."""
    systems = dict.fromkeys(system for system, *_ in lacking)
    return tuple(_reason([(pool, why) for pool, why in lacking.items() if pool[0] == name]) for name in systems)


def _reason(pools: Sequence[tuple[Pool, str]]) -> str:
    """Return why the first of some pools of one system has no plan, and which others have none.

    >>> _reason([(("gb300-nvl72", 112, 72), "no plan"), (("gb300-nvl72", 113, 72), "no plan")])
    '112 gb300-nvl72 with 8,064 NPUs in use: no plan; nor has 113'
    """
    ((system, count, active), why), *others = pools
    more = f"; nor has {', '.join(str(other) for (_, other, _), _ in others)}" if others else ""
    return f"{count} {system} with {count * active:,} NPUs in use: {why}{more}"
