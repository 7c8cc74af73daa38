"""Phases of serving: prefill of a prompt, decoding steps, and the cache that moves from pool to pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective, Dispatch, NextStage
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.decoding import head_step, part_step, sequences
from evo_libra.workload.serving.memory import (
    ExpansionAccess,
    Layers,
    cache_bytes,
    cache_of_prompt,
    context_bytes,
    prompt_memory,
    serving_memory,
)
from evo_libra.workload.serving.serving_plans import ServingPlans, with_split_experts
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.layer_time import layer_time
from evo_libra.workload.training.memory import layers_of_stage
from evo_libra.workload.training.races import (
    EXPANSION,
    EXPERT,
    OF_PREFILL,
    PIPELINE,
    POOLS,
    TENSOR,
    StepOverlap,
    StepSequence,
    StepTime,
    Traffic,
)

_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class Phases:
    """Times of the phases of serving under plans; nothing in them overlaps.

    Attributes
    ----------
    prefill : of one prompt, through all stages.
    slot : for which one prompt keeps the longest stage.
    decode : of a step that gives each user of a replica a token.
    transfer : of the cache of a prompt from one replica to another.
    """

    prefill: StepTime
    slot: StepTime
    decode: StepTime
    transfer: StepTime


def phases_of(setup: ServingSetup, plans: Plans, used: Mapping[str, FloatArray] | None = None) -> Phases:
    """Return the phases of serving under each plan.

    `used` are (n,) bytes of an accelerator by class, those of replicas that answer when left out.
    """
    away = ExpansionAccess.of(setup, serving_memory(setup, plans) if used is None else used)
    model, longest = setup.decoder, layers_of_stage(setup.decoder, plans)
    every = model.stack.counts(range(model.layers))
    full = sequences(plans) * (plans.pp - 1) < plans.micro_batch
    # If each stage has sequences to decode, the longest one with the head sets the pace of all.
    held = tuple(np.where(full, plans.pp * most, whole) for most, whole in zip(longest, every, strict=True))
    heads, sends = np.where(full, plans.pp, 1.0), np.where(plans.pp > 1, plans.pp, 0.0)
    return Phases(
        _prefill(setup, plans, layers=every, heads=_ONE, sends=np.where(plans.pp > 1, plans.pp - 1.0, 0.0), away=away),
        _prefill(setup, plans, layers=longest, heads=_ONE, sends=np.where(plans.pp > 1, 1.0, 0.0), away=away),
        _decode(setup, plans, layers=held, heads=heads, sends=sends, away=away),
        _transfer(setup, "dp", cache_of_prompt(setup, plans)),
    )


def stage_of(setup: ServingSetup, plan: Plans, stage: int) -> tuple[StepTime, StepTime]:
    """Return what one stage has of a prompt, and of a step of decoding, with what it sends to the next one.

    Stages have as many layers as the longest one, until there are none left; the last one has the head, too. All is in
    the NPU's own memory here.
    """
    model, stages = setup.decoder, int(plan.pp[0])
    most = ceil(model.layers / stages)
    begin, end = min(stage * most, model.layers), min((stage + 1) * most, model.layers)
    layers = model.stack.counts(range(begin, end))
    last = stage == stages - 1
    heads, sends = np.full(1, float(last)), np.full(1, float(stages > 1))
    return (
        _prefill(setup, plan, layers, heads, sends * (not last)),
        _decode(setup, plan, layers, heads, sends),
    )


def _prefill(
    setup: ServingSetup,
    plans: Plans,
    layers: Layers,
    heads: FloatArray,
    sends: FloatArray,
    away: ExpansionAccess | None = None,
) -> StepTime:
    one = with_split_experts(_one_prompt(plans))
    compute = layer_time(setup.forward, one, setup.decoder.stack.parts(layers)).forward
    rows = np.full(1, float(setup.prompt))
    plain = {"compute": compute, "head": heads * head_step(setup, plans, 1.0)}
    if away is not None:
        accesses = away.seconds(setup, plans, layers, rows, cache_bytes(setup, plans, setup.prompt, layers))
        plain = _with_expansion(plain, accesses)
    return _with_ends(
        _step(setup, plans, plain=plain, rows=rows, layers=layers, sends=sends), setup, plans, (rows, _ONE, heads)
    )


def _decode(
    setup: ServingSetup,
    plans: Plans,
    layers: Layers,
    heads: FloatArray,
    sends: FloatArray,
    away: ExpansionAccess | None = None,
) -> StepTime:
    products, cache, rows = _NONE, _NONE, sequences(plans)
    for count, part in setup.decoder.stack.parts(layers):
        step = part_step(setup, plans, part)
        products, cache = products + count * step.products, cache + count * step.cache
    plain = {"compute": products, "cache": cache, "head": heads * head_step(setup, plans, rows)}
    if away is not None:
        accesses = away.seconds(setup, plans, layers, rows, rows * context_bytes(setup, plans, layers))
        plain = _with_expansion(plain, accesses)
    return _with_ends(
        _step(setup, plans, plain=plain, rows=rows, layers=layers, sends=sends), setup, plans, (rows, rows, heads)
    )


def _with_expansion(plain: dict[str, FloatArray], accesses: FloatArray) -> dict[str, FloatArray]:
    """Return the parts of a pass with accesses to expansion memory, which run alongside the others."""
    return {**plain, EXPANSION: np.maximum(accesses - sum(plain.values(), _NONE), 0.0)}


def _with_ends(
    step: StepTime, setup: ServingSetup, plans: Plans, counts: tuple[FloatArray, FloatArray, FloatArray]
) -> StepTime:
    """Return a step with what is sent before and after it: for (n,) tokens of sequences, a number of times."""
    ends, (tokens, rows, times), npus = setup.ends, counts, plans.tp.astype(float)
    model = setup.decoder
    found = ends.traffic(tokens, rows, times, hidden=model.hidden, vocabulary=model.vocabulary, npus=npus)
    sent = tuple(_alone(one) for one in found)
    beyond = ends.collectives * times * setup.stack.beyond_bytes(plans.tp)
    return StepTime({**step.plain, "overhead": step.plain["overhead"] + beyond}, (*step.races, *sent))


def _alone(sent: Traffic) -> StepOverlap:
    return StepOverlap((StepSequence(_NONE, (sent,)),), _ONE)


def _one_prompt(plans: Plans) -> Plans:
    return Plans(**{**vars(plans), "micro_batch": np.ones(1, dtype=np.int64)})


def _step(
    setup: ServingSetup,
    plans: Plans,
    plain: dict[str, FloatArray],
    rows: FloatArray,
    layers: Layers,
    sends: FloatArray,
) -> StepTime:
    """Return compute with the communication of some layers for (n,) rows of activations, and of sends to next stages.

    The bytes are traffic; the time that a layer and a collective take beyond them is that of the software.
    """
    sent, beyond = _collectives(setup, plans, rows, layers)
    message = Traffic("pipeline", PIPELINE, NextStage(), 2.0 * rows * setup.decoder.hidden / plans.tp, sends)
    races = tuple(_alone(one) for one in (*sent, message))
    launches = setup.stack.layer * sum(layers)
    return StepTime({**plain, "overhead": beyond + setup.stack.hop * sends + launches}, races)


def _collectives(
    setup: ServingSetup, plans: Plans, rows: FloatArray, layers: Layers
) -> tuple[list[Traffic], FloatArray]:
    """Return what layers send, and the (n,) seconds that it takes beyond its bytes.

    A layer has an all-reduce after each part. Of experts that an expert parallel group shares out, it is an all-to-all
    to them and one back. Without shared experts, tokens are split over the group before they are sent, and gathered
    behind the experts.
    """
    size, found, reduced, counted, beyond = 2.0 * rows * setup.decoder.hidden, list[Traffic](), _NONE, _NONE, _NONE
    for count, part in setup.decoder.stack.parts(layers):
        counted = counted + count
        reduced = reduced + (count if part.reduces else np.where(plans.ep > 1, 0.0, count))
        if part.per_token:
            copies = size / plans.tp * part.per_token
            found.append(Traffic("expert", EXPERT, Dispatch(part.per_token), copies, 2.0 * count))
            beyond = beyond + 2.0 * count * setup.stack.beyond_bytes(plans.ep)
    beyond = beyond + counted * setup.stack.beyond_bytes(plans.tp)
    return [Traffic("tensor", TENSOR, Collective.ALL_REDUCE, size, reduced), *found], beyond


def pool_phases(setup: ServingSetup, plans: ServingPlans) -> Phases:
    """Return the phases of serving under each plan; prompts are processed by the replicas that do so."""
    found = phases_of(setup, plans.plans)
    if plans.ahead is None:
        return found
    ahead = phases_of(setup, plans.ahead, prompt_memory(setup, plans.ahead))
    sent, received = _cache_moved(setup, plans)
    transfer = _transfer(setup, POOLS, np.maximum(sent, received))
    return Phases(of_prefill(ahead.prefill), of_prefill(ahead.slot), found.decode, transfer)


def of_prefill(step: StepTime) -> StepTime:
    """Return a step with its traffic in the groups of replicas that only process prompts."""

    def renamed(chain: StepSequence) -> StepSequence:
        return replace(chain, traffic=tuple(replace(one, group=OF_PREFILL[one.group]) for one in chain.traffic))

    return StepTime(step.plain, tuple(replace(race, chains=tuple(map(renamed, race.chains))) for race in step.races))


def transfer_parts(setup: ServingSetup, plans: ServingPlans) -> tuple[FloatArray, FloatArray]:
    """Return (n,) the parts of a transfer for which it keeps an NPU that sends, and one that receives; one is 1."""
    if plans.ahead is None:
        return _ONE, _ONE
    sent, received = _cache_moved(setup, plans)
    return sent / np.maximum(sent, received), received / np.maximum(sent, received)


def _cache_moved(setup: ServingSetup, plans: ServingPlans) -> tuple[FloatArray, FloatArray]:
    """Return (n,) bytes of a prompt's cache that an NPU of the one pool sends, and one of the other receives.

    The NPUs of a stage that send share out what those receive that hold the same layers: each of them its heads.
    """
    ahead, plan, received = plans.of_prefill, plans.plans, cache_of_prompt(setup, plans.plans)
    most_sent, most_held = (sum(layers_of_stage(setup.decoder, one)) for one in (ahead, plan))
    return np.asarray(received * (most_sent / most_held) * (plan.tp / ahead.tp)), received


def _transfer(setup: ServingSetup, group: str, size: FloatArray) -> StepTime:
    sent = Traffic("transfer", group, NextStage(), size, _ONE)
    return StepTime({"overhead": np.full(1, setup.stack.hop)}, (_alone(sent),))
