"""Numbers of NPUs that a file asks for, and how many systems make them up."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.parts_spec import Count
from evo_libra.network.orders.products import SystemSpec


class AboutSpec(StrictModel):
    """A number of NPUs that need not be exact."""

    about: Count = Field(description="NPUs in use")
    within: Annotated[float, Field(ge=0, lt=1)] = Field(0.02, description="share by which the number may differ")

    @property
    def bounds(self) -> tuple[int, int]:
        """Fewest and most NPUs."""
        return ceil(self.about * (1 - self.within)), floor(self.about * (1 + self.within))


Npus = Count | Annotated[tuple[Count, ...], Field(min_length=1)] | AboutSpec


@dataclass(frozen=True)
class SystemCount:
    """The number of systems of a size, and the NPUs of each that are in use."""

    count: int
    npus: int
    active: int


def counts_of(system: SystemSpec, npus: Npus) -> list[SystemCount]:
    """Return how many systems make up the NPUs that a file asks for, in each size and with each number in use.

    If a domain divides a number, the number is met exactly. Otherwise every multiple within the share counts. Sizes are
    in descending order, so that of equal orders the one of fewest systems is on a front.
    """
    return [
        SystemCount(count, size, active)
        for size in sorted(system.sizes, reverse=True)
        for active in system.active or (size,)
        for count in _counts(active, npus)
    ]


def _counts(active: int, npus: Npus) -> list[int]:
    if isinstance(npus, AboutSpec):
        if npus.about % active == 0:
            return [npus.about // active]
        fewest, most = npus.bounds
        return list(range(ceil(fewest / active), most // active + 1))
    return [number // active for number in _numbers(npus) if number % active == 0]


def no_count(system: SystemSpec, npus: Npus) -> str:
    """Return why no number of systems makes up the NPUs that a file asks for.

    >>> from evo_libra.network.orders.catalog import load_products
    >>> no_count(load_products("products-2026").systems["gb300-nvl72"], 10_000)
    'no domain of 72 or 64 divides 10,000; 9,984 = 156 x 64 is near, 10,008 = 139 x 72 nearer'
    """
    domains = [active for size in system.sizes for active in system.active or (size,)]
    listed = " or ".join(f"{domain:,}" for domain in domains)
    if isinstance(npus, AboutSpec):
        fewest, most = npus.bounds
        return f"no multiple of {listed} lies between {fewest:,} and {most:,} NPUs; {_near(domains, npus.about)}"
    numbers = _numbers(npus)
    divided = ", ".join(f"{number:,}" for number in numbers)
    return f"no domain of {listed} divides {divided}; {_near(domains, numbers[0])}"


def _near(domains: list[int], number: int) -> str:
    """Return a number near it that a domain divides, with a count of many factors of 2, as plans need them.

    The nearest number comes next, where it is another one.

    >>> _near([72], 8192), _near([8], 100)
    ('8,064 = 112 x 72 is near, 8,208 = 114 x 72 nearer', '96 = 12 x 8 is near')
    """
    near = AboutSpec(about=number)
    nearest = min((_factors(domain, number) for domain in domains), key=lambda one: _distance(one, number))
    multiples = [(count, domain) for domain in domains for count in _counts(domain, near)]
    best = min(multiples or [nearest], key=lambda one: (-(one[0] & -one[0]), _distance(one, number)))
    more = "" if _distance(best, number) == _distance(nearest, number) else f", {_product(nearest)} nearer"
    return f"{_product(best)} is near{more}"


def _factors(domain: int, number: int) -> tuple[int, int]:
    """Return the number of domains, at least one, that come nearest to a number of NPUs, and the domain."""
    return max(round(number / domain), 1), domain


def _distance(factors: tuple[int, int], number: int) -> int:
    return abs(factors[0] * factors[1] - number)


def _product(factors: tuple[int, int]) -> str:
    return f"{factors[0] * factors[1]:,} = {factors[0]:,} x {factors[1]:,}"


def _numbers(npus: int | tuple[int, ...]) -> tuple[int, ...]:
    return npus if isinstance(npus, tuple) else (npus,)
