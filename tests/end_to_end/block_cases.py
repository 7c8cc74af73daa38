"""Random collectives on single blocks: what the tests of their phases draw, and the designs of the package."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from block_simulation import Axis
from hypothesis import strategies as st

from evo_libra.arrays import Population, Schedule
from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import Fidelity

SEEDS = st.integers(0, 2**32 - 1)
CASES = 500
COLLECTIVES = st.sampled_from(list(Collective))


@dataclass(frozen=True)
class Case:
    """Equal chunks, those that a dimension runs at a time, an NPU's bytes per ns, ns of a link, and what NPUs add."""

    chunk: int
    chunks: int
    active: int
    rate: float
    latency: float
    overheads: Overheads

    def axis(self, length: int, share: float, *, line: bool = False) -> Axis:
        """Return an axis with a share of an NPU's bandwidth, which is converted as a problem's is."""
        return Axis(length, self.rate * 1e9 * share / 1e9, self.latency, line)


def fidelity_of(case: Case, scheduler: int = 0) -> Fidelity:
    natural = np.zeros((len(BLOCKS), 1), dtype=np.int64)
    latency = np.array([case.latency])
    return Fidelity(
        (case.chunks,), (scheduler,), natural, latency, case.overheads, case.active, shrinking=True, policy=None
    )


def design_of(fidelity: Fidelity, block: list[str], npus: list[int], bandwidth: list[float]) -> Population:
    blocks = np.array([[BLOCK_NAMES.index(name)] for name in block])
    schedule = Schedule(np.array(fidelity.chunks), np.array(fidelity.schedulers), np.zeros_like(blocks))
    none = np.zeros_like(blocks)
    return Population(np.array(npus)[:, None], blocks, none, np.array(bandwidth)[:, None], schedule=schedule)


def draw(random: np.random.Generator) -> Case:
    chunk = int(random.choice([random.integers(300, 5_000), random.integers(5_000, 5_000_000)]))
    overheads = Overheads(float(random.integers(1, 20)), float(random.choice([inf, 50.0, 731.0])))
    latency = float(random.choice([1.0, 20.0, 137.5, 500.0]))
    return Case(
        chunk, int(random.integers(1, 5)), int(random.integers(1, 3)), random.uniform(5, 400), latency, overheads
    )
