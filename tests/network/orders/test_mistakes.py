"""What a user's catalogue of products may not say: each mistake has its line and key."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.files.kinds import refusal_of_data
from evo_libra.files.source import read_source
from evo_libra.network.orders import catalog
from evo_libra.network.orders.catalog import is_products, load_products
from evo_libra.network.orders.products import ProductsSpec

SOURCED = {"source": "a quotation", "year": 2026}

OWN: dict[str, Any] = {
    "kind": "products",
    "name": "ours",
    "source": "quotations",
    "systems": {
        "box": {
            "npu": "h100-80gb", "npus": 8, "rails": 8, "height_U": 8, "nics": ["card"], "active": [8, 4],
            "scale_up": {"technology": "nvlink4", "block": "switch", "GBps": 450, "ports": 18, "latency_ns": 350},
            "slots": {"bus": "pcie5-x16", "GBps": 63, "takes": ["other"]}, "includes": ["nics", "host"], **SOURCED,
        }
    },
    "nics": {
        "card": {
            "modes": [{"ports": 2, "Gbps": 200, "layers": ["ethernet"]}], "bus": "pcie5-x16", "cage": "osfp", **SOURCED,
        },
        "other": {
            "modes": [{"ports": 1, "Gbps": 200, "layers": ["ethernet"]}], "bus": "pcie4-x8", "cage": "osfp", **SOURCED,
        },
    },
    "switches": {
        "leaf": {
            "layer": "ethernet", "cages": 32, "latency_ns": 500, "platform": {"name": "ours", "efficiency": 0.9},
            **SOURCED,
            "modes": [{"ports": 64, "Gbps": 400, "per_cage": 2}, {"ports": 128, "Gbps": 200, "per_cage": 4}],
        }
    },
    "cables": {
        "copper": {"kind": "dac", "Gbps": 400, "links": 2, "reach_m": 2, **SOURCED},
        "fibre": {
            "kind": "dr", "Gbps": 400, "reach_m": 500, "switch_module": "twin", "nic_module": "single", **SOURCED,
        },
    },
    "modules": {
        "twin": {"Gbps": 400, "links": 2, "power_W": 16, **SOURCED},
        "single": {"Gbps": 400, "power_W": 9, **SOURCED},
        "slow": {"Gbps": 200, "power_W": 5, **SOURCED},
    },
    "rules": {
        "spares": {"meaning": "spare boxes", "per": "server", "units": 0.01, "section": "spares", **SOURCED},
    },
}  # fmt: skip


def written(data: Any, indent: int = 0) -> str:
    """Return YAML with a line for each key and item."""
    pad, lines = "  " * indent, []
    entries = data.items() if isinstance(data, dict) else [("-", item) for item in data]
    for key, item in entries:
        head = f"{pad}-" if key == "-" else f"{pad}{key}:"
        empty = isinstance(item, dict | list) and not item
        deep = isinstance(item, dict | list) and not empty
        lines.append(f"{head}\n{written(item, indent + 1)}" if deep else f"{head} {'null' if item is None else item}")
    return "\n".join(lines)


def changed(key: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(OWN)
    *path, last = [int(part) if part.isdigit() else part for part in key.split("/")]
    place: Any = data
    for part in path:
        place = place[part]
    place[last] = value
    return data


def refusal(folder: Path, data: dict[str, Any]) -> list[str]:
    (folder / "ours.yaml").write_text(written(data) + "\n")
    with pytest.raises(InputError) as error:
        load_products("ours.yaml", folder)
    return [str(mistake) for mistake in error.value.mistakes]


def test_the_example_has_no_mistakes(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(written(OWN) + "\n")
    assert load_products("ours.yaml", tmp_path) == ProductsSpec.model_validate_json(json.dumps(OWN))
    assert is_products("ours.yaml", tmp_path)


RANGE = {"low": 3, "value": 2, "high": 4}
CASES = [
    ("systems/box/nics", ["cart"], "systems.box.nics[0]: unknown NIC 'cart'"),
    ("systems/box/npu", "h100", "systems.box.npu: unknown accelerator 'h100'"),
    ("systems/box/scale_up/GBps", 900, ".GBps: found 900; 18 links of nvlink4 of h100-80gb carry 450 GB/s"),
    ("systems/box/npu", "tpu-v4", "systems.box.scale_up.technology: tpu-v4 has no links of nvlink4; its own: ici-v4"),
    ("cables/fibre/nic_end", "osfp", "cables.fibre.nic_end: the ends of a dr are its modules, which have their `form`"),
    ("systems/box/scale_up/block", "swich", "systems.box.scale_up.block: unknown block 'swich'"),
    ("systems/box/slots/GBps", 31, "systems.box.nics[0]: card has 50 GB/s at least, a slot 31 GB/s"),
    ("systems/box/slots/bus", "pcie5-x8", "systems.box.nics[0]: card needs pcie5-x16; a slot is pcie5-x8"),
    ("systems/box/slots/takes", ["cart"], "systems.box.slots.takes[0]: unknown NIC 'cart'"),
    ("systems/box/slots/takes", ["card"], "systems.box.slots.takes[0]: card is in `nics` already"),
    ("systems/box/includes", ["host"], "systems.box.slots.takes: the price of the system includes no NICs"),
    ("systems/box/slots", None, "systems.box.nics: it takes NICs and has no `slots:`"),
    ("systems/box/nics", [], "systems.box.nics: it has slots and lists no NIC that they take"),
    ("systems/box/rails", 3, "systems.box.rails: found 3, which does not divide its NPUs"),
    ("systems/box/active", [9], "systems.box.active[0]: found 9; it has 8 NPUs"),
    ("systems/box/npus", [], "systems.box.npus: needs at least one size"),
    ("systems/box/height_U", 0, "systems.box.height_U: found 0 for a system that is no rack"),
    ("systems/box/racks", 2, "systems.box.racks: found 2 of a system that is no rack"),
    ("systems/box/price_usd", RANGE, "systems.box.price_usd: found 3, 2, 4; low <= value <= high"),
    ("systems", {}, "systems: has no systems; at least 1 is needed"),
    ("nics/card/modes/0/per_cage", 3, "nics.card.modes[0].per_cage: found 3, which does not divide 2 ports"),
    ("nics/card/modes/0/lane_Gbps", 150, "nics.card.modes[0].lane_Gbps: 200 Gb/s is no whole number of lanes of 150"),
    ("switches/leaf/modes/0/ports", 65, "switches.leaf.modes[0].ports: found 65; 64 fit 32 cages"),
    ("switches/leaf/max_ports", 100, "switches.leaf.modes[1].ports: found 128; 100 fit 32 cages"),
    ("switches/leaf/modes/1/Gbps", 400, "switches.leaf.modes[1]: 400 Gb/s with lanes of 100 is there already"),
    ("switches/leaf/efficiency_range", [0.5, 0.9], "switches.leaf.efficiency_range: found 0.5 to 0.9; efficiency is 1"),
    ("switches/leaf/latency_range_ns", [1, 2], "switches.leaf.latency_range_ns: found 1 to 2; latency_ns is"),
    (
        "switches/leaf/platform/efficiency_range",
        [0.5, 0.6],
        "switches.leaf.platform.efficiency_range: found 0.5 to 0.6",
    ),
    ("cables/fibre/nic_module", "slow", "cables.fibre.nic_module: slow has links of 200 Gb/s, the cable 400"),
    ("cables/fibre/nic_module", "singel", "cables.fibre.nic_module: unknown module 'singel'"),
    ("cables/fibre/nic_module", "twin", "cables.fibre.nic_module: twin has 2 links; nic_ports is 1"),
    ("cables/fibre/nic_module", None, "cables.fibre.nic_module: a dr needs a module at its NIC"),
    ("cables/fibre/switch_module", None, "cables.fibre.switch_module: a dr needs a module at its switch"),
    ("cables/fibre/links", 2, "cables.fibre.links: found 2; a fibre has 1 link"),
    ("cables/copper/switch_module", "twin", "cables.copper.switch_module: the ends of a dac are fixed"),
    ("cables/copper/nic_ports", 3, "cables.copper.nic_ports: found 3, which does not divide 2 links"),
    ("rules/spares/per", "rack", "rules.spares.usd: units per rack need a price"),
    ("rules/spares/usd", RANGE, "rules.spares.usd: found 3, 2, 4; low <= value <= high"),
    ("nics/card/source", None, "nics.card.source"),
    ("switches/leaf/modes", [], "switches.leaf.modes"),
]


@pytest.mark.parametrize(("key", "value", "sentence"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_a_mistake_has_its_line_and_key(tmp_path: Path, key: str, value: Any, sentence: str) -> None:
    mistakes = refusal(tmp_path, changed(key, value))
    place = next((one for one in mistakes if sentence in one), None)
    assert place is not None, mistakes
    line = int(place.removeprefix(f"{tmp_path / 'ours.yaml'}:").split(":")[0])
    assert 1 <= line <= len((tmp_path / "ours.yaml").read_text().splitlines())


def test_npus_of_a_server_may_share_cages(tmp_path: Path) -> None:
    """Eight NPUs with two ports each fill a cage of 16 ports, as in servers of Gaudi 3 with cages of four."""
    (tmp_path / "ours.yaml").write_text(written(changed("nics/card/modes/0/per_cage", 16)) + "\n")
    assert load_products("ours.yaml", tmp_path).nics["card"].modes[0].per_cage == 16


def test_delivery_ends_after_it_begins(tmp_path: Path) -> None:
    data = changed("nics/card/since", "2025-06")
    data["nics"]["card"]["until"] = "2025-05"
    assert "nics.card.until: found 2025-05, before the first delivery in 2025-06" in refusal(tmp_path, data)[0]
    data["nics"]["card"]["until"] = '"2025"'
    (tmp_path / "ours.yaml").write_text(written(data) + "\n")
    assert load_products("ours.yaml", tmp_path).nics["card"].until == "2025"


def test_a_cable_joins_something(tmp_path: Path) -> None:
    data = changed("cables/copper/nic_ports", None)
    data["cables"]["copper"]["joins_switches"] = "false"
    assert "cables.copper.joins_switches: it joins neither a NIC nor two switches" in refusal(tmp_path, data)[0]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    data = changed("systems/box/npu", "h100")
    data["cables"]["fibre"]["nic_module"] = "slow"
    data["switches"]["leaf"]["modes"][0]["ports"] = 65
    assert len(refusal(tmp_path, data)) == 3


EXTENSION = """
kind: products
name: ours
source: quotations
extends: products-2026
systems:
  our-box:
    npu: h100-80gb
    npus: 8
    scale_up: {technology: nvlink4, block: switch, GBps: 450, ports: 18, latency_ns: 350}
    rails: 8
    slots: {bus: pcie5-x16, GBps: 63}
    nics: [connectx-7]
    price_usd: 290000
    height_U: 8
    source: a quotation
    year: 2026
