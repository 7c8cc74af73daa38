"""The reason of what is left out is the rule that keeps it out, whatever figures its sentences have."""

from __future__ import annotations

from collections import Counter, defaultdict

from evo_libra.files.source import parse_source, validate
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.choices import OrderChoices, orders_of
from evo_libra.network.orders.reasons import Broken, nearest_reason

FILE = """
systems: [hgx-h100, gb200-nvl72]
npus: {about: 1024}
fabric: {switches: [qm9700, sn5600, arista-7816r4], families: [rail-optimised]}
limits: {room_MW: %s}
"""


def _broken(**sentences: dict[str, int]) -> defaultdict[str, Counter[Broken]]:
    found = defaultdict[str, Counter[Broken]](Counter)
    for name, counted in sentences.items():
        found[name] += Counter({Broken(by_network=True, sentence=text): number for text, number in counted.items()})
    return found


def test_sentences_of_one_rule_count_together_and_the_nearest_one_is_told() -> None:
    room = {"systems take 1.9 MW; the room has 1 MW": 1, "systems take 1.3 MW; the room has 1 MW": 1}
    assert nearest_reason("box", _broken(box={**room, "a leaf has no ports": 1})) == (
        "systems take 1.3 MW; the room has 1 MW"
    )


def test_a_rule_of_another_product_is_no_reason_where_there_is_one_of_its_own() -> None:
    broken = _broken(box={"other has no power_W": 9, "systems take 2 MW; the room has 1 MW": 1}, other={})
    assert nearest_reason("box", broken) == "systems take 2 MW; the room has 1 MW"
    alone = _broken(box={"other has no power_W": 9}, other={})
    assert nearest_reason("box", alone) == "other has no power_W"


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
    assert offered.reasons[-1] == "arista-7816r4 has no power_W, which its place in racks needs"
