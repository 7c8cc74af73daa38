"""Verdicts in scenarios of prices: the share of them in which the design to buy is the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.explain.bought_parts import CERTAIN
from evo_libra.explain.verdict_basis import Basis
from evo_libra.explain.verdict_record import BY_LIMIT, BY_SHAPE
from evo_libra.problem.scenarios import draw
from evo_libra.problem.statistics import NAMED

DRAWN, _SEED = 1000, 0


@dataclass(frozen=True)
class PriceDraws:
    """Shares of drawn scenarios in which designs are the best to buy.

    Attributes
    ----------
    share : of the design to buy, with those that are equal to it or, of designs, of its network.
    rival, rival_share : the other design that is the best one most often; None where none ever is.
    """

    share: float
    rival: int | None
    rival_share: float


def price_draws(basis: Basis) -> PriceDraws | None:
    """Return in how many scenarios of prices the verdict stays; None where no price is a range, or none decides."""
    if basis.rule == BY_SHAPE or all(part.factors == CERTAIN for part in basis.parts):
        return None
    choice = basis.choices(_factors(basis))
    money = choice.found.figures[choice.found.money] if basis.rule == BY_LIMIT else choice.score()
    score = np.where(basis.found.within, money, np.inf)
    best = np.broadcast_to(score, (DRAWN, len(basis.found.ids))).argmin(axis=1)
    rows, counts = np.unique(best, return_counts=True)
    mine = np.array([basis.is_same(row) for row in rows.tolist()])
    others = np.where(mine, 0, counts)
    rival = int(rows[others.argmax()]) if others.any() else None
    return PriceDraws(float(counts[mine].sum()) / DRAWN, rival, float(others.max()) / DRAWN)


def _factors(basis: Basis) -> FloatArray:
    """Return (part, s) factors on prices; a product has one in whichever section it is."""
    names = list(dict.fromkeys((part.name, part.factors) for part in basis.parts))
    drawn = draw([factors for _, factors in names], DRAWN, _SEED)[:, len(NAMED) :]
    return np.asarray(drawn[[names.index((part.name, part.factors)) for part in basis.parts]])
