"""Phases of serving: prefill of a prompt, decoding steps, and the cache that moves from pool to pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Dispatch, NextStage, PushPull, Streamed
from evo_libra.workload.models.layer_stack import Counted
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.decoding import head_step, part_step, sequences, step_share
from evo_libra.workload.serving.experts import (
    GroupedSeconds,
    WithoutExperts,
    busiest,
    element_bytes,
    in_step,
    march,
    routed,
)
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
    beside : by which one prompt makes steps of decoding longer, whose passes it shares.
    decode : of a step that gives each user of a replica a token.
    transfer : of the cache of a prompt from one replica to another.
    """

    prefill: StepTime
    slot: StepTime
    beside: StepTime
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
    stage, slack = np.where(plans.pp > 1, 1.0, 0.0), _Pass(setup, plans, longest, _ONE, _NONE).slack()
    slot = _Pass(setup, plans, longest, _ONE, stage, away=away)
    shared = replace(slot, prompts=prompts_of_pass(setup, plans))
    whole = _Pass(setup, plans, every, _ONE, np.where(plans.pp > 1, plans.pp - 1.0, 0.0), away=away).prefill()
    server = {**whole.plain, "overhead": whole.plain["overhead"] + setup.stack.server_first}
    return Phases(
        replace(whole, plain=server),
        slot.prefill(),
        shared.beside(slack),
        _Pass(setup, plans, held, heads, sends, away=away).decode(),
        _transfer(setup, "dp", cache_of_prompt(setup, plans)),
    )


