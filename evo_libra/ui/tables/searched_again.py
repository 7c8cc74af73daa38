"""Verdicts of new searches: with another number of NPUs, another workload, or without a product."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.notation import read_order

if TYPE_CHECKING:
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.explain.verdict_record import Verdict
    from evo_libra.explain.what_if import Asked, WhatIf
    from evo_libra.front.front import Front
    from evo_libra.problem.orders import OrderBook
    from evo_libra.problem.problem import Problem

_SECTIONS = ("training", "serving", "parallelism", "generator")
_HALVINGS, _STEPS = 4, 2
"""Searches for the place at which a verdict turns: between two numbers, and further on than a number that is asked."""
_COUNT, _LAST_SIZE = re.compile(r"^\d+ "), re.compile(r"(?<!\d)\d+$")


@dataclass(frozen=True)
class Again:
    """A problem that is searched again under other data, with the evaluations and the seed of its run.

    Attributes
    ----------
    asked : the verdict as stated; `origin`, `problem` : of its front.
    candidates : returns the candidates of a front and its problem, within the limits of the user.
    """

    asked: Asked
    origin: Origin
    problem: Problem
    candidates: Callable[[Front, Problem], Any]
    evaluations: int
    seed: int

    def with_npus(self, npus: int) -> WhatIf:
        """Return the verdict for another number of NPUs, and the number at which it turns."""
        stated = self._bought_npus()
        return self._number(f"there are {npus:,} NPUs", stated, npus, self._npus, _of_any_count)

    def _bought_npus(self) -> int:
        """Return the NPUs of the design to buy where the file allows several numbers, else those that it states."""
        data = self.origin.data.get("npus") if isinstance(self.origin.data, dict) else None
        if not isinstance(data, list) or self.problem.book is None:
            return self.problem.npus
        order = read_order(self.bought_text, self.problem.book.products)
        return order.active_npus

    def _npus(self, number: float) -> list[str]:
        about = self.origin.data.get("npus") if isinstance(self.origin.data, dict) else None
        key = "npus.about" if isinstance(about, dict) and "about" in about else "npus"
        return [f"{key}={round(number)}"]

    def with_workload(self, text: str) -> WhatIf:
        """Return the verdict under another figure of the workloads, and the figure at which it turns.

        An `InputError` says that no workload has such a key.
        """
        key, value, keys = self.read_workload(text)
        stated, asked = _number(keys[next(iter(keys))]), _number(value)
        change = f"{key} is {value}"
        if asked is None:
            return self._told(change, [f"{one}={value}" for one in keys], str)
        stated = asked if stated is None else stated

        def assignments(number: float) -> list[str]:
            return [f"{one}={round(number) if stated.is_integer() else number:g}" for one in keys]

        return self._number(change, stated, asked, assignments, str)

    def _workloads(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the sections of workloads, with the keys that they state and those that they may state."""
        given = self.origin.data.get("workloads") if isinstance(self.origin.data, dict) else None
        return [
            (f"workloads[{place}].{section}", {**one[section], **_unstated(section, one[section])})
            for place, one in enumerate(given or [])
            for section in _SECTIONS
            if isinstance(one, dict) and isinstance(one.get(section), dict)
        ]

    def read_workload(self, text: str) -> tuple[str, str, dict[str, Any]]:
        """Return a key of workloads, its value, and the keys of the file that it stands for with their stated values.

        An `InputError` says that no workload has such a key.
        """
        key, equals, value = (part.strip() for part in text.partition("="))
        keys = {f"{place}.{key}": inside[key] for place, inside in self._workloads() if key in inside}
        if not equals or not keys:
            known = dict.fromkeys(f"{one}=..." for _, inside in self._workloads() for one in inside)
            raise InputError(f"--workload: {unknown('key of a workload', key, list(known))}")
        return key, value, keys

    def without(self, name: str) -> WhatIf:
        """Return the verdict without a product, a technology, an accelerator or a platform.

        An `InputError` says that the space has no such thing.
        """
        book = self.problem.book
        changes = self._designs_without(name) if book is None else _orders_without(book, name)
        if book is not None and self.bought_text in _texts_without(book, name):
            return self._still_there(name)
        found = self._told(f"{name} cannot be bought", changes, str)
        return found if found.holds else replace(found, text=" ".join([found.text, *self._price_turns(name)]))

    def _price_turns(self, name: str) -> Iterator[str]:
        """Yield the price from which on the verdict is without a part anyway, if there is one."""
        from evo_libra.explain.what_if import PriceChange

        if any(part.name == name for part in self.asked.basis.parts):
            above = [one for one in self.asked.price(PriceChange(name, name, factor=1.0)).turns if "(+" in one.at]
            if above:
                yield f"From a price of {name} of {above[0].at} on, #{above[0].id} is bought, which has none of it."

    def _still_there(self, name: str) -> WhatIf:
        from evo_libra.explain.what_if import WhatIf

        text = f"If {name} cannot be bought: the verdict holds. #{self.bought_id} has none."
        return WhatIf(change=f"without {name}", holds=True, id=self.bought_id, name=self.bought_name, text=text)

    def _designs_without(self, name: str) -> list[str]:
        technologies, npus = dict.fromkeys(self.problem.catalog.names), self.problem.sources.npu.names
        if name in technologies:
            return [f"fabric.technologies={json.dumps([one for one in technologies if one != name])}"]
        if name in npus and len(npus) > 1:
            return [f"npu={json.dumps([one for one in npus if one != name])}"]
        raise InputError(f"--without: {unknown('technology or accelerator', name, [*technologies, *npus])}")

    @property
    def bought_id(self) -> int:
        """The id of the design to buy, as stated."""
        return int(self.asked.basis.found.ids[self.asked.basis.bought[0]])

    @property
    def bought_name(self) -> str:
        """Its name."""
        return self.asked.names[self.asked.basis.bought[0]]

    @cached_property
    def bought_text(self) -> str:
        """Its order in the notation, without a plan; that of a design is its name."""
        return self.bought_name.partition(", ")[0]

    def _number(
        self, change: str, stated: float, asked: float, assignments: Callable[[float], list[str]],
        of: Callable[[str], str],
    ) -> WhatIf:  # fmt: skip
        """Return the verdict at another number, and between which numbers it turns."""
        found = self._told(change, assignments(asked), of)
        names = {asked: found.name}

        def holds(number: float) -> bool | None:
            try:
                other = self._told(change, assignments(number), of)
            except InputError:  # no order has such a number, or no plan fits
                return None
            names[number] = other.name
            return other.holds

        turn = (
            _beyond(holds, asked, names, up=asked >= stated) if found.holds else _between(holds, stated, asked, names)
        )
        return replace(found, text=f"{found.text} {turn}")

    def _told(self, change: str, assignments: Iterable[str], of: Callable[[str], str]) -> WhatIf:
        """Return the verdict of a new search."""
        from evo_libra.explain.what_if import WhatIf

        said, front = self.searched(assignments)
        name = said.name.partition(", ")[0] if front.noun == "order" else said.name
        holds = of(name) == of(self.bought_text)
        rest = said.it_is if name == self.bought_text else f"Buy {said.name}. {said.it_is}"
        text = f"If {change}: the verdict {'holds' if holds else 'does not hold'}. {rest}"
        return WhatIf(change=change, holds=holds, id=None, name=said.name, text=text)

    def searched(self, assignments: Iterable[str]) -> tuple[Verdict, Front]:
        """Return the verdict on the front of a new search, and the front."""
        from evo_libra.experiment.run.origin import build, with_assignments
        from evo_libra.explain.verdict import verdict
        from evo_libra.searching.generations import search
        from evo_libra.ui.tables.named_runs import problem_file

        problem = problem_file(build(with_assignments(self.origin, list(assignments))))
        front = search(problem, evaluations=self.evaluations, seed=self.seed)
        if not len(front):
            raise InputError(f"a search with {', '.join(assignments)} finds nothing")
        return verdict(front, self.candidates(front, problem), problem, self.asked.basis.value), front


