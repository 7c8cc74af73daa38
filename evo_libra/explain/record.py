"""The record of a design: what it is, where its time and money go, why it is so, and what each step away costs.

Tables, the terminal UI and the page show this record. Its fields are the keys of ``--json``; see
`evo_libra.explain.as_json`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evo_libra.explain.as_json import INLINE
from evo_libra.problem.objectives import MEASURES

if TYPE_CHECKING:
    from evo_libra.explain.neighbours import Neighbour
    from evo_libra.explain.time_record import WorkloadTime
    from evo_libra.problem.bands import Band
    from evo_libra.problem.link_limits import BeyondLinks
    from evo_libra.timing.quirks import Warned

EVALUATED = ("design", "time_ms", "cost_usd", "objectives", "bands", "feasible", "violations", "shares", "breakdown")
"""Fields of the record of a design that ``evo-libra evaluate --json`` prints."""
EXPLAINED = (
    "name", "design", "objectives", "standing", "approximation", "dimensions", "steps", "better_steps", "warnings",
)  # fmt: skip
"""Fields of the record of a design that ``evo-libra explain --json`` prints."""
_MEMORY = MEASURES["memory"].objective.column


@dataclass(frozen=True, kw_only=True)
class NetworkDimension:
    """A dimension; `figures` has its costs by part, and ports and power where parts have them."""

    dimension: int
    block: str
    npus: int
    technology: str
    bandwidth_GBps: float
    transport: str = ""
    transport_factor: float | None = None
    transport_note: str = ""
    figures: Mapping[str, float] = field(metadata=INLINE)

    @property
    def cost_usd(self) -> float:
        """The cost of its parts."""
        return self.figures["cost_usd"]

    def __str__(self) -> str:
        return f"{self.dimension}: {self.block}({self.npus}) @{self.technology}"


@dataclass(frozen=True, kw_only=True)
class PartRow:
    """A row of the network's bill; prices and idle power are None where no source gives them."""

    dimension: int
    item: str
    part: str | None
    pieces: int
    unit_usd: float | None
    cost_usd: float
    power_W: float
    idle_W: float | None


@dataclass(frozen=True, kw_only=True)
class OrderLine:
    """A line of the bill of an order, with its lowest and highest cost; None is what no source gives."""

    section: str
    product: str
    what: str
    pieces: float
    unit_usd: float | None
    low_usd: float | None
    cost_usd: float | None
    high_usd: float | None
    power_W: float | None
    source: str


@dataclass(frozen=True, kw_only=True)
class PartCost:
    """A part over all dimensions; `pieces` is None where prices are per bandwidth."""

    part: str
    pieces: float | None
    cost_usd: float


@dataclass(frozen=True, kw_only=True)
class SystemRow:
    """A row of the bill of a whole system; None is what no source gives."""

    item: str
    unit: str
    pieces: float
    unit_usd: float | None
    cost_usd: float | None
    unit_W: float | None
    power_kW: float | None
    source: str


@dataclass(frozen=True, kw_only=True)
class FailingPart:
    """A part that fails: how often it fails and stops the job, and the share of time that waits for it."""

    part: str
    pieces: float
    failures_per_day: float
    interruptions_per_day: float
    units_in_repair: float
    share_waited_for: float


