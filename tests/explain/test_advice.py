"""The sections of designs to take, on a front of four designs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from evo_libra.explain.advice import Advice, Against, Certainty, advice, advised, short_advised
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.recommend import PriceStep, recommend, recommendation_rows
from evo_libra.explain.record import PartCost
from evo_libra.explain.references import ReferencePoint
from evo_libra.front.front import Front

FRONT = Front(
    pl.DataFrame({
        "id": [0, 1, 2, 3], "time_ms": [80.0, 82.0, 100.0, 400.0], "cost_usd": [4e6, 3e6, 1e6, 9e5],
        "design": ["RI(4)@a:100_SW(8)@b:50 | tp8 dp4", "RI(4)@a:80_SW(8)@b:50 | tp8 dp4", "FC(4)@a:50_SW(8)@b:25",
                   "FC(4)@a:5_SW(8)@b:2.5"],
    }),
    ("time_ms", "cost_usd"),
)  # fmt: skip
SURE = Certainty(factor=[1.0, 1.05, 1.125, 1.0], no_proof="", kept_share=[0.25, 0.5, 0.125, 1.0], no_prices="")
POINT = ReferencePoint("superpod", "SW(32)@b:50 npu=h100 | tp8", {"time_ms": 100.0, "cost_usd": 2e6}, "here", 2024)


def lines(**limits: float) -> list[tuple[str, tuple[object, ...]]]:
    found = advice(FRONT, candidates_of(FRONT, limits), sure=SURE, points=[POINT])
    return [(one.title, one.parts) for one in advised(FRONT, found, scenarios=200)]


def test_each_design_to_take_has_its_figures() -> None:
    knee, near = lines()
    assert knee[0].endswith("the knee")
    assert knee[0].startswith("#2 ")
    # The next step up is the cheapest at most 90 ms: #1, 18 of 100 ms for 2 MUSD; the last one came from #3.
    assert knee[1] == (
        "100 ms, 1 MUSD", "50 25 GB/s per NPU",
        ("why: The next step up (#1) saves 18 % of the time for 2 MUSD, 111 kUSD per ms. "
         "The step up to this one cost 333 USD per ms."),
        # The only other kind of network near it: 82 of 100 ms, 3 of 1 MUSD.
        "runner-up: #1 RI4_SW8 is 18 % faster, 200 % more expensive",
        # 100 over 100 ms, 1 over 2 MUSD.
        "against superpod (h100, tp8) it is as fast, 50 % cheaper",
        "Not proven: the bound is loose (11 %). `certify` may tighten it.",
        "on the front in 25 of 200 price scenarios",
    )  # fmt: skip
    # The cheapest within 5 % of 80 ms, up to 84 ms, is #1. Its steps: from #2, a tenth slower at least.
    assert near[0].endswith("the cheapest within 5 % of the fastest")
    assert near[1][:4] == (
        "82 ms, 3 MUSD", "80 50 GB/s per NPU; tp8 dp4",
        "why: Against the fastest, #0, it is 2.5 % slower, 25 % cheaper.",
        "price of a ms: 111 kUSD on the way from #2",
    )  # fmt: skip
    assert near[1][-2:] == (
        "Proven of the space below: no design of its cost is more than 4.76 % faster.",
        "on the front in 100 of 200 price scenarios",
    )


def test_figures_of_the_steps_of_a_recommendation() -> None:
    found = candidates_of(FRONT)
    (knee, _) = recommendation_rows(found, recommend(found))
    # To #1: 2 MUSD for 18 of 100 ms; from #3: 0.1 MUSD for 300 of 400 ms.
    assert knee.faster_step == PriceStep(id=1, usd=2e6, ms=18.0, percent=18.0, usd_per_ms=2e6 / 18)
    assert knee.slower_step == PriceStep(id=3, usd=1e5, ms=300.0, percent=75.0, usd_per_ms=1e5 / 300)
    assert (knee.id, knee.figures, knee.runner_up) == (2, {"time_ms": 100.0, "cost_usd": 1e6}, 1)
    # Without scenarios there are none to count.
    sure = advice(FRONT, found, sure=SURE)
    assert advised(FRONT, sure)[0].parts[-1] == "on the front in 0 of 0 price scenarios"


def test_a_line_for_each_design() -> None:
    found = advice(FRONT, candidates_of(FRONT))
    knee, second, *_ = short_advised(FRONT, found)
    assert knee.startswith("  #2 ")
    assert ", the knee: The next step up (#1) saves 18 % of the time for 2 MUSD, 111 kUSD per ms." in knee
    # The runner-up at the knee is the best of the other networks.
    assert second.startswith("    runner-up #1 ")
    assert second.endswith("18 % faster, 200 % more expensive")
    assert [one.factor for one in found] == [None, None]


def test_parts_beyond_four_are_summed_up() -> None:
    parts = tuple(PartCost(part=f"p{n}", pieces=None if n == 1 else 1500.0 * n, cost_usd=usd)
                  for n, usd in enumerate((5e6, 4e6, 3e6, 2e6, 1e6, 5e5), start=1))  # fmt: skip
    (one, *_) = advice(FRONT, candidates_of(FRONT))

    def parts_of(shown: Advice) -> str:
        (section,) = advised(FRONT, [shown])
        return str(section.parts[3])

    # 1 and 0.5 MUSD are of two more parts.
    assert parts_of(replace(one, parts=parts)) == (
        "parts: p1 5 MUSD, 3,000 p2 4 MUSD, 4,500 p3 3 MUSD, 6,000 p4 2 MUSD, 2 more parts 1.5 MUSD"
    )
    assert parts_of(replace(one, parts=parts[:5])).endswith(", 1 more part 1 MUSD")
    assert parts_of(replace(one, parts=parts[:4])).endswith("p4 2 MUSD")


@pytest.mark.parametrize(("design", "label"), [
    ("SW(32)@b:50 | tp8", "name"), ("SW(32)@b:50 npu=h100", "name (h100)"),
    ("SW(32)@b:50 npu=h100 | tp8 | tp4", "name (h100, tp8, tp4)"),
])  # fmt: skip
def test_names_of_references(design: str, label: str) -> None:
    assert Against(name="name", design=design, it_is="").label == label
