"""Open choices of collectives: chunks, scheduler and algorithms, as genes and as options of written designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, Schedule
from evo_libra.errors import InputError, unknown
from evo_libra.network.fabric import OPTIONS, Fabric
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS


@dataclass(frozen=True)
class NoSchedules:
    """The choices of a time model under which designs are not `scheduled`; its title is as in a sentence."""

    title: str
    scheduled: ClassVar = False

    def genes(self, depth: int) -> list[tuple[str, int]]:  # noqa: ARG002 - choices need it
        """Return no genes."""
        return []

    def schedule(self, genes: IntArray, block: IntArray) -> Schedule | None:  # noqa: ARG002 - the same
        """Return None: designs have no schedules."""
        return None

    def genes_of(self, schedule: Schedule | None, block: IntArray) -> IntArray:  # noqa: ARG002 - the same
        """Return the (0, n) genes of networks of (d, n) blocks."""
        return np.empty((0, block.shape[1]), dtype=np.int64)

    def covers(self, genes: IntArray | FloatArray, npus: IntArray) -> BoolArray:  # noqa: ARG002 - the same
        """Return (n,) that the genes of all networks are among the choices."""
        return np.ones(npus.shape[1], dtype=np.bool_)

    def read(self, fabrics: Sequence[Fabric], block: IntArray) -> Schedule | None:  # noqa: ARG002 - the same
        """Return None; an InputError names a network with options."""
        for fabric in fabrics:
            if fabric.options:
                raise InputError(f"the design '{fabric}' has options; under {self.title} there are none")
        return None

    def offers(self, fabric: Fabric, option: tuple[str, str]) -> bool:  # noqa: ARG002 - the same
        """Return that no option is offered."""
        return False

    def named(self, fabrics: list[Fabric], designs: Population) -> list[Fabric]:  # noqa: ARG002 - the same
        """Return networks as they are."""
        return fabrics

    def columns(self, designs: Population) -> dict[str, list[Any]]:  # noqa: ARG002 - the same
        """Return no table columns."""
        return {}


@dataclass(frozen=True)
class ScheduleChoices:
    """Choices of how collectives run on designs, which are `scheduled`; of several the search chooses.

    Attributes
    ----------
    chunks, schedulers : choices for a network; schedulers are indices into `SCHEDULERS`.
    algorithms : (block, choice) index into `ALGORITHMS`, for each dimension.
    """

    chunks: tuple[int, ...]
    schedulers: tuple[int, ...]
    algorithms: IntArray
    scheduled: ClassVar = True

    @property
    def _choices(self) -> dict[str, IntArray]:
        """Choices of `Schedule`'s fields that hold for all dimensions."""
        return {"chunks": np.array(self.chunks), "scheduler": np.array(self.schedulers)}

    @property
    def _open(self) -> dict[str, IntArray]:
        return {name: values for name, values in self._choices.items() if len(values) > 1}

    def genes(self, depth: int) -> list[tuple[str, int]]:
        """Return name and highest value of the genes of what is left open, for that many dimensions."""
        last = self.algorithms.shape[1] - 1
        found = [(name, len(values) - 1) for name, values in self._open.items()]
        return found + [(f"algorithm{d}", last) for d in range(depth) if last]

    def schedule(self, genes: IntArray, block: IntArray) -> Schedule:
        """Return the schedules that (k, n) genes stand for, of networks of (d, n) blocks."""
        left, first = list(genes), np.zeros(1, dtype=np.int64)
        chosen = {name: values[left.pop(0) if len(values) > 1 else first] for name, values in self._choices.items()}
        return Schedule(**chosen, algorithm=np.asarray(self.algorithms[block, np.array(left) if left else first]))

    def genes_of(self, schedule: Schedule | None, block: IntArray) -> IntArray:
        """Return the (k, n) genes of schedules, -1 for what is none of the choices."""
        assert schedule is not None, "these networks have schedules"  # noqa: S101 - internal error
        count = block.shape[1]
        found = [_place(values, np.broadcast_to(getattr(schedule, name), count)) for name, values in self._open.items()]
        if self.algorithms.shape[1] > 1:
            found += list(_place(self.algorithms[block], np.broadcast_to(schedule.algorithm, block.shape)))
        return np.array(found, dtype=np.int64).reshape(len(found), count)

    def read(self, fabrics: Sequence[Fabric], block: IntArray) -> Schedule:
        """Return the schedules of networks of (d, n) blocks that people write; what they leave out is the first choice.

        An InputError names an option that is none of the choices.
        """
        chunks, scheduler, algorithm = [], [], self.algorithms[block, 0]
        numbers = {str(count): count for count in self.chunks}
        names = {SCHEDULERS[index]: index for index in self.schedulers}
        for n, fabric in enumerate(fabrics):
            options = dict(fabric.options)
            chunks.append(_choice(fabric, "chunks", numbers, options))
            scheduler.append(_choice(fabric, "scheduler", names, options))
            if "algorithms" in options:
                algorithm[: len(fabric.dimensions), n] = self._algorithms(fabric, options["algorithms"])
        return Schedule(np.array(chunks), np.array(scheduler), algorithm)

    def offers(self, fabric: Fabric, option: tuple[str, str]) -> bool:
        """Return whether an option, name and value, is among the choices for a network."""
        try:
            self.read([replace(fabric, options=(option,))], np.array([[part.block] for part in fabric.dimensions]))
        except InputError:
            return False
        return True

    def _algorithms(self, fabric: Fabric, text: str) -> list[int]:
        names = text.split(",")
        if len(names) != len(fabric.dimensions):
            depth = len(fabric.dimensions)
            raise InputError(f"in the design '{fabric}': {len(names)} algorithms are named for {depth} dimensions")
        found = []
        for name, dimension in zip(names, fabric.dimensions, strict=True):
            allowed = {ALGORITHMS[index]: index for index in self.algorithms[dimension.block].tolist()}
            if name not in allowed:
                where = f"algorithm of {dimension}"
                raise InputError(f"in the design '{fabric}': {unknown(where, name, allowed)}")
            found.append(allowed[name])
        return found

    def named(self, fabrics: list[Fabric], designs: Population) -> list[Fabric]:
        """Return networks with what is open of their schedules as options."""
        columns, found = self.columns(designs), []
        for n, fabric in enumerate(fabrics):
            options: list[tuple[str, str]] = [(name, str(columns[name][n])) for name in OPTIONS if name in columns]
            if self.algorithms.shape[1] > 1:
                names = [columns[f"algorithm[{d}]"][n] for d in range(len(fabric.dimensions))]
                options.append(("algorithms", ",".join(names)))
            found.append(replace(fabric, options=tuple(options)))
        return found

    def columns(self, designs: Population) -> dict[str, list[Any]]:
        """Return table columns of what is open: chunks, scheduler, and the algorithm of each dimension in use."""
        schedule, found = schedule_of(designs), dict[str, list[Any]]()
        for name in self._open:
            values = getattr(schedule, name)
            found[name] = (values if name == "chunks" else np.array(SCHEDULERS)[values]).tolist()
        if self.algorithms.shape[1] > 1:
            names = np.array([*ALGORITHMS, ""])
            for d, npus in enumerate(designs.npus):
                found[f"algorithm[{d}]"] = names[np.where(npus > 1, schedule.algorithm[d], -1)].tolist()
        return found

    def covers(self, genes: IntArray | FloatArray, npus: IntArray) -> BoolArray:
        """Return (n,) whether (k, n) genes from `genes_of` that matter on (d, n) NPUs are among the choices."""
        needed = np.ones(genes.shape, dtype=np.bool_)
        if self.algorithms.shape[1] > 1:  # that of an unused dimension does not matter
            needed[-len(npus) :] = npus > 1
        return np.asarray(((genes >= 0) | ~needed).all(axis=0))


Schedules = NoSchedules | ScheduleChoices
"""The choices that a time model offers of how collectives run."""


def schedule_of(designs: Population) -> Schedule:
    """Return how collectives run on designs that have schedules."""
    assert designs.schedule is not None, "networks without schedules cannot be timed"  # noqa: S101 - internal error
    return designs.schedule


def _place(choices: IntArray, values: IntArray) -> IntArray:
    """Return the place of each value among its (..., choice) choices; -1 where it is none of them."""
    same = values[..., None] == choices
    return np.where(same.any(axis=-1), same.argmax(axis=-1), -1)


def _choice(fabric: Fabric, name: str, allowed: Mapping[str, int], options: Mapping[str, str]) -> int:
    if name not in options:
        return next(iter(allowed.values()))
    if options[name] not in allowed:
        raise InputError(f"in the design '{fabric}': {unknown(name, options[name], allowed)}")
    return allowed[options[name]]
