"""Bills of orders: lines, sums, ranges, rules, and prices that nobody publishes."""

from __future__ import annotations

from typing import Any

import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st
from made_up import SAID, catalogue, order_of, switch_of

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.bill import OrderBill, bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.order import Family, Order
from evo_libra.network.orders.products import ProductsSpec

_HGX = {
    "npus": 8, "rails": 8, "kW": 10.2, "height_U": 8, "price_usd": {"low": 300000, "value": 310000, "high": 330000},
    "includes": ["nics", "scale-up", "host"],
}  # fmt: skip
_RACK = {
    "npus": 72, "rails": 4, "is_rack": True, "kW": 132, "cooling": "liquid", "price_usd": 4e6,
    "includes": ["nics", "scale-up", "host", "rack"],
}  # fmt: skip
_SWITCH = switch_of(64, per_cage=2) | {"price_usd": 40000}
_CABLES = {
    "sr": {
        "kind": "sr", "Gbps": 400, "reach_m": 500, "switch_module": "twin", "nic_module": "single", "price_usd": 100,
        **SAID,
    },
}  # fmt: skip
_MODULES = {
    "twin": {"Gbps": 400, "links": 2, "power_W": 15, "price_usd": {"low": 800, "value": 900, "high": 1400}, **SAID},
    "single": {"Gbps": 400, "power_W": 8, "price_usd": 600, **SAID},
}
SHIPPED = load_products("products-2026")


def rule(per: str, units: float, **more: Any) -> dict[str, Any]:
    return {"meaning": "a rule", "per": per, "units": units, "section": "spares", **SAID} | more


def made(rules: dict[str, Any] | None = None, **changes: Any) -> ProductsSpec:
    card = {"ports": 1, "Gbps": 400}
    figures: dict[str, Any] = {"system": _HGX, "nic": card, "switch": _SWITCH, "kilowatts": 41}
    return catalogue(**figures | {"cables": _CABLES, "modules": _MODULES, "rules": rules or {}} | changes)


def billed(products: ProductsSpec, count: int = 32, without: frozenset[str] = frozenset(), **figures: Any) -> OrderBill:
    order = order_of(products, count, **{"family": "rail-optimised"} | figures)
    return bill_of(order, products, without=without)


def pieces(bill: OrderBill, section: str) -> dict[str, float]:
    return {f"{line.product}: {line.what}": line.pieces for line in bill.lines if line.section == section}


def test_a_bill_worked_by_hand() -> None:
    # 32 servers of 8 GPUs: 8 leaves and 4 spines, 256 links to leaves and 256 to spines. 8 racks and one of switches in
    # the middle, 1 to 4 racks or 5.6 to 7.4 m away.
    bill = billed(made())
    assert pieces(bill, "network") == {
        "switch: leaf switches": 8, "switch: spine switches": 4, "sr: fibres to leaves, 6 to 8 m": 256,
        "sr: fibres to spines, 2 m": 256, "single: modules in NICs to leaves": 256,
        "twin: modules in leaves to NICs": 128, "twin: modules in leaves to spines": 128,
        "twin: modules in spines to leaves": 128,
    }  # fmt: skip
    # 12 x 40,000 + 512 x 100 + 256 x 600 + 384 x 900 (800 to 1,400) USD.
    assert bill.network_usd() == Range(684_800 + 384 * 800, 1_030_400, 684_800 + 384 * 1400)
    assert bill.usd_of("systems") == Range(9_600_000, 9_920_000, 10_560_000)
    assert bill.usd_of("racks") == Range(108_000, 108_000, 108_000)
    assert bill.order_usd().value == 9_920_000 + 1_030_400 + 108_000
    # 32 x 10.2 kW, 12 x 700 W, 256 x 8 W, 384 x 15 W.
    assert bill.watts() == pytest.approx(326_400 + 8_400 + 2_048 + 5_760)


def test_what_a_system_includes_has_no_line() -> None:
    bare = made(system=_HGX | {"includes": ["scale-up", "host"]})
    assert [line.pieces for line in billed(bare).lines if line.product == "card"] == [256]
    assert not [line for line in billed(made()).lines if line.product == "card"]
    rack = _HGX | {"includes": ["nics", "rack"]}
    assert pieces(billed(made(system=rack)), "racks") == {"rack: racks with PDUs": 1}


