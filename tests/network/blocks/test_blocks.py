"""What building blocks say of themselves: the laws that any of them meets, and known values."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import run_to_end

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.errors import InputError
from evo_libra.network.blocks import ITEMS, Counts, Kit
from evo_libra.network.blocks.conformance import faults, groups, sample_kit
from evo_libra.network.blocks.fat_tree import Tree, tree
from evo_libra.network.blocks.grid import Ring
from evo_libra.network.blocks.registry import BLOCKS, distinct
from evo_libra.network.blocks.switch import switches, tiers
from evo_libra.network.fabric import parse_fabric
from evo_libra.validation.fabrics import figures
from evo_libra.validation.fred import bisection

BY_NAME = {block.name: block for block in BLOCKS}
PUBLISHED = {row["id"]: row for row in figures()}


def share(name: str, extent: int, stride: int, npus: int, pattern: Pattern = Pattern.SHRINKING) -> float:
    return float(BY_NAME[name].share(pattern, np.array([extent]), np.array([stride]), np.array([npus]))[0])


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_block_meets_the_laws(block: Ring) -> None:
    # Three tiers of switches are only built where the switches are small.
    assert faults(block, sample_kit(block, radix=7) if block.sited else None) == []


class TwiceAsFast(Ring):
    """A ring that promises more than there is."""

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return np.asarray(2 * super().share(pattern, extent, stride, npus))


class OfLinks(Ring):
    """A ring with a link too many."""

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        counts = super().counts(npus, kit, inside)
        return Counts(3 * counts.linear, counts.step, counts.slope)


class HalfLinks(Ring):
    """A ring with half of a link to each neighbour."""

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        counts = super().counts(npus, kit, inside)
        return Counts(counts.linear / 2, counts.step, counts.slope)


class LooksAround(Ring):
    """A ring whose groups depend on those that are asked for together."""

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        return np.asarray(super().share(pattern, extent, stride, npus) / np.max(npus))


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        (TwiceAsFast(), "the share of shrinking is not in (0, 1], with 2 NPUs"),
        (OfLinks(), "there are no links, or more than ports to tie them to, with 2 NPUs"),
        (HalfLinks(), "1 times the least ports take parts in fractions, with 2 NPUs"),
        (LooksAround(), "the share of shrinking depends on other groups, with 2 NPUs"),
    ],
)
def test_faults_are_found(block: Ring, fault: str) -> None:
    assert fault in faults(block)


def test_groups_of_a_kit_are_those_it_allows() -> None:
    ring, hypercube = BY_NAME["ring"], BY_NAME["hypercube"]
    assert set(groups(hypercube, sample_kit(hypercube))[2].tolist()) == {2, 4, 8, 16, 32}
    assert faults(ring, sample_kit(ring, ports=1)) == []
    assert faults(BY_NAME["torus-2d"], sample_kit(ring, ports=3)) == [
        "no dimension of up to 36 NPUs can be built of 3 ports"
    ]


def test_shares_of_rings() -> None:
    assert (share("ring", 8, 1, 8), share("ring", 2, 1, 2)) == (1, 1)
    assert (share("ring", 4, 1, 8), share("ring", 2, 1, 8)) == (1 / 2, 1 / 2)
    assert (share("ring", 4, 2, 8), share("ring", 2, 2, 8)) == (1 / 2, 1 / 4)
    # Parts of a message travel 1, 2 (both ways) and 1 bundle: 4 / 3 on average.
    assert share("ring", 4, 1, 4, Pattern.ALL_TO_ALL) == 3 / 4


def test_shares_of_fully_connected_dimensions_as_measured() -> None:
    assert share("fully-connected", 4, 1, 8) == share("fully-connected", 4, 2, 8) == 3 / 7
    pair, whole = PUBLISHED["xgmi.busbw"]["value"]
    assert share("fully-connected", 2, 1, 8) == pytest.approx(pair / whole, rel=0.07)


def test_shares_of_tori_and_hypercubes() -> None:
    assert share("torus-2d", 32, 1, 32) == pytest.approx(1)
    assert share("torus-3d", 64, 1, 64) == pytest.approx(1)
    assert (share("torus-2d", 8, 1, 64), share("torus-2d", 8, 8, 64)) == (1 / 2, 1 / 2)
    assert (share("torus-2d", 2, 1, 64), share("torus-3d", 4, 1, 64)) == (1 / 4, 1 / 3)
    assert (share("hypercube", 8, 1, 64), share("hypercube", 8, 8, 64)) == (1 / 2, 1 / 2)


def test_optical_rails_are_set_to_the_groups() -> None:
    assert share("ocs-rail", 8, 4, 32) == 1
    assert share("ocs-rail", 8, 4, 32, Pattern.ALL_TO_ALL) == 1 / 4


@pytest.mark.parametrize(
    ("variant", "group", "bandwidth"),
    [
        ("mesh", (20, 1), PUBLISHED["fred.micro.wafer_ar.mesh"]),
        ("fred-b", (20, 1), PUBLISHED["fred.micro.wafer_ar.FRED-B"]),
        ("fred-c", (20, 1), PUBLISHED["fred.micro.wafer_ar.FRED-C"]),
        ("fred-d", (20, 1), PUBLISHED["fred.micro.wafer_ar.FRED-D"]),
        ("mesh", (2, 1), PUBLISHED["fred.micro.MP2DP5PP2.mesh.MP"]),
        ("mesh", (5, 4), PUBLISHED["fred.micro.MP2DP5PP2.mesh.DP"]),
        *((f"fred-{v}", (2, 1), PUBLISHED["fred.micro.MP2DP5PP2.FRED.MP"]) for v in "abcd"),
        ("fred-a", (5, 4), PUBLISHED["fred.micro.MP2DP5PP2.FRED-A.DP"]),
        ("fred-c", (2, 2), PUBLISHED["fred.micro.MP2DP5PP2.FRED-C/D.PP"]),
        ("fred-d", (2, 2), PUBLISHED["fred.micro.MP2DP5PP2.FRED-C/D.PP"]),
    ],
)
def test_effective_bandwidths_of_fred(variant: str, group: tuple[int, int], bandwidth: dict[str, float]) -> None:
    name = "mesh-2d" if variant == "mesh" else variant
    assert 3000 * share(name, *group, 20) == bandwidth["value"]


def test_fred_a_is_bound_by_what_leaves_a_switch() -> None:
    # (5 - 1) / 20 of the message goes up at 375 GB/s, while an NPU sends 19 / 20 of it.
    assert 3000 * share("fred-a", 20, 1, 20) == pytest.approx(375 * 19 / 4)


@pytest.mark.parametrize(("extent", "percent"), [(2, 0.0), (4, 100 / 3), (5, 37.5), (20, 47.4)])
def test_switches_that_reduce_save_traffic_of_all_reduce_alone(extent: int, percent: float) -> None:
    group = np.array([extent])
    factor = BY_NAME["fred-d"].traffic_factor(Pattern.SHRINKING, group)
    assert 100 * (1 - factor[0]) == pytest.approx(percent, abs=0.05)
    for pattern, collective in [
        (Pattern.SHRINKING, Collective.ALL_GATHER),
        (Pattern.SHRINKING, Collective.REDUCE_SCATTER),
        (Pattern.ALL_TO_ALL, Collective.ALL_TO_ALL),
    ]:
        assert BY_NAME["fred-d"].traffic_factor(pattern, group, collective) == 1
    assert BY_NAME["fred-c"].traffic_factor(Pattern.SHRINKING, group) == 1
    assert PUBLISHED["fred.innet.traffic_cut.5peers"]["value"] == 37.5


@pytest.mark.parametrize(
    ("name", "row"),
    [("mesh-2d", "mesh"), ("fred-a", "mesh"), ("fred-b", "mesh"), ("fred-c", "CD"), ("fred-d", "CD")],
)
def test_bisections_of_fred(name: str, row: str) -> None:
    assert bisection(name) == PUBLISHED[f"fred.bisection.{row}"]["value"]


def test_cuts() -> None:
    found = {name: float(block.cut(np.array([16]))[0]) for name, block in BY_NAME.items()}
    assert found["ring"] == 1
    assert found["fully-connected"] == pytest.approx(8 * 8 / 15)
    assert found["switch"] == found["fat-tree"] == found["ocs-rail"] == 8
    # Two cuts of four links, a quarter of an NPU's bandwidth each; 2 x 2 x 4 has two of four links of a sixth each.
    assert (found["torus-2d"], found["torus-3d"]) == (2, pytest.approx(4 / 3))
    assert found["hypercube"] == pytest.approx(8 / 4)


def test_a_cut_that_an_all_to_all_exceeds_is_a_fault() -> None:
    class Narrow(Ring):
        def cut(self, npus: IntArray) -> FloatArray:
            return np.full(np.shape(npus), 1 / 4)

    assert "an all-to-all sends more over the cut than it carries, with 2 NPUs" in faults(Narrow())


def test_steps() -> None:
    all_reduce, exchange = Collective.ALL_REDUCE, Collective.ALL_TO_ALL
    eight = np.array([8])
    found = {name: float(block.steps(all_reduce, eight)[0]) for name, block in BY_NAME.items()}
    assert found["ring"] == 14
    assert found["fully-connected"] == 2
    assert found["switch"] == found["hypercube"] == 6
    assert found["torus-2d"] == 2 * (1 + 3)
    assert found["fred-d"] == 1
    assert BY_NAME["switch"].steps(all_reduce, np.array([6]))[0] == 10
    assert BY_NAME["mesh-2d"].steps(exchange, np.array([20]))[0] == 3 + 4


def test_a_message_passes_one_three_or_five_switches() -> None:
    kit = sample_kit(BY_NAME["switch"], radix=64)
    links, passed = BY_NAME["switch"].hops(np.array([64, 128, 4096]), kit)
    assert (links.tolist(), passed.tolist()) == ([2, 4, 6], [1, 3, 5])
    assert BY_NAME["fat-tree"].hops(np.array([64]), kit, np.array([8]))[1] == 3
    assert BY_NAME["ring"].hops(np.array([8]), kit)[0] == 1


def test_sizes_of_folded_clos_networks() -> None:
    assert tiers(np.array([4, 5, 8, 9, 16, 17]), 4).tolist() == [1, 2, 2, 3, 3, 0]
    assert switches(np.array([8, 16]), 4).tolist() == [6, 20]
    kit = sample_kit(BY_NAME["switch"], radix=4)
    assert BY_NAME["switch"].allowed(np.array([16, 17]), kit).tolist() == [True, False]
    assert BY_NAME["fat-tree"].allowed(np.array([4, 4]), kit, np.array([4, 5])).tolist() == [True, False]


@given(st.integers(2, 10**5), st.sampled_from([1, 2, 4, 8]), st.sampled_from([4, 8, 16, 32, 64, 128]))
def test_trees_of_one_to_one_are_those_of_switches(npus: int, inside: int, radix: int) -> None:
    found, some = tree(npus, inside, radix, (1, 1)), np.array([npus * inside])
    assert found.tiers == tiers(some, radix)[0]
    if found.tiers > 1:
        assert (found.switches, found.uplinks) == (switches(some, radix)[0], npus * inside * (found.tiers - 1))


def test_switches_of_fat_trees() -> None:
    # 1024 NPUs in leaves of 32 with 8 links up: 32 leaves and 256 links up to 4 spines; at 1:1, 16 spines.
    assert tree(1024, 1, 64, (4, 1)) == Tree(2, 32, 1, 256, 36)
    assert tree(1024, 1, 64, (1, 1)) == Tree(2, 32, 1, 1024, 48)
    # Leaves of 48 where these divide the NPUs, with 12 links up.
    assert tree(48 * 64, 1, 64, (4, 1)) == Tree(2, 64, 1, 64 * 12, 64 + 12)
    # As at Meta: pods of switches at 1:1, and 7:1 above them.
    pods = tree(24576, 1, 64, (1, 7))
    assert (pods.tiers, pods.leaves, pods.pods) == (3, 768, 16)
    assert pods.uplinks == 24576 + 16 * -(-1536 // 7)
    # Servers of eight are not torn apart: five of them fit below 42 ports.
    assert tree(200, 8, 64, (2, 1)).leaves == 40


@given(st.integers(2, 20000), st.sampled_from([1, 4, 8]), st.sampled_from([8, 16, 32, 64, 128]), st.booleans())
def test_higher_ratios_take_fewer_parts(npus: int, inside: int, radix: int, pods: bool) -> None:  # noqa: FBT001 - drawn
    found = [tree(npus, inside, radix, (1, ratio) if pods else (ratio, 1)) for ratio in (1, 2, 4, 8)]
    for low, high in pairwise(found):
        if low.tiers > 1 and high.tiers > 1:
            assert high.uplinks <= low.uplinks
            assert high.switches <= low.switches
            assert high.tiers <= low.tiers


def test_groups_under_a_leaf_do_not_pay() -> None:
    block = BY_NAME["fat-tree-4"]
    built, npus = block.at(sample_kit(block, radix=64), np.array([8])), np.array([128])
    # Leaves of 32: four servers of eight.
    for pattern in Pattern:
        assert built.share(pattern, np.array([4]), np.array([1]), npus) == 1
        assert built.share(pattern, np.array([4]), np.array([4]), npus) == 1 / 4
    # Of an all-reduce of 128 NPUs, 31 / 128 of a message leaves a leaf, of an all-to-all 124 / 128.
    assert built.share(Pattern.SHRINKING, npus, np.array([1]), npus) == pytest.approx(min(127 / 31 / 4, 1))
    assert built.share(Pattern.ALL_TO_ALL, npus, np.array([1]), npus) == pytest.approx(127 / 124 / 4)
    with pytest.raises(ValueError, match="ask the block `at` its kit"):
        block.share(Pattern.SHRINKING, npus, np.array([1]), npus)


def test_a_switch_with_ports_to_spare_holds_several_planes() -> None:
    kit = sample_kit(BY_NAME["switch"], radix=64)
    counts = BY_NAME["switch"].counts(np.array([8, 20, 64]), kit)
    assert counts.slope[ITEMS.index("switch")].tolist() == [1 / 8, 1 / 3, 1]


def test_blocks_need_their_ports() -> None:
    npus = np.array([2, 4, 8, 12, 16])
    for name, ports, allowed in [
        ("ring", 1, [True, False, False, False, False]),
        ("fully-connected", 7, [True, True, True, False, False]),
        ("torus-2d", 4, [False, True, True, True, True]),
        ("torus-3d", 6, [False, False, True, True, True]),
        ("mesh-2d", 4, [False, True, True, True, True]),
        ("hypercube", 3, [True, True, True, False, False]),
        ("fred-a", 1, [True, True, True, True, True]),
    ]:
        assert BY_NAME[name].allowed(npus, sample_kit(BY_NAME[name], ports=ports)).tolist() == allowed, name


def test_the_mesh_of_a_wafer_has_31_links() -> None:
    kit = sample_kit(BY_NAME["mesh-2d"])
    assert 4 * BY_NAME["mesh-2d"].counts(np.array([20]), kit).linear[0, 0] == 31


def test_the_notation_knows_every_block() -> None:
    text = "_".join(f"{block.code}(4)" for block in BLOCKS)
    assert str(parse_fabric(text)) == text


def test_names_and_codes_are_distinct() -> None:
    class Other(Ring):
        name = "other"

    class Lower(Ring):
        code = "ri"

    with pytest.raises(InputError, match=r"'ring' \(RI\) and 'other' \(RI\) have one name or code"):
        distinct([Ring(), Other()])
    with pytest.raises(InputError, match="'ring' has the code 'ri'; a code is of capital letters"):
        distinct([Lower()])


OWN = """
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.fat_tree import Tree, tree
from evo_libra.network.blocks.grid import Ring

