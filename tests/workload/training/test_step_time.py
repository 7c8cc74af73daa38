"""Time of a training step: its races, what each sends, and how often, worked by hand on a small model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.stacks import STACKS
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.expansion import Expansion
from evo_libra.workload.training.memory import memory, parameters, stage_activations
from evo_libra.workload.training.races import StepOverlap, StepTime, Traffic
from evo_libra.workload.training.stage import Stage, stage_of, tensor_traffic
from evo_libra.workload.training.step_time import expansion_streams, exposed_head, head_time, step_time
from evo_libra.workload.training.training_setup import Setup


def model(**given: object) -> Decoder:
    """Return a model of 8 layers with 49,152 weights, 12 h^2, and tables of 64,000."""
    spec = {"layers": 8, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000}
    return decoder_of("small", DecoderSpec.model_validate({**spec, "source": "made up", **given}))


BUS = BusConstants(efficiency=1.0, half_message_MB=0.0001)
SETUP = Setup(model(), accelerator("h100-80gb"), 128, 16, bus=BUS, wire_rate=1e9)
HIDES = next(stack for stack in STACKS.values() if stack.hides_gather)
TOKENS = 2 * 128 * 64
"""Bytes of the activations of a microbatch of one sequence."""


def number(array: Any) -> float:
    return float(np.ravel(array)[0])


def races(part: str, setup: Setup = SETUP, **plan: int | bool) -> list[StepOverlap]:
    """Return the races whose first chain has traffic of a part."""
    found = step_time(setup, one_plan(**plan)).races
    return [race for race in found if race.chains[0].traffic and race.chains[0].traffic[0].part == part]


def sent(traffic: tuple[Traffic, ...]) -> list[tuple[str, str, float, float]]:
    """Return group, operation, bytes and number of what is sent at all."""
    rows = [
        (one.group, getattr(one.operation, "name", type(one.operation).__name__), number(one.size),
         number(one.operations))
        for one in traffic
    ]  # fmt: skip
    return [row for row in rows if row[2] and row[3]]


def alone(part: str, setup: Setup = SETUP, **plan: int | bool) -> list[tuple[str, str, float, float, float, float]]:
    """Return what is sent of a part that nothing hides, with the count of its race and that while a pipeline idles."""
    return [
        (*row, number(race.count), number(race.idle))
        for race in races(part, setup, **plan) for row in sent(race.chains[0].traffic) if number(race.count + race.idle)
    ]  # fmt: skip


def run(name: str, setup: Setup = SETUP, **plan: int | bool) -> list[StepOverlap]:
    return [race for race in step_time(setup, one_plan(**plan)).races if race.name == name]


def stage(setup: Setup = SETUP, **plan: int | bool) -> Stage:
    return stage_of(setup, one_plan(**plan))


HELD = 8 * 49_152 + 128_000


def test_gradients_are_summed_once_in_a_step_without_zero() -> None:
    assert alone("data", dp=4) == [("cp+dp", "ALL_REDUCE", 4 * HELD, 1, 1, 0)]
    two_bytes = replace(SETUP, gradient_bytes=2)
    assert alone("data", two_bytes, dp=4) == [("cp+dp", "ALL_REDUCE", 2 * HELD, 1, 1, 0)]


def test_zero_gathers_weights_and_scatters_gradients() -> None:
    # Rajbhandari et al. 2020, section 7: as many bytes as an all-reduce in stages 1 and 2, of which stage 2 scatters
    # with each of 16 / 4 microbatches; in stage 3 weights are gathered for each of their passes, too.
    gather, scatter = ("cp+dp", "ALL_GATHER", 2 * HELD), ("cp+dp", "REDUCE_SCATTER", 4 * HELD)
    for zero, count in ((1, 1), (2, 4)):
        assert alone("data", dp=4, zero=zero) == [(*gather, 1, 1, 0), (*scatter, 1, count, 0)]
    assert alone("data", dp=4, zero=3) == [(*gather, 1, 4, 0), (*scatter, 1, 4, 0), (*gather, 1, 4, 0)]


def test_weights_that_stay_whole_are_gathered_once_for_both_passes_and_in_a_pipeline_once_in_a_step() -> None:
    gather, scatter = ("cp+dp", "ALL_GATHER", 2 * HELD), ("cp+dp", "REDUCE_SCATTER", 4 * HELD)
    assert alone("data", dp=4, zero=3, reshard=False) == [(*gather, 1, 4, 0), (*scatter, 1, 4, 0)]
    first, second = alone("data", dp=4, pp=2, zero=3, reshard=False)
    assert (first[1], first[4], second[1], second[4]) == ("ALL_GATHER", 1, "REDUCE_SCATTER", 4)


def test_zero_2_hides_its_scatter_in_each_backward_pass_and_its_gather_in_one_forward_pass() -> None:
    for name, counts in (("forward", (3, 1)), ("backward", (0, 4))):
        assert tuple(number(race.count) for race in run(name, dp=4, zero=2, overlap_dp=True)) == counts


def test_experts_are_summed_by_their_own_copies() -> None:
    # 4 of 8 experts of 2 x 64 x 32 in each of 8 layers; attention, router and tables are dense.
    setup = replace(SETUP, decoder=model(experts={"count": 8, "per_token": 2, "feed_forward": 32}))
    dense = 8 * (16_384 + 512) + 128_000
    assert alone("data", setup, dp=4, ep=2) == [
        ("cp+dp", "ALL_REDUCE", 4 * dense, 1, 1, 0), ("edp", "ALL_REDUCE", 4 * 8 * 4 * 4_096, 1, 1, 0),
    ]  # fmt: skip


def test_passes_hide_all_but_one_layer_of_what_the_data_parallel_group_sends() -> None:
    # Of 8 layers one is alone. Beside one of 4 microbatches, the forward pass gathers and the backward one scatters.
    plan = {"dp": 4, "zero": 1, "overlap_dp": True}
    gather, scatter = ("cp+dp", "ALL_GATHER", 2 * HELD), ("cp+dp", "REDUCE_SCATTER", 4 * HELD)
    assert alone("data", **plan) == [(*gather, 1 / 8, 1, 0), (*scatter, 1 / 8, 1, 0)]
    for name, row in (("forward", gather), ("backward", scatter)):
        plain, hiding = run(name, **plan)
        assert (number(plain.count), number(hiding.count)) == (3, 1)
        assert [sent(chain.traffic) for chain in hiding.chains] == [[], [(*row, 7 / 8)], [(*row, 7 / 8)]]
        assert [number(chain.compute) for chain in hiding.chains[1:]] == [0, 0]


def test_software_may_hide_traffic_beside_a_part_of_its_compute() -> None:
    setup = replace(SETUP, stack=replace(SETUP.stack, hides_data=0.75))
    (_, hiding) = run("forward", setup, dp=4, overlap_dp=True, zero=1)
    assert number(hiding.chains[1].compute) == pytest.approx(0.25 * number(hiding.chains[0].compute), rel=1e-12)


def test_zero_3_hides_in_each_microbatch() -> None:
    plain, hiding = run("forward", dp=4, zero=3, overlap_dp=True)
    assert (number(plain.count), number(hiding.count)) == (0, 4)
    assert number(run("forward", dp=4)[0].count) == 4


def test_messages_between_stages_go_there_and_back() -> None:
    # Narayanan et al. 2021, section 4.1: each NPU of a tensor parallel group of 2 sends a half, and both gather it. 8
    # microbatches pass 4 stages, which fill and drain as 3 more.
    assert alone("pipeline", tp=2, pp=4, dp=2) == [
        ("pp", "NextStage", TOKENS / 2, 2, 8, 3), ("tp", "ALL_GATHER", TOKENS + 100, 2, 8, 3),
    ]  # fmt: skip
    assert alone("pipeline", tp=2, pp=4, dp=2, sequence_parallel=True) == [("pp", "NextStage", TOKENS / 2, 2, 8, 3)]
    assert alone("pipeline", tp=2, dp=2) == []


def test_virtual_stages_send_more_often_and_idle_less() -> None:
    # Section 2.2.2: v times the messages, and a bubble of (p - 1) / v.
    assert alone("pipeline", pp=4, vp=2)[0] == ("pp", "NextStage", TOKENS, 4, 16, 1.5)
    (forward,) = run("forward", pp=4, vp=2)
    assert (number(forward.count), number(forward.idle)) == (16, 1.5)


def test_an_interleaved_pipeline_may_overlap_its_messages() -> None:
    # None waits but in the bubble; each pass has half of them, one for each virtual stage, beside it.
    plan = {"pp": 4, "vp": 2, "overlap_pp": True}
    assert alone("pipeline", **plan)[0] == ("pp", "NextStage", TOKENS, 4, 0, 1.5)
    (forward,) = run("forward", **plan)
    assert sent(forward.chains[-1].traffic) == [("pp", "NextStage", TOKENS, 2)]
    assert (number(forward.count), number(forward.idle)) == (16, 0)
    idle = [race for race in step_time(SETUP, one_plan(**plan)).races if not race.name and not race.chains[0].traffic]
    assert [(number(race.count), number(race.idle)) for race in idle if number(race.idle)] == [(0, 1.5), (0, 1.5)]
    for other in ({"pp": 4, "overlap_pp": True}, {"vp": 2, "overlap_pp": True}):
        assert len(run("forward", **other)[0].chains) == 1


def test_of_several_plans_each_overlaps_its_own_messages() -> None:
    two = replace(one_plan(pp=4, vp=2), overlap_pp=np.array([True, False]))
    (forward,) = [race for race in step_time(SETUP, two).races if race.name == "forward"]
    assert forward.chains[-1].traffic[-1].operations.tolist() == [2, 0]


def test_accesses_to_expansion_memory() -> None:
    # Everything that may lie there does, at 1 GB/s: a pass reads weights, and writes or reads the activations of a
    # microbatch; the backward pass adds to gradients, and reads weights again where it recomputes. The
    # update reads and writes states, reads gradients and writes weights.
    setup = replace(SETUP, expansions=(Expansion(1e12, 1e9),), usable=0.0)
    for recompute, reads in ((0, 1), (FULL, 2)):
        plan = one_plan(pp=4, recompute=recompute)
        used = {kind: number(bytes_) for kind, bytes_ in memory(setup, plan).items()}
        found = expansion_streams(setup, plan)
        (forward,), (backward,), (update,) = found.forward, found.backward, found.update
        one = number(stage_activations(setup, plan))
        assert number(forward.seconds) * 1e9 == pytest.approx(used["weights"] + one, rel=1e-12)
        expected = reads * used["weights"] + one + 2 * used["gradients"]
        assert number(backward.seconds) * 1e9 == pytest.approx(expected, rel=1e-12)
        expected = 2 * used["states"] + used["gradients"] + used["weights"]
        assert number(update.seconds) * 1e9 == pytest.approx(expected, rel=1e-12)


def test_the_ends_of_a_pipeline_sum_a_tied_embedding() -> None:
    tied = replace(SETUP, decoder=model(tied=True))
    assert alone("pipeline", tied, tp=2, pp=4)[-1] == ("pp", "NextStage", 4 * 64_000 / 2, 2, 1, 0)
    assert alone("pipeline", tied, tp=2) == []


def test_times_without_communication() -> None:
    # 16 / 2 microbatches with a head each; the update moves 30 bytes of each weight, with ZeRO of an eighth.
    for zero, copies in ((0, 1), (1, 2)):
        plan = one_plan(dp=2, zero=zero)
        found = step_time(SETUP, plan).plain
        assert number(found["head"]) == pytest.approx(8 * number(head_time(SETUP, plan)), rel=1e-12)
        assert number(found["optimizer"]) == pytest.approx(float(SETUP.kernels.moved(30.0 * HELD / copies)), rel=1e-12)
    balanced = replace(SETUP, balanced=True)
    assert number(head_time(balanced, one_plan(pp=4))) == pytest.approx(
        number(head_time(SETUP, one_plan(pp=4))) / 4, rel=1e-12
    )
    assert number(parameters(SETUP, one_plan()).all) == HELD


def test_each_layer_reduces_twice_forwards_and_twice_backwards() -> None:
    # Shoeybi et al. 2019, section 3: 4 all-reduces of a layer; 2 more where the forward pass runs again.
    size = TOKENS + 100
    assert alone("tensor", tp=2, pp=4) == [("tp", "ALL_REDUCE", size, 2 * 4, 16, 3)]
    assert alone("tensor", tp=2, recompute=FULL) == [("tp", "ALL_REDUCE", size, 8 * 6, 16, 0)]


def test_sequence_parallelism_gathers_again_in_the_backward_pass() -> None:
    # Korthikanti et al. 2022, section 4.2.2: half of the 2 pairs of a layer, as scatters and gathers.
    size = TOKENS + 100
    assert alone("tensor", tp=2, sequence_parallel=True) == [
        ("tp", "REDUCE_SCATTER", size, 8 * 5, 16, 0), ("tp", "ALL_GATHER", size, 8 * 5, 16, 0),
    ]  # fmt: skip
    hides = replace(SETUP, stack=HIDES)
    assert alone("tensor", hides, tp=2, sequence_parallel=True)[0][3] == 8 * 4
    backward = run("backward", hides, tp=2, sequence_parallel=True)[0].chains[1]
    assert [row[3] for row in sent(backward.traffic)] == [8, 8]
    plan = one_plan(tp=2, sequence_parallel=True)
    some = stage_of(hides, plan)
    assert number(backward.compute) == pytest.approx(number(some.backward.compute - some.weights), rel=1e-12)
    assert not tensor_traffic(hides, plan, some).forward


def test_products_hide_all_but_a_part_of_the_tensor_parallel_traffic() -> None:
    # Of 4 NPUs, 3/4 of 2 all-reduces of 8 layers are beside the products, forwards and backwards.
    plan = {"tp": 4, "overlap_tp": True}
    assert alone("tensor", **plan) == [("tp", "ALL_REDUCE", TOKENS + 100, 8 * 4 / 4, 16, 0)]
    for name in ("forward", "backward"):
        whole, beside = run(name, **plan)[0].chains
        assert [row[3] for row in sent(beside.traffic)] == [8 * 2 * 3 / 4]
        products = getattr(stage(**plan), name).products
        assert number(beside.compute) == pytest.approx(number(whole.compute - products), rel=1e-12)
    split = tensor_traffic(SETUP, one_plan(**plan, sequence_parallel=True), stage(**plan, sequence_parallel=True))
    assert [row[3] for row in sent(split.backward[0].traffic)] == [8 * 3 * 3 / 4] * 2


def test_what_full_recomputation_runs_again() -> None:
    plain, again = stage(tp=2), stage(tp=2, recompute=FULL)
    assert number(again.backward.compute) == pytest.approx(number(plain.backward.compute + plain.forward.compute))
    assert number(again.backward.products) == pytest.approx(number(plain.backward.products + plain.forward.products))
    assert number(again.backward.reduced) == 2 * number(plain.backward.reduced) == 2 * 8 * 2


def test_traffic_of_contexts_and_experts() -> None:
    # Keys and values of 128 tokens, 64 wide, in 2 bytes: gathered forwards, and gathered and scattered backwards, once
    # more where the forward pass runs again. Tokens go to 2 experts and back, forwards and backwards.
    setup = replace(SETUP, decoder=model(experts={"count": 8, "per_token": 2, "feed_forward": 32}))
    size = 2 * 2 * 128 * 64 + 100
    assert alone("context", setup, cp=2, dp=4) == [("cp", "ALL_GATHER", size, 8 * 3, 4, 0)]
    assert alone("context", setup, cp=2, dp=4, recompute=FULL)[0][3] == 8 * 4
    # An exchange of heads: queries, keys and values of 64 tokens of the 128, 3 x 64 wide, in 2 bytes; then the results.
    assert alone("context", setup, cp=2, dp=4, ulysses=True) == [
        ("cp", "ALL_TO_ALL", 2 * 3 * 64 * 64, 8 * 2, 4, 0), ("cp", "ALL_TO_ALL", 2 * 64 * 64, 8 * 2, 4, 0),
    ]  # fmt: skip
    assert [row[3] for row in alone("context", setup, cp=2, dp=4, ulysses=True, recompute=FULL)] == [8 * 3] * 2
    assert alone("expert", setup, ep=4, dp=4) == [("ep", "Dispatch", 2 * TOKENS, 8 * 2 * 2, 4, 0)]
    assert alone("expert", setup, ep=4, dp=4, recompute=FULL)[0][3] == 8 * 2 * 3


def test_the_longest_stage_sets_the_pace() -> None:
    # 8 layers in 3 stages: one of 3.
    assert [number(stage(pp=stages).layers) for stages in (2, 3, 4)] == [4, 3, 2]
    assert number(stage(pp=3, tp=2).forward.reduced) == 3 * 2


def test_a_step_is_the_sum_of_its_races() -> None:
    found: StepTime = step_time(SETUP, one_plan(tp=2, pp=4, dp=2))
    (forward,), (backward,) = (run(name, tp=2, pp=4, dp=2) for name in ("forward", "backward"))
    compute = number(forward.chains[0].compute + backward.chains[0].compute)
    head, optimizer = (number(found.plain[part]) for part in ("head", "optimizer"))
    assert number(found(lambda _: np.zeros(1))) == pytest.approx((8 + 3) * compute + head + optimizer, rel=1e-12)
    assert number(found.split(lambda _: np.zeros(1))["bubble"]) == pytest.approx(3 * compute, rel=1e-12)


EXPERTS = replace(
    SETUP, decoder=model(experts={"count": 4, "per_token": 2, "feed_forward": 64, "dense_layers": 0}),
)  # fmt: skip


def test_experts_send_alongside_the_passes_of_another_microbatch() -> None:
    plan = {"ep": 2, "dp": 2, "pp": 2, "vp": 2, "overlap_ep": True}
    one, half = stage(EXPERTS, ep=2, dp=2, pp=2, vp=2), 20.0 / 132.0
    (sent,) = {sent.operations[0] for sent in one.experts}
    # 8 microbatches of 2 stages with 2 virtual ones: (2 - 1) 2 / 2 = 1 of them waits for its all-to-alls, and half
    # a one more while the pipeline fills and drains.
    (waits,) = [race for race in races("expert", EXPERTS, **plan) if number(race.count)]
    assert (number(waits.count), number(waits.idle)) == (1.0, 0.5)
    passes = [race for name in ("forward", "backward") for race in run(name, EXPERTS, **plan)]
    near = [race for race in passes if any(sent.group == "ep" for chain in race.chains for sent in chain.traffic)]
    shares = [
        number(sent.operations)
        for race in near[::2] for chain in race.chains for sent in chain.traffic if sent.group == "ep"
    ]  # fmt: skip
    both = one.forward.compute + one.backward.compute
    assert shares[0] == pytest.approx(sent * number(one.forward.compute / both))
    assert number(near[0].chains[0].compute) == pytest.approx(number(one.forward.compute) / (1.0 - half))
    assert sum(number(race.count) for race in passes if race.name == "forward") == 8.0


def test_overlapped_all_to_alls_cost_no_more_than_processors_and_hide_no_more_than_compute() -> None:
    plan = {"ep": 2, "dp": 2, "pp": 2, "vp": 2}
    apart, near = (step_time(EXPERTS, one_plan(**plan, overlap_ep=on)) for on in (False, True))
    for seconds in (0.0, 1e-6, 1e-4):
        slow, fast = (number(time(lambda _, s=seconds: np.full(1, s))) for time in (apart, near))
        assert fast <= slow / (1.0 - 20.0 / 132.0) + 1e-12
    assert number(near(lambda _: np.full(1, 1e-4))) < number(apart(lambda _: np.full(1, 1e-4)))


def test_gradients_of_weights_fill_the_bubble() -> None:
    setup, weights = replace(SETUP, decoder=model(tied=False)), number(stage(pp=4).weights)
    plain, filled = (step_time(setup, one_plan(pp=4, schedule=kind))(lambda _: np.zeros(1))[0] for kind in (0, 1))
    # (4 - 1) x 2 W less of ZB-H1.
    assert plain - filled == pytest.approx(6.0 * weights)


def test_the_ranks_with_the_same_two_stages_of_dualpipe_share_their_gradients() -> None:
    held = 2 * 49_152 + 64_000
    rows = alone("data", replace(SETUP, decoder=model(tied=False)), pp=4, dp=2, zero=1, schedule=3)
    between = [row for row in rows if row[0] == "pp"]
    assert between == [("pp", "NextStage", 4 * held, 1, 1, 0), ("pp", "NextStage", 2 * held, 1, 1, 0)]


def test_a_shorter_last_stage_has_room_for_the_head() -> None:
    setup = replace(SETUP, decoder=model(layers=7), uneven=True)
    one, plan = stage(setup, pp=4), one_plan(pp=4)
    layer = number(one.forward.compute + one.backward.compute) / 2
    assert number(exposed_head(setup, plan, one)) == pytest.approx(max(number(head_time(setup, plan)) - layer, 0.0))
    even = stage(pp=4)
    assert number(exposed_head(SETUP, plan, even)) == number(head_time(SETUP, plan))


def test_shards_with_copies_gather_inside_and_sum_across() -> None:
    # 16 replicas are 4 groups that shard among 4 each: weights and gradients inside, and of the gradients of a shard, a
    # quarter, an all-reduce among the 4 copies.
    rows = alone("data", dp=16, zero=3, replicate=4)
    assert sorted((row[0], row[1], row[2]) for row in rows) == [
        ("copies", "ALL_REDUCE", HELD), ("cp+shards", "ALL_GATHER", 2 * HELD), ("cp+shards", "ALL_GATHER", 2 * HELD),
        ("cp+shards", "REDUCE_SCATTER", 4 * HELD),
    ]  # fmt: skip
    used = {copies: memory(SETUP, one_plan(dp=16, zero=3, replicate=copies)) for copies in (1, 4)}
    # 12 bytes of states of each weight among 16 or 4.
    assert [number(used[copies]["states"]) for copies in (1, 4)] == [12 * HELD / 16, 12 * HELD / 4]
