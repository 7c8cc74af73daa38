"""The designs of a front that are recommended, and why: its knee, good ones for less money, the best within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InfeasibleError
from evo_libra.explain.as_json import INLINE, as_json
from evo_libra.explain.candidates import Candidates, Step, candidates_of, step
from evo_libra.explain.reasons import (
    difference_and_band,
    nothing_within,
    price_of_time,
    why_balanced,
    why_near,
    why_within,
)
from evo_libra.front.front import Front
from evo_libra.problem.protocol import TIME

NEAR = 0.05
"""Largest slowdown of a cheaper design against the fastest one."""
KNEE, NEAR_FASTEST = "knee", "cheapest within 5 % of the fastest"
EVEN = "closest to the best of every objective"
"""In the place of the knee of a front that is too short for one."""
WITHIN, CHEAPEST = "fastest within the limits", "cheapest within the limits"


@dataclass(frozen=True)
class Recommendation:
    """A recommended design of a front.

    Attributes
    ----------
    kinds : what it is: `KNEE`, `EVEN`, `NEAR_FASTEST`, `WITHIN`, `CHEAPEST`.
    row : its place on the front.
    reason : why, in a sentence whose figures are those of the front.
    faster, slower : the next tenth of time, and the last one; None where the front has none or no time and cost.
    runner_up : the place of the design of another kind of network that would be recommended instead; None without one.
    loses : what the runner-up is worse and better in.
    """

    kinds: tuple[str, ...]
    row: int
    reason: str
    faster: Step | None = None
    slower: Step | None = None
    runner_up: int | None = None
    loses: str = ""


def knee(values: FloatArray, within: BoolArray | None = None) -> int:
    """Return the place of the design of (m, n) objectives at which the front bends most, among some of them.

    On logarithmic axes that the front's best and worst values make 0 and 1, it is the least sum of all objectives; of
    two objectives, the design furthest from the straight line between the ends.

    >>> knee(np.array([[1.0, 1.1, 8.0, 10.0], [10.0, 2.0, 1.5, 1.0]]))
    1
    """
    logs = np.log(values)
    low, span = logs.min(axis=1, keepdims=True), np.ptp(logs, axis=1, keepdims=True)
    total = np.divide(logs - low, span, out=np.zeros_like(logs), where=span > 0).sum(axis=0)
    return int(np.where(np.True_ if within is None else within, total, np.inf).argmin())


def knee_row(front: Front) -> dict[str, Any]:
    """Return the row of a front's table at its `knee`."""
    return front.frame.row(knee(front.frame.select(front.objectives).to_numpy().T), named=True)


def recommended_rows(front: Front, limits: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the `recommendation_rows` of a front within limits, given by columns in their units."""
    found = candidates_of(front, limits)
    rows: list[dict[str, Any]] = as_json(recommendation_rows(found, recommend(found)))
    return rows


def recommend(found: Candidates) -> list[Recommendation]:
    """Return the recommended designs, each once; an `InfeasibleError` says that none keeps the limits."""
    within = found.within
    if not within.any():
        raise InfeasibleError(nothing_within(found))
    chosen: dict[int, list[str]] = {}
    for kind in _kinds(found):
        chosen.setdefault(_pick(found, kind, within), []).append(kind)
    return [_recommendation(found, row, tuple(kinds), within) for row, kinds in chosen.items()]


def _kinds(found: Candidates) -> list[str]:
    timed = TIME.column in found.limits
    kinds = [WITHIN] if found.time and len(found.limits) > timed else []
    kinds += [CHEAPEST] if timed and found.money else []
    kinds += [KNEE] if found.bends else []
    kinds += [NEAR_FASTEST] if found.priced else []
    return kinds or [EVEN]


def _pick(found: Candidates, kind: str, within: BoolArray) -> int:
    if kind in (KNEE, EVEN):
        return knee(found.values, within)
    if kind == CHEAPEST:
        return int(np.where(within, found.figures[found.money], np.inf).argmin())
    time = found.figures[found.time]
    if kind == WITHIN:
        fastest = int(np.where(within, time, np.inf).argmin())
        equal = within & found.equals(fastest)
        equal[fastest] = True
        return int(np.where(equal, found.figures[found.money], np.inf).argmin()) if found.money else fastest
    fastest = time[found.within].min()
    near = within & (time <= fastest * (1.0 + NEAR))
    if not near.any():  # of a runner-up's networks: the fastest
        return _pick(found, WITHIN, within)
    return int(np.where(near, found.figures[found.money], np.inf).argmin())


def _recommendation(found: Candidates, row: int, kinds: tuple[str, ...], within: BoolArray) -> Recommendation:
    faster, slower = (step(found, row, to_faster=side) for side in (True, False)) if found.priced else (None, None)
    others = within & (found.network != found.network[row])
    runner_up = _pick(found, kinds[0], others) if others.any() else None
    loses = "" if runner_up is None else difference_and_band(found, runner_up, row)
    reasons = [_reason(found, row, kind, faster, slower) for kind in kinds]
    # A sentence that a longer one repeats is left out.
    reason = " ".join(one for one in reasons if not any(other.startswith(f"{one[:-1]};") for other in reasons))
    return Recommendation(
        kinds=kinds, row=row, reason=reason, faster=faster, slower=slower, runner_up=runner_up, loses=loses
    )


def _reason(found: Candidates, row: int, kind: str, faster: Step | None, slower: Step | None) -> str:
    if kind in (WITHIN, CHEAPEST):
        return why_within(found, row, found.time if kind == WITHIN else found.money)
    if kind == NEAR_FASTEST:
        return why_near(found, row)
    return price_of_time(found, row, faster, slower) if found.priced else why_balanced(found, row)


@dataclass(frozen=True, kw_only=True)
class PriceStep:
    """The way to a faster design, or from a slower one: what it costs and saves, and what that is for a ms."""

    id: int
    usd: float
    ms: float
    percent: float
    usd_per_ms: float


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """A recommendation with the figures and the ids of its designs; see `Recommendation`.

    Attributes
    ----------
    between : the ends of the bands of objectives, by column.
    steps_are_of : the columns of the time and of the money of its steps.
    runner_up_is : what the runner-up is worse and better in.
    """

    kinds: tuple[str, ...]
    id: int
    figures: Mapping[str, float] = field(metadata=INLINE)
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    reason: str
    steps_are_of: tuple[str, ...] = ()
    faster_step: PriceStep | None
    slower_step: PriceStep | None
    runner_up: int | None
    runner_up_is: str

    @property
    def title(self) -> str:
        """The kind of this recommendation."""
        return f"the {' and the '.join(self.kinds)}"


def recommendation_rows(found: Candidates, recommended: Sequence[Recommendation]) -> tuple[Recommended, ...]:
    """Return recommendations with the figures and the ids of their designs."""
    return tuple(
        Recommended(
            kinds=one.kinds,
            id=int(found.ids[one.row]),
            figures={column: float(values[one.row]) for column, values in found.figures.items()},
            between=found.between(one.row),
            reason=one.reason,
            steps_are_of=(found.time, found.money) if found.priced else (),
            faster_step=_price_step(found, one.faster),
            slower_step=_price_step(found, one.slower),
            runner_up=None if one.runner_up is None else int(found.ids[one.runner_up]),
            runner_up_is=one.loses,
        )
        for one in recommended
    )


def _price_step(found: Candidates, way: Step | None) -> PriceStep | None:
    if way is None:
        return None
    percent = 100 * way.share
    return PriceStep(id=int(found.ids[way.row]), usd=way.usd, ms=way.ms, percent=percent, usd_per_ms=way.usd_per_ms)
