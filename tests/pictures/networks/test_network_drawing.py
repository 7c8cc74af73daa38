"""Pictures of networks: counts to scale, in SVG and in characters."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from designs import design_file
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.explain.drawn_network import drawn_network
from evo_libra.network.blocks import ITEMS, Kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.switch import switches, tiers
from evo_libra.pictures.networks.characters import network_lines
from evo_libra.pictures.networks.layout import MAX_LINKS, cells, layout_of
from evo_libra.pictures.networks.svg import NPU, network_svg
from evo_libra.problem.problem import Problem

SVG = "{http://www.w3.org/2000/svg}"
NAMES = {block.code: block for block in BLOCKS}
DESIGN = "SW(8)@nvlink4:450_CL(2048)@optics-400g:100 | tp8 dp2048 mb1 zero3 overlap-tp order-tp-cp-dp-pp"


@pytest.fixture(scope="module")
def llama() -> Problem:
    return load_problem(design_file("llama3-405b-16k"))


@pytest.mark.slow
def test_switches_of_a_plane_are_those_of_the_bill(llama: Problem) -> None:
    inner, outer = drawn_network(DESIGN, llama).dimensions
    assert outer.levels == (512, 512, 256)
    # 100 GB/s are two ports of 50, and 16,384 NPUs are more than a switch has ports: each port has a plane of its own.
    assert outer.pieces is not None
    assert outer.pieces["switch"] == 2 * sum(outer.levels)
    assert inner.pieces is not None
    bill = {(row["dimension"], row["item"]): row["pieces"] for row in llama.pricing.bill(llama.read(DESIGN))}
    assert bill == {(d, item): n for d, one in enumerate((inner, outer)) for item, n in (one.pieces or {}).items()}


@cache
def kit_of(radix: int) -> Kit:
    kit = next(kit for kit in load_problem(design_file("llama3-405b-16k")).pricing.kits if kit.switch is not None)
    assert kit.switch is not None
    return replace(kit, switch=replace(kit.switch, ports=radix))


@pytest.mark.slow
@given(st.integers(2, 65_536), st.sampled_from([8, 36, 64, 65, 72, 144]))
def test_tiers_add_up_to_the_switches_of_the_bill(npus: int, radix: int) -> None:
    depth = int(tiers(np.array(npus), radix))
    if not depth:
        return
    kit = kit_of(radix)
    found = NAMES["SW"].tier_switches(npus, kit)
    assert len(found) == depth
    assert sum(found) == (1 if depth == 1 else int(switches(np.array(npus), radix)))


@given(st.integers(65, 65_536), st.sampled_from(["SW2", "SW4", "CL2", "CL14", "SW22"]), st.sampled_from([1, 8]))
def test_tiers_of_oversubscribed_trees_add_up_to_their_switches(npus: int, code: str, inside: int) -> None:
    kit, block = kit_of(64), NAMES[code]
    if not block.allowed(np.array([npus]), kit, np.array([inside]))[0]:
        return
    together = inside if block.joined else 1
    found = block.tier_switches(npus, kit, inside)
    assert min(found) > 0
    counts = block.counts(np.array([npus]), kit, np.array([inside])).at(np.array([1]))
    assert sum(found) / together == pytest.approx(counts[ITEMS.index("switch"), 0])


@pytest.mark.parametrize("code", ["RI", "FC", "HC", "ME", "TO", "TC"])
@pytest.mark.parametrize("npus", [2, 4, 16, 32])
def test_ends_of_a_linked_block_have_the_links_of_its_ports(code: str, npus: int) -> None:
    layout = layout_of(code, npus)
    assert layout.ends.shape == (2, npus)
    assert (layout.ends >= 0).all() and (layout.ends <= 1).all()  # noqa: PT018
    pairs = {frozenset(pair) for pair in layout.links.T.tolist()}
    assert len(pairs) == layout.links.shape[1], "a link is drawn once"
    neighbours = np.bincount(layout.links.ravel(), minlength=npus)
    expected = {"RI": min(npus - 1, 2), "FC": npus - 1, "HC": npus.bit_length() - 1}.get(code)
    if expected is not None:
        assert (neighbours == expected).all()
    else:
        assert neighbours.min() >= (1 if npus == 2 else 2) - (code == "ME")


def test_of_too_many_links_those_of_one_end_are_drawn() -> None:
    layout = layout_of("FC", 128)
    assert not layout.all_links
    assert layout.links.shape[1] == 127 <= MAX_LINKS
    assert "links of one end" in network_svg(drawn_network("FC(128)"))


@given(st.integers(1, 20_000), st.floats(20, 500), st.floats(20, 500))
def test_cells_fit_their_rectangle(count: int, width: float, height: float) -> None:
    columns, rows, side = cells(count, width, height)
    assert columns * rows >= count
    assert side > 0
    assert columns * side <= width * (1 + 1e-9)
    assert rows * side <= height * (1 + 1e-9)


def test_every_end_has_a_box_of_its_own(llama: Problem) -> None:
    root = ET.fromstring(network_svg(drawn_network("RI(4)_SW(32)")))  # noqa: S314 - our own text
    boxes = sum(path.get("d", "").count("z") for path in root.iter(f"{SVG}path") if path.get("fill") == NPU)
    assert boxes == 4 + 4, "the ring, and the NPUs inside the domain that is looked into"
    many = network_svg(drawn_network(DESIGN, llama))
    assert "<pattern" in many
    areas = [
        (float(rect.get("width", 0)) * float(rect.get("height", 0)), float(step.get("width", 1)) ** 2)
        for root in [ET.fromstring(many)]  # noqa: S314 - the same
        for step in root.iter(f"{SVG}pattern")
        for rect in root.iter(f"{SVG}rect")
        if rect.get("fill") == f"url(#{step.get('id')})"
    ]
    assert sum(round(area / cell) for area, cell in areas) == 2048 + 512 + 512, "256 cores are drawn one by one"


def test_captions_say_what_is_known_and_slots_what_differs(llama: Problem) -> None:
    text = network_svg(drawn_network(DESIGN, llama))
    assert "16,384 NPUs = 8 x 2,048" in text
    slots = dict(re.findall(r'data-slot="([^"]+)">([^<]*)<', text))
    assert slots["bandwidth-1"] == "100 GB/s per NPU"
    assert slots["pieces-1-0"].startswith("32,768 links, ")
    assert "style=" not in text, "a page whose policy forbids styles in place shows it all the same"


def test_a_hostile_name_stays_text() -> None:
    one = drawn_network("RI(4)")
    evil = replace(one, dimensions=(replace(one.dimensions[0], technology="<script>"),))
    assert "<script>" not in network_svg(evil)


@pytest.mark.parametrize("width", [24, 40, 80])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_characters_keep_to_their_width(width: int, ascii_only: bool, llama: Problem) -> None:  # noqa: FBT001
    for design in (DESIGN, "TO(64)_OC(64)_WB(20)", "HC(16)_ME(20)_FC(2)_CL(4)"):
        lines = network_lines(drawn_network(design, llama if design == DESIGN else None), width, ascii_only=ascii_only)
        assert max(map(len, lines)) <= width
        assert not any(line != line.rstrip() for line in lines)
        assert not ascii_only or "\n".join(lines).isascii()
        assert sum(line.startswith("dimension ") for line in lines) == len(design.split(" ")[0].split("_"))


def test_a_design_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="no dimension"):
        drawn_network("SW(8")
