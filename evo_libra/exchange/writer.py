"""What writes a design for another program, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import Population
from evo_libra.errors import InputError, unknown
from evo_libra.network.bill import parts_in
from evo_libra.network.blocks import ITEMS, Part
from evo_libra.network.cabling.cables import Cables, cables
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.problem import Problem
from evo_libra.workload.step.plans import Plans
from evo_libra.workload.step.training_setup import Setup
from evo_libra.workload.step.training_step import TrainingStep

FP32_BYTES = 4
"""Bytes of an accumulated gradient in full precision."""


@dataclass(frozen=True)
class Exported:
    """A design to write.

    Attributes
    ----------
    problem : what it is a design of, with the plans of the design.
    population : the design alone.
    workload : the name of the workload whose plan is written; None where the problem has one.
    """

    problem: Problem
    population: Population
    workload: str | None = None

    @cached_property
    def notation(self) -> str:
        """The design in the notation."""
        return str(self.problem.fabrics(self.population)[0])

    @property
    def step(self) -> TrainingStep:
        """The training step whose plan is written; an `InputError` says that there is none, or which ones there are."""
        return self._planned[0]

    @property
    def plan(self) -> tuple[Setup, Plans]:
        """What is trained how, and the plan."""
        return self._planned[1]

    @cached_property
    def _planned(self) -> tuple[TrainingStep, tuple[Setup, Plans]]:
        steps = {
            loop.workload.name: (loop.workload, loop.workload.planned)
            for loop in self.problem.time.loops
            if isinstance(loop.workload, TrainingStep) and loop.workload.planned is not None
        }
        if not steps:
            raise InputError(f"'{self.problem.name}' trains no language model under a plan, which is what is written")
        if self.workload is None and len(steps) > 1:
            raise InputError(f"'{self.problem.name}' trains several models; --workload says which: {', '.join(steps)}")
        name = self.workload or next(iter(steps))
        if name not in steps:
            raise InputError(unknown("workload with a plan", name, steps))
        step, planned = steps[name]
        assert planned is not None, "others are left out above"  # noqa: S101 - our mistake
        return step, planned

    @cached_property
    def pricing(self) -> BillOfMaterials:
        """The prices of the problem; an `InputError` says that they are not those of whole parts."""
        if not isinstance(self.problem.pricing, BillOfMaterials) or not self.problem.pricing.whole:
            raise InputError(
                f"'{self.problem.name}' has no bill of parts; it needs a catalogue of parts and `bandwidth: ports`"
            )
        return self.problem.pricing

    @cached_property
    def cables(self) -> Cables:
        """Every cable; an `InputError` says that there is no bill, or that nothing knows how the cables run."""
        items = self.pricing.items(self.population)[:, :, 0]
        kits = [self.pricing.parts[t] for t in self.population.technology[:, 0].tolist()]
        sizes = self.population.npus[:, 0].tolist()
        rates = np.array([kit.port_rate for kit in kits])
        ports = np.where(np.array(sizes) > 1, np.rint(self.population.bandwidth[:, 0] / rates), 0).astype(np.int64)
        return cables(kits, sizes, ports.tolist(), items)

    def part(self, dimension: int, item: str) -> Part | None:
        """Return what is bought for an item of a dimension, or None."""
        return parts_in(self.pricing.parts[int(self.population.technology[dimension, 0])])[ITEMS.index(item)]

    def technology(self, dimension: int) -> str:
        """Return the technology of a dimension."""
        return str(self.problem.catalog.names[int(self.population.technology[dimension, 0])])


@dataclass(frozen=True)
class Written:
    """A file that a writer has made.

    Attributes
    ----------
    content : text, or bytes of a file that is no text.
    unsaid : what the design has and the format cannot say, a sentence each.
    """

    content: str | bytes
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer:
    """A format of another program that designs are written in.

    Attributes
    ----------
    name : what ``--to`` calls it.
    writes : what it writes, for the reference.
    write : writes a design; an `InputError` says in one sentence what the design lacks. It is pure: the same design
        gives the same content.
    binary : whether the content is no text, so that it needs a file.
    reader : the name of the reader that reads it back, for `evo_libra.exchange.writer_conformance`; None for none.
    """

    name: str
    writes: str
    write: Callable[[Exported], Written]
    binary: bool = False
    reader: str | None = None


def exported(problem: Problem, design: str | Population, workload: str | None = None) -> Exported:
    """Return a design to write; an `InputError` says that it is none of the problem."""
    population = problem.read(design) if isinstance(design, str) else design.select([0])
    return Exported(problem.pinned(population), population, workload)


def memory_unsaid(setup: Setup) -> Iterator[str]:
    """Yield what of the memory around NPUs no format of a training program says."""
    if setup.offload is not None and setup.offload.checkpoints:
        yield "inputs of layers that wait in the hosts' memory"
    if setup.expansions:
        yield "expansion memory of the NPUs"
