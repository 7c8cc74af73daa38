"""The cables of a design by the names of the devices and ports that they connect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Chosen
from evo_libra.network.bill import parts_in
from evo_libra.network.blocks import ITEMS
from evo_libra.network.cabling.cables import Cables, cables
from evo_libra.problem.pricing.parts import BillOfMaterials

Port = tuple[str, str]
"""Names of a device and of its port."""


@dataclass(frozen=True)
class Cable:
    """A cable of a network.

    Attributes
    ----------
    ends : what it connects; the end that is nearer to the NPUs comes first.
    dimension : from 0, the innermost; `technology` : of that dimension.
    item, part : what of the bill it is; the part is the item where the catalogue has none.
    rate : B/s in one direction.
    """

    ends: tuple[Port, Port]
    dimension: int
    technology: str
    item: str
    part: str
    rate: float


def device_name(kind: str, number: int) -> str:
    """Return what a device is called; numbers count from 1.

    >>> device_name("NPU", 12)
    'npu-000012'
    """
    return f"{kind.lower()}-{number:06d}"


def pricing_of_parts(chosen: Chosen) -> BillOfMaterials:
    """Return the prices of whole parts; an `InputError` says that the problem has none."""
    pricing = chosen.problem.pricing
    if isinstance(pricing, BillOfMaterials) and pricing.whole:
        return pricing
    raise InputError(
        f"'{chosen.problem.name}' has no parts to connect; it needs a catalogue of parts and `bandwidth: ports`"
    )


def wired(chosen: Chosen) -> Cables:
    """Return every cable by numbers; an `InputError` says that there are no parts, or that cables are not known."""
    pricing, one = pricing_of_parts(chosen), chosen.population.select([0])
    kits = [pricing.parts[t] for t in one.technology[:, 0].tolist()]
    rates, sizes = np.array([kit.port_rate for kit in kits]), one.npus[:, 0]
    ports = np.where(sizes > 1, np.rint(one.bandwidth[:, 0] / rates), 0).astype(np.int64)
    return cables(kits, sizes.tolist(), ports.tolist(), pricing.items(one)[:, :, 0])


def named_cables(chosen: Chosen) -> Iterator[Cable]:
    """Yield every cable of a design; those of spare NPUs, which are a share of the cost, are not among them."""
    found, pricing = wired(chosen), pricing_of_parts(chosen)
    technology = chosen.population.technology[:, 0].tolist()
    names = [str(chosen.problem.catalog.names[t]) for t in technology]
    parts = [[item if part is None else part.name for item, part in zip(ITEMS, parts_in(pricing.parts[t]), strict=True)]
             for t in technology]  # fmt: skip
    for ends, ports, d, item in zip(
        found.ends.T.tolist(), found.port.T.tolist(), found.dimension.tolist(), found.item.tolist(), strict=True
    ):
        one, other = (_port(end, port, found.npus, f"{d}-{names[d]}") for end, port in zip(ends, ports, strict=True))
        yield Cable(
            (one, other), d, names[d], item=ITEMS[item], part=parts[d][item],
            rate=pricing.parts[technology[d]].port_rate,
        )  # fmt: skip


def _port(end: int, port: int, npus: int, dimension: str) -> Port:
    """Return a port by the number of its end; an NPU has ports in several dimensions."""
    if end < npus:
        return device_name("NPU", end + 1), f"{dimension}-{port + 1}"
    return device_name("switch", end - npus + 1), f"port-{port + 1}"
