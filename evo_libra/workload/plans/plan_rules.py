"""Divisibility rules of a parallelisation plan, its needs if its optimizer is not on the NPUs, and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, gcd

import numpy as np

from evo_libra.arrays import GIGA, BoolArray, FloatArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.parallelism import HOLDS, TENSOR_GROUP, divisors, nearest_divisors
from evo_libra.workload.plans.head_exchange import exchange_mistakes
from evo_libra.workload.plans.plans import (
    DEGREES,
    DUALPIPE,
    EVERY_LAYER,
    NETWORK,
    NPU,
    PLACEMENTS,
    SCHEDULES,
    SHARDED_WEIGHTS,
    Plans,
    context_inside,
    keeps_inside,
)
from evo_libra.workload.plans.recomputation import recompute_text
from evo_libra.workload.plans.schedules import schedule_mistakes
from evo_libra.workload.training.activations import waiting_activations
from evo_libra.workload.training.memory import offloaded_share, parameters
from evo_libra.workload.training.offload import host_memory, in_window
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class _Rule:
    """A rule of plans.

    Attributes
    ----------
    key : the option that breaks it.
    broken : (n,) whether a plan breaks it.
    why : what the first plan breaks, as a sentence.
    """

    key: str
    broken: Callable[[Setup, Plans], BoolArray]
    why: Callable[[Setup, Plans], str]


def host_bytes(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of a host's memory that each of its NPUs needs."""
    assert setup.offload is not None, "only then there is a host"  # noqa: S101 - internal error
    held = parameters(setup, plans)
    owned = np.where(plans.zero >= 1, held.sharded, held.all)
    waiting = waiting_activations(setup, plans) * offloaded_share(setup, plans)
    return host_memory(plans, owned, waiting)


def host_limit(setup: Setup) -> float:
    """Return the bytes of a host's memory that plans may use, of an NPU's share."""
    assert setup.offload is not None, "only then there is a host"  # noqa: S101 - internal error
    return np.inf if setup.offload.host is None else setup.offload.host.memory_capacity


def _name(plans: Plans) -> str:
    return PLACEMENTS[int(plans.optimizer[0])]


def _in_hosts(plans: Plans) -> str:
    """Return what a plan has in the memory of hosts."""
    return "what waits for the backward pass" if plans.optimizer[0] == NPU else f"the optimizer in {_name(plans)}"


def _alone(plans: Plans) -> BoolArray:
    """Return (n,) whether some weights are on one NPU only, so that nothing is added up."""
    return np.asarray((plans.cp * plans.dp == 1) | ((plans.ep > 1) & (plans.tp * plans.cp * plans.dp == plans.ep)))


_RULES = (
    _Rule(
        "zero",
        lambda _, plans: np.asarray(in_window(plans) & (plans.zero != SHARDED_WEIGHTS)),
        lambda _, plans: (
            f"found {int(plans.zero[0])}; the optimizer in {_name(plans)} needs zero 3, as NPUs hold a "
            "layer's weights at a time"
        ),
    ),
    _Rule(
        "global_batch",
        lambda setup, plans: np.asarray((plans.optimizer == NETWORK) & (plans.microbatches(setup.global_batch) != 1)),
        lambda setup, plans: (
            f"found {setup.global_batch:,}; servers of the network add up one microbatch of each "
            f"replica, dp {int(plans.dp[0]):,} x micro_batch {int(plans.micro_batch[0]):,} in all"
        ),
    ),
    _Rule(
        "dp",
        lambda _, plans: np.asarray((plans.optimizer == NETWORK) & _alone(plans)),
        lambda _, plans: f"found {int(plans.dp[0])}; servers of the network need several NPUs with the same weights",
    ),
    _Rule(
        "optimizer",
        lambda setup, plans: host_bytes(setup, plans) > host_limit(setup),
        lambda setup, plans: (
            f"{_in_hosts(plans)} needs {float(host_bytes(setup, plans)[0]) / GIGA:.1f} GB "
            f"of the host's memory for each NPU, and there are {host_limit(setup) / GIGA:.1f}"
        ),
    ),
)


def placement_allowed(setup: Setup, plans: Plans) -> BoolArray:
    """Return (n,) whether plans break no rule."""
    if not len(plans.tp):
        return np.ones(0, dtype=np.bool_)
    broken = [np.broadcast_to(rule.broken(setup, plans), len(plans.tp)) for rule in _RULES]
    return np.asarray(~np.logical_or.reduce(broken))


def placement_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[str, str]]:
    """Yield what the first plan breaks: the option, and a sentence."""
    one = plan.select(np.zeros(1, dtype=np.int64))
    if setup.offload is not None:
        of_layers = one.optimizer[0] == NPU and one.offloaded[0] > 0
        for rule in _RULES:
            if rule.broken(setup, one).any():
                key = "offload_layers" if rule.key == "optimizer" and of_layers else rule.key
                yield key, rule.why(setup, one)