@dataclass(frozen=True, kw_only=True)
class Spares:
    """Spare NPUs, the units that replace each other, and their part of the network.

    Attributes
    ----------
    needed : units with which some percent of the time are useful, by the percent; None where no number is enough.
    most_useful : the useful share that any number of units can reach.
    """

    npus: int
    unit_npus: int
    units: int
    cost_usd: float
    power_W: float
    needed: Mapping[str, int | None] = field(default_factory=dict, metadata=INLINE)
    most_useful: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Failures:
    """Failures of a design; `time_shares` add up to 1, and parts come in the order of how often they stop the job."""

    interruptions_per_day: float
    checkpoint_interval_s: float | None
    time_shares: Mapping[str, float]
    dominant_part: str | None
    dominant_loss: str | None
    parts: tuple[FailingPart, ...]
    spares: Spares


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """Time and money of a design, part by part.

    Attributes
    ----------
    bill : of whole parts, without spares; empty where parts come in any fraction.
    system : what else is bought, with spares; empty where only a network is.
    order : the lines of an order; empty of a design that is none.
    """

    workloads: tuple[WorkloadTime, ...]
    dimensions: tuple[NetworkDimension, ...]
    bill: tuple[PartRow, ...] = ()
    system: tuple[SystemRow, ...] = ()
    faults: Failures | None = None
    order: tuple[OrderLine, ...] = ()

    @property
    def time_ms(self) -> float:
        """The time of an iteration of all workloads, by their weights."""
        return sum(one.weight * one.time_ms for one in self.workloads)

    @property
    def npu_memory(self) -> float:
        """GB of an NPU that the workload with the largest need takes; 0 where none is known."""
        known = (one.training or one.serving for one in self.workloads)
        return max((one.memory.memory_total_GB for one in known if one is not None), default=0.0)

    @property
    def order_cost_usd(self) -> float:
        """The cost of the whole order."""
        return round(math.fsum(line.cost_usd or 0.0 for line in self.order), 2)

    @property
    def spares(self) -> tuple[Spares, ...]:
        """The spares that are bought."""
        return (self.faults.spares,) if self.faults is not None and self.faults.spares.npus else ()

    @property
    def cost_usd(self) -> float:
        """The cost of the network, with that of spares."""
        return sum(one.cost_usd for one in self.dimensions) + sum(one.cost_usd for one in self.spares)


@dataclass(frozen=True, kw_only=True)
class DimensionUse:
    """A dimension of a design: how long it is busy, what it could lose at the same time, and what more of it saves."""

    dimension: int
    block: str
    npus: int
    technology: str
    bandwidth_GBps: float
    busy_ms: float
    busy_percent: float
    slack_percent: float
    saves_ms_per_GBps: float
    cost_usd: float


@dataclass(frozen=True, kw_only=True)
class DesignRecord:
    """A design: its name and notation, its figures, where they come from, and why it is as it is.

    Attributes
    ----------
    design : in the notation, with all digits: shape, technologies, bandwidths in GB/s, options and plans.
    objectives : by column; `bands` : of those figures that may be off by a known factor.
    violations : the limits that it breaks, as sentences.
    standing : why nothing on its front beats it, or what does.
    shares : in what it is faster than its links carry.
    dimensions, steps : None where they are not asked for; they take a few hundred evaluations.
    better_steps : those that are better in one objective and no worse in the others.
    warnings : what concerns its times; `notes` : what concerns those of its problem.
    remarks : what an order loses by the products that it has together.
    """

    name: str
    design: str
    time_ms: float
    cost_usd: float
    objectives: Mapping[str, float] = field(metadata=INLINE)
    bands: Mapping[str, Band] = field(default_factory=dict)
    feasible: bool
    violations: tuple[str, ...]
    standing: tuple[str, ...]
    approximation: str = ""
    warnings: tuple[Warned, ...] = ()
    remarks: tuple[str, ...] = ()
    shares: BeyondLinks | None = None
    breakdown: Breakdown
    dimensions: tuple[DimensionUse, ...] | None = None
    steps: tuple[Neighbour, ...] | None = None
    better_steps: tuple[str, ...] | None = None

    @property
    def figures(self) -> dict[str, float]:
        """Time, cost and objectives, by column; an order has the cost of its network, and that of all of it."""
        if self.breakdown.order:
            costs = {"network_cost_usd": self.cost_usd, "order_cost_usd": self.breakdown.order_cost_usd}
            return {"time_ms": self.time_ms, **costs, **self.objectives}
        return {"time_ms": self.time_ms, "cost_usd": self.cost_usd, **self.objectives}

    @property
    def banded_figures(self) -> dict[str, float]:
        """The figures, and the memory of an NPU where that has a band."""
        if _MEMORY not in self.bands or _MEMORY in self.objectives:
            return self.figures
        return {**self.figures, _MEMORY: self.breakdown.npu_memory}

    @property
    def title(self) -> str:
        """Its name and its network in short."""
        from evo_libra.front.families import short_network  # noqa: PLC0415 - it takes Polars

        network = short_network(self.design)
        return network if self.name == self.design else f"{self.name} {network}"
