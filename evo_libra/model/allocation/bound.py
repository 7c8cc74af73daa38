"""The proof: a lower bound of a program, computed in doubles from any multipliers."""

from __future__ import annotations

import numpy as np

from evo_libra.model.allocation.program import Multipliers, Program
from evo_libra.model.arrays import FloatArray


def legal(program: Program, multipliers: Multipliers) -> Multipliers:
    """Return multipliers with their signs and sums made right, which the bound needs."""
    share = np.where(program.traffic > 0, np.maximum(multipliers.share, 0.0), 0.0)
    total = share.sum(axis=1, keepdims=True)
    even = (program.traffic > 0) / np.maximum((program.traffic > 0).sum(axis=1, keepdims=True), 1)
    share = np.where(total > 0, share / np.where(total > 0, total, 1.0), even)
    rows = np.where(program.equality[:, None], multipliers.rows, np.maximum(multipliers.rows, 0.0))
    return Multipliers(share, rows, np.clip(multipliers.race, 0.0, 1.0))


def weights(program: Program, race: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n,) base and (g, n) bytes of the program in which each race is a fixed mixture of its chains."""
    base = np.full(race.shape[1], program.base)
    size = np.repeat(program.size[:, None], race.shape[1], axis=1)
    for term, first in zip(program.races, race, strict=True):
        for chain, part in enumerate((first, 1.0 - first)):
            base = base + term.count * part * term.compute[chain]
            size = size + term.count * part * term.size[chain][:, None]
    return base, size


def lower_bound(program: Program, multipliers: Multipliers) -> FloatArray:
    """Return (n,) a value that no feasible bandwidths are below (Lagrangian dual).

    For shares that sum to 1 in each pattern, ``alpha = sum_g size * share * traffic`` and ``q = price + rows^T mu``:
    ``T >= base + sum_d min_{low <= b <= high} (alpha_d / b + q_d b) - mu . limit``; a race is at least any mixture of
    its two chains. The multipliers are made legal first, so that the bound holds for any.
    """
    multipliers = legal(program, multipliers)
    base, size = weights(program, multipliers.race)
    alpha = np.einsum("gn,gdn->dn", size, multipliers.share * program.traffic)
    slope = program.price + np.einsum("kn,kdn->dn", multipliers.rows, program.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(slope > 0, np.sqrt(alpha / slope), np.inf)
        best = np.clip(best, program.low, program.high)
        falling = np.where(alpha > 0, alpha / best, 0.0)
        rising = np.where(slope != 0, slope * best, 0.0)
    # With sqrt's rounding aside, b = sqrt(alpha / q) gives 2 sqrt(alpha q) whatever its last digits are.
    inner = np.where(np.isnan(falling + rising), -np.inf, falling + rising)
    return np.asarray(base + inner.sum(axis=0) - (multipliers.rows * program.limit).sum(axis=0))
