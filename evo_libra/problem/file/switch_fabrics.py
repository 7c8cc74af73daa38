"""From a problem file that asks for a fabric of switches to its problem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.files.source import Source, validate
from evo_libra.network.fabrics.parts import Limits
from evo_libra.network.fabrics.population import check_traffic
from evo_libra.network.fabrics.traffic import Policy
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.switch_fabric_spec import SwitchFabricSpec
from evo_libra.problem.file.workloads import WorkloadLoader
from evo_libra.problem.protocol import SearchSettings
from evo_libra.problem.switch_fabrics.objectives import FABRIC_OBJECTIVES
from evo_libra.problem.switch_fabrics.problem import FabricProblem, FabricSpace
from evo_libra.problem.switch_fabrics.time import FabricTime
from evo_libra.problem.time_models.loops import OpenLoop, WeightedLoop
from evo_libra.workload.layers.iteration_time import Merging

_TERABITS = 1e12 / 8


def switch_fabric_problem(source: Source, folder: Path) -> FabricProblem:
    """Build the problem of the data of a file with `question: fabric`; an `InputError` has its mistakes."""
    spec = validate(SwitchFabricSpec, source)
    file = ProblemFile(source, folder, spec.as_design())
    for key, number in (("npus", spec.npus), ("server", spec.server)):
        if number & (number - 1):
            raise file.fail((key,), f"is {number:,}; allowed: powers of two")
    if spec.server >= spec.npus:
        raise file.fail(("server",), f"is {spec.server:,}; allowed: fewer than the {spec.npus:,} NPUs")
    if spec.routing.paths == "striped" and spec.routing.forwarding == "any":
        raise file.fail(("routing",), "paths 'striped' with forwarding 'any': a stripe might come back to its sender")
    loader = WorkloadLoader(file)
    for one in loader.accelerators.npus:
        loader.training.domains = {one.name: spec.server}
    loops = tuple(loader.loops(Merging.PATTERN))
    times = _times(loops, spec, file)
    limits = Limits(
        min(spec.limits.switch_Tbps, max(spec.prices.switch_Tbps)) * _TERABITS, spec.limits.nic_ports,
        spec.limits.npu_Tbps * _TERABITS,
    )  # fmt: skip
    space = FabricSpace(
        spec.npus.bit_length() - 1, spec.server.bit_length() - 1, spec.server_GBps * GIGA, limits, spec.prices
    )
    return FabricProblem(
        name=spec.name, space=space, times=times, policy=Policy(spec.routing.paths, spec.routing.forwarding),
        objectives=tuple(FABRIC_OBJECTIVES[name] for name in dict.fromkeys(spec.objectives)),
        settings=SearchSettings(**spec.search.model_dump()),
        spec={
            "spec": spec.model_dump(mode="json", exclude={"search"}), "files": loader.files(),
            "models": loader.models(),
        },
    )  # fmt: skip


def _times(loops: tuple[WeightedLoop, ...], spec: SwitchFabricSpec, file: ProblemFile) -> tuple[FabricTime, ...]:
    """Return the times under each plan that fits; an `InputError` says why none has a time on fabrics."""
    several = [index for index, loop in enumerate(loops) if loop.workload.table is not None]
    if len(several) > 1:
        raise file.fail(("workloads", several[1]), "a second workload leaves plans open; allowed: one of them")
    rate = spec.server_GBps * GIGA
    plans: Iterator[tuple[str, tuple[WeightedLoop, ...]]] = iter([("", loops)])
    if several:
        plans = _plans(loops, several[0])
    found, why = [], "no plan fits the memory"
    for text, loop in plans:
        one = FabricTime(text, loop, spec.server, rate)
        try:
            check_traffic(one.traffic, spec.npus.bit_length() - 1)
        except InputError as error:
            why = str(error)
        else:
            found.append(one)
    if not found:
        raise file.fail(("workloads",), why)
    return tuple(found)


def _plans(loops: tuple[WeightedLoop, ...], place: int) -> Iterator[tuple[str, tuple[WeightedLoop, ...]]]:
    """Yield each plan that fits the memory, in the notation, with the workloads under it."""
    loop = cast("OpenLoop", loops[place])  # the loop of a table
    table = loop.workload
    for plan in np.flatnonzero(np.broadcast_to(table.memory <= table.capacity, len(table))).tolist():
        yield table.text(plan), (*loops[:place], loop.pinned([plan]), *loops[place + 1 :])
