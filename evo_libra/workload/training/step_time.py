"""Time of a training step under parallelisation plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective, PushPull, Streamed
from evo_libra.workload.parallelism import ALL, BEYOND
from evo_libra.workload.plans.plans import DUALPIPE, IO, NETWORK, Plans
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.plans.schedules import Idle, copies_of_weights, idle_of
from evo_libra.workload.training.expansion import Accesses, expansions_of, seconds_of
from evo_libra.workload.training.layer_time import matrix_time, share_of
from evo_libra.workload.training.memory import (
    Parameters,
    expanded,
    memory,
    offloaded_activations,
    parameters,
    stage_activations,
)
from evo_libra.workload.training.offload import WEIGHT, OffloadStreams, Stream, offload_streams, on_npu
from evo_libra.workload.training.passes import NOTHING_HIDDEN, HiddenData, PassOverlap
from evo_libra.workload.training.pipeline import (
    ExpertOverlap,
    copies_of_stages,
    expert_overlap,
    overlapped_messages,
    pipeline_waits,
    weights_between,
)
from evo_libra.workload.training.races import (
    COPIES,
    DATA,
    EXPANSION,
    EXPERT_DATA,
    SHARDS,
    StepOverlap,
    StepSequence,
    StepTime,
    Traffic,
)
from evo_libra.workload.training.stage import Stage, TensorTraffic, predictors_of_stage, stage_of, tensor_traffic
from evo_libra.workload.training.stage_layers import share_of_fill, shorter_last_stage
from evo_libra.workload.training.training_setup import Setup

_NONE, _ONE = np.zeros(1), np.ones(1)
Kinds = Sequence[tuple[Collective, FloatArray]]
"""Collectives with their (n,) bytes per weight."""


def step_time(setup: Setup, plans: Plans, *, exposes: bool | None = None) -> StepTime:
    """Return the time of a training step under each plan.

    The slowest stage sets the pace of all microbatches, and the pipeline fills and drains once, as its schedule says:
    1F1B, interleaved where a plan has virtual stages (Narayanan et al. 2021, section 2.2), or another one.

    Parameters
    ----------
    exposes : whether the step has the chains of traffic that software leaves exposed; None where the software decides.
    """
    stage, held = stage_of(setup, plans), parameters(setup, plans)
    exposes = setup.stack.exposes if exposes is None else exposes
    tensor, data = tensor_traffic(setup, plans, stage), data_traffic(setup, plans, held, stage, exposes=exposes)
    micro, idle = plans.microbatches(setup.global_batch), idle_of(plans).times(share_of_fill(setup, plans))
    experts = expert_overlap(setup, plans, stage, micro)
    owned = owned_weights(plans, held)
    update = np.where(on_npu(plans), owned, 0.0) if setup.offload else owned
    moved = setup.kernels.moved(setup.update_bytes * update)
    plain = {"head": micro * exposed_head(setup, plans, stage), "optimizer": moved}
    waiting = [StepOverlap((StepSequence(_NONE, (sent,)),), micro, idle.both) for sent in (*tensor.alone, *stage.other)]
    waiting += [StepOverlap((StepSequence(_NONE, (sent,)),), *experts.alone(idle)) for sent in stage.experts]
    waiting += pipeline_waits(setup, plans, micro, idle.both)
    waiting += [*weights_between(plans, stage, idle), *copies_of_stages(setup, plans, held)]
    streams = streams_of(setup, plans, held).beside(expansion_streams(setup, plans))
    messages = overlapped_messages(setup, plans)
    races = _passes(setup, stage, tensor, data, streams, experts=experts, messages=messages, micro=micro, idle=idle)
    if streams.update:
        waiting.append(StepOverlap((StepSequence(_NONE), *_beside(streams.update)), _ONE, name="update"))
    return StepTime(plain, (*races, *waiting, *data.waiting), slowdown(setup, plans))


_SERVER = 8
"""NPUs from which on more of them slow a step."""


def slowdown(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) the factor by which the slowest of many NPUs slows a step: the same share for each doubling."""
    npus = plans.tp * plans.cp * plans.pp * plans.dp
    return np.asarray(1.0 + setup.jitter * np.maximum(np.log2(npus / _SERVER), 0.0))


def owned_weights(plans: Plans, held: Parameters) -> FloatArray:
    """Return (n,) weights that an NPU, or its host, updates."""
    return np.where(plans.zero >= 1, held.sharded, held.all * copies_of_weights(plans))


def streams_of(setup: Setup, plans: Plans, held: Parameters) -> OffloadStreams:
    """Return the streams of hosts and servers alongside the passes; none where the optimizer is on the NPUs.

    Servers have the weights of every stage, each as large as the first one. Through I/O channels these stream once for
    all microbatches that pass them meanwhile.
    """
    if setup.offload is None:
        return OffloadStreams()
    served, activations = _served_weights(plans, held), offloaded_activations(setup, plans)
    return offload_streams(setup.offload, plans, owned_weights(plans, held), served, activations)