switches:
  sn5600:
    layer: ethernet
    modes: [{ports: 64, Gbps: 800, per_cage: 1}]
    cages: 64
    price_usd: 70000
    latency_ns: 560
    source: a quotation
    year: 2026
"""


def test_a_catalogue_extends_another(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(EXTENSION)
    (tmp_path / "more.yaml").write_text("kind: products\nname: more\nsource: ours\nextends: ours.yaml\n")
    base, own, more = (load_products(name, tmp_path) for name in ("products-2026", "ours.yaml", "more.yaml"))
    assert own.systems.keys() == {*base.systems, "our-box"}
    assert (own.switches["sn5600"].price_usd, len(own.switches["sn5600"].modes)) == (70000, 1)
    assert own.switches["qm9700"] == base.switches["qm9700"]
    assert (own.room, own.rules) == (base.room, base.rules)
    assert (more.name, more.systems) == ("more", own.systems)


@pytest.mark.parametrize(
    ("extends", "sentence"),
    [
        ("ours.yaml", "ours.yaml:4:1: extends: 'ours.yaml' extends this file in turn"),
        ("products-2025", "ours.yaml:4:1: extends: unknown catalogue of products 'products-2025'"),
        ("none.yaml", "ours.yaml:4:1: extends: "),
    ],
)
def test_what_cannot_be_extended_is_told_where_it_is_named(tmp_path: Path, extends: str, sentence: str) -> None:
    (tmp_path / "ours.yaml").write_text(EXTENSION.replace("products-2026", extends).lstrip())
    with pytest.raises(InputError) as error:
        load_products("ours.yaml", tmp_path)
    assert sentence in str(error.value)


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(InputError, match="unknown catalogue of products 'products-26'; allowed: products-2026, or"):
        load_products("products-26")


def packaged_text() -> str:
    """Return the packaged catalogue as one file, such as a user's own."""
    folder = Path(catalog.__file__).parent
    parts = [f"{path.stem}:\n{indent(path.read_text(), '  ')}" for path in sorted((folder / "products-2026").glob("*"))]
    return "".join([(folder / "products-2026.yaml").read_text(), *parts])


