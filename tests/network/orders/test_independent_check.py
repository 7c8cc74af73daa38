"""The check of an order, and a check of its own that is written from the catalogue alone, agree."""

from __future__ import annotations

from functools import cache
from typing import Any

import independent_check
import numpy as np
import pytest
from effort import costly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evo_libra.files.source import parse_source, validate
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.choices import OrderChoices, orders_of
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.lengths import sold
from evo_libra.network.orders.notation import FAMILY_NAMES, written
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.topology import topology_of

PRODUCTS = load_products("products-2026")
COPPER = PRODUCTS.model_copy(
    update={"cables": {name: cable for name, cable in PRODUCTS.cables.items() if cable.switch_module is None}}
)
SOLD = [name for name, system in PRODUCTS.systems.items() if system.order == "buy" and system.until is None]
ratios = st.sampled_from([1.0, 1.0, 2.0, 4.0, 7.0, 0.5, 16 / 15])


@cache
def _catalogue(*, copper: bool = False) -> dict[str, Any]:
    data = independent_check.catalogue()
    fibres = [name for name, cable in data["cables"].items() if "switch_module" in cable] if copper else []
    return data | {"cables": {name: cable for name, cable in data["cables"].items() if name not in fibres}}


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """Draw orders of which many break a rule, and many none."""
    name = draw(st.sampled_from(SOLD * 4 + sorted(PRODUCTS.systems)))
    system = PRODUCTS.systems[name]
    npus = draw(st.sampled_from(system.sizes))
    active = draw(st.sampled_from([*(system.active or [npus]) * 9, npus - 1]))
    count = draw(st.one_of(st.integers(1, 40), st.integers(2, 4000), st.integers(2, 600)))
    if not system.nics or count == 1:
        return Order(name, count, npus, active, family="none" if system.nics else "slice")
    nic = draw(st.sampled_from([*system.fitting * 12, *PRODUCTS.nics]))
    mode = draw(st.sampled_from(PRODUCTS.nics[nic].modes))
    fitting = [
        other
        for other, switch in PRODUCTS.switches.items()
        if any((own.Gbps, own.lane_Gbps) == (mode.Gbps, mode.lane_Gbps) for own in switch.modes)
    ]
    family = draw(st.sampled_from(sorted(FAMILY_NAMES)))
    switches = list(PRODUCTS.ocs) if family == "ocs-rails" else [*fitting * 6, *PRODUCTS.switches]
    return Order(
        name,
        count,
        npus,
        active,
        nic=nic,
        ports=draw(st.sampled_from([mode.ports] * 9 + [mode.ports + 1])),
        Gbps=mode.Gbps,
        planes=draw(st.sampled_from([1, 1, mode.ports, mode.ports, mode.ports, 2])),
        family=family,
        switch=draw(st.sampled_from(switches)),
        leaf_ratio=draw(ratios),
        pod_ratio=draw(st.sampled_from([1.0, 1.0, 1.0, 2.0, 7.0])),
        uplink_Gbps=draw(st.sampled_from([None, None, None, 400.0, 800.0])),
        rack_systems=draw(st.sampled_from([None, None, 1, 2, 5] if family == "tor" else [None] * 9 + [2])),
    )


@pytest.mark.slow
@costly(600)
@given(order=orders())
def test_both_accept_the_same_orders(order: Order) -> None:
    text = written(order, PRODUCTS)
    broken = independent_check.broken_rules(text, _catalogue())
    assert bool(violations(order, PRODUCTS)) == bool(broken), (text, violations(order, PRODUCTS), broken)


@pytest.mark.slow
@settings(max_examples=200)
@given(order=orders())
def test_both_accept_the_same_orders_of_copper_alone(order: Order) -> None:
    text = written(order, COPPER)
    broken = independent_check.broken_rules(text, _catalogue(copper=True))
    assert bool(violations(order, COPPER)) == bool(broken), (text, violations(order, COPPER), broken)


LAST_IS_SMALL = Order(
    system="mi355x-8", count=105, npus=8, active=8, nic="connectx-7", ports=1, Gbps=400.0, planes=1,
    family="rail-optimised", switch="q3400-ra", leaf_ratio=1.0, pod_ratio=1.0, uplink_Gbps=800.0, rack_systems=None,
)  # fmt: skip
"""A block of 13 racks and one of 3, which stand in one row of 20 with the rack of their spines between them."""


@pytest.mark.slow
@settings(max_examples=200)
@example(order=LAST_IS_SMALL)
@given(order=orders())
def test_both_have_the_same_longest_cables(order: Order) -> None:
    if order.switch and not violations(order, PRODUCTS):
        ways = np.array(independent_check.longest_cables(written(order, PRODUCTS), _catalogue()))
        longest: dict[str, float] = {}
        for run in topology_layout(order, topology_of(order, PRODUCTS), PRODUCTS).runs:
            longest[run.tier] = max(run.metres, longest.get(run.tier, 0.0))
        assert list(longest.values()) == sold(ways).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("npus", ["512", pytest.param("{about: 8192}", marks=pytest.mark.slow)])
def test_all_orders_offered_pass_both(npus: str) -> None:
    systems = [name for name, system in PRODUCTS.systems.items() if system.nics]
    families = f"[{', '.join(FAMILY_NAMES)}]"
    file = f"{{systems: [{', '.join(systems)}], npus: {npus}, fabric: {{families: {families}}}}}"
    offered = orders_of(validate(OrderChoices, parse_source(file, "orders.yaml")), PRODUCTS).orders
    assert len(offered) > 100
    for order in offered:
        text = written(order, PRODUCTS)
        assert independent_check.broken_rules(text, _catalogue()) == set(), text