def _served_weights(plans: Plans, held: Parameters) -> FloatArray:
    """Return (n,) weights that all servers or channels together send to the pass of a microbatch."""
    npus = plans.tp * plans.cp * plans.dp * plans.pp / np.where(plans.optimizer == IO, plans.per_stream, 1)
    return np.asarray(held.dense * (npus / held.dense_copies) + held.experts * (npus / held.expert_copies))


def expansion_streams(setup: Setup, plans: Plans) -> OffloadStreams:
    """Return the accesses to expansion memory alongside the passes and in the update; none without such memory.

    A pass reads weights, the forward pass once and the backward pass once more and again where it recomputes. It writes
    activations forwards and reads them backwards, and adds to gradients. The update reads and writes states and
    weights, and reads gradients.
    """
    if not setup.expansions:
        return OffloadStreams()
    used = memory(setup, plans)
    in_flight = np.maximum(used["activations"], _TINY)
    one = stage_activations(setup, plans) / in_flight
    accesses = {
        "states": Accesses(0.0, 0.0, 2.0),
        "gradients": Accesses(0.0, 2.0, 1.0),
        "weights": Accesses(1.0, 1.0 + (plans.recompute == FULL), 1.0),
        "activations": Accesses(one, one, 0.0),
    }
    bandwidth = expansions_of(setup.expansions, plans.expansion)[1]
    parts = seconds_of(expanded(setup, plans, used), accesses, bandwidth)
    return OffloadStreams(*((Stream(EXPANSION, seconds),) for seconds in parts))


_TINY = 1e-300


def _beside(streams: Sequence[Stream]) -> list[StepSequence]:
    return [StepSequence(stream.seconds, name=stream.name) for stream in streams]


