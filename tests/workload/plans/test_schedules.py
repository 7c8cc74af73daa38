"""Schedules of pipelines: the tables of their papers, and passes that are run one by one as an oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from evo_libra.workload.plans.plans import DUALPIPE, ONE_F_ONE_B, SCHEDULES, ZB_H1, ZB_H2, Plans, one_plan
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.plans.schedules import (
    copies_of_weights,
    idle_of,
    overlaps_experts,
    paired_passes,
    schedule_allowed,
    schedule_mistakes,
)
from evo_libra.workload.step_traces.pipeline import schedule

Pass = tuple[str, int, int, int]
"""A forward pass F, a backward pass B or gradients of weights W, with its direction, stage and microbatch."""

Rank = list[tuple[Pass, ...]]
"""Passes of a rank one after the other; those of a tuple run at the same time."""


def simulated(ranks: Sequence[Rank], seconds: Mapping[tuple[str, int], float], stages: int) -> float:
    """Return when the last pass ends; a tuple of passes starts when all can, and takes the sum of their seconds."""
    done: dict[Pass, float] = {}
    places, clocks = [0] * len(ranks), [0.0] * len(ranks)
    while any(place < len(rank) for place, rank in zip(places, ranks, strict=True)):
        before = sum(places)
        for r, rank in enumerate(ranks):
            for passes in rank[places[r] :]:
                needed = {need for one in passes for need in needs(one, stages)} - set(passes)
                if not needed <= done.keys():
                    break
                start = max([clocks[r], *(done[need] for need in needed)])
                clocks[r] = start + sum(seconds[kind, stage] for kind, _, stage, _ in passes)
                done |= dict.fromkeys(passes, clocks[r])
                places[r] += 1
        assert sum(places) > before, "the order of passes waits for itself"
    return max(clocks)


def needs(one: Pass, stages: int) -> list[Pass]:
    kind, way, stage, micro = one
    if kind == "F":
        return [("F", way, stage - 1, micro)] if stage else []
    if kind == "W":
        return [("B", way, stage, micro)]
    ahead = [("B", way, stage + 1, micro)] if stage < stages - 1 else []
    return [("F", way, stage, micro), *ahead]


def one_f_one_b(stages: int, microbatches: int) -> list[Rank]:
    return [
        [(("F" if step.forward else "B", 0, stage, step.microbatch),)
         for step in schedule(stage, stages, 1, microbatches)]
        for stage in range(stages)
    ]  # fmt: skip


def zero_bubble(stages: int, microbatches: int, ahead: int) -> list[Rank]:
    """Return 1F1B whose stage i runs its gradients of weights i microbatches late; `ahead` more passes start it."""
    ranks: list[Rank] = []
    for stage in range(stages):
        warm = min(microbatches, (1 + ahead) * (stages - 1 - stage) + 1)
        late, rank = (1 + ahead) * stage, [(("F", 0, stage, micro),) for micro in range(warm)]
        for micro in range(microbatches):
            rank.append((("B", 0, stage, micro),))
            if micro >= late:
                rank.append((("W", 0, stage, micro - late),))
            if warm + micro < microbatches:
                rank.append((("F", 0, stage, warm + micro),))
        rank += [(("W", 0, stage, micro),) for micro in range(max(microbatches - late, 0), microbatches)]
        ranks.append(rank)
    return ranks


def dual_pipe(stages: int, microbatches: int) -> list[Rank]:
    """Return the eight steps of DeepSeek's public code (deepseek-ai/DualPipe, 2025)."""
    return [_dual_rank(rank, stages, microbatches // 2) for rank in range(stages)]


def _dual_rank(rank: int, stages: int, each: int) -> Rank:  # noqa: C901 - the eight steps of that code
    near, half = min(rank, stages - 1 - rank), stages // 2
    second, found, counts = rank >= half, Rank(), {"F": [0, 0], "B": [0, 0]}
    waiting: list[Pass] = []

    def take(kind: str, phase: int) -> Pass:
        way = phase ^ second
        counts[kind][phase] += 1
        return kind, way, rank if way == 0 else stages - 1 - rank, counts[kind][phase] - 1

    def back(phase: int, *, split: bool = False) -> None:
        one = take("B", phase)
        later: Pass = ("W", *one[1:])
        found.append((one,) if split else (one, later))
        waiting.extend([later] * split)

    def both(forward: int, backward: int) -> None:
        one, other = take("F", forward), take("B", backward)
        found.append((one, other, ("W", *other[1:])))

    for _ in range(2 * (half - near - 1)):
        found.append((take("F", 0),))
    for _ in range(near + 1):
        found += [(take("F", 0),), (take("F", 1),)]
    for _ in range(half - near - 1):
        back(1, split=True)
        found += [(waiting.pop(0),), (take("F", 1),)]
    for i in range(each - stages + near + 1):
        if i == 0 and near == half - 1:
            found.append((take("F", 0),))
            back(1)
        else:
            both(0, 1)
        both(1, 0)
    for _ in range(half - near - 1):
        back(1)
        both(1, 0)
    split = False
    for i in range(near + 1):
        split = split or (i == (near + 1) // 2 and near % 2 == 1)
        back(1, split=split)
        split = split or (i == (near + 1) // 2 and near % 2 == 0)
        back(0, split=split)
    for _ in range(half - near - 1):
        found.append((waiting.pop(0),))
        back(0, split=True)
    return [*found, *((one,) for one in waiting)]


def equal(stages: int, forward: float, backward: float, weights: float) -> dict[tuple[str, int], float]:
    named = {"F": forward, "B": backward, "W": weights}
    return {(kind, stage): seconds for kind, seconds in named.items() for stage in range(stages)}


def computed(plan: Plans, microbatches: int, forward: float, backward: float, weights: float) -> float:
    """Return the seconds of equal stages; `backward` has the gradients of inputs alone, as zero bubble counts it."""
    idle, whole = idle_of(plan), backward + weights
    bubble = idle.forward * forward + idle.backward * whole - idle.weights * weights
    return float(microbatches * (forward + whole) + bubble[0])


@pytest.mark.parametrize(
    ("kind", "forward", "backward", "weights"),
    [
        # 1F1B of 8 stages: (8 - 1) (F + B) = 7 F + 7 B.
        (ONE_F_ONE_B, 7, 7, 0),
        # ZB-H1: (p - 1) (F + B - 2 W) of DeepSeek-V3's table 2; Qi et al. write (p - 1) (F + B - W), without W in B.
        (ZB_H1, 7, 7, 14),
        # ZB-H2: (p - 1) (F + B - 2 W) without W in B.
        (ZB_H2, 7, 7, 21),
        # DualPipe: (8 / 2 - 1) (F&B + B - 3 W) = 3 F + 6 B - 9 W.
        (DUALPIPE, 3, 6, 9),
    ],
)  # fmt: skip
def test_bubbles_are_those_of_the_tables(kind: int, forward: float, backward: float, weights: float) -> None:
    idle = idle_of(one_plan(pp=8, schedule=kind))
    assert [float(one[0]) for one in (idle.forward, idle.backward, idle.weights)] == [forward, backward, weights]


def test_virtual_stages_idle_less() -> None:
    # (8 - 1) / 2 pairs of passes (Narayanan et al. 2021, section 2.2).
    assert float(idle_of(one_plan(pp=8, vp=2)).both[0]) == 3.5


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 8), (4, 8), (4, 12), (8, 16)])
def test_passes_one_by_one_take_what_the_tables_say(stages: int, microbatches: int) -> None:
    same = equal(stages, 1.0, 1.0, 1.0)
    found = {
        ONE_F_ONE_B: simulated(one_f_one_b(stages, microbatches), equal(stages, 1.0, 2.0, 0.0), stages),
        ZB_H1: simulated(zero_bubble(stages, microbatches, 0), same, stages),
        DUALPIPE: simulated(dual_pipe(stages, microbatches), same, stages),
    }
    for kind, seconds in found.items():
        assert seconds == computed(one_plan(pp=stages, schedule=kind), microbatches, 1.0, 1.0, 1.0), SCHEDULES[kind]


def test_without_checks_before_the_optimizer_zb_h2_never_idles() -> None:
    # Equal passes: no bubble. Ranks start a forward pass apart, and end so: the step of 12 microbatches takes 36, and
    # waiting for all ranks before the optimizer would take p - 1 = 3 more.
    assert computed(one_plan(pp=4, schedule=ZB_H2), 12, 1.0, 1.0, 1.0) == 36.0
    assert simulated(zero_bubble(4, 12, 1), equal(4, 1.0, 1.0, 1.0), 4) == 39.0


@pytest.mark.parametrize(("stages", "microbatches", "longer"), [(4, 32, 1), (4, 32, 3), (16, 120, 13), (8, 32, 5)])
@pytest.mark.parametrize("head", [0.0, 2.0])
def test_of_uneven_stages_the_longest_sets_the_pace(stages: int, microbatches: int, longer: int, head: float) -> None:
    # The first stages have 4 layers, the others 3; a layer takes 1 forwards and 2 backwards, the head h and 2 h more on
    # the last one. Each microbatch takes the longest, of 12 or 9 + 3 h; others count once, as the pipeline fills.
    layers = [4 if stage < longer else 3 for stage in range(stages)]
    seconds = {(kind, stage): layers[stage] * (1.0 + (kind == "B")) for kind in "FB" for stage in range(stages)}
    for kind in "FB":
        seconds[kind, stages - 1] += head * (1.0 + (kind == "B"))
    pace = max(12.0, 9.0 + 3.0 * head)
    found = simulated(one_f_one_b(stages, microbatches), seconds, stages)
    assert microbatches * pace + 3.0 * (sum(layers) - 4) == pytest.approx(found, rel=0.025)
    # All stages as long as the longest, and the head on top of it, are up to a fifth too long.
    assert microbatches * (12.0 + 3.0 * head) + (stages - 1) * 12.0 > found


def test_pairs_of_passes() -> None:
    plan: dict[str, int] = {"ep": 8, "overlap_ep": True}
    micro = np.array([32.0])
    # Without a pipeline all but the first forward pass have a backward pass next to them.
    assert paired_passes(one_plan(**plan), micro).tolist() == [31.0]
    # The last stage of 8 with 4 virtual stages starts with 3 x 8 passes through a quarter of its layers: 6 of 32.
    assert paired_passes(one_plan(pp=8, vp=4, **plan), micro).tolist() == [26.0]
    assert paired_passes(one_plan(pp=8, schedule=DUALPIPE, **plan), micro).tolist() == [24.0]
    alone = [one_plan(pp=8, **plan), one_plan(pp=8, vp=4, ep=8), one_plan(recompute=recompute_of("full"), **plan),
             one_plan(overlap_ep=True)]  # fmt: skip
    assert not any(overlaps_experts(one)[0] or paired_passes(one, micro)[0] for one in alone)


def test_pairs_of_dualpipe_are_those_of_its_middle_ranks() -> None:
    for stages, microbatches in (4, 8), (8, 32):
        ranks = dual_pipe(stages, microbatches)
        pairs = [sum(len(passes) == 3 for passes in rank) for rank in ranks]
        expected = paired_passes(
            one_plan(pp=stages, schedule=DUALPIPE, ep=8, overlap_ep=True), np.array([1.0 * microbatches])
        )
        # The first two chunks of the middle ranks are apart to shorten the bubble.
        assert pairs[stages // 2] == expected[0] - 1
        assert min(pairs) <= expected[0]


def test_dualpipe_holds_two_stages() -> None:
    assert [float(copies_of_weights(one_plan(pp=4, schedule=kind))[0]) for kind in range(4)] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("plan", "microbatches", "key", "words"),
    [
        ({"schedule": ZB_H1}, 8, "schedule", "pp is 1"),
        ({"schedule": ZB_H1, "pp": 4, "vp": 2}, 8, "vp", "no virtual stages"),
        ({"schedule": ZB_H2, "pp": 4, "recompute": 2}, 8, "recompute", "found full"),
        ({"schedule": DUALPIPE, "pp": 5}, 16, "pp", "even number of stages"),
        ({"schedule": DUALPIPE, "pp": 4}, 6, "schedule", "2 x pp 4 = 8 at least, and there are 6"),
        ({"schedule": DUALPIPE, "pp": 4}, 9, "schedule", "even number of microbatches"),
        ({"schedule": DUALPIPE, "pp": 4, "zero": 2}, 8, "zero", "zero 0 or 1"),
    ],
)
def test_what_a_schedule_cannot_hold_is_one_sentence(
    plan: dict[str, int], microbatches: int, key: str, words: str
) -> None:
    (found,) = schedule_mistakes(one_plan(**plan), microbatches)
    assert found[0] == key
    assert words in found[1]
    assert not schedule_allowed(one_plan(**plan), np.array([1.0 * microbatches]))[0]


def test_schedules_that_hold_are_allowed() -> None:
    for plan in (one_plan(pp=4), one_plan(pp=4, schedule=ZB_H1), one_plan(pp=4, schedule=DUALPIPE, zero=1)):
        assert schedule_allowed(plan, np.array([8.0]))[0]
        assert not list(schedule_mistakes(plan, 8))
