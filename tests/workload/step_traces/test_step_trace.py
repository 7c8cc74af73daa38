"""Training steps as traces: they send what the formula counts, in an order that no NPU waits in for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import sample_decoders
from effort import costly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evo_libra.chakra.trace import CollectiveType, Kind, Node
from evo_libra.collective import Collective, bytes_of_pattern
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.decoder_spec import Experts
from evo_libra.workload.models.stacks import STACKS
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.recomputation import RECOMPUTE, recompute_of
from evo_libra.workload.step_traces.stage_writer import StageTrace
from evo_libra.workload.step_traces.step_trace import stage_traces
from evo_libra.workload.trace_nodes import ListedGroup
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_step import TrainingStep, training_step

SMALL = {"layers": 12, "hidden": 2048, "heads": 16, "feed_forward": 5632, "vocabulary": 32000}
DENSE = sample_decoders.DENSE.model_copy(update=SMALL)
EXPERTS = Experts(count=16, per_token=2, feed_forward=1408, shared_feed_forward=0, dense_layers=0)
ROUTED = DENSE.model_copy(update={"name": "routed", "experts": EXPERTS})
SHARED = DENSE.model_copy(
    update={"name": "shared", "experts": EXPERTS.model_copy(update={"shared_feed_forward": 1408})}
)
BATCH = 24
GROUPS = ("tp", "cp", "ep", "cp+dp", "edp")


def setup_of(model: Decoder = DENSE, **given_: Any) -> Setup:
    return Setup(model, accelerator("h100-80gb"), 4096, BATCH, **given_)


def traces_of(setup: Setup, **plan: Any) -> tuple[TrainingStep, list[StageTrace]]:
    chosen = one_plan(**plan)
    step = training_step("step", setup, chosen)
    places = {group: ListedGroup(group) for group in GROUPS if step.degrees[group] > 1}
    return step, stage_traces(setup, chosen, step.degrees, places)


def integer(node: Node, name: str) -> int:
    return int(str(node.attributes[name].value))


def sent(nodes: Iterable[Node], degrees: dict[str, int]) -> Counter[str]:
    """Return the bytes of its pattern that each process group sends; messages count as such."""
    found: Counter[str] = Counter()
    for node in nodes:
        group, size = node.name.rpartition(".")[2], node.attributes.get("comm_size")
        if size is None or node.kind is Kind.COMM_RECV:
            continue
        if node.kind is Kind.COMM_SEND:
            found[group] += int(str(size.value))
        else:
            kind = Collective[CollectiveType(integer(node, "comm_type")).name]
            found[group] += float(bytes_of_pattern(kind, int(str(size.value)), degrees[group]))  # type: ignore[assignment]
    return found


def counted(step: TrainingStep) -> Counter[str]:
    """Return the bytes that the formula counts for an NPU in a step."""
    found: Counter[str] = Counter()
    for traffic, operations in step.traffic():
        found[traffic.group] += operations * float(np.ravel(traffic.bytes_of_pattern)[0])  # type: ignore[assignment]
    return found


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@example(10)  # an interleaved pipeline with ZeRO 3: weights are gathered with each microbatch, not each round
@costly(30)
def test_traces_send_the_bytes_that_the_formula_counts(seed: int) -> None:
    random = np.random.default_rng(seed)

    def pick(*options: Any) -> Any:
        return options[random.integers(len(options))]

    def coin() -> bool:
        return bool(random.random() < 0.5)

    pp = pick(1, 1, 3, 6)
    plan = {
        "tp": pick(1, 2, 4), "cp": pick(1, 2), "dp": pick(1, 2, 4), "pp": pp, "vp": pick(1, 2) if pp > 1 else 1,
        "zero": pick(0, 1, 2, 3), "reshard": coin(),
        "recompute": recompute_of(pick("none", "selective", "full", "selective-op", "mlp", "layernorm")),
        **{name: coin() for name in ("sequence_parallel", "overlap_tp", "overlap_pp", "overlap_dp", "ulysses")},
    }  # fmt: skip
    model = pick(DENSE, ROUTED, SHARED)
    ep = pick(1, 2) if model is not DENSE and plan["tp"] * plan["cp"] * plan["dp"] > 1 else 1
    stack = STACKS[pick("any", "megatron-2022")]
    setup = setup_of(
        model,
        stack=stack,
        bus=pick(None, accelerator("h100-80gb").bus["nvlink4"]),
        wire_rate=450e9,
        fused_attention=coin(),
    )
    step, traces = traces_of(setup, **plan, ep=ep)
    whole = counted(step)
    # A stage in the middle sends and receives at both ends; the formula counts tables of the first stage.
    mine = sent(traces[pp // 2].nodes, dict(step.degrees))
    for group in whole.keys() | mine.keys():
        if pp > 1 and group == "cp+dp":
            assert 0 < mine[group] < whole[group]
        else:
            assert mine[group] == pytest.approx(whole[group], rel=1e-5), group
    if pp > 1:
        first = sent(traces[0].nodes, dict(step.degrees))
        assert first["cp+dp"] == pytest.approx(whole["cp+dp"], rel=1e-5)
        assert first["pp"] < whole["pp"]


@pytest.mark.parametrize("recompute", range(3))
def test_a_layer_computes_and_then_communicates(recompute: int) -> None:
    setup = setup_of(fused_attention=False)
    _, (trace,) = traces_of(setup, tp=2, dp=BATCH, sequence_parallel=True, recompute=recompute)
    names = [node.name.removeprefix("microbatch0.layer3.") for node in trace.nodes if ".layer3." in node.name]
    again = ["recomputed.compute"] if RECOMPUTE[recompute] != "none" else []
    pair = ["reduce-scatter.tp", "all-gather.tp"]
    forward = ["forward.compute", *(f"forward.{name}" for name in pair * 2)]
    if RECOMPUTE[recompute] == "full":
        again += [f"recomputed.{name}" for name in pair * 2]
    backward = ["backward.compute", *(f"backward.{name}" for name in [*pair * 2, *pair[1:] * 2])]
    assert names == [*forward, *again, *backward]
    last = trace.nodes[-1]
    assert last.name == "optimizer.compute"
    assert [node.name for node in trace.nodes if ".head" in node.name] == ["microbatch0.head.compute"]


def test_only_the_last_stage_has_a_head_and_only_the_ends_have_tables() -> None:
    step, traces = traces_of(setup_of(), dp=2, pp=3, micro_batch=4)
    heads = [sum(node.name.endswith("head.compute") for node in trace.nodes) for trace in traces]
    assert heads == [0, 0, BATCH // 2 // 4]
    data = [sent(trace.nodes, dict(step.degrees))["cp+dp"] for trace in traces]
    assert data[0] == data[2]
    assert data[0] - data[1] == pytest.approx(2 * 4 * 32000 * 2048)


def test_a_tied_embedding_is_summed_between_the_first_and_the_last_stage() -> None:
    _, traces = traces_of(setup_of(DENSE.model_copy(update={"tied": True})), tp=2, pp=3, micro_batch=8)
    messages = [[node for node in trace.nodes if node.name.startswith("embedding.")] for trace in traces]
    ends = [[(n.kind, integer(n, "comm_src"), integer(n, "comm_dst")) for n in some] for some in messages]
    assert ends == [
        [(Kind.COMM_SEND, 0, 2), (Kind.COMM_RECV, 2, 0)], [], [(Kind.COMM_SEND, 2, 0), (Kind.COMM_RECV, 0, 2)],
    ]  # fmt: skip
    assert {integer(node, "comm_size") for some in messages for node in some} == {4 * 32000 * 2048 // 2}


def waits(nodes: tuple[Node, ...], name: str) -> set[str]:
    """Return the names of all nodes that the first one of a name waits for, also by others."""
    by_id, found = {node.id: node for node in nodes}, set[str]()
    queue = [next(node for node in nodes if node.name == name)]
    while queue:
        for other in (*queue[-1].control, *queue.pop().data):
            if by_id[other].name not in found:
                found.add(by_id[other].name)
                queue.append(by_id[other])
    return found


def test_a_stage_waits_for_its_messages_unless_the_plan_overlaps_them() -> None:
    plan = {"pp": 3, "vp": 2, "micro_batch": 8}
    for overlap in (False, True):
        _, traces = traces_of(setup_of(), **plan, overlap_pp=overlap)
        waited = waits(traces[1].nodes, "microbatch1.layer2.forward.compute")
        assert "microbatch1.receive.pp" in waited
        assert ("microbatch0.send.pp" in waited) is not overlap
    # Without virtual stages nothing can hide them.
    _, traces = traces_of(setup_of(), pp=3, micro_batch=8, overlap_pp=True)
    assert "microbatch0.send.pp" in waits(traces[1].nodes, "microbatch1.layer4.forward.compute")


@pytest.mark.slow
@given(st.integers(1, 4), st.sampled_from([0, 1, 3]), st.sets(st.sampled_from(["overlap_tp", "overlap_dp"])))
@settings(max_examples=20)
def test_collectives_of_a_stage_have_one_order(pp: int, zero: int, overlapped: set[str]) -> None:
    # Otherwise one NPU might wait in one collective for another that waits for it in another one.
    flags = dict.fromkeys(overlapped, True)
    _, traces = traces_of(setup_of(ROUTED), tp=2, cp=2, dp=2, ep=4, pp=pp, micro_batch=6, zero=zero, **flags)
    for trace in traces:
        collectives = [node for node in trace.nodes if node.kind is Kind.COMM_COLL]
        reached: dict[int, int] = {}
        last = -1
        for node in trace.nodes:
            # The highest number of a collective that a node waits for: it is the one before.
            before = max((reached[other] for other in (*node.control, *node.data)), default=-1)
            if node.kind is Kind.COMM_COLL:
                assert before == last
                last = before = node.id
            reached[node.id] = before
        assert collectives[-1].id == last


def test_gradients_and_weights_run_beside_layers_where_the_plan_overlaps_them() -> None:
    plan = {"dp": 4, "micro_batch": 2, "zero": 1}
    gathered, reduced = "microbatch0.layer{}.all-gather.cp+dp", "microbatch2.layer{}.reduce-scatter.cp+dp"
    _, (trace,) = traces_of(setup_of(), **plan, overlap_dp=True)
    # Layer 5 waits for its own weights, and not for those of the next layer, which come beside it.
    waited = waits(trace.nodes, "microbatch0.layer5.forward.compute")
    assert gathered.format(5) in waited
    assert gathered.format(6) not in waited
    assert "microbatch0.layer5.forward.compute" not in waits(trace.nodes, gathered.format(6))
    # Gradients of layer 5 are reduced in the last microbatch alone, beside layer 4.
    assert [node.name for node in trace.nodes].count(reduced.format(5)) == 1
    assert "microbatch2.layer4.backward.compute" not in waits(trace.nodes, reduced.format(5))
    assert reduced.format(5) not in waits(trace.nodes, "microbatch2.layer4.backward.compute")
    assert reduced.format(0) in waits(trace.nodes, "optimizer.compute")
    _, (alone,) = traces_of(setup_of(), **plan)
    assert "step.all-gather.cp+dp" in waits(alone.nodes, "microbatch0.layer0.forward.compute")
    assert "microbatch2.layer0.backward.compute" in waits(alone.nodes, "step.reduce-scatter.cp+dp")


def test_a_stack_of_which_a_part_of_compute_hides_traffic_has_no_trace() -> None:
    with pytest.raises(ValueError, match="a part of the compute of deepspeed-2021 hides nothing"):
        traces_of(setup_of(stack=STACKS["deepspeed-2021"]), dp=2)
