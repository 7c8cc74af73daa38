"""Verdicts under other assumptions: other prices of parts and of energy, and whether the verdict holds with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from evo_libra.errors import InputError, unknown
from evo_libra.explain.bought_parts import BoughtPart
from evo_libra.explain.choice import Choice
from evo_libra.explain.tornado import value_text, with_operation
from evo_libra.explain.verdict_basis import LARGEST, Basis
from evo_libra.explain.verdict_record import BY_SHAPE
from evo_libra.quantities import money_text


@dataclass(frozen=True, kw_only=True)
class Turned:
    """A value at which another design is to be bought: the value as a text, and the design."""

    at: str
    id: int
    name: str


_STOPS = 100.0
"""Multiples of the most expensive design from which on a sum is of a design that does no work at all."""


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """The verdict under another assumption.

    Attributes
    ----------
    change : the assumption, as a user gave it.
    holds : whether the verdict does.
    id, name : of the design to buy then; the id is that of the front, None where a new search found it.
    lead_usd : USD by which the verdict's design leads its best rival then; below 0 where it does not hold.
    turns : values nearest to the stated one at which the verdict turns.
    text : all of it, as it is printed.
    """

    change: str
    holds: bool
    id: int | None
    name: str
    lead_usd: float | None = None
    turns: tuple[Turned, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class PriceChange:
    """Another price of a part, or of all parts of a kind: a factor on it, or USD of a piece."""

    text: str
    name: str
    factor: float | None = None
    usd: float | None = None


_PRICE = re.compile(r"(?P<sign>[+-]\s*)?(?P<figure>\d+(?:\.\d*)?|\.\d+)(?:\s*(?P<unit>[^\s\d.]\S*))?")
_USD = {"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6}
_POWER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:\s*USD)?(?:\s*/\s*kWh)?", re.IGNORECASE)
_PERCENT = 100.0
_ENERGY = "usd_per_kWh"


def span_of(figure: str) -> str:
    """Return the values of a figure that are tried, in words."""
    return f"from a tenth to {LARGEST:g} times {figure}"


_SPAN = span_of("today's figure")


def read_price(text: str) -> PriceChange:
    """Return the change of a price; an `InputError` says that a text is none.

    >>> read_price("optics-400g=+30%").factor, read_price("sn5600=-10 %").factor, read_price("sn5600=x1.5").factor
    (1.3, 0.9, 1.5)
    >>> read_price("sn5600=70kUSD").usd
    70000.0
    """
    name, _, price = (part.strip() for part in text.partition("="))
    times = price.startswith("x")
    match = _PRICE.fullmatch(price.removeprefix("x").strip()) if name else None
    refused = InputError(f"found '{text}'; a name and its price are needed, such as optics-400g=+30%, =x1.3 or =900USD")
    if match is None:
        raise refused
    figure, unit, sign = float(match["figure"]), match["unit"] or "", (match["sign"] or "").strip()
    if times and not unit and not sign:
        return PriceChange(text, name, factor=figure)
    if unit == "%" and sign and not times:
        factor = 1.0 + (figure if sign == "+" else -figure) / _PERCENT
        if factor < 0:
            raise InputError(f"found '{text}'; a price below 0 is none")
        return PriceChange(text, name, factor=round(factor, 12))
    if unit in ("", *_USD) and not sign and not times:
        return PriceChange(text, name, usd=figure * _USD.get(unit, 1.0))
    raise refused


def read_energy(text: str) -> float:
    """Return the USD of a kWh; an `InputError` says that a text is none.

    >>> read_energy("0.12 USD/kWh"), read_energy("0.2")
    (0.12, 0.2)
    """
    match = _POWER.fullmatch(text.strip())
    if match is None:
        raise InputError(f"found '{text}'; a price of energy is needed, such as '0.12 USD/kWh'")
    return float(match[1])


@dataclass(frozen=True)
class Asked:
    """A verdict that is asked again.

    Attributes
    ----------
    basis : all that it rests on.
    names : of the designs of the front.
    """

    basis: Basis
    names: Sequence[str]

    def price(self, change: PriceChange) -> WhatIf:
        """Return the verdict at another price; an `InputError` says that no design has such a part."""
        places, factor = self.places(change.name), self.factor(change)
        at = partial(_at_prices, self.basis, places)
        stated = self.basis.parts[places[0]].piece_usd if len(self._names_of(places)) == 1 else None
        unit, size = ("", 1.0) if stated is None else ("USD", stated)
        return self.outcome(f"the price of {_written(change)}", at, factor, (unit, size))

    def energy(self, usd: float) -> WhatIf:
        """Return the verdict at another price of a kWh; an `InputError` says that it has no part in the sums."""
        stated = self.basis.tco.usd_per_kWh
        if self.basis.rule == BY_SHAPE or "energy" not in self.basis.stated.price.parts:
            raise InputError("the price of energy has no part in this verdict: its price of time is without energy")
        at = partial(_at_energy, self.basis)
        return self.outcome(f"energy costs {usd:g} USD/kWh", at, usd / stated, ("USD/kWh", stated))

    def together(self, changes: Sequence[PriceChange], energy: float | None) -> WhatIf:
        """Return the verdict under several changes at once, and at how many times all of them it turns."""
        factors = {place: self.factor(one) for one in changes for place in self.places(one.name)}
        stated = self.basis.tco.usd_per_kWh

        def at(times: float) -> Choice:
            prices = {place: max(1.0 + times * (factor - 1.0), 0.0) for place, factor in factors.items()}
            usd = stated if energy is None else max(stated + times * (energy - stated), 0.0)
            return self.basis.choice(prices, None if energy is None else with_operation(self.basis.tco, {_ENERGY: usd}))

        unit = ("times these changes", 1.0)
        return self.outcome("all of these prices change", at, 1.0, unit, span=span_of("these changes"))

    def outcome(
        self, change: str, at: Callable[[float], Choice], factor: float, unit: tuple[str, float], *, said: str = "",
        span: str = _SPAN,
    ) -> WhatIf:  # fmt: skip
        """Return the verdict at a factor on a figure, with the factors at which it turns.

        Parameters
        ----------
        unit : of the figure, and its stated value.
        said : sentences before the verdict; `span` : the values that were tried.
        """
        turns = self.turns_at(at, lambda factor: _at_text(factor, *unit))
        return self.answer(change, at(factor), turns, said=said, span=span)

    def turns_at(self, at: Callable[[float], Choice], text: Callable[[float], str]) -> tuple[Turned, ...]:
        """Return the factors on a figure at which the verdict turns, in words."""
        return tuple(
            Turned(at=text(turn.factor), id=self._id(turn.row), name=self.names[turn.row])
            for turn in self.basis.turns(at)
        )

    def answer(
        self, change: str, choice: Choice, turns: tuple[Turned, ...] | None, *, said: str = "", span: str = _SPAN
    ) -> WhatIf:  # fmt: skip
        """Return the verdict of a choice with the turns of a figure; None where no single figure turns it."""
        if not choice.found.within.any():
            return WhatIf(
                change=change, holds=False, id=None, name="", text=f"If {change}: no {self._noun} keeps the limits."
            )
        row, _ = choice.row(self.basis.rule)
        holds = self.basis.is_same(row)
        lead = self.basis.lead(choice)[0] if self.basis.weighs and self._rivals() else None
        word = "The" if said and not said.endswith(":") else "the"
        head = f"If {change}: {said}{' ' if said else ''}{word} verdict {'holds' if holds else 'does not hold'}."
        sums = (self._loss(row, choice),) if not holds else () if lead is None else (self._sum(lead),)
        text = " ".join([head, *sums, *self._turns(turns, span)])
        return WhatIf(
            change=change, holds=holds, id=self._id(row), name=self.names[row], lead_usd=lead, turns=turns or (),
            text=text,
        )  # fmt: skip

    def _rivals(self) -> bool:
        row, equal = self.basis.bought
        return bool(self.basis.stated.others(row, equal).any())

    def _sum(self, lead: float) -> str:
        """Return by how much the design to buy leads its best rival where it is still bought."""
        if lead > _STOPS * float(self.basis.stated.money.max()):
            return f"No other {self._noun} works on then."
        mine = f"#{self._id(self.basis.bought[0])}"
        if lead < 0:  # the best rival keeps the limits as stated, and not then
            return f"No better {self._noun} keeps the limits then."
        return f"{mine} leads its best rival by {money_text(lead, 3)}."

    def _loss(self, row: int, choice: Choice) -> str:
        """Return which other design is bought under a choice, and why it is better than the one that was bought."""
        mine, buy = self.basis.bought[0], f"Buy #{self._id(row)} {self.names[row]}"
        if not choice.found.within[mine]:
            return f"{buy}: #{self._id(mine)} does not keep the limits then."
        if not self.basis.weighs:
            return f"{buy}."
        loss = float(self.basis.losses(choice)[row])
        # Of designs that their bands do not tell apart the cheapest is bought, which the sum does not say.
        against = f": #{self._id(mine)} loses {money_text(-loss, 3)} against it" if loss < 0 else ""
        return f"{buy}{against}."

    def _turns(self, turns: tuple[Turned, ...] | None, span: str) -> Iterator[str]:
        if turns:
            yield f"It turns at {', and at '.join(f'{one.at}, to #{one.id}' for one in turns)}."
        elif turns is not None:
            yield f"Nothing turns it {span}."

    @property
    def _noun(self) -> str:
        return self.basis.found.noun

    def _id(self, row: int) -> int:
        return int(self.basis.found.ids[row])

    def places(self, name: str) -> list[int]:
        """Return the places of parts of a name, or of a kind; an `InputError` names those that there are."""
        parts = self.basis.parts
        found = [place for place, part in enumerate(parts) if part.name == name]
        found = found or [place for place, part in enumerate(parts) if _is_of_kind(part, name)]
        if not found:
            every = dict.fromkeys([part.name for part in parts] + [kind for part in parts for kind in part.kinds])
            raise InputError(f"--price: {unknown('part, product or kind', name, list(every))}")
        return found

    def _names_of(self, places: Sequence[int]) -> set[str]:
        return {self.basis.parts[place].name for place in places}

    def factor(self, change: PriceChange) -> float:
        """Return the factor on the price of a change; an `InputError` says that USD are of no single piece."""
        if change.factor is not None:
            return change.factor
        stated = {self.basis.parts[place].piece_usd for place in self.places(change.name)} - {None}
        if len(stated) != 1 or change.usd is None:
            raise InputError(f"--price {change.text}: '{change.name}' has no single price; give a share, such as +30%")
        return change.usd / (stated.pop() or 1.0)


def _written(change: PriceChange) -> str:
    """Return a change of a price in words.

    >>> _written(read_price("sn5600=-10%")), _written(read_price("sn5600=70kUSD"))
    ('sn5600 changes by -10 %', 'sn5600 is 70 kUSD')
    """
    if change.factor is None:
        return f"{change.name} is {money_text(change.usd or 0.0, 3)}"
    return f"{change.name} changes by {_PERCENT * (change.factor - 1.0):+.3g} %"


def _is_of_kind(part: BoughtPart, name: str) -> bool:
    name = "modules" if name == "optics" else name
    return bool({name, f"{name}s", f"{name}es"} & set(part.kinds))


def _at_prices(basis: Basis, places: Sequence[int], factor: float) -> Choice:
    return basis.choice(dict.fromkeys(places, factor))


def _at_energy(basis: Basis, factor: float) -> Choice:
    return basis.choice(tco=with_operation(basis.tco, {_ENERGY: basis.tco.usd_per_kWh * factor}))


def _at_text(factor: float, unit: str, stated: float) -> str:
    """Return the value at a factor, and how far it is from the stated one.

    >>> _at_text(1.85, "USD", 1000.0), _at_text(0.6, "", 1.0)
    ('1,850 USD (+85 %)', '-40 %')
    """
    change = f"{_PERCENT * (factor - 1.0):+.3g} %"
    return f"{value_text(stated * factor, unit)} ({change})" if unit else change