class Star(Ring):
    code, name = "ST", "star"

BLOCK, WRONG = Star(), 7
"""
ASK = """
import own
from evo_libra.network.blocks.conformance import faults
from evo_libra.network.fabric import parse_fabric
from evo_libra.validation.fabrics import figures
from evo_libra.validation.fred import bisection
from evo_libra.network.catalog.parts import load_parts
print(parse_fabric("ST(4)"), faults(own.BLOCK), [kit.block for kit in load_parts("own.yaml").kits])
"""
CATALOG = """
kind: parts
name: own
source: made up
technologies:
  board: {port_GBps: 10, ports: 4, latency_ns: 5, blocks: [star], source: made up, year: 2025}
"""


def run_with(folder: Path, entry: str) -> subprocess.CompletedProcess[str]:
    (folder / "own.py").write_text(OWN)
    (folder / "own.yaml").write_text(CATALOG)
    package = folder / "own-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[evo_libra.blocks]\nstar = own:{entry}\n")
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join([str(folder), root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return run_to_end([sys.executable, "-c", ASK], cwd=folder, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.slow
def test_a_block_of_ones_own_is_one_file(tmp_path: Path) -> None:
    found = run_with(tmp_path, "BLOCK")
    assert found.stderr == ""
    assert found.stdout == f"ST(4) [] [{len(BLOCKS)}]\n"


@pytest.mark.slow
def test_what_is_no_block_is_named(tmp_path: Path) -> None:
    assert "entry point 'star' of group evo_libra.blocks is no block but 7" in run_with(tmp_path, "WRONG").stderr