def plan_values(plan: Plans) -> dict[str, int]:
    """Return the degrees and the size of a microbatch of the first plan."""
    return {name: int(getattr(plan, name)[0]) for name in (*DEGREES, "micro_batch", "zero", "replicate")}


def plan_text(plan: Plans) -> str:
    """Return the first plan in the notation.

    >>> from evo_libra.workload.plans.plans import one_plan
    >>> plan_text(one_plan(tp=8, pp=16, vp=2, dp=64, zero=1))
    'tp8 pp16x2 dp64 mb1 zero1'
    """
    value = plan_values(plan)
    parts = [f"{name}{value[name]}" for name in ("tp", "cp") if value[name] > 1]
    parts += ["ulysses"] if context_inside(plan)[0] else []
    if value["pp"] > 1:
        parts.append(f"pp{value['pp']}" + (f"x{value['vp']}" if value["vp"] > 1 else ""))
    parts += [SCHEDULES[int(plan.schedule[0])]] if plan.schedule[0] else []
    parts += [f"ep{value['ep']}"] if value["ep"] > 1 else []
    copies = f"x{value['replicate']}" if value["replicate"] > 1 else ""
    parts += [f"dp{value['dp'] // value['replicate']}{copies}", f"mb{value['micro_batch']}", f"zero{value['zero']}"]
    recompute, optimizer = recompute_text(int(plan.recompute[0])), int(plan.optimizer[0])
    parts += [] if recompute == "none" else [recompute]
    away = int(plan.offloaded[0])
    parts += [f"offload{'-all' if away >= EVERY_LAYER else away}"] if away else []
    parts += [] if plan.reshard[0] or value["zero"] != SHARDED_WEIGHTS else ["whole"]
    return " ".join(parts + ([] if optimizer == NPU else [f"opt-{PLACEMENTS[optimizer]}"]))


def plan_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[str, str]]:
    """Yield what the first plan does not divide: the option, and a sentence with what would be allowed."""
    value, model = plan_values(plan), setup.decoder
    if model.heads % value["tp"] and not setup.uneven_heads:
        ways = "`uneven_heads: true` splits heads"
        yield "tp", f"found {value['tp']}; it must divide the {model.heads} heads: {_listed(model.heads)}; {ways}"
    elif setup.domain is not None and value["tp"] > setup.domain and keeps_inside(plan, _anywhere(setup))[0]:
        yield "tp", f"found {value['tp']}; no scale-up domain, of {setup.domain} NPUs at most, {HOLDS[TENSOR_GROUP]}"
    if setup.sequence % value["cp"]:
        near = nearest_divisors(setup.sequence, value["cp"])
        yield "cp", f"found {value['cp']}; it must divide the sequence of {setup.sequence:,} tokens; {near}"
    elif plan.sequence_parallel[0] and setup.sequence % (both := value["tp"] * value["cp"]):
        rule = f"sequence parallelism needs a multiple of tp {value['tp']} x cp {value['cp']} = {both}"
        yield "sequence", f"found {setup.sequence:,}; {rule}; `sequence_parallel: false` does without"
    yield from exchange_mistakes(setup, plan)
    yield from _stage_mistakes(setup, value)
    yield from _expert_mistakes(model, value)
    yield from _batch_mistakes(setup, value)
    yield from replicate_mistakes(plan, model)
    yield from schedule_mistakes(plan, float(plan.microbatches(setup.global_batch)[0]))
    yield from placement_mistakes(setup, plan)


def _anywhere(setup: Setup) -> BoolArray:
    return np.array([setup.tensor_anywhere])


def longest_stage(setup: Setup, stages: int) -> int:
    """Return the layers of the longest stage; embedding and loss count as a layer each where the setup says so."""
    return ceil((setup.decoder.layers + sum(setup.ends)) / stages)


def virtual_stages(setup: Setup, stages: int) -> list[int]:
    """Return how many virtual stages an NPU may have: as many as divide the layers of the longest stage.

    A balanced stage with the embedding or the head has a layer less, so that what divides its layers is right, too:
    Llama 3's 405B has 16 stages of 8, but 7 in the first and the last one, and 7 virtual stages.
    """
    if stages == 1:
        return [1]
    longest = longest_stage(setup, stages)
    less = divisors(longest - 1) if any(setup.ends) and longest > 1 else []
    return sorted({*divisors(longest), *less})


