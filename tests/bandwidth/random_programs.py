"""Random convex programs of many kinds, and programs of a single design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.chains import chains_of
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.workload.layers.iteration_time import Overlap

SEEDS = st.integers(0, 2**32 - 1)
ROUNDING = 1e-12


@dataclass(frozen=True)
class Case:
    """A batch of programs, bandwidths that meet their constraints, the prices of a budget, and the programs' races."""

    program: BandwidthProgram
    feasible: FloatArray
    price: FloatArray
    races: tuple[Overlap, ...]


def case(
    seed: int,
    count: int = 40,
    *,
    patterns: int | None = None,
    boxes: bool | None = None,
    budgets: bool | None = None,
    general: bool | None = None,
    races: bool | None = None,
    priced: bool | None = None,
    idle: bool = True,
) -> Case:
    """Draw a batch; None leaves a property to chance. Limits are set from bandwidths drawn first, which meet them."""
    rng = np.random.default_rng(seed)

    def some(wish: bool | None, chance: float) -> bool:  # noqa: FBT001
        drawn = bool(rng.random() < chance)
        return drawn if wish is None else wish

    depth, patterns = int(rng.integers(1, 7)), patterns or int(rng.integers(1, 7))
    shape, unit = (depth, count), 10.0 ** rng.uniform(0, 11)
    carries = rng.random((patterns, *shape)) < rng.choice([0.5, 0.8, 1.0])
    traffic = 10.0 ** rng.uniform(-2, 1, (patterns, *shape)) * carries
    if idle:
        traffic[:, rng.random(depth) < 0.1] = 0.0
        traffic[rng.random(patterns) < 0.1] = 0.0
    else:
        traffic[:, 0] = np.where(traffic.any(axis=1), traffic[:, 0], 1.0)
    size = unit * 10.0 ** rng.uniform(-1, 1, (patterns, 1))
    feasible = unit * 10.0 ** rng.uniform(-1, 1, shape)
    price = 10.0 ** rng.uniform(-10, -7, shape)
    rows, slack, equality = [], [], []

    def add(row: FloatArray, chance: float) -> None:
        # As many equalities as dimensions would leave a single point.
        equal = some(None, chance) and sum(equality) < depth - 1
        rows.append(row)
        slack.append(np.zeros(count) if equal else rng.uniform(0.01, 0.5, count))
        equality.append(equal)

    for row in (price, np.ones(shape)):
        if some(budgets, 0.5):
            add(row, 0.2)
    if some(general, 0.4):
        for _ in range(int(rng.integers(1, 4))):
            add(rng.choice([-1.0, -0.5, 1.0, 2.0], depth)[:, None] * np.ones(shape), 0.3)
    low, high = np.zeros(shape), np.full(shape, np.inf)
    if some(boxes, 0.6):
        low = np.where(rng.random(shape) < 0.5, feasible * rng.uniform(0, 1, shape), 0.0)
        high = np.where(rng.random(shape) < 0.5, feasible * rng.uniform(1, 5, shape), np.inf)
        pinned = rng.random(shape) < rng.choice([0.0, 0.2])
        pinned[: 1 + sum(equality)] = False
        low, high = np.where(pinned, feasible, low), np.where(pinned, feasible, high)
    if not any((row > 0).all() for row in rows):
        high = np.where(np.isinf(high), feasible * 10.0, high)
    terms = np.array(rows).reshape(len(rows), *shape) * feasible
    limit = terms.sum(axis=1) + np.array(slack).reshape(len(rows), count) * np.abs(terms).sum(axis=1)
    cost = 10.0 ** rng.uniform(-2, 1, shape) / unit if some(priced, 0.25) else np.zeros(shape)
    overlapped = random_races(rng, patterns, unit) if some(races, 0.3) else ()
    program = BandwidthProgram(
        np.array([1.0 if idle else rng.choice([0.0, 1.0])]), size, traffic, cost, low, high,
        np.array(rows).reshape(len(rows), *shape), limit, np.array(equality, dtype=np.bool_),
        chains_of([overlapped], patterns),
    )  # fmt: skip
    return Case(program, feasible, price, overlapped)


def random_races(rng: np.random.Generator, patterns: int, unit: float) -> tuple[Overlap, ...]:
    """Draw one to four races of two to five chains each."""
    return tuple(_race(rng, patterns, unit, int(rng.integers(2, 6))) for _ in range(int(rng.integers(1, 5))))


def _race(rng: np.random.Generator, patterns: int, unit: float, chains: int) -> Overlap:
    size = unit * 10.0 ** rng.uniform(-1, 1, (chains, patterns)) * (rng.random((chains, patterns)) < 0.7)
    return Overlap(float(rng.integers(1, 10)), tuple(rng.choice([0.0, 1.0, 10.0], chains).tolist()), size)


def budget_case(seed: int, count: int = 40, patterns: int | None = None) -> Case:
    """Draw a batch with one budget, without caps, floors, overlap or idle parts."""
    drawn = case(seed, count, patterns=patterns, boxes=False, budgets=False, general=False, races=False, priced=False,
                 idle=False)  # fmt: skip
    shape = drawn.program.low.shape
    limit = (drawn.price * drawn.feasible).sum(axis=0)[None]
    program = replace(
        drawn.program, rows=drawn.price[None], limit=limit, equality=np.zeros(1, dtype=np.bool_),
        high=np.full(shape, np.inf),
    )  # fmt: skip
    return replace(drawn, program=program)


def with_row(
    program: BandwidthProgram, row: FloatArray, limit: FloatArray, *, equality: bool = False
) -> BandwidthProgram:
    return replace(
        program, rows=np.concatenate([program.rows, row[None]]), limit=np.concatenate([program.limit, limit[None]]),
        equality=np.append(program.equality, equality),
    )  # fmt: skip


def with_races(program: BandwidthProgram, races: Sequence[Overlap]) -> BandwidthProgram:
    return replace(program, chains=chains_of([races], len(program.traffic)))


def same(first: FloatArray, second: FloatArray, rtol: float) -> None:
    np.testing.assert_allclose(first, second, rtol=rtol, atol=0.0)


def one(traffic: object, races: Sequence[Overlap] = (), **fields: object) -> BandwidthProgram:
    """Return the program of a single design: traffic (g, d), the rest without the last axis; races for its chains."""
    table = np.array(traffic, dtype=np.float64)[..., None]
    patterns, depth, _ = table.shape
    usual: dict[str, Any] = {
        "base": 0.0, "size": np.ones(patterns), "price": np.zeros(depth), "low": np.zeros(depth),
        "high": np.full(depth, np.inf), "rows": np.ones((1, depth)), "limit": np.ones(1),
    }  # fmt: skip
    given_ = {name: np.array(fields.pop(name, value), dtype=np.float64)[..., None] for name, value in usual.items()}
    whole: dict[str, Any] = {
        "equality": np.zeros(len(given_["limit"]), dtype=np.bool_), "chains": chains_of([races], patterns),
    }  # fmt: skip
    return BandwidthProgram(traffic=table, **given_, **(whole | fields))


def check(program: BandwidthProgram, least: float) -> None:
    found = optimal_bandwidth(program)
    np.testing.assert_allclose(found.objective, least, rtol=1e-9, atol=1e-15)
    assert (found.bound <= found.objective * (1 + ROUNDING)).all()
    assert (found.gap() <= 1e-6).all()
