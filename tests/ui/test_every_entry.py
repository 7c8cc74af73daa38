"""Every entry of the catalogues through the commands that name it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from order_files import order_data

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.explain.drawn_order import drawn_order
from evo_libra.network.catalog.accelerators import accelerator, load_accelerator_specs
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products, with_powers
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.notation import read_order, written
from evo_libra.network.orders.order import Order
from evo_libra.pictures.networks.order_characters import order_lines
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run
from evo_libra.ui.commands.catalog import catalog
from evo_libra.ui.tables.catalogue_data import KINDS, named
from evo_libra.workload.layers.generators import load_models
from evo_libra.workload.models.decoder import load_decoders
from evo_libra.workload.models.recommender import trainable_recommenders

PRODUCTS = load_products("products-2026")
GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs", "rules")
ALL_STATES = {"order": ["buy", "rent", "own", "roadmap"]}


NAMES = [
    *load_accelerator_specs(), *load_decoders(), *trainable_recommenders(), *load_models(),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_is_shown_with_figures_and_sources(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for sources in (False, True):
        assert catalog(name, sources=sources) == 0
        assert name in capsys.readouterr().out
    assert catalog(name, as_json=True) == 0
    ((_, found),) = json.loads(capsys.readouterr().out).items()
    assert list(found) == [name]


OTHERS = [(kind, name) for kind in KINDS if kind not in ("accelerators", "models") for name in named(kind)[kind]]


@pytest.mark.parametrize(("kind", "name"), OTHERS)
def test_an_entry_of_any_kind_is_shown_alone(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Systems, NICs, switches, cables, modules, circuit switches, rules, technologies, parts, and lists."""
    for sources in (False, True):
        assert catalog(kind, name, sources=sources) == 0
        out = capsys.readouterr().out
        assert name in "".join(out.split())
        assert all(len(line) <= 80 for line in out.splitlines() if "/" not in line)
    assert catalog(kind, name, as_json=True) == 0
    assert list(json.loads(capsys.readouterr().out)[kind]) == [name]
    if name not in NAMES and name not in KINDS:
        assert catalog(name, as_json=True) == 0
        assert name in json.loads(capsys.readouterr().out)[kind]


POWERED = with_powers(PRODUCTS, {
    name: 1000.0
    for group in ("switches", "nics") for name, it in getattr(PRODUCTS, group).items() if it.power_W is None
})  # fmt: skip


ANY_STATE = Limits(order=("buy", "rent", "own", "roadmap"))


def order_with(switch: str) -> Order | None:
    """Return an order of some systems, in any state of sale, that a switch joins."""
    family = "ocs rails" if switch in PRODUCTS.ocs else "fat tree 1:1"
    for name, system in PRODUCTS.systems.items():
        for nic in system.nics[:2]:
            for mode in PRODUCTS.nics[nic].modes:
                own = "" if nic == system.nics[0] else f"{nic} "
                text = f"8 {name} / {own}{mode.ports} x {mode.Gbps:g}G / {switch} {family}"
                try:
                    order = read_order(text, POWERED)
                    if not violations(order, POWERED, ANY_STATE):
                        return order
                except InputError:
                    continue
    return None


@pytest.mark.parametrize("name", [*PRODUCTS.switches, *PRODUCTS.ocs])
def test_every_switch_joins_systems_and_is_drawn(name: str) -> None:
    order = order_with(name)
    assert order is not None
    lines = order_lines(drawn_order(written(order, POWERED), POWERED), 80, ascii_only=True)
    assert any(name in line for line in lines)
    bill = bill_of(order, POWERED)
    assert any(line.product == name for line in bill.lines)