@pytest.mark.slow
def test_the_file_of_the_package_has_lines_of_its_own_mistakes(tmp_path: Path) -> None:
    text = packaged_text()
    (tmp_path / "ours.yaml").write_text(text.replace("nics: [connectx-6]", "nics: [connectx-66]"))
    with pytest.raises(InputError) as error:
        load_products("ours.yaml", tmp_path)
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "nics: [connectx-6]" in each)
    assert f"ours.yaml:{line}:" in str(error.value)
    assert "did you mean 'connectx-6'" in str(error.value)


def test_a_catalogue_is_no_problem_file(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(written(OWN) + "\n")
    data = read_source(tmp_path / "ours.yaml").data
    assert refusal_of_data(data, ["npus", "fabric", "workloads"]) == (
        "this is a catalogue; use it as `fabric.catalog` of a problem file"
    )
    assert refusal_of_data(data, ProductsSpec.model_fields) == ""


def paths(data: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each key and item."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in entries:
        yield f"{path}{key}"
        yield from paths(item, f"{path}{key}/")


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, -1, "x", None, [], {}], ids=str)
def test_any_value_loads_or_is_a_mistake_with_its_place(tmp_path: Path, value: Any) -> None:
    for path in paths(OWN):
        (tmp_path / "ours.yaml").write_text(written(changed(path, value)) + "\n")
        try:
            load_products("ours.yaml", tmp_path)
        except InputError as error:
            assert all(str(mistake).startswith(str(tmp_path / "ours.yaml:")) for mistake in error.mistakes), path