def head_time(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) seconds of the output head and the loss, which the last stage has, once more for each predictor."""
    kernels, tokens, share, head = setup.kernels, plans.tokens(setup.sequence), share_of(plans), setup.decoder.head
    (product,) = [matrix_time(kernels, matrix, tokens, setup.head_precision) for matrix in head.matrices(share)]
    moved = kernels.moved(tokens * sum(head.moved(share)))
    time = (
        setup.stack.compute_in(setup.precision)
        * (product.forward + product.backward + moved)
        * (1 + setup.decoder.predictors)
    )
    return time / plans.pp if setup.shares_head else time


def exposed_head(setup: Setup, plans: Plans, stage: Stage) -> FloatArray:
    """Return (n,) seconds by which head and loss make the last stage longer than the longest one.

    If that has fewer layers, head and loss take their place first. In DualPipe another stage of the same rank shares
    what is left, as half of the microbatches end there.
    """
    layer = (stage.forward.compute + stage.backward.compute) / (stage.layers + predictors_of_stage(setup, plans))
    left = np.maximum(head_time(setup, plans) - shorter_last_stage(setup, plans) * layer, 0.0)
    return np.where((plans.schedule == DUALPIPE) & (not setup.shares_head), left / 2.0, left)


@dataclass(frozen=True)
class DataTraffic:
    """Gradients and weights of the data parallel group, and of the copies of experts.

    Attributes
    ----------
    waiting : what nothing hides.
    forward, backward : that of a pass.
    served : traffic between servers and NPUs alongside each pass.
    """

    waiting: tuple[StepOverlap, ...]
    forward: HiddenData = NOTHING_HIDDEN
    backward: HiddenData = NOTHING_HIDDEN
    served: tuple[StepSequence, ...] = ()


def data_traffic(setup: Setup, plans: Plans, held: Parameters, stage: Stage, *, exposes: bool = False) -> DataTraffic:
    """Return the reduce-scatter of gradients and the all-gathers of weights, without ZeRO the all-reduce of gradients.

    From ZeRO's stage 2 on gradients are scattered with each microbatch, or round of them: an NPU has no room for all.
    Stage 3 gathers weights with each microbatch, and again for the backward pass if they do not stay whole. That pass
    hides the reduce-scatter and what it gathers, the forward pass its own all-gather, but for one layer's share.
    Software leaves a share of what lies beyond scale-up domains exposed, if that is more than what passes do not hide.
    The rest may be slower there alongside products, and slow them: they have fewer processors while it runs.
    """
    groups, whole = _copied(held), plans.replicate > 1
    if whole.any():
        groups = [(DATA, np.where(whole, 0.0, held.dense)), (SHARDS, np.where(whole, held.dense, 0.0)), *groups[1:]]
    if setup.offload is not None:
        # Servers send and receive what NPUs would exchange.
        groups = [(group, np.where(np.isin(plans.optimizer, (NETWORK, IO)), 0.0, of)) for group, of in groups]
    micro = plans.microbatches(setup.global_batch)
    counts = np.where(plans.gathers_each, micro, _ONE), plans.scatters(setup.global_batch)
    before = ((Collective.ALL_GATHER, np.where(plans.zero >= 1, 2.0, 0.0)),)
    after = (
        (Collective.ALL_REDUCE, np.where(plans.zero == 0, float(setup.gradient_bytes), 0.0)),
        (Collective.REDUCE_SCATTER, np.where(plans.zero >= 1, float(setup.gradient_bytes), 0.0)),
        # Each microbatch has one, and a round of an interleaved pipeline has several microbatches.
        (Collective.ALL_GATHER, np.where(plans.gathers_again, 2.0 * micro / counts[1], 0.0)),
    )

    # Copies of a shard add up their gradients each time that they are scattered (PyTorch's HSDP).
    summed = setup.gradient_bytes * np.where(whole, held.dense / held.dense_copies, 0.0)

    def sent(kinds: Kinds, share: FloatArray, part: str = "") -> tuple[Traffic, ...]:
        across = (Traffic("data", COPIES + part, Collective.ALL_REDUCE, summed, share),)
        return (across if kinds is after and whole.any() else ()) + tuple(
            Traffic("data", group + part, kind, bytes_per_weight * of, share)
            for kind, bytes_per_weight in kinds
            for group, of in groups
            if bytes_per_weight.any()
        )

    alone, served = np.where(plans.overlap_dp, 1.0 / stage.layers, 1.0), _served(setup, plans, held)
    kinds = zip((before, after), counts, strict=True)
    waiting = tuple(StepOverlap((StepSequence(_NONE, sent(ones, alone)),), count) for ones, count in kinds)
    if not plans.overlap_dp.any():
        return DataTraffic(waiting, served=served)
    left = np.where(plans.overlap_dp, np.maximum(setup.stack.exposes_data - alone, 0.0), 0.0)
    hidden, rate = np.where(plans.overlap_dp, 1.0 - alone - left, 0.0), setup.stack.data_rate
    waits, longer = left + setup.stack.data_processors * hidden / rate, hidden * (1.0 / rate - 1.0)

    def of_pass(kinds: Kinds, count: FloatArray) -> HiddenData:
        exposed = sent(kinds, waits, BEYOND) if exposes else ()
        slowed = sent(kinds, longer, BEYOND) if exposes and rate < 1.0 else ()
        return HiddenData(sent(kinds, 1.0 - alone), np.where(plans.overlap_dp, count, 0.0), exposed, slowed)

    return DataTraffic(waiting, of_pass(before, counts[0]), of_pass(after, counts[1]), served)


def _copied(held: Parameters) -> list[tuple[str, FloatArray]]:
    """Return the groups that hold copies of weights, with the (n,) weights."""
    return [(DATA, held.dense), *([(EXPERT_DATA, held.experts)] if held.experts.any() else [])]


def _served(setup: Setup, plans: Plans, held: Parameters) -> tuple[StepSequence, ...]:
    """Return the weights that come from servers with a pass, while gradients go there in the backward pass.

    Those that stream through I/O channels come to all NPUs together.
    """
    if setup.offload is None or setup.offload.server is None:
        return ()
    network, channels = (np.where(plans.optimizer == place, 1.0, 0.0) for place in (NETWORK, IO))
    sent = [Traffic("data", group, PushPull(), WEIGHT * of, network) for group, of in _copied(held)]
    if channels.any():
        sent.append(Traffic("data", ALL, Streamed(), WEIGHT * _served_weights(plans, held), channels))
    return (StepSequence(_NONE, tuple(sent)),)


def _passes(
    setup: Setup,
    stage: Stage,
    tensor: TensorTraffic,
    data: DataTraffic,
    streams: OffloadStreams,
    *,
    experts: ExpertOverlap,
    messages: tuple[Traffic, ...],
    micro: FloatArray,
    idle: Idle,
) -> list[StepOverlap]:
    """Return the forward and backward passes, each alongside the communication that it hides.

    A pass that hides data parallel traffic offers the part of its compute that the stack can use for that. While a
    pipeline fills and drains, no message and no traffic of experts overlaps, and hosts and servers send ahead.
    """
    found = list[StepOverlap]()
    for name, run, chains, of_data, of_pass, fill, sent in (
        ("forward", stage.forward, tensor.forward, data.forward, streams.forward, idle.forward, experts.forward),
        ("backward", stage.backward, tensor.backward, data.backward, streams.backward, idle.backward,
         experts.backward),
    ):  # fmt: skip
        streamed = (*data.served, *_beside(of_pass))
        one = PassOverlap(name, (StepSequence(run.compute), *chains), streamed, messages, 1.0 - setup.stack.hides_data)
        ahead, hiding, paired = bool(messages or streamed or sent), of_data.count, experts.paired
        if ahead:
            found.append(StepOverlap(one.chains, _NONE, fill))
        left = np.where(hiding > 0, np.maximum(paired - (micro - hiding), 0.0), 0.0)
        found.append(one.overlap(micro - hiding - (paired - left), _NONE if ahead else fill))
        found += one.hiding(of_data, hiding - left)
        if sent:
            near = one.near_experts(sent, experts.slowed * run.compute)
            found += [near.overlap(paired - left, _NONE), *near.hiding(of_data, left)]
    return found