def test_spares_are_of_each_product_and_rounded_up() -> None:
    rules = {
        "servers": rule("server", 0.01),
        "switches": rule("switch", 0.01),
        "modules": rule("module", 0.02),
        "cables": rule("cable", 0.01),
    }
    # 1 % of 32, 1 % of 12, 2 % of 384 and of 256, 1 % of 512.
    bill = billed(made(rules))
    assert pieces(bill, "spares") == {
        "box: a rule": 1, "switch: a rule": 1, "twin: a rule": 8, "single: a rule": 6, "sr: a rule": 6,
    }  # fmt: skip
    assert bill.usd_of("spares").value == 310_000 + 40_000 + 8 * 900 + 6 * 600 + 6 * 100
    assert bill.watts() == billed(made()).watts()


def test_racks_have_spare_npus_and_no_spare_racks() -> None:
    products = made({"servers": rule("server", 0.01)}, system=_RACK)
    assert not pieces(billed(products), "spares")
    some = billed(products, active=64)
    assert pieces(some, "spares") == {
        "b200: spare NPUs, in the price of the systems: 8 of 72 in each": 256,
    }
    assert some.usd_of("spares") == Range(0, 0, 0)


def test_liquid_that_a_system_does_not_bring_needs_cooling() -> None:
    cooling = {"cooling": rule("liquid kW", 1, whole=False, usd=130, section="cooling")}
    assert billed(made(cooling, system=_RACK), 4).usd_of("cooling").value == 4 * 132 * 130
    assert billed(made(cooling, system=_RACK | {"includes": ["nics", "cooling"]}), 4).usd_of("cooling").value == 0
    assert billed(made(cooling)).usd_of("cooling").value == 0
    wet = _SWITCH | {"cooling": "liquid"}
    assert billed(made(cooling, switch=wet)).usd_of("cooling").value == pytest.approx(12 * 0.7 * 130)


def test_ports_of_management_and_storage() -> None:
    boxes = _HGX | {"management_ports": 3, "storage_ports": {"Gbps": 400, "count": 2}}
    rules = {
        "switches": rule("management port", 1 / 44, usd=4000, section="management", power_W=100),
        "storage": rule("storage port", 1, usd=3600, section="storage"),
    }
    # 32 x 3 of servers, 12 of switches, 2 PDUs in each of 10 racks: 128 ports, 3 switches.
    bill = billed(made(rules, system=boxes))
    assert pieces(bill, "management") == {"switches: a rule": 3}
    assert bill.watts_of("management") == 300
    assert bill.usd_of("storage").value == 64 * 3600


def test_a_rack_of_more_power_has_more_pdus_and_liquid_has_cdus() -> None:
    rules = {"ports": rule("management port", 1, usd=10, section="management")}
    products = made(rules, system=_HGX | {"kW": 14.0}, kilowatts=60)
    room = products.room
    assert room is not None
    large = room.model_copy(update={"rack": room.rack.model_copy(update={"pdu_kW": 25.0}), "cdu_kW": 300.0})
    # 32 servers of 14 kW and 12 switches: 3 PDUs for 56 kW in each of 8 racks, 2 in that of the switches.
    dry = billed(products.model_copy(update={"room": large}))
    assert pieces(dry, "management") == {"ports: a rule": 32 + 12 + 8 * 3 + 2}
    # 4 racks of 132 kW with PDUs of their own, 16 leaves and 5 spines in a rack, as 20 uplinks divide among them and 18
    # among 6; 528 kW need 2 CDUs of 300 kW.
    wet = made(rules, system=_RACK).model_copy(update={"room": large})
    assert pieces(billed(wet, 4), "management") == {"ports: a rule": 4 + 21 + 2 + 2}


def test_112_racks_have_about_6500_management_ports_and_150_switches() -> None:
    order = Order("gb300-nvl72", 112, 72, 72, "connectx-8-onboard", 1, 800.0, 1, "rail-optimised", "q3400-ra")
    lines = {line.product: line.pieces for line in bill_of(order, SHIPPED).lines if line.section == "management"}
    assert lines["management-switches"] == pytest.approx(150, rel=0.1)
    assert lines["management-cables"] == pytest.approx(6500, rel=0.1)


def test_shares_of_a_price_follow_its_range() -> None:
    bill = billed(made({"support": rule("USD of systems", 0.05, whole=False, section="support")}))
    assert bill.usd_of("support") == Range(480_000, 496_000, 528_000)
    network = billed(made({"installation": rule("USD of network", 0.1, whole=False, section="installation")}))
    assert network.usd_of("installation").value == pytest.approx(network.network_usd().value / 10)


def test_a_rule_without_units_has_no_line() -> None:
    products = made({"support": rule("USD of systems", 1) | {"units": None, "basis": "own"}})
    assert billed(products) == billed(made())


