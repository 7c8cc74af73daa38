"""The devices of a design by their names, and what is in each of their ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.exchange.writer import Exported
from evo_libra.network.blocks import ITEMS
from evo_libra.problem.system import Hosts, bought_npus

NPU, SWITCH, HOST = "npu", "switch", "host"


@dataclass(frozen=True)
class Device:
    """Something with a name of its own.

    Attributes
    ----------
    role : npu, switch or host.
    model : what it is called in its catalogue.
    note : where it stands in the network.
    """

    name: str
    role: str
    model: str
    note: str


@dataclass(frozen=True)
class Cable:
    """A cable: device and interface of both ends, the part that it is, its item of the bill and its technology."""

    ends: tuple[tuple[str, str], tuple[str, str]]
    part: str
    item: str
    technology: str
    dimension: int


def devices(design: Exported) -> Iterator[Device]:
    """Yield the NPUs with the spare ones, the switches of all dimensions, and the hosts where the problem has some."""
    names, problem = _names(design), design.problem
    npu = _npu_model(design)
    for place in range(problem.npus):
        yield Device(names[place], NPU, npu, "")
    spares = int(bought_npus(design.population)[0]) - problem.npus
    for place in range(spares):
        yield Device(f"spare-npu-{place + 1:0{len(str(spares))}}", NPU, npu, "spare, without cables here")
    found = design.cables
    for place, (d, tier) in enumerate(zip(found.switch_dimension.tolist(), found.switch_tier.tolist(), strict=True)):
        part = design.part(d, "switch")
        model = part.name if part is not None else f"switch of {design.technology(d)}"
        yield Device(names[problem.npus + place], SWITCH, model, f"dimension {d + 1}, tier {tier}")
    for row in () if problem.system is None else problem.system.rows:
        if isinstance(row, Hosts):
            count = int(row.pieces(design.population)[0])
            for place in range(count):
                yield Device(f"host-{place + 1:0{len(str(count))}}", HOST, row.name, f"of {row.npus} NPUs")


def cables(design: Exported) -> Iterator[Cable]:
    """Yield every cable of the network."""
    found, names = design.cables, _names(design)
    npus = design.problem.npus
    technologies = [design.technology(d) for d in range(len(design.population.npus))]
    parts = {
        (d, i): part.name if (part := design.part(d, item)) is not None else item
        for d in set(found.dimension.tolist())
        for i, item in enumerate(ITEMS)
    }
    for ends, ports, d, item in zip(
        found.ends.T.tolist(), found.port.T.tolist(), found.dimension.tolist(), found.item.tolist(), strict=True
    ):
        one, other = (
            (names[end], f"{technologies[d]}-{d + 1}/{port + 1}" if end < npus else f"port-{port + 1}")
            for end, port in zip(ends, ports, strict=True)
        )
        yield Cable((one, other), parts[d, item], ITEMS[item], technologies[d], d)


def _npu_model(design: Exported) -> str:
    choice = design.problem.npu
    return "NPU" if choice is None else choice.names[int(choice.place(design.population.technology)[0])]


def _names(design: Exported) -> list[str]:
    """Return the names of NPUs and switches, in the order of the ends of cables."""
    found, npus = design.cables, design.problem.npus
    names = [f"npu-{place + 1:0{len(str(npus))}}" for place in range(npus)]
    groups = np.stack([found.switch_dimension, found.switch_tier])
    tiers, place, counts = np.unique(groups, axis=1, return_inverse=True, return_counts=True)
    seen = [0] * len(counts)
    for group in place.ravel().tolist():
        seen[group] += 1
        d, tier = tiers[:, group].tolist()
        names.append(f"switch-{d + 1}-{tier}-{seen[group]:0{len(str(counts[group]))}}")
    return names
