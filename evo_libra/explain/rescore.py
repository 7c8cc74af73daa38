"""A front searched under one time model, evaluated under another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evo_libra.arrays import FloatArray
from evo_libra.front.archive import non_dominated
from evo_libra.front.front import Front, ranks, time_of
from evo_libra.network.fabric import Fabric, parse_fabric
from evo_libra.network.orders.text import split_options, with_options
from evo_libra.problem.bands import BAND, HIGH, LOW
from evo_libra.problem.problem import Problem
from evo_libra.timing.schedule_choices import Schedules


@dataclass(frozen=True)
class Rescored:
    """Designs of a front with their objectives under both times.

    Attributes
    ----------
    frame : one row per design: ``id``, the objectives before, ``<objective>_rescored`` after, ``rank`` and
        ``rank_rescored`` (1 is the fastest), ``feasible``, ``on_front`` (whether none of the others is better
        now), ``design``.
    dropped : options of designs, such as ``chunks``, that the other time does not have or does not offer; it takes its
        own first choice for them.
    rescored : the designs as the other time has them, in the notation.
    agreement : Kendall's rank correlation of the two times: 1 where the order is the same, -1 where it is reversed;
        None for fewer than two designs.
    """

    frame: pl.DataFrame
    dropped: tuple[str, ...]
    rescored: tuple[str, ...]
    agreement: float | None


def rescore(front: Front, problem: Problem) -> Rescored:
    """Return the designs of a front with its objectives under the time of a problem that differs in nothing else.

    Ranks are by the time of an iteration; of a front without it, by the first other time.

    An `InputError` says that a design is none of the problem.
    """
    designs = front.frame["design"].to_list()
    kept_options, dropped = (
        _offered_orders(designs, problem)
        if problem.book is not None
        else _offered(map(parse_fabric, designs), problem.time.schedules)
    )
    found = problem.evaluate(kept_options)
    before = front.frame[time_of(front.objectives)].to_numpy()
    after = found.objectives / np.array([[objective.scale] for objective in problem.objectives])
    columns = {f"{o.column}_rescored": row for o, row in zip(problem.objectives, after, strict=True)}
    rescored = columns[f"{time_of(front.objectives)}_rescored"]
    feasible = found.violation <= 0
    kept = np.zeros(len(designs), dtype=np.bool_)
    kept[feasible] = non_dominated(after[:, feasible])
    frame = pl.DataFrame({
        "id": front.frame["id"],
        **{name: front.frame[name] for name in front.objectives},
        **columns,
        "rank": ranks(before),
        "rank_rescored": ranks(rescored),
        "feasible": feasible,
        "on_front": kept,
        "design": designs,
    })  # fmt: skip
    return Rescored(frame, dropped, tuple(kept_options), _kendall(before, rescored))


def rescored_front(front: Front, found: Rescored) -> Front:
    """Return the front of the designs under the other time, without bands: they are of the time before."""
    names = {*front.objectives, "id", "design"}
    bands = [name for name in front.frame.columns if name.startswith((LOW, HIGH, BAND)) and name not in names]
    now = {name: found.frame[f"{name}_rescored"] for name in front.objectives}
    frame = front.frame.drop(bands).with_columns(**now, design=pl.Series(found.rescored))
    return replace(front, frame=frame.filter(found.frame["on_front"]).sort(front.objectives))


def outside_bands(front: Front, found: Rescored) -> int | None:
    """Return how many designs have a time now that is outside the band of their time before; None without bands."""
    column = time_of(front.objectives)
    if column not in front.banded:
        return None
    low, high = (front.frame[end + column].to_numpy() for end in (LOW, HIGH))
    now = found.frame[f"{column}_rescored"].to_numpy()
    return int((found.frame["feasible"].to_numpy() & ((now < low) | (now > high))).sum())


def _offered(fabrics: Iterable[Fabric], schedules: Schedules) -> tuple[list[str], tuple[str, ...]]:
    """Return networks with those of their options that a time offers, and the names of the others."""
    found, dropped = [], dict[str, None]()
    for fabric in fabrics:
        options = tuple(option for option in fabric.options if schedules.offers(fabric, option))
        dropped |= dict.fromkeys(name for name, value in fabric.options if (name, value) not in options)
        found.append(str(replace(fabric, options=options)))
    return found, tuple(dropped)


def _offered_orders(designs: Sequence[str], problem: Problem) -> tuple[list[str], tuple[str, ...]]:
    """Return orders with those of their options that a time offers, and the names of the others."""
    found, dropped = [], dict[str, None]()
    for design in designs:
        head, *plans = design.split(" | ")
        order, given = split_options(head)
        bare = " | ".join([order, *plans])
        (fabric,) = problem.notation.fabrics(problem.read(bare)) if given else (None,)
        kept = [one for one in given if fabric is not None and problem.time.schedules.offers(fabric, one)]
        dropped |= dict.fromkeys(name for name, value in given if (name, value) not in kept)
        found.append(" | ".join([with_options(order, kept), *plans]))
    return found, tuple(dropped)


def _kendall(first: FloatArray, second: FloatArray) -> float | None:
    """Return Kendall's rank correlation (tau-b), to which ties do not contribute; None without an order."""
    if len(first) < 2:  # noqa: PLR2004 - an order needs two
        return None
    from scipy.stats import kendalltau  # noqa: PLC0415 - takes half a second, and few commands need it

    found = float(kendalltau(first, second).statistic)
    return None if np.isnan(found) else found