def test_trays_may_have_a_price_of_their_own() -> None:
    # 64 boxes of 8 NPUs, 6.4 spare ones, to the nearest.
    assert billed(made({"trays": rule("tray", 0.1, usd=1000)}), 64).usd_of("spares").value == 6 * 1000


def test_rules_are_switched_off_by_name() -> None:
    products = made({"servers": rule("server", 0.01), "switches": rule("switch", 0.01)})
    left = billed(products, without=frozenset({"servers"}))
    assert pieces(left, "spares") == {"switch: a rule": 1}
    with pytest.raises(InputError, match="unknown rule 'server'; allowed: servers, switches"):
        billed(products, without=frozenset({"server"}))


def test_licences_of_switches() -> None:
    bill = billed(made(switch=_SWITCH | {"license_usd": 1500}))
    assert bill.usd_of("licences").value == 12 * 1500


def test_a_price_that_is_missing_is_named_where_cost_is_asked() -> None:
    bill = billed(made({"support": rule("USD of network", 0.1, section="support")}, switch=switch_of(64, per_cage=2)))
    assert bill.usd_of("systems").value == 9_920_000
    assert bill.watts() > 0
    missing = r"switch has no price_usd, which the cost of an order needs \(leaf switches\)"
    for asked in (bill.order_usd, bill.network_usd):
        with pytest.raises(InputError, match=missing):
            asked()
    with pytest.raises(InputError, match="support has no usd"):
        bill.usd_of("support")


def test_a_price_that_is_missing_matters_only_to_orders_of_the_product() -> None:
    lacking = made().model_copy(
        update={"switches": made().switches | {"other": made(switch=switch_of(64)).switches["switch"]}}
    )
    assert billed(lacking).order_usd() == billed(made()).order_usd()


def test_a_power_that_is_missing_is_named() -> None:
    bill = billed(made(system=_RACK | {"kW": None}))
    assert bill.order_usd().value > 0
    with pytest.raises(InputError, match="box has no kW, which the power of an order needs"):
        bill.watts()


def test_an_order_without_a_network_has_its_system_and_rack() -> None:
    products = made()
    bill = bill_of(Order("box", 1, 8, 8), products)
    assert [line.section for line in bill.lines] == ["systems", "racks"]
    assert bill.network_usd() == Range(0, 0, 0)


def test_catalogues_of_one_name_are_told_apart() -> None:
    assert billed(made()).network_usd() != billed(made(switch=_SWITCH | {"price_usd": 50000})).network_usd()


_FAMILIES = st.sampled_from(["rail-only", "rail-optimised", "tor", "fat-tree"])
_ORDERS = st.lists(st.tuples(st.integers(1, 200), _FAMILIES, st.sampled_from([1.0, 2.0])), min_size=1, max_size=5)


@pytest.mark.slow
@given(_ORDERS)
@costly(100)
def test_an_order_costs_the_same_alone_and_in_a_list(orders: list[tuple[int, Family, float]]) -> None:
    products = made({"switches": rule("switch", 0.01)})
    among = [billed(products, count, family=family, leaf_ratio=ratio) for count, family, ratio in orders]
    count, family, ratio = orders[-1]
    fresh = made({"switches": rule("switch", 0.01)})
    assert billed(fresh, count, family=family, leaf_ratio=ratio) == among[-1]


@given(
    st.integers(1, 400), st.one_of(_FAMILIES, st.sampled_from(["dragonfly", "hyperx"])),
    st.sampled_from([0.5, 1.0, 2.0, 7.0]),
)  # fmt: skip
def test_sums_agree_to_the_cent(count: int, family: Family, ratio: float) -> None:
    order = Order("hgx-b200", count, 8, 8, "connectx-7", 1, 400.0, 1, family, "qm9700", leaf_ratio=ratio)
    try:
        bill = bill_of(order, SHIPPED)
    except InputError as error:
        assert "three tiers of qm9700" in str(error) or f"no {family} of qm9700 joins" in str(error)
        return
    total, sections = bill.order_usd(), dict.fromkeys(line.section for line in bill.lines)
    for bound in ("low", "value", "high"):
        cents = sum(round(getattr(bill.usd_of(section), bound) * 100) for section in sections)
        assert cents == round(getattr(total, bound) * 100)
    assert total.low <= total.value <= total.high
    assert bill.watts() == pytest.approx(sum(map(bill.watts_of, sections)))
    assert bill.usd_of("systems").value == count * 400_000


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(1, 50), st.sampled_from(["rail-optimised", "tor", "fat-tree"]))
def test_more_systems_never_cost_less(count: int, more: int, family: Family) -> None:
    small, large = (billed(made(), number, family=family).order_usd().value for number in (count, count + more))
    assert large > small
