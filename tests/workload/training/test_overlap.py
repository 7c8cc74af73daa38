"""Overlap as software has it: traffic of tensor parallel groups, gradients that stay exposed, and jitter, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.collective import Collective, Pattern
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.stacks import Stack
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plans import keeps_inside, one_plan
from evo_libra.workload.training.races import Traffic
from evo_libra.workload.training.stage import stage_of, tensor_traffic
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

MODEL = decoder_of(
    "small",
    DecoderSpec(
        layers=8, hidden=64, heads=8, feed_forward=256, gated=False, vocabulary=1000, source="made up", experts=None
    ),
)
HELD = 8 * 49_152 + 2 * 64_000
"""Weights: 12 h^2 of each of 8 layers, and tables."""


def setup(**stack: Any) -> Setup:
    return Setup(MODEL, accelerator("h100-80gb"), 128, 16, stack=Stack("made-up", **stack))


def number(array: Any) -> float:
    return float(np.ravel(array)[0])


def hidden(of: Setup, **plan: Any) -> tuple[float, float]:
    """Return the all-reduces of a forward pass that nothing hides with those of the backward pass, and those hidden."""
    plans = one_plan(tp=4, **plan)
    found = tensor_traffic(of, plans, stage_of(of, plans))
    (alone,), (chain,) = found.alone, found.forward
    return number(alone.operations), number(chain.traffic[0].operations)


@pytest.mark.parametrize(("share", "expected"), [(None, 0.75), (0.37, 0.37)])
def test_the_share_of_hidden_traffic_is_that_of_the_software(share: float | None, expected: float) -> None:
    # 16 all-reduces a pass; without a measured share all but one of the 4 pieces of a product hide.
    alone, beside = hidden(setup(hides_tensor=share), overlap_tp=True)
    assert beside == pytest.approx(16 * expected)
    assert alone == pytest.approx(2 * 16 * (1 - expected))


def test_collectives_beside_products_take_processors() -> None:
    plans = one_plan(tp=4, overlap_tp=True)
    free, taken = (stage_of(setup(taken=share), plans).forward for share in (0.0, 0.2))
    # Products take 1 / (1 - 0.2) of their time, and nothing else does.
    assert number(taken.products) == pytest.approx(1.25 * number(free.products))
    assert number(taken.compute) == pytest.approx(number(free.compute) + 0.25 * number(free.products))
    alone = stage_of(setup(taken=0.2), one_plan(tp=4)).forward
    assert number(alone.products) == pytest.approx(number(free.products))


def exposed(of: Setup, **plan: Any) -> list[list[tuple[str, str, float, float]]]:
    """Return what follows each pass beyond domains: group, operation, bytes, and number."""
    found = []
    for race in step_time(of, one_plan(**plan)).races:
        last = race.chains[-1]
        if last.partial:
            assert number(last.compute) == number(race.chains[0].compute)
            found.append([
                (one.group, one.operation.name, number(one.size), number(one.operations))
                for one in last.traffic if isinstance(one.operation, Collective)
            ])  # fmt: skip
    return found


def test_a_share_of_gradients_and_weights_follows_the_passes() -> None:
    # 1/8, of the last layer, waits in any case: 0.5 - 0.125 of the rest follows, on NICs alone.
    assert exposed(setup(exposes_data=0.5), dp=4, zero=1, overlap_dp=True) == [
        [("cp+dp beyond", "ALL_GATHER", 2 * HELD, 0.375)],
        [("cp+dp beyond", "REDUCE_SCATTER", 4 * HELD, 0.375)],
    ]
    assert exposed(setup(), dp=4, zero=1, overlap_dp=True) == []


def test_traffic_beside_products_is_slower_and_slows_them() -> None:
    # Of 8 s of traffic 1/8 waits, as nothing hides the last layer, and 1/2 - 1/8 is exposed. The other half keeps
    # 0.8 of its bandwidth: 4 / 0.8 = 5 s. Meanwhile products lose 0.1 of the processors, 0.5 s.
    of, plan = setup(exposes_data=0.5, data_rate=0.8, data_processors=0.1), one_plan(dp=16, zero=1, overlap_dp=True)

    def seconds(each: float) -> float:
        return number(step_time(of, plan)(lambda one: np.full(1, each if one.group.startswith("cp+dp") else 0.0)))

    free = seconds(0.0)
    # Microseconds hide but for what waits, what is exposed, and what products lose.
    assert seconds(8e-9) - free == pytest.approx(2 * (1.0 + 3.0 + 0.5) * 1e-9, rel=1e-3)
    # Compute is shorter than 8 s: what waits, what is exposed and what is slower count.
    assert seconds(8.0) == pytest.approx(2 * (1.0 + 3.0 + 5.0), abs=2 * free)
    # The time that traffic loses is none of what is sent.
    degrees = dict.fromkeys(("tp", "cp", "pp", "ep"), 1) | dict.fromkeys(("cp+dp", "cp+dp beyond"), 16)
    sent, same = (sum(count for _, count in step_time(one, plan).sent_by(degrees)) for one in (of, setup()))
    assert sent == pytest.approx(same)


def test_exposed_gradients_are_the_larger_of_the_share_and_what_no_pass_hides() -> None:
    of, plan = setup(exposes_data=0.5), one_plan(dp=16, zero=1, overlap_dp=True)

    def seconds(nic: float, link: float) -> float:
        """Return the time of a step whose traffic takes some seconds beyond domains, and as many in all."""

        def one(traffic: Traffic) -> np.ndarray[Any, np.dtype[np.float64]]:
            mine = traffic.group.startswith("cp+dp")
            return np.full(1, (nic if traffic.group.endswith("beyond") else link) if mine else 0.0)

        return number(step_time(of, plan)(one))

    free = seconds(0.0, 0.0)
    # The passes are shorter than 1 s: what they cannot hide is all but their own time.
    slow = seconds(1.0, 1.0)
    assert slow - free == pytest.approx(2.0, abs=2 * free)
    # A microsecond hides, but for the 1/8 that waits and the 3/8 that software exposes, of each of both.
    assert seconds(1e-9, 1e-9) - free == pytest.approx(2 * 0.5 * 1e-9, rel=1e-3)
    assert seconds(0.0, 1e-9) - free == pytest.approx(2 * 0.125 * 1e-9, rel=1e-3)


def test_the_part_of_a_group_beyond_domains_has_the_bytes_of_nics() -> None:
    # 32 NPUs in 4 domains of 8: an NPU sends 7/8 inside, and 3/4 of its eighth outside.
    sizes, bandwidth = np.array([[8], [4]]), np.array([[1e3], [1.0]])
    found = per_byte(sizes, bandwidth, one_plan(dp=32), outside=np.array([[False], [True]]))
    assert number(found.seconds_per_byte["cp+dp beyond", Pattern.SHRINKING]) == pytest.approx(3 / 32)
    wide = per_byte(sizes, bandwidth * [[1e-6], [1.0]], one_plan(dp=32), outside=np.array([[False], [True]]))
    assert number(wide.seconds_per_byte["cp+dp", Pattern.SHRINKING]) == pytest.approx(7 / 8 * 1e3)
    assert number(wide.seconds_per_byte["cp+dp beyond", Pattern.SHRINKING]) == pytest.approx(3 / 32)


def test_jitter_adds_the_same_share_for_each_doubling_from_eight_npus_on() -> None:
    plan, traffic = one_plan(dp=16), per_byte(np.array([[16]]), np.array([[1e9]]), one_plan(dp=16))
    still, shaken = (step_time(replace(setup(), jitter=share), plan) for share in (0.0, 0.01))
    assert number(shaken(traffic)) == pytest.approx(1.01 * number(still(traffic)))
    parts = shaken.split(traffic)
    assert number(parts["jitter"]) == pytest.approx(0.01 * number(still(traffic)))
    assert sum(map(number, parts.values())) == pytest.approx(number(shaken(traffic)))


def test_only_groups_that_may_lie_anywhere_and_do_not_overlap_leave_domains() -> None:
    off, on = one_plan(tp=8), one_plan(tp=8, overlap_tp=True)
    anywhere, inside = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)
    assert [bool(keeps_inside(plan, may)[0]) for plan in (off, on) for may in (anywhere, inside)] == [
        False, True, True, True,
    ]  # fmt: skip
    assert not keeps_inside(one_plan(tp=1), inside)[0]
