"""The end points of Rail-only."""

import pytest

from evo_libra.network.blocks import ITEMS
from evo_libra.validation.rail_only import (
    Saving,
    fitted,
    networks,
    optics,
    overheads,
    published_overheads,
    published_savings,
    savings,
    total,
)


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Saving]:
    return {(one.figure, one.prices): one for one in savings()}


def test_items_are_those_of_the_published_counts() -> None:
    counted = [items[[ITEMS.index("switch"), ITEMS.index("transceiver")]].tolist() for items in networks(optics())]
    gpus, radix = 32768, 64
    assert counted == [[t * gpus / radix, e * gpus] for t, e in ((5, 6), (3, 4), (1, 2))]


@pytest.mark.parametrize("figure", ["cost", "power"])
def test_one_price_set_fits_both_ends(found: dict[tuple[str, str], Saving], figure: str) -> None:
    one = found[figure, "fitted to the published"]
    assert (one.two_tiers, one.one_tier) == pytest.approx(published_savings()[figure], abs=0.005)
    everybody, *_ = networks(optics())
    assert everybody @ fitted(figure) == pytest.approx(total(figure))
    assert (fitted(figure) >= 0).all()


def test_prices_with_sources_save_nearly_as_much(found: dict[tuple[str, str], Saving]) -> None:
    cost, power = found["cost", "catalogue, value"], found["power", "catalogue"]
    assert (cost.two_tiers, cost.one_tier) == pytest.approx(published_savings()["cost"], abs=0.051)
    assert (power.two_tiers, power.one_tier) == pytest.approx(published_savings()["power"], abs=0.02)
    assert found["cost", "catalogue, value, with NICs"].one_tier < cost.one_tier


def test_overheads_of_forwarding() -> None:
    assert tuple(overheads().values()) == pytest.approx(published_overheads(), abs=0.002)
