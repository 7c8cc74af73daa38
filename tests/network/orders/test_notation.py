"""The notation of orders: what it looks like, that it comes back, and how mistakes in it are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_products import small_products

from evo_libra.errors import InputError
from evo_libra.network.orders.notation import FAMILY_NAMES, read_order, written
from evo_libra.network.orders.order import Order

PRODUCTS = small_products()
LITERAL = {
    "112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1": Order(
        "gb300-nvl72", 112, 72, 72, "cx8-onboard", 2, 400.0, 2, "rail-optimised", "sn5600"
    ),
    "112 gb300-nvl72 / 1 x 800G / q3400 fat tree 2:1": Order(
        "gb300-nvl72", 112, 72, 72, "cx8-onboard", 1, 800.0, 1, "fat-tree", "q3400", 2.0
    ),
    "128 gb200-nvl72 (64 active) / 1 x 400G / qm9700 rail-optimised 1:1 pods 7:1": Order(
        "gb200-nvl72", 128, 72, 64, "cx7", 1, 400.0, 1, "rail-optimised", "qm9700", 1.0, 7.0
    ),
    "1920 hgx-b200 / 2 x 200G / th5-64 tor 32:15 uplinks 400G": Order(
        "hgx-b200", 1920, 8, 8, "cx7", 2, 200.0, 1, "tor", "th5-64", 128 / 60, 1.0, 400.0
    ),
    "64 hgx-b200 / cx7 1 x 400G / th5-64 tor of 2 1:1": Order(
        "hgx-b200", 64, 8, 8, "cx7", 1, 400.0, 1, "tor", "th5-64", rack_systems=2
    ),
    "1024 hgx-b200 / thor2 1 x 400G / th5-64 rail-only 0.5:1": Order(
        "hgx-b200", 1024, 8, 8, "thor2", 1, 400.0, 1, "rail-only", "th5-64", 0.5
    ),
    "128 hgx-b200 / cx7 1 x 400G / th5-64 dragonfly 2:1 pods 7:1": Order(
        "hgx-b200", 128, 8, 8, "cx7", 1, 400.0, 1, "dragonfly", "th5-64", 2.0, 7.0
    ),
    "128 hgx-b200 / cx7 1 x 400G / th5-64 hyperx 1:1": Order(
        "hgx-b200", 128, 8, 8, "cx7", 1, 400.0, 1, "hyperx", "th5-64"
    ),
    "16 hgx-b200 / cx7 1 x 400G / mirrors ocs rails": Order(
        "hgx-b200", 16, 8, 8, "cx7", 1, 400.0, 1, "ocs-rails", "mirrors"
    ),
    "4 tpu7x-slice-256": Order("tpu7x-slice", 4, 256, 256, family="slice"),
    "1 gb300-nvl72": Order("gb300-nvl72", 1, 72, 72),
    "2 gb300-nvl72": Order("gb300-nvl72", 2, 72, 72, family="apart"),
}
ratios = st.one_of(st.sampled_from([1.0, 2.0, 7.0, 1.5, 128 / 60]), st.floats(1e-3, 1e3))


@st.composite
def orders(draw: st.DrawFn) -> Order:
    name = draw(st.sampled_from(sorted(PRODUCTS.systems)))
    system = PRODUCTS.systems[name]
    npus = draw(st.sampled_from(system.sizes))
    active = draw(st.one_of(st.just(npus), st.integers(1, npus)))
    count = draw(st.integers(1, 10**6))
    if not system.nics or draw(st.booleans()):
        alone = "none" if count == 1 else "apart"
        return Order(name, count, npus, active, family=alone if system.nics else "slice")
    family = draw(st.sampled_from(sorted(FAMILY_NAMES)))
    switches = PRODUCTS.ocs if family == "ocs-rails" else PRODUCTS.switches
    return Order(
        name,
        count,
        npus,
        active,
        nic=draw(st.sampled_from(sorted(PRODUCTS.nics))),
        ports=draw(st.integers(1, 16)),
        Gbps=draw(st.one_of(st.sampled_from([100.0, 200.0, 400.0, 800.0, 1600.0]), st.floats(0.1, 1e6))),
        planes=draw(st.integers(1, 8)),
        family=family,
        switch=draw(st.sampled_from(sorted(switches))),
        leaf_ratio=draw(ratios),
        pod_ratio=draw(ratios),
        uplink_Gbps=draw(st.sampled_from([None, 400.0, 1600.0])),
        rack_systems=draw(st.sampled_from([None, None, 1, 12])),
    )


@given(order=orders())
def test_an_order_comes_back(order: Order) -> None:
    text = written(order, PRODUCTS)
    assert read_order(text, PRODUCTS) == order
    assert "|" not in text


@pytest.mark.parametrize(("text", "order"), LITERAL.items())
def test_literal_orders(text: str, order: Order) -> None:
    assert read_order(text, PRODUCTS) == order
    assert written(order, PRODUCTS) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2 gb300-nvl72/1 x 0.8T/q3400  fat-tree", "2 gb300-nvl72 / 1 x 800G / q3400 fat tree 1:1"),
        ("2 gb300-nvl72 / 1 x 800G / 1 plane / q3400 fat tree 2:1", "2 gb300-nvl72 / 1 x 800G / q3400 fat tree 2:1"),
        ("2 gb300-nvl72 / 1 x 800G / q3400 tor 4:2", "2 gb300-nvl72 / 1 x 800G / q3400 tor 2:1"),
    ],
)
def test_other_forms_are_read(text: str, same: str) -> None:
    assert written(read_order(text, PRODUCTS), PRODUCTS) == same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gb300-nvl72", "found 'gb300-nvl72', a number of systems is needed, such as '112 gb300-nvl72'"),
        ("1 gb300-nvl7", ("unknown system 'gb300-nvl7'; allowed: hgx-b200, hgx-b300, gb200-nvl72, gb300-nvl72, mi999, "
         "tpu7x-slice; did you mean 'gb300-nvl72'?")),
        ("1 tpu7x-slice", "tpu7x-slice has several sizes; allowed: tpu7x-slice-64, tpu7x-slice-256"),
        ("2 hgx-b200 / 1 x 800G / th5-64 tor 1:1",
         "hgx-b200 takes no NIC with 1 x 800G; allowed: cx7 1 x 400G, cx7 2 x 200G, thor2 1 x 400G"),
        ("2 hgx-b200 / 1 x 400G / th5-64 tor 1:1",
         "hgx-b200 takes several NICs with 1 x 400G; name one: cx7 1 x 400G or thor2 1 x 400G"),
        ("2 hgx-b200 / cx9 1 x 400G / th5-64 tor 1:1",
         "unknown NIC 'cx9'; allowed: cx7, thor2, cx8, cx8-onboard; did you mean 'cx8'?"),
        ("2 hgx-b200 / 400G / th5-64 tor 1:1", "found '400G', a mode of a NIC is needed, such as '2 x 400G'"),
        ("2 hgx-b200 / cx7 1 x 400G / two planes / th5-64 tor 1:1",
         "found 'two planes', a number of planes is needed, such as '2 planes'"),
        ("2 hgx-b200 / cx7 1 x 400G / sn560 tor 1:1",
         "unknown switch 'sn560'; allowed: qm9700, q3400, sn5600, th5-64, th6; did you mean 'sn5600'?"),
        ("2 hgx-b200 / cx7 1 x 400G / sn5600 rail-optimized 1:1",
         ("unknown family 'rail-optimized'; allowed: rail-only, rail-optimised, tor, fat tree, dragonfly, hyperx, "
         "ocs rails; did you mean 'rail-optimised'?")),
        ("2 hgx-b200 / cx7 1 x 400G / sn5600",
         "found 'sn5600', a switch with a family is needed, such as 'sn5600 rail-optimised 1:1'"),
        ("2 hgx-b200 / cx7 1 x 400G / sn5600 tor 0:1", "found '0', a number above 0 is needed"),
        ("2 hgx-b200 / cx7 1 x 4.0.0G / sn5600 tor 1:1", "found '4.0.0', a number above 0 is needed"),
        ("2 hgx-b200 / cx7 1 x 400G / sn5600 tor 1:1 / pods 7:1",
         "'pods 7:1' follows the ratio without a slash, such as 'sn5600 rail-optimised 1:1 pods 7:1 uplinks 800G'"),
        ("2 hgx-b200 / cx7 1 x 400G", ("found '2 hgx-b200 / cx7 1 x 400G', an order is needed, such as "
         "'112 gb300-nvl72 / 2 x 400G / 2 planes / sn5600 rail-optimised 1:1'")),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_order(text, PRODUCTS)
    assert str(caught.value) == message


@given(text=st.text(alphabet="0123456789 xGT/:()abcghnlvp-.", max_size=60))
def test_any_text_is_an_order_or_a_mistake(text: str) -> None:
    try:
        order = read_order(text, PRODUCTS)
    except InputError:
        return
    assert read_order(written(order, PRODUCTS), PRODUCTS) == order
