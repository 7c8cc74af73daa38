"""Divisibility rules of a plan of serving, all plans that keep them, and its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.parallelism import divisors
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.serving_plans import DEGREES, ServingPlans

Values = Sequence[int] | None
"""Allowed values; None for all that divide."""


@dataclass(frozen=True)
class ServingSpace:
    """Choices of plans of serving.

    Attributes
    ----------
    npus : of the cluster.
    tp, pp, ep : allowed NPUs of a group.
    dp : allowed replicas; None for what is left of the NPUs.
    concurrency : requests that a replica answers at a time.
    prefill : parts of the NPUs whose replicas only process prompts; 0 for none.
    ahead : allowed degrees of those replicas; a degree that is left out is that of the others.
    redundant : copies of experts, with which an expert parallel group divides them.
    """

    npus: int
    tp: Values
    pp: Values
    ep: Values
    dp: Values
    concurrency: Sequence[int]
    prefill: Sequence[float] = (0.0,)
    ahead: Mapping[str, Values] = field(default_factory=dict)
    redundant: int = 0

    def values(self, model: Decoder, name: str, given: Values) -> Sequence[int]:
        """Return the allowed values of a degree: those that are given, or all that divide."""
        if given is not None:
            return given
        return divisors({"tp": model.heads, "pp": model.layers, "ep": model.expert_count + self.redundant}[name])


_Degrees = tuple[int, ...]
"""Those of `DEGREES`."""


def every_serving_plan(model: Decoder, space: ServingSpace) -> ServingPlans:
    """Return all plans of a space that divide what they must."""
    rows = []
    own = [space.values(model, name, getattr(space, name)) for name in DEGREES]
    for degrees, share in product(product(*own), space.prefill):
        for ahead in _ahead(model, space, degrees, share):
            if not list(_mistakes(model, space, degrees, ahead, share)):
                prefill = int(_part(share) * space.npus) // (ahead[0] * ahead[1])
                dp = space.npus // (degrees[0] * degrees[1])
                rows += [(*degrees, dp, users, prefill, *ahead) for users in space.concurrency]
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 9).T
    plans = _plans(columns[:3], columns[3], columns[4])
    if not space.ahead:
        found = ServingPlans(plans, columns[5])
    else:
        npus = np.full(len(rows), space.npus)
        found = ServingPlans(plans, columns[5], _plans(columns[6:], npus // (columns[6] * columns[7]), columns[4]))
    kept = np.ones(len(rows), dtype=np.bool_) if space.dp is None else np.isin(found.replicas, space.dp)
    return found.take(np.flatnonzero(kept))


def _ahead(model: Decoder, space: ServingSpace, degrees: _Degrees, share: float) -> Iterable[_Degrees]:
    """Return the degrees that replicas for prompts alone may have next to others of some degrees."""
    if not share:
        return [degrees]
    return product(*(
        space.values(model, name, space.ahead[name]) if name in space.ahead else (degree,)
        for name, degree in zip(DEGREES, degrees, strict=True)
    ))  # fmt: skip


def _plans(degrees: IntArray, dp: IntArray, users: IntArray) -> Plans:
    fields = {name: np.broadcast_to(values, len(dp)) for name, values in vars(one_plan()).items()}
    return Plans(**{**fields, **dict(zip(DEGREES, degrees, strict=True)), "dp": dp, "micro_batch": users})


def serving_mistakes(model: Decoder, npus: int, space: ServingSpace) -> list[tuple[str, str]]:
    """Return what the first values of a space break: the option, and a sentence with what would be allowed."""
    tp, pp, ep = ((getattr(space, name) or (1,))[0] for name in DEGREES)
    share = space.prefill[0]
    ahead = tuple(
        (space.ahead[name] or (1,))[0] if name in space.ahead and share else degree
        for name, degree in zip(DEGREES, (tp, pp, ep), strict=True)
    )
    found = list(_mistakes(model, replace(space, npus=npus), (tp, pp, ep), ahead, share))
    if not found and space.dp is not None and npus // (tp * pp) not in space.dp:
        found = [("dp", f"found {_listed(space.dp)}; tp {tp} x pp {pp} leave {npus // (tp * pp):,}")]
    return found


def _mistakes(
    model: Decoder, space: ServingSpace, degrees: _Degrees, ahead: _Degrees, share: float
) -> Iterator[tuple[str, str]]:
    (tp, pp, ep), npus, held = degrees, space.npus, model.expert_count + space.redundant
    dp = npus // (tp * pp)
    found = list(_degree_mistakes(model, npus, degrees))
    if found:
        yield from found
    elif degrees != ahead:
        yield from _own_mistakes(model, space, degrees, ahead, share)
    else:
        yield from _expert_mistakes(model, held, (tp, ep, dp), round(share * dp))
        yield from _pool_mistakes(dp, share)


def _degree_mistakes(model: Decoder, npus: int, degrees: _Degrees) -> Iterator[tuple[str, str]]:
    tp, pp, _ = degrees
    if model.heads % tp:
        yield "tp", f"found {tp}; it must divide the {model.heads} heads: {_listed(divisors(model.heads))}"
    elif pp > model.layers:
        yield "pp", f"found {pp}; the {model.layers} layers make {model.layers} stages at most"
    elif npus % (tp * pp):
        yield "pp", f"tp {tp} x pp {pp} does not divide the {npus:,} NPUs"


def _expert_mistakes(model: Decoder, held: int, degrees: _Degrees, prefill: int) -> Iterator[tuple[str, str]]:
    tp, ep, dp = degrees
    if ep == 1:
        return
    if model.expert_count == 1:
        yield "ep", f"found {ep}; {model.name} has no experts, so only 1 is allowed"
    elif held % ep:
        copies = held - model.expert_count
        yield "ep", f"found {ep}; it must divide the {held} experts{f', {copies} of them copies' if copies else ''}"
    elif any(tp * pool % ep for pool in (dp - prefill, prefill)):
        pools = (
            f"tp {tp} x dp {dp:,}"
            if not prefill
            else f"tp {tp} x the replicas of each pool, {dp - prefill:,} and {prefill:,}"
        )
        yield "ep", f"found {ep}; it must divide {pools}"


def _pool_mistakes(dp: int, share: float) -> Iterator[tuple[str, str]]:
    if share and (_part(share) * dp).denominator > 1:
        yield "prefill", f"found {share:g}; that is {share * dp:.4g} of {dp:,} replicas, and they are whole"


def _own_mistakes(
    model: Decoder, space: ServingSpace, degrees: _Degrees, ahead: _Degrees, share: float
) -> Iterator[tuple[str, str]]:
    """Yield what pools whose replicas have other degrees break.

    Each pool has as many NPUs of each stage of the longer pipeline, so that its groups lie on adjacent NPUs: those of
    the larger tensor parallel groups first, then the others.
    """
    npus, held = space.npus, model.expert_count + space.redundant
    for key, text in _degree_mistakes(model, npus, ahead):
        yield f"prefill_parallelism.{key}", text
        return
    for key, one, other in zip(DEGREES[:2], degrees, ahead, strict=False):
        if max(one, other) % min(one, other):
            yield f"prefill_parallelism.{key}", f"found {other} next to {one}; one must be a multiple of the other"
            return
    stages, group = max(degrees[1], ahead[1]), max(degrees[0], ahead[0])
    if npus % (stages * group):
        yield "prefill_parallelism", f"tp {group} x pp {stages}, the larger ones, do not divide the {npus:,} NPUs"
        return
    for (tp, pp, ep), part in ((degrees, 1 - _part(share)), (ahead, _part(share))):
        mine = part * npus / stages
        if mine.denominator > 1 or int(mine) % tp:
            yield (
                "prefill",
                f"found {share:g}; a pool has {float(mine):.4g} NPUs of a stage, no multiple of its tp {tp}",
            )
        else:
            dp = int(mine) * stages // (tp * pp)
            yield from (
                (f"prefill_parallelism.{key}", text) for key, text in _expert_mistakes(model, held, (tp, ep, dp), 0)
            )


def _part(share: float) -> Fraction:
    """Return a part that a file rounds, such as 0.3333, as the nearest small fraction."""
    return Fraction(share).limit_denominator(1024)


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def serving_text(plans: ServingPlans, n: int) -> str:
    """Return one plan in the notation; a degree of replicas for prompts alone is written where it is another one.

    >>> serving_text(ServingPlans(one_plan(tp=4, dp=8, micro_batch=32), np.array([2])), 0)
    'tp4 dp8 c32 prefill2'
    """
    one = plans.select(np.array([n]))
    own, ahead = ({name: int(getattr(each, name)[0]) for name in DEGREES} for each in (one.plans, one.of_prefill))
    prefill = int(one.prefill[0])
    parts = [f"{name}{value}" for name, value in own.items() if value > 1]
    parts += [f"dp{int(one.replicas[0])}", f"c{int(one.plans.micro_batch[0])}"]
    parts += [f"prefill{prefill}"] if prefill else []
    return " ".join([*parts, *(f"prefill-{name}{value}" for name, value in ahead.items() if value != own[name])])