def test_every_product_has_a_source_a_year_and_a_state_of_sale(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", as_json=True) == 0
    found = json.loads(capsys.readouterr().out)["product_catalogs"]["products-2026"]
    assert catalog("products-2026", sources=True) == 0
    shown = capsys.readouterr().out
    for group in GROUPS:
        assert list(found[group]) == list(getattr(PRODUCTS, group))
        for name, entry in found[group].items():
            assert f"  {name} ({entry['year']})" in shown
            assert entry["source"]
            assert 2006 <= entry["year"] <= 2026
            assert group == "rules" or entry["order"] in ALL_STATES["order"]


def systems(name: str, count: int = 2) -> Order:
    """Return some systems of the first size without a network."""
    system = PRODUCTS.systems[name]
    return Order(name, count, system.sizes[0], (system.active or system.sizes)[0], family="slice")


@pytest.mark.parametrize("name", PRODUCTS.systems)
def test_every_system_is_written_and_read(name: str) -> None:
    order = systems(name, 1)
    text = written(order, PRODUCTS)
    assert text.startswith(f"1 {name}")
    assert written(read_order(text, PRODUCTS), PRODUCTS) == text


def asked(name: str) -> dict[str, Any]:
    """Return a file that asks for about 768 NPUs of a system in any state of sale, or for one where it is larger."""
    system, changes = PRODUCTS.systems[name], dict[str, Any]()
    npus = max(768 // system.sizes[0], 1) * system.sizes[0] if system.racks == 1 else system.sizes[0]
    if system.order == "rent":
        tco = {"years": 1, "usd_per_kWh": 0.1, "pue": 1.2}
        changes = {"tco": tco, "rent": {name: 2.0}, "objectives": ["time", "usd-per-trillion-tokens"]}
        npus = system.sizes[0] if system.data_center is None else npus
    data = order_data(systems=[name], npus=npus, limits={**ALL_STATES, "month": system.until or "2026-11"}, **changes)
    data["fabric"] = {}
    data["workloads"][0]["training"] |= {"global_batch": {"about": 1536, "within": 0.25}, "tokens": 1e12}
    data["workloads"][0]["parallelism"] = {"tp": [1, 2, 4, 8], "pp": [1, 2, 3, 6]}
    return data


@pytest.mark.slow
@pytest.mark.parametrize("name", PRODUCTS.systems)
def test_every_system_is_evaluated_or_says_what_is_not_published(name: str) -> None:
    system = PRODUCTS.systems[name]
    if system.order != "rent" and system.price_usd is None:
        with pytest.raises(InputError, match=f"{name} has no (price_usd|kW)"):
            load_problem(asked(name))
        return
    problem = load_problem(asked(name))
    assert isinstance(problem, Problem)
    assert problem.book is not None
    (table,) = problem.time.tables
    found = problem.evaluate(f"{problem.book.notation(0)} | {table.texts[0]}")
    assert (found.objectives > 0).all()


@pytest.mark.parametrize("name", [name for name, it in PRODUCTS.systems.items() if it.order == "buy"])
def test_every_system_that_is_sold_has_a_bill(name: str) -> None:
    order = Order(name, 1, *(PRODUCTS.systems[name].sizes * 2)[:2], family="none")
    bill = bill_of(order, PRODUCTS)
    (line,) = [line for line in bill.lines if line.section == "systems"]
    assert (line.product, line.pieces) == (name, 1)
    assert bill.watts() >= 1000 * (PRODUCTS.systems[name].kW or 0)


def rates(part: Any) -> tuple[float, float]:
    return part.Gbps, part.lane_Gbps


def test_every_cable_joins_ports_that_exist_and_every_module_is_in_one() -> None:
    ports = {rates(mode) for switch in PRODUCTS.switches.values() for mode in switch.modes}
    cages = {(rates(mode), mode.per_cage) for nic in PRODUCTS.nics.values() for mode in nic.modes}
    for name, cable in PRODUCTS.cables.items():
        assert rates(cable) in ports, name
        assert cable.joins_switches or (rates(cable), cable.nic_ports) in cages, name
    used = {module for cable in PRODUCTS.cables.values() for module in (cable.switch_module, cable.nic_module)}
    assert used - {None} == PRODUCTS.modules.keys()


def test_every_nic_is_in_a_system_or_is_a_card() -> None:
    taken = {nic for system in PRODUCTS.systems.values() for nic in system.nics}
    assert PRODUCTS.nics.keys() - taken == {"connectx-8", "bluefield-3", "bluefield-4"}
    assert all(PRODUCTS.nics[name].bus in {"pcie5-x16", "pcie6-x16"} for name in PRODUCTS.nics.keys() - taken)


def test_every_accelerator_of_a_system_is_in_the_catalogue() -> None:
    named = {system.npu for system in PRODUCTS.systems.values()}
    assert named <= load_accelerator_specs().keys()
    assert all(accelerator(name).peak for name in named)


def test_schemas_have_every_key_of_products(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "order"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"systems", "npus", "fabric", "limits", "rent"} <= schema["properties"].keys()
