"""Catalogues of parts: what comes with the package, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog import parts
from evo_libra.network.catalog.parts import PartsCatalog, load_any, load_parts, load_parts_spec, parts_names
from evo_libra.network.catalog.parts_spec import PartsSpec
from evo_libra.network.catalog.technologies import catalog_names, load_catalog

SWITCHED = """\
kind: parts
name: own
source: made up
parts:
  box:
    kind: switch
    ports: 32
    price_usd: {low: 10, value: 20, high: 40}
    power_W: 100
    latency_ns: 300
    source: quotation
    year: 2025
technologies:
  rack:
    port_GBps: 25
    ports: 4
    latency_ns: 500
    energy_pJ_per_bit: 5
    blocks: [ring, switch]
    switch: box
    source: quotation
    year: 2025
"""


def load(folder: Path, text: str) -> PartsCatalog:
    (folder / "own.yaml").write_text(text)
    return load_parts("own.yaml", folder)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        load(folder, text)
    return [str(mistake).replace(str(folder), "") for mistake in error.value.mistakes]


def test_kinds_of_catalogues_are_told_apart() -> None:
    assert parts_names() == ["luwu-2024", "parts-2024", "products-2025", "wafer"]
    assert catalog_names() == ["libra", "libra-cosearch"]
    assert isinstance(load_any("wafer"), PartsSpec)
    assert not isinstance(load_any("libra"), PartsSpec)
    with pytest.raises(InputError, match=r"unknown catalogue 'parts-2025'; allowed: libra, .*, wafer"):
        load_any("parts-2025")


@pytest.mark.parametrize("name", [*parts_names(), *catalog_names()])
def test_a_shipped_catalogue_has_no_mistake(tmp_path: Path, name: str) -> None:
    folder = Path(parts.__file__).parent / ("per_part" if name in parts_names() else "per_bandwidth")
    (tmp_path / "own.yaml").write_text((folder / f"{name}.yaml").read_text())
    assert load_any("own.yaml", tmp_path) == (load_parts_spec(name) if name in parts_names() else load_catalog(name))


def test_blocks_of_linear_prices_are_libras() -> None:
    package = {technology.name: technology for technology in load_catalog("libra").technologies}["package"]
    assert package.blocks == ("ring", "fully-connected", "switch")


@pytest.mark.parametrize("name", ["parts-2024", "products-2025", "wafer"])
def test_every_figure_has_its_source_and_year(name: str) -> None:
    catalog = load_parts(name)
    parts = {
        part.name: part
        for kit in catalog.kits
        for part in (kit.links, kit.uplink, kit.transceiver, kit.nic, kit.switch)
        if part is not None
    }
    assert len(parts) > 3
    for part in parts.values():
        assert len(part.source) > 10
        assert 2019 <= part.year <= 2026
        assert part.price.low <= part.price.value <= part.price.high


def test_a_kit_is_a_technology_with_a_block(tmp_path: Path) -> None:
    ring, switch = load(tmp_path, SWITCHED).kits
    assert [BLOCK_NAMES[kit.block] for kit in (ring, switch)] == ["ring", "switch"]
    assert (ring.technology, ring.rank, ring.port_rate, ring.ports, ring.domain_size) == ("rack", 0, 25e9, 4, None)
    assert (ring.latency, ring.energy) == (pytest.approx(5e-7), pytest.approx(5e-12))
    assert (ring.links, ring.nic, ring.switch) == (None, None, None)
    assert switch.switch is not None
    assert (switch.switch.ports, switch.switch.power, switch.switch.latency) == (32, 100, pytest.approx(3e-7))
    assert (switch.switch.price.low, switch.switch.price.value, switch.switch.price.high) == (10, 20, 40)


def test_kits_of_a_technology_have_its_rank() -> None:
    catalog = load_parts("parts-2024")
    assert [catalog.technologies[kit.rank] for kit in catalog.kits] == [kit.technology for kit in catalog.kits]
    optics = [kit for kit in catalog.kits if kit.technology == "optics-400g"]
    kinds = {BLOCK_NAMES[kit.block]: kit.switch and kit.switch.kind for kit in optics}
    assert kinds == {"ring": None, "switch": "switch", "fat-tree": "switch", "ocs-rail": "ocs"}
    assert all(kit.uplink is kit.links for kit in optics)


def test_optics_have_their_fibres(tmp_path: Path) -> None:
    rails = [kit for kit in load_parts("parts-2024").kits if BLOCK_NAMES[kit.block] == "ocs-rail"]
    assert {kit.technology: kit.fibres for kit in rails} == dict.fromkeys(
        ("optics-100g", "optics-200g", "optics-400g", "optics-800g"), 8
    )
    assert [kit.fibres for kit in load(tmp_path, SWITCHED).kits] == [2, 2]


def test_a_catalogue_extends_another(tmp_path: Path) -> None:
    box = SWITCHED[SWITCHED.index("  box:") : SWITCHED.index("technologies:")].replace("box", "switch-400g")
    own = f"kind: parts\nname: cheaper\nsource: made up\nextends: parts-2024\nparts:\n{box}"
    base, cheaper = load_parts("parts-2024"), load(tmp_path, own)
    assert cheaper.technologies == base.technologies
    assert {kit.switch.price.value for kit in cheaper.kits if kit.switch and kit.switch.name == "switch-400g"} == {20}
    rack = SWITCHED[SWITCHED.index("technologies:") :].replace("box", "switch-400g")
    assert load(tmp_path, own + rack).technologies == (*base.technologies, "rack")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    switch: box\n", "", "19:20: technologies.rack.blocks[1]: switch needs `switch:`, which rack lacks"),
        ("    switch: box\n", "    switch: bx\n", "technologies.rack.switch: unknown switch 'bx'; allowed: box; did"),
        ("    switch: box\n", "    nic: box\n", "technologies.rack.nic: 'box' is a switch, a nic is needed"),
        ("    ports: 32\n", "", "5:3: parts.box.ports: a switch needs its number of ports"),
        ("kind: switch", "kind: link", "parts.box.ports: a link has no ports; nic, switch, ocs have"),
        ("ports: 32", "ports: 1", "parts.box.ports: found 1; a switch has at least 2"),
        (
            "ports: 32",
            "ports: 32\n    fibres: 8",
            "parts.box.fibres: a switch has no fibres of its own; a transceiver has",
        ),
        ("ports: 32", "ports: 0", "parts.box.ports: found 0 (number), a number of at least 1 is needed"),
        ("ports: 32", f"ports: {10**30}", "(number), a number of at most 1000000000 is needed"),
        ("ports: 4", f"ports: {10**30}", "(number), a number of at most 1000000000 is needed"),
        (
            "ports: 4",
            "ports: 4\n    domain_size: 1",
            "rack.domain_size: found 1 (number), a number of at least 2 is needed",
        ),
        ("port_GBps: 25", "port_GBps: 1e300", "(number), a number of at most 1000000000 is needed"),
        ("power_W: 100", "power_W: .nan", "parts.box.power_W: found .nan, a finite number is needed"),
        ("low: 10", "low: -1", "parts.box.price_usd.low: found -1 (number), a number of at least 0 is needed"),
        ("low: 10", "low: 30", "parts.box.price_usd: found 30, 20, 40; low <= value <= high"),
        ("[ring, switch]", "[rings, switch]", "technologies.rack.blocks[0]: found 'rings'"),
        ("    year: 2025\ntechnologies", "technologies", "parts.box.year: a required key is missing"),
        (
            "    source: quotation\n    year: 2025\ntech",
            "    year: 2025\ntech",
            "parts.box.source: a required key is missing",
        ),
        ("source: made up\n", "source: made up\nextends: libra\n", "extends: unknown catalogue of parts 'libra'"),
        ("source: made up\n", "source: made up\nextends: own.yaml\n", "extends: 'own.yaml' extends this file in turn"),
    ],
)
def test_mistakes_say_where_and_what(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SWITCHED
    assert any(message in mistake for mistake in mistakes(tmp_path, SWITCHED.replace(old, new, 1)))


def test_all_mistakes_come_together(tmp_path: Path) -> None:
    text = SWITCHED.replace("low: 10", "low: 30").replace("    ports: 32\n", "").replace("switch: box", "nic: box")
    assert len(mistakes(tmp_path, text)) == 4


def test_a_catalogue_without_technologies_is_none(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "kind: parts\nname: own\nsource: made up\n") == [
        "/own.yaml:1:1: has no technologies; at least 1 is needed"
    ]


def test_unknown_catalogues_are_named() -> None:
    with pytest.raises(InputError, match=r"unknown catalogue of parts 'parts-2025'.*did you mean 'parts-2024'"):
        load_parts("parts-2025")


def test_files_say_of_what_kind_they_are(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SWITCHED)
    (tmp_path / "list.yaml").write_text("[1, 2]")
    assert isinstance(load_any("own.yaml", tmp_path), PartsSpec)
    with pytest.raises(InputError, match="a mapping"):
        load_any("list.yaml", tmp_path)
    # Files that mean to list parts, so that what is wrong with them is told.
    for text in (SWITCHED.replace("kind: parts\n", ""), "kind: part\nname: own\n"):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(InputError, match="kind"):
            load_any("own.yaml", tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        load_any("none.yaml", tmp_path)


LINES = st.lists(st.sampled_from(SWITCHED.splitlines()), max_size=25)


@given(lines=LINES)
def test_any_text_is_a_catalogue_or_a_mistake(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("catalogue")
    try:
        assert load(folder, "\n".join(lines)).kits
    except InputError as error:
        assert all(mistake.message for mistake in error.mistakes)