def prompts_of_step(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) prompts that begin in a step of decoding: those of the other users of a replica, in its steps."""
    return np.asarray(np.maximum(plans.micro_batch - 1.0, _FEW) / (setup.answer - 1.0))


_FEW = 0.5
"""Other users of a single one, for whom nothing is divided by nothing; no prompt counts for them."""


def prompts_of_pass(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) prompts that share a pass: those of a step that its tokens allow, one at a time in a pipeline."""
    together = np.minimum(float(setup.budget // setup.prompt), prompts_of_step(setup, plans))
    return np.where(plans.pp > 1, 1.0, np.maximum(together, 1.0))


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
        _Pass(setup, plan, layers, heads, sends * (not last)).prefill(),
        _Pass(setup, plan, layers, heads, sends).decode(),
    )


@dataclass(frozen=True)
class _Pass:
    """A pass through some layers, with some times the head, and sends to the next stages.

    Attributes
    ----------
    away : contents of the expansion memory, None where all is in the NPU's own.
    prompts : (n,) of a pass over prompts, whose times are those of one.
    """

    setup: ServingSetup
    plans: Plans
    layers: Layers
    heads: FloatArray
    sends: FloatArray
    away: ExpansionAccess | None = None
    prompts: FloatArray = field(default_factory=lambda: np.ones(1))

    @property
    def parts(self) -> list[Counted]:
        """The sublayers with their (n,) counts."""
        return self.setup.decoder.stack.parts(self.layers)

    def dense(self) -> FloatArray:
        """Return (n,) s of a prompt outside of the products of experts."""
        many = Plans(**{**vars(self.plans), "micro_batch": self.prompts})
        parts: list[Counted] = [
            (count, WithoutExperts(part.hidden, part) if part.per_token else part) for count, part in self.parts
        ]
        return layer_time(self.setup.forward, with_split_experts(many), parts).forward / self.prompts

    def grouped(self) -> GroupedSeconds:
        """Return (n,) s of a prompt in the products of experts."""
        share, tokens = step_share(self.plans), self.prompts * self.setup.prompt
        found = GroupedSeconds(_NONE, _NONE, _NONE)
        for count, part in self.parts:
            if part.per_token:
                one = self.setup.grouped(self.plans, routed(part.matrices(share)), tokens)
                found = found.plus(one, count / self.prompts)
        return found

    def prefill(self) -> StepTime:
        """Return the time of a prompt in a pass of prompts alone."""
        rows = np.full(1, float(self.setup.prompt))
        head = self.heads * head_step(self.setup, self.plans, self.prompts) / self.prompts
        compute = np.maximum(self.dense() + self.grouped().all, self.setup.stack.prompt_floor / self.prompts)
        plain = {"compute": compute, "head": head}
        plain = self._with_expansion(plain, rows, cache_bytes(self.setup, self.plans, self.setup.prompt, self.layers))
        step = self._with_communication(plain, rows, prompt=True)
        return self._with_ends(step, (rows, _ONE, self.heads))

    def beside(self, slack: FloatArray) -> StepTime:
        """Return by how much a prompt makes steps of decoding longer: its FLOP hide what these read, for (n,) s.

        A step without a pipeline pays the launches and its collectives, and reads the weights. Of ranks in step, the
        dense part of the busiest one counts, and the experts of all.
        """
        setup, plans, alone = self.setup, self.plans, self.prefill()
        mean = prompts_of_step(setup, plans)
        grouped, together = self.grouped(), in_step(plans)
        wait = busiest(mean, plans.ep / np.minimum(plans.tp, plans.ep)) / mean - 1.0
        dense = self.dense() * np.where(together, 1.0 + setup.misalignment * wait, 1.0)
        experts = np.where(together, grouped.flop, grouped.all)
        shared = (
            dense + experts - np.where(together, 0.0, np.minimum(slack * np.minimum(1.0, 1.0 / mean), dense + experts))
        )
        apart = plans.pp > 1
        plain = {name: np.where(apart, seconds, 0.0) for name, seconds in alone.plain.items()}
        shared = np.where(together, shared, np.maximum(shared, setup.stack.prompt_floor / self.prompts))
        plain["compute"] = march(plans) * np.where(apart, dense + grouped.all, shared)
        paid = replace(self, prompts=_ONE, away=None).decode()
        return _scaled(_beyond_those(replace(alone, plain=plain), paid, where=~apart), march(plans))

    def slack(self) -> FloatArray:
        """Return (n,) s that the products of a step of decoding take beyond their FLOP."""
        found = _NONE
        for count, part in self.parts:
            step = part_step(self.setup, self.plans, part)
            found = found + count * (step.products - step.flop)
        return found

    def decode(self) -> StepTime:
        """Return the time of a step of decoding."""
        setup, plans = self.setup, self.plans
        products, cache, rows = _NONE, _NONE, sequences(plans)
        for count, part in self.parts:
            step = part_step(setup, plans, part)
            products, cache = products + count * step.products, cache + count * step.cache
        plain = {"compute": products, "cache": cache, "head": self.heads * head_step(setup, plans, rows)}
        plain = self._with_expansion(plain, rows, rows * context_bytes(setup, plans, self.layers))
        found = self._with_ends(self._with_communication(plain, rows, prompt=False), (rows, rows, self.heads))
        longer = march(plans)
        plain = {name: longer * seconds for name, seconds in found.plain.items()}
        return _scaled(replace(found, plain=plain), longer)

    def _with_expansion(
        self, plain: dict[str, FloatArray], rows: FloatArray, cache: FloatArray
    ) -> dict[str, FloatArray]:
        """Return the parts of a pass with accesses to expansion memory, which run alongside the others."""
        if self.away is None:
            return plain
        accesses = self.away.seconds(self.setup, self.plans, self.layers, rows, cache)
        return {**plain, EXPANSION: np.maximum(accesses - sum(plain.values(), _NONE), 0.0)}

    def _with_communication(self, plain: dict[str, FloatArray], rows: FloatArray, *, prompt: bool) -> StepTime:
        """Return compute with the communication for (n,) rows of activations, and of sends to next stages.

        Collectives take their bytes and what the software measured on the links of a design; a layer has launches
        besides. Prompts of a pass share both.
        """
        setup, plans, many = self.setup, self.plans, self.prompts
        sent, beyond = _collectives(setup, plans, many * rows, self.layers)
        message = Traffic(
            "pipeline", PIPELINE, NextStage(), 2.0 * many * rows * setup.decoder.hidden / plans.tp, self.sends
        )
        degrees = {TENSOR: plans.tp, EXPERT: plans.ep, PIPELINE: plans.pp}
        races = tuple(
            _alone(replace(
                _measured(setup, one, degrees[one.group], prompt=prompt), operations=one.operations / many
            ))
            for one in (*sent, message)
        )  # fmt: skip
        with_experts = sum((count for count, part in self.parts if part.per_token), _NONE)
        # Grouped products of ranks in step have the launches of experts in their own fixed time.
        routed_layers = np.where(in_step(plans), 0.0, with_experts)
        launches = setup.stack.layer * sum(self.layers) + setup.stack.routed * routed_layers
        overhead = (beyond + (setup.stack.hop or 0.0) * self.sends + launches) / many
        return StepTime({**plain, "overhead": overhead}, races)

    def _with_ends(self, step: StepTime, counts: tuple[FloatArray, FloatArray, FloatArray]) -> StepTime:
        """Return a step with what is sent before and after it: for (n,) tokens of sequences, a number of times."""
        setup, plans, (tokens, rows, times) = self.setup, self.plans, counts
        ends, npus, model = setup.ends, plans.tp.astype(float), setup.decoder
        found = ends.traffic(tokens, rows, times, hidden=model.hidden, vocabulary=model.vocabulary, npus=npus)
        sent = tuple(_alone(_measured(setup, one, plans.tp, prompt=False)) for one in found)
        beyond = ends.collectives * times * setup.stack.beyond_bytes(plans.tp)
        return StepTime({**step.plain, "overhead": step.plain["overhead"] + beyond}, (*step.races, *sent))


def _changed(step: StepTime, change: Callable[[Traffic], Traffic]) -> StepTime:
    """Return a step with other traffic."""
    races = tuple(
        replace(race, chains=tuple(replace(chain, traffic=tuple(map(change, chain.traffic))) for chain in race.chains))
        for race in step.races
    )
    return replace(step, races=races)


def _scaled(step: StepTime, factor: FloatArray) -> StepTime:
    """Return a step with (n,) times its traffic."""
    return _changed(step, lambda sent: replace(sent, operations=sent.operations * factor))


def _beyond_those(step: StepTime, paid: StepTime, *, where: BoolArray) -> StepTime:
    """Return a step in which software takes what it takes longer for larger operations than for those of another."""
    known = {sent.part: sent for race in paid.races for sent in race.sent}

    def longer(sent: Traffic) -> Traffic:
        smaller = known[sent.part].beyond
        beyond = {
            link: np.where(where, np.maximum(seconds - smaller[link], 0.0), seconds)
            for link, seconds in sent.beyond.items()
        }
        return replace(sent, beyond=beyond)

    return _changed(step, longer)


def _measured(setup: ServingSetup, sent: Traffic, npus: IntArray, *, prompt: bool) -> Traffic:
    """Return traffic with what the software takes beyond its bytes among (n,) NPUs."""
    assert not isinstance(sent.operation, PushPull | Streamed), "serving has no servers of weights"  # noqa: S101 - internal error
    beyond = setup.stack.of_links(setup.accelerator, sent.operation, sent.size, npus, prompt=prompt)
    return replace(sent, beyond=beyond)


def _alone(sent: Traffic) -> StepOverlap:
    return StepOverlap((StepSequence(_NONE, (sent,)),), _ONE)


def _collectives(
    setup: ServingSetup, plans: Plans, rows: FloatArray, layers: Layers
) -> tuple[list[Traffic], FloatArray]:
    """Return what layers send, and the (n,) seconds that it takes beyond its bytes.

    A layer has an all-reduce after each part. Of experts that an expert parallel group of several replicas shares out,
    it is an all-to-all to them, in the precision of their products, and one back in 16 bits. Without shared experts,
    tokens are split over the group before they are sent, and gathered behind the experts. A group inside of the tensor
    parallel one has all tokens on each NPU, and reduces outputs as without experts.
    """
    size, found, reduced, counted, beyond = 2.0 * rows * setup.decoder.hidden, list[Traffic](), _NONE, _NONE, _NONE
    for count, part in setup.decoder.stack.parts(layers):
        counted = counted + count
        away = in_step(plans)
        reduced = reduced + (count if part.reduces else np.where(away, 0.0, count))
        if part.per_token:
            width = (element_bytes(setup.expert_products) + 2.0) / 4.0
            copies, times = width * size / plans.tp * part.per_token, np.where(away, 2.0 * count, 0.0)
            found.append(Traffic("expert", EXPERT, Dispatch(part.per_token), copies, times))
            beyond = beyond + times * setup.stack.beyond_bytes(plans.ep)
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
    return Phases(of_prefill(ahead.prefill), of_prefill(ahead.slot), of_prefill(ahead.beside), found.decode, transfer)


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
    sent = _measured(setup, Traffic("transfer", group, NextStage(), size, _ONE), np.full(1, 2), prompt=True)
    return StepTime({"overhead": np.full(1, setup.stack.hop or 0.0)}, (_alone(sent),))
