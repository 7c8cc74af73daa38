"""Placement of the process groups of a plan on a network, and the time of a byte of their traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import BeyondBytes, Dispatch, NextStage, Pattern, PushPull, time_per_byte, unit_traffic
from evo_libra.network.catalog.collective_latency import KINDS, NETWORKS, link_factor
from evo_libra.workload.parallelism import BEYOND, lay_groups
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.races import (
    CONTEXT,
    COPIES,
    DATA,
    EXPERT,
    EXPERT_DATA,
    OF_PREFILL,
    PIPELINE,
    POOLS,
    SHARDS,
    TENSOR,
    PerByte,
)

Placed = tuple[IntArray, IntArray]
"""(d, n) NPUs of each dimension in a group, and how far apart they are."""

ORDER = (TENSOR, CONTEXT, "dp", PIPELINE)
"""Order of the process groups of a plan on a network, the innermost first, unless a file says otherwise."""


def placed_groups(
    npus: IntArray, degrees: Mapping[str, IntArray], order: IntArray, *, routed: bool = True
) -> tuple[dict[str, Placed], BoolArray]:
    """Return where the groups of plans lie on (d, n) dimensions, and (n,) whether all found their NPUs.

    An expert parallel group takes the innermost NPUs of a pipeline stage, its copies the others. The pipeline parts the
    NPUs of a stage only where it has several stages.

    Parameters
    ----------
    degrees : (n,) NPUs of the groups of `ORDER` and of the expert parallel group; maybe of those of `OF_PREFILL` and
        `POOLS`, too.
    order : (4, n) which group of `ORDER` is the innermost, the next one and so on.
    routed : whether there are expert parallel groups.
    """
    sizes = np.take_along_axis(np.stack([degrees[group] for group in ORDER]), order, axis=0)
    extent, fits = lay_groups(npus, sizes)
    found = _dense(extent, order)
    if "replicate" in degrees:
        found |= _sharded(found, degrees["dp"] // degrees["replicate"])
    if routed:
        # The pipeline lies between NPUs of a stage: those inside it, and those outside.
        inside = (np.arange(len(ORDER))[:, None] < _place(order, PIPELINE)) | (degrees[PIPELINE] == 1)
        inner = np.where(inside, sizes, 1).prod(axis=0)
        stage = degrees[TENSOR] * degrees[CONTEXT] * degrees["dp"]
        near = np.gcd(degrees[EXPERT], inner)
        far = degrees[EXPERT] // near
        split = np.stack([near, inner // near, degrees[PIPELINE], far, stage // inner // far])
        extent, held = lay_groups(npus, split)
        fits = fits & held
        stride = np.cumprod(np.concatenate([np.ones_like(extent[:1]), extent[:-1]]), axis=0)
        for group, (first, second) in ((EXPERT, (0, 3)), (EXPERT_DATA, (1, 4))):
            # Groups in two places lie as far apart as the inner one that has several NPUs.
            far_apart = np.where(split[first] > 1, stride[first], stride[second])
            found[group] = extent[first] * extent[second], far_apart
    if OF_PREFILL[TENSOR] in degrees:
        ahead, held = _prefill_groups(npus, degrees, order, routed=routed)
        found, fits = {**found, **ahead}, fits & held
    return found, fits


def _sharded(found: Mapping[str, Placed], shards: IntArray) -> dict[str, Placed]:
    """Return where (n,) innermost shards of the data parallel group lie with the context parallel one, and copies."""
    (extent, apart), (context, near) = found["dp"], found[CONTEXT]
    left, inner = shards.copy(), np.ones_like(extent)
    for d, size in enumerate(extent):
        inner[d] = np.gcd(left, size)
        left = left // inner[d]
    stride = np.where(context.prod(axis=0) > 1, near, apart)
    return {SHARDS: (context * inner, stride), COPIES: (extent // inner, apart * inner)}


def _prefill_groups(
    npus: IntArray, degrees: Mapping[str, IntArray], order: IntArray, *, routed: bool
) -> tuple[dict[str, Placed], BoolArray]:
    """Return where the groups lie of replicas that only process prompts, and both pools; see `placed_groups`."""
    own = {**{group: degrees[name] for group, name in OF_PREFILL.items()}, CONTEXT: degrees[CONTEXT]}
    found, fits = placed_groups(npus, own, order, routed=routed)
    inside = np.minimum(own[TENSOR], degrees[TENSOR])
    extent, held = lay_groups(npus, np.stack([inside, degrees[POOLS]]))
    placed = {name: found[group] for group, name in OF_PREFILL.items() if group in found}
    return {**placed, POOLS: (extent[1], extent[0])}, fits & held


def _place(order: IntArray, group: str) -> IntArray:
    return np.asarray((order == ORDER.index(group)).argmax(axis=0))


def _dense(extent: IntArray, order: IntArray) -> dict[str, Placed]:
    inside = np.cumprod(np.concatenate([np.ones_like(extent[:1]), extent[:-1]]), axis=0)
    found = {}
    for group in ORDER:
        place = _place(order, group)[None, None]
        found[group] = tuple(np.take_along_axis(array, place, axis=0)[0] for array in (extent, inside))
    both = found[CONTEXT][0] * found["dp"][0]
    alone = found["dp"][0].prod(axis=0) == 1
    context = (_place(order, CONTEXT) < _place(order, "dp")) & (found[CONTEXT][0].prod(axis=0) > 1)
    return {**found, DATA: (both, np.where(context | alone, found[CONTEXT][1], found["dp"][1]))}


def per_byte(
    npus: IntArray,
    bandwidth: FloatArray,
    plans: Plans,
    experts_per_token: int = 1,
    *,
    outside: BoolArray | None = None,
    order: IntArray = np.arange(len(ORDER))[:, None],  # noqa: B008 - never written to
    links: Sequence[str] = (),
) -> PerByte:
    """Return what a byte of each group costs, perfectly pipelined (LIBRA's time).

    Parameters
    ----------
    npus, bandwidth : (d, n) sizes of the dimensions and B/s of an NPU in each.
    experts_per_token : copies of a token that an expert parallel group sends.
    outside : (d, n) which dimensions lie beyond scale-up domains; None where none does.
    order : (4, n) as for `placed_groups`.
    links : kind of the links of each dimension, for what software takes beyond bytes; without any it takes nothing.
    """
    count, names = npus.shape[1], (TENSOR, CONTEXT, "dp", PIPELINE, EXPERT)
    degrees = dict(zip(names, (plans.tp, plans.cp, plans.dp, plans.pp, plans.ep), strict=True))
    degrees |= {"replicate": plans.replicate} if (plans.replicate > 1).any() else {}
    sizes = {name: np.broadcast_to(degree, count) for name, degree in degrees.items()}
    groups, _ = placed_groups(npus, sizes, np.broadcast_to(order, (len(ORDER), count)))
    patterns: dict[str, Pattern | NextStage | Dispatch | PushPull] = {
        **dict.fromkeys((TENSOR, CONTEXT, DATA, EXPERT_DATA), Pattern.SHRINKING),
        PIPELINE: NextStage(),
        EXPERT: Dispatch(experts_per_token),
    }
    shared = (SHARDS, COPIES) if "replicate" in sizes else ()
    patterns |= dict.fromkeys(shared, Pattern.SHRINKING)
    sent = {(group, pattern): unit_traffic(pattern, groups[group][0]) for group, pattern in patterns.items()}
    sent[CONTEXT, Pattern.ALL_TO_ALL] = unit_traffic(Pattern.ALL_TO_ALL, groups[CONTEXT][0])
    if outside is not None:
        parts = {
            (group + BEYOND, Pattern.SHRINKING): sent[group, Pattern.SHRINKING]
            for group in (DATA, EXPERT_DATA, *shared)
        }
        sent |= {key: np.where(outside, one, 0.0) for key, one in parts.items()}
    factors = _link_factors(groups, links)
    return PerByte({key: time_per_byte(one, bandwidth) for key, one in sent.items()}, factors)


def _link_factors(groups: Mapping[str, Placed], links: Sequence[str]) -> dict[tuple[str, BeyondBytes], FloatArray]:
    """Return (n,) factors of what software takes by group, on dimensions with some kinds of links."""
    if not links:
        return {}
    kind, network = np.array([[KINDS.index(one)] for one in links]), np.array([[one in NETWORKS] for one in links])
    loads = [BeyondBytes(one, doubling) for one in dict.fromkeys(links) for doubling in (False, True)]
    return {
        (group, load): link_factor(load, extent, *np.broadcast_arrays(kind, network, extent)[:2])
        for group, (extent, _) in groups.items()
        for load in loads
        if not load.doubling or load.link in NETWORKS
    }
