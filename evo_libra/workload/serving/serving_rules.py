"""What a plan of serving must divide, all plans that do, and the plan as people write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from evo_libra.workload.parallelism import divisors
from evo_libra.workload.serving.served_times import ServingPlans
from evo_libra.workload.step.decoder import Decoder
from evo_libra.workload.step.plans import Plans, one_plan

Values = Sequence[int] | None
"""Allowed values; None for all that divide."""


@dataclass(frozen=True)
class ServingSpace:
    """What plans of serving may choose.

    Attributes
    ----------
    npus : of the cluster.
    tp, pp, ep : allowed NPUs of a group.
    dp : allowed replicas; None for what is left of the NPUs.
    concurrency : requests that a replica answers at a time.
    prefill : parts of the replicas that only process prompts; 0 for none.
    """

    npus: int
    tp: Values
    pp: Values
    ep: Values
    dp: Values
    concurrency: Sequence[int]
    prefill: Sequence[float] = (0.0,)


def every_serving_plan(model: Decoder, space: ServingSpace) -> ServingPlans:
    """Return all plans of a space that divide what they must."""
    experts = 1 if model.experts is None else model.experts.count
    rows = []
    for tp, pp, ep, share in product(
        divisors(model.heads) if space.tp is None else space.tp,
        divisors(model.layers) if space.pp is None else space.pp,
        divisors(experts) if space.ep is None else space.ep,
        space.prefill,
    ):
        value = {"tp": tp, "pp": pp, "ep": ep, "dp": space.npus // (tp * pp)}
        if (space.dp is None or value["dp"] in space.dp) and not list(_mistakes(model, space.npus, value, share)):
            rows += [(*value.values(), users, round(share * value["dp"])) for users in space.concurrency]
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 6).T
    fields = {name: np.broadcast_to(values, len(rows)) for name, values in vars(one_plan()).items()}
    chosen = dict(zip(("tp", "pp", "ep", "dp", "micro_batch"), columns[:5], strict=True))
    return ServingPlans(Plans(**{**fields, **chosen}), columns[5])


def serving_mistakes(model: Decoder, npus: int, space: ServingSpace) -> list[tuple[str, str]]:
    """Return what the first values of a space break: the option, and a sentence with what would be allowed."""
    first = {name: (values or (1,))[0] for name, values in (("tp", space.tp), ("pp", space.pp), ("ep", space.ep))}
    value = {**first, "dp": npus // (first["tp"] * first["pp"])}
    found = list(_mistakes(model, npus, value, space.prefill[0]))
    if not found and space.dp is not None and value["dp"] not in space.dp:
        found = [("dp", f"found {_listed(space.dp)}; tp {value['tp']} x pp {value['pp']} leave {value['dp']:,}")]
    return found


def _mistakes(model: Decoder, npus: int, value: dict[str, int], share: float) -> Iterator[tuple[str, str]]:
    tp, pp, ep, dp = (value[name] for name in ("tp", "pp", "ep", "dp"))
    if model.heads % tp:
        yield "tp", f"found {tp}; it must divide the {model.heads} heads: {_listed(divisors(model.heads))}"
    elif pp > model.layers:
        yield "pp", f"found {pp}; the {model.layers} layers make {model.layers} stages at most"
    elif npus % (tp * pp):
        yield "pp", f"tp {tp} x pp {pp} does not divide the {npus:,} NPUs"
    else:
        yield from _expert_mistakes(model, tp, ep, dp, round(share * dp))
        yield from _pool_mistakes(dp, share)


def _expert_mistakes(model: Decoder, tp: int, ep: int, dp: int, prefill: int) -> Iterator[tuple[str, str]]:
    if ep == 1:
        return
    if model.experts is None:
        yield "ep", f"found {ep}; {model.name} has no experts, so that only 1 is allowed"
    elif model.experts.count % ep:
        yield "ep", f"found {ep}; it must divide the {model.experts.count} experts"
    elif any(tp * pool % ep for pool in (dp - prefill, prefill)):
        pools = (
            f"tp {tp} x dp {dp:,}"
            if not prefill
            else f"tp {tp} x the replicas of each pool, {dp - prefill:,} and {prefill:,}"
        )
        yield "ep", f"found {ep}; it must divide {pools}"


def _pool_mistakes(dp: int, share: float) -> Iterator[tuple[str, str]]:
    # A part that a file rounds, such as 0.333, is that of the nearest small fraction.
    if share and (Fraction(share).limit_denominator(1024) * dp).denominator > 1:
        yield "prefill", f"found {share:g}; that is {share * dp:.4g} of {dp:,} replicas, and they are whole"


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def serving_text(plans: ServingPlans, n: int) -> str:
    """Return one plan in the notation.

    >>> serving_text(ServingPlans(one_plan(tp=4, dp=8, micro_batch=32), np.array([2])), 0)
    'tp4 dp8 c32 prefill2'
    """
    value = {name: int(np.broadcast_to(getattr(plans.plans, name), len(plans.plans))[n]) for name in _WRITTEN}
    parts = [f"{name}{value[name]}" for name in ("tp", "pp", "ep") if value[name] > 1]
    prefill = int(np.broadcast_to(plans.prefill, len(plans.plans))[n])
    parts += [f"dp{value['dp']}", f"c{value['micro_batch']}"]
    return " ".join([*parts, *([f"prefill{prefill}"] if prefill else [])])


_WRITTEN = ("tp", "pp", "ep", "dp", "micro_batch")