def _stage_mistakes(setup: Setup, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    layers, stages, chunks = setup.decoder.layers + sum(setup.ends), value["pp"], value["vp"]
    what = f"{layers} layers" + _counted(setup)
    allowed = ", ".join(map(str, virtual_stages(setup, stages)))
    if stages == 1 and chunks > 1:
        yield "vp", f"found {chunks}; virtual stages need a pipeline: pp of 2 or more"
    elif stages > layers:
        yield "pp", f"found {stages}; the {what} make {layers} stages at most"
    elif layers % stages and not setup.uneven:
        ways = "`uneven: true` allows a shorter stage"
        if not any(setup.ends) and (layers + 2) % stages == 0:
            ways += f", and `balanced: true` counts embedding and head, {layers + 2} in all"
        yield "pp", f"found {stages}; it must divide the {what.rstrip(',')}: {_listed(layers)}; {ways}"
    elif chunks not in virtual_stages(setup, stages):
        longest = longest_stage(setup, stages)
        less = f", or the {longest - 1} of one with embedding or head" if any(setup.ends) else ""
        kind = "the longest stage" if layers % stages else "a stage"
        yield "vp", f"found {chunks}; it must divide the {longest} layers of {kind}{less}: {allowed}"


def _counted(setup: Setup) -> str:
    """Return what counts as a layer, as a part of a sentence."""
    names = [name for name, counts in zip(("embedding", "head"), setup.ends, strict=True) if counts]
    return f", {' and '.join(names)} counted," if names else ""


def replicate_mistakes(plan: Plans, model: Decoder) -> Iterator[tuple[str, str]]:
    """Yield why the shards of the first plan cannot have copies: the option, and a sentence."""
    copies, replicas = int(plan.replicate[0]), int(plan.dp[0])
    if copies == 1:
        return
    if replicas % copies:
        yield "replicate", f"found {copies}; it must divide dp {replicas}: {_listed(replicas)}"
    if plan.zero[0] == 0:
        yield "replicate", f"found {copies}; zero 0 shards nothing that could have copies, and 1 to 3 do"
    if model.expert_count > 1:
        yield "replicate", f"found {copies}; shards of {model.name}, which has experts, have no copies here"
    if plan.optimizer[0] != NPU or plan.schedule[0] == DUALPIPE:
        yield "replicate", f"found {copies}; copies of shards are on NPUs, one stage on each: no offload, no dualpipe"


def replicate_allowed(plans: Plans, model: Decoder) -> BoolArray:
    """Return (n,) whether shards can have copies, where plans say so."""
    right = (plans.dp % plans.replicate == 0) & (plans.zero > 0) & (model.expert_count == 1)
    return np.asarray((plans.replicate == 1) | (right & (plans.optimizer == NPU) & (plans.schedule != DUALPIPE)))


def _expert_mistakes(model: Decoder, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    experts, inside = model.expert_count, value["tp"] * value["cp"] * value["dp"]
    if value["ep"] == 1:
        return
    if experts == 1:
        yield "ep", f"found {value['ep']}; {model.name} has no experts, so only 1 is allowed"
    elif experts % value["ep"]:
        allowed = _listed(gcd(experts, inside))
        yield "ep", f"found {value['ep']}; it must divide the {experts} experts: {allowed}"
    elif inside % value["ep"]:
        allowed = _listed(gcd(experts, inside))
        yield "ep", f"found {value['ep']}; it must divide tp x cp x dp = {inside:,} and the experts: {allowed}"


def _batch_mistakes(setup: Setup, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    each = value["dp"] * value["micro_batch"]
    product = f"dp {value['dp']:,} x micro_batch {value['micro_batch']:,}"
    if setup.global_batch % each:
        shared = f"found {setup.global_batch:,} sequences; {product} cannot share them evenly"
        yield "global_batch", f"{shared}. {_even(setup, value)}"
    elif value["vp"] > 1 and setup.global_batch // each % value["pp"]:
        rule = f"an interleaved pipeline needs a multiple of pp {value['pp']} as microbatches"
        ways = f"vp 1 does without, and a global_batch of a multiple of {product} x pp {value['pp']} has them"
        yield "vp", f"found {value['vp']}; {rule}, and there are {setup.global_batch // each:,}; {ways}"


def _even(setup: Setup, value: dict[str, int]) -> str:
    """Return the number of NPUs and the batch that are the nearest ones without a rest."""
    batch, micro_batch, each = setup.global_batch, value["micro_batch"], value["dp"] * value["micro_batch"]
    ways = [f"a batch of {max(1, round(batch / each)) * each:,}"]
    if batch % micro_batch == 0:
        dp = min(divisors(batch // micro_batch), key=lambda number: abs(number - value["dp"]))
        ways.insert(0, f"{value['tp'] * value['cp'] * value['pp'] * dp:,} NPUs")
    return f"Nearest: {', or '.join(ways)}"


def _listed(number: int) -> str:
    return ", ".join(map(str, divisors(number)))
