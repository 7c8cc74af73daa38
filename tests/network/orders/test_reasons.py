"""The reason of what is left out is the rule that keeps it out, whatever figures its sentences have."""

from __future__ import annotations

from collections import Counter, defaultdict

from evo_libra.files.source import parse_source, validate
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.choices import OrderChoices, orders_of
from evo_libra.network.orders.reasons import Broken, Stage, nearest_reason

FILE = """
systems: [hgx-h100, gb200-nvl72]
npus: {about: 1024}
fabric: {switches: [qm9700, sn5600, arista-7816r4], families: [rail-optimised]}
limits: {room_MW: %s}
"""


def _broken(*rules: tuple[Stage, str, int]) -> defaultdict[str, Counter[Broken]]:
    counted = Counter({Broken(stage, sentence): orders for stage, sentence, orders in rules})
    return defaultdict(Counter, box=counted)


def test_sentences_of_one_rule_count_together_and_the_nearest_one_is_told() -> None:
    found = _broken(
        (Stage.ROOM, "systems take 1.9 MW; the room has 1 MW", 1), (Stage.ROOM, "other has no price", 2),
        (Stage.ROOM, "systems take 1.3 MW; the room has 1 MW", 1),
        (Stage.ROOM, "systems take 2 MW; the room has 1 MW", 1),
    )  # fmt: skip
    assert nearest_reason("box", found) == "systems take 1.3 MW; the room has 1 MW"


def test_the_rule_of_the_last_stage_is_the_reason() -> None:
    rules = (
        (Stage.PRODUCTS, "other is sold no more", 9), (Stage.NETWORK, "other has no power_W", 5),
        (Stage.ROOM, "systems take 2 MW; the room has 1 MW", 1),
    )  # fmt: skip
    assert [nearest_reason("box", _broken(*rules[:last])) for last in (1, 2, 3)] == [rule[1] for rule in rules]


def test_what_a_room_is_too_small_for_is_left_out_by_its_power() -> None:
    # 128 servers of 10.2 kW and 14 racks of 120 kW: 1.31 and 1.7 MW without their networks.
    choices = validate(OrderChoices, parse_source(FILE % 0.9, "file"))
    offered = orders_of(choices, load_products("products-2026"), priced=True)
    assert offered.orders == ()
    own = [sentence for sentence in offered.reasons if "arista" not in sentence]
    assert {name for sentence in own for name in sentence.split(": ")[0].split(", ")} == {
        "hgx-h100", "gb200-nvl72", "qm9700", "sn5600", "rail-optimised",
    }  # fmt: skip
    assert all(sentence.endswith("MW; the room has 0.9 MW") for sentence in own)
    key = "`powers: {arista-7816r4: ...}` gives W of a piece"
    assert offered.reasons[-1] == f"arista-7816r4 has no power_W, which its place in racks needs; {key}"