def _unstated(section: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a section of a workload may have besides those that it states, with their defaults."""
    from evo_libra.problem.file.serving_spec import ServingSpec
    from evo_libra.problem.file.training_spec import TrainingSpec

    fields = {"training": TrainingSpec.model_fields, "serving": ServingSpec.model_fields}.get(section, {})
    return {key: field.get_default() for key, field in fields.items() if key not in stated}


def _beyond(
    holds: Callable[[float], bool | None], asked: float, names: Mapping[float, str], *, up: bool
) -> str:  # fmt: skip
    """Return where a verdict that holds at a number turns further on, if it does within some doublings or halvings.

    Parameters
    ----------
    names : of what is bought at each number that `holds` was asked of.

    >>> _beyond(lambda number: number < 900, 400.0, {900.0: "16 racks"}, up=True)
    'It turns between 850 and 900, to 16 racks.'
    >>> _beyond(lambda number: True, 400.0, {}, up=False), _beyond(lambda number: None, 400.0, {}, up=True)
    ('It holds down to 100, too.', 'No order or plan is known further on.')
    """
    last = asked
    for _ in range(_STEPS):
        further = last * 2.0 if up else last / 2.0
        found = holds(further)
        if found is None:
            break
        if not found:
            return _between(holds, last, further, names)
        last = further
    way = "up" if up else "down"
    return "No order or plan is known further on." if last == asked else f"It holds {way} to {last:,.6g}, too."


def _between(
    holds: Callable[[float], bool | None], held: float, turned: float, names: Mapping[float, str] | None = None
) -> str:  # fmt: skip
    """Return between which numbers a verdict turns that holds at one and not at another, and to what, if it is named.

    >>> _between(lambda number: number < 500, 400.0, 800.0), _between(lambda number: None, 800.0, 400.0)
    ('It turns between 475 and 500.', 'It turns between 400 and 800.')
    """
    for _ in range(_HALVINGS):
        middle = (held + turned) / 2.0
        found = holds(middle)
        if found is None:
            break
        held, turned = (middle, turned) if found else (held, middle)
    low, high = sorted((held, turned))
    other = (names or {}).get(turned, "")
    return f"It turns between {low:,.6g} and {high:,.6g}{f', to {other}' if other else ''}."


def _of_any_count(name: str) -> str:
    """Return a name without the number of systems, or without the size of the outermost dimension.

    >>> _of_any_count("112 gb300-nvl72 / 1 x 400G"), _of_any_count("RI4_SW32")
    ('gb300-nvl72 / 1 x 400G', 'RI4_SW')
    """
    return _LAST_SIZE.sub("", _COUNT.sub("", name)) if "/" not in name else _COUNT.sub("", name)


def _number(value: object) -> float | None:
    """Return a value as a number; None where it is none.

    >>> _number("2e13"), _number([1, 2]), _number("fp8")
    (20000000000000.0, None, None)
    """
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None


def _orders_without(book: OrderBook, name: str) -> list[str]:
    """Return the assignments that leave a product out of orders; an `InputError` says that no order has it."""
    products = book.products
    kept: dict[str, list[str]] = {}
    for key, values in (
        ("systems", {one.system for one in book.orders}), ("nics", {one.nic for one in book.orders if one.nic}),
        ("fabric.switches", {one.switch for one in book.orders if one.switch}),
        ("fabric.families", {one.family for one in book.orders if one.count > 1 and one.family != "slice"}),
    ):  # fmt: skip
        left = sorted(one for one in values if not _is_named(book, one, name))
        if len(left) < len(values):
            kept[key] = left
    if name in products.cables:
        kept["fabric.cables"] = [one for one in products.cables if one != name]
    if not kept:
        known = {one for order in book.orders for one in (order.system, order.nic, order.switch, order.family) if one}
        raise InputError(f"--without: {unknown('product, family, accelerator or platform', name, sorted(known))}")
    if empty := [key for key, left in kept.items() if not left]:
        raise InputError(f"--without {name}: nothing is left to choose from for '{empty[0]}'")
    return [f"{key}={json.dumps(left)}" for key, left in kept.items()]


def _is_named(book: OrderBook, product: str, name: str) -> bool:
    """Return whether a product, its accelerator or its platform has a name."""
    products = book.products
    names = {product}
    if product in products.systems:
        names |= {products.systems[product].npu, products.systems[product].supplier}
    if product in products.nics:
        names |= {products.nics[product].supplier}
    if product in products.switches:
        switch = products.switches[product]
        names |= {switch.supplier, *([] if switch.platform is None else [switch.platform.name])}
    return name in names - {""}


def _texts_without(book: OrderBook, name: str) -> set[str]:
    """Return the orders in the notation that have no product of a name."""
    return {
        book.notation(place)
        for place, order in enumerate(book.orders)
        if not any(_is_named(book, one, name) for one in (order.system, order.nic, order.switch, order.family) if one)
        and not any(line.product == name for line in book.bills[place].lines)
    }
