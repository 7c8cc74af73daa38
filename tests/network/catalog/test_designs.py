"""Reference designs by name: what the file says, and the clusters that there are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.routers import dragonfly
from evo_libra.network.catalog.designs import reference_designs
from evo_libra.network.catalog.parts import load_parts
from evo_libra.network.fabric import parse_fabric


@pytest.mark.parametrize("name", list(reference_designs()))
def test_every_design_has_a_source_a_year_and_parts_of_the_catalogue(name: str) -> None:
    design = reference_designs()[name]
    assert len(design.source) > 40
    assert 2019 <= design.year <= 2026
    kits = {(kit.technology, BLOCKS[kit.block].name): kit for kit in load_parts("products-2025").kits}
    for fabric in map(parse_fabric, design.at(design.largest)):
        assert fabric.npus == design.largest
        inside = 1
        for dimension in fabric.dimensions:
            # An oversubscribed fat tree is of the technologies that build one of 1:1.
            block = re.sub(r"(-[0-9]+)+$", "", BLOCKS[dimension.block].name)
            kit = kits[str(dimension.technology), block]
            inside *= dimension.npus
            assert kit.domains is None or inside in kit.domains
            # Every port of NVLink and ICI is in use, and one of the network: that is what these clusters have.
            ports = kit.ports if kit.domains is not None else 1
            assert dimension.bandwidth == ports * kit.port_rate


@pytest.mark.parametrize(
    ("name", "npus", "design"),
    [
        ("dgx-h100-superpod", 4096, "SW(8)@nvlink4:450_CL(512)@optics-400g:50"),
        ("dgx-h100-superpod", 4224, None),
        ("dgx-h100-superpod", 16640, None),
        ("dgx-gb200-superpod", 1152, "SW(72)@nvlink5:900_CL(16)@optics-400g:50"),
        ("meta-roce-pod", 3072, "SW(8)@nvlink4:450_CL(384)@optics-400g:50"),
        ("meta-roce-pod", 24576, None),
        ("meta-roce-24k", 24576, "SW(8)@nvlink4:450_CL17(3072)@optics-400g:50"),
        ("nvl72-2to1", 4608, "SW(72)@nvlink5:900_CL2(64)@optics-400g:50"),
        ("rail-only-h100", 8, None),
        ("rail-only-h100", 24, "SW(8)@nvlink4:450_SW(3)@optics-400g:50"),
        ("tpu-v4-slice", 4096, "TC(4096)@ici-v4:270"),
        ("tpu-v4-slice", 6144, None),
        ("tpu-v5p-slice", 6144, "TC(6144)@ici-v5p:600"),
        ("frontier-like", 37888, "DF(37888)@slingshot-200g:25"),
        ("frontier-like", 37632, None),
    ],
)
def test_a_design_has_the_sizes_of_its_source(name: str, npus: int, design: str | None) -> None:
    assert reference_designs()[name].at(npus)[:1] == ([] if design is None else [design])


def test_a_dragonfly_as_frontiers_has_its_groups_and_switches() -> None:
    design = reference_designs()["frontier-like"]
    kit = next(kit for kit in load_parts("products-2025").kits if kit.technology == "slingshot-200g")
    block = BLOCKS[kit.block]
    assert isinstance(design.npus, tuple)
    for npus in design.npus:
        found = dragonfly(npus, kit.radix)
        assert (found.leaf, found.routers, found.pods) == (16, 32, npus // 512)
        assert block.allowed(np.array([npus]), kit).all()
    # Frontier: 74 groups of 32 switches, fully linked inside, and here seven links between each two of them.
    counts = block.counts(np.array([design.largest]), kit)
    assert counts.step[ITEMS.index("switch")].tolist() == [74 * 32]
    assert counts.linear[ITEMS.index("uplink")].tolist() == [74 * 32 * 31 / 2 + 74 * 73 / 2 * 7]
